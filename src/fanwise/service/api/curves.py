"""The what-if curve within a time that people wait."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from fanwise.planning.sweep import Point
from fanwise.progress import Progress, Step
from fanwise.select.problem import Selection
from fanwise.select.sweep import capacity_curve

CAPACITIES = ("0%", "1%", "2%", "3%", *(f"{share}%" for share in range(5, 105, 5)))
"""Points of a curve, as shares of what serving everything takes."""
LONGEST = 2.0
"""Seconds for bounds: a curve follows a slider."""


class _Timed(Step):
    def __init__(self, end: float) -> None:
        self._end = end

    def note(self, text: str) -> None:
        """Interrupt the work when its time is up, as Ctrl-C does: what is proven is kept."""
        if time.monotonic() > self._end:
            raise KeyboardInterrupt


class _Patience(Progress):
    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @contextmanager
    def step(self, description: str, total: float | None = None) -> Iterator[Step]:
        """Open a step that ends when the time is up."""
        yield _Timed(self._end)


def draw_curve(problem: Selection, seconds: float) -> tuple[Point, ...]:
    """Return value and proven bound at :data:`CAPACITIES`; bounds as tight as the time allows."""
    patience = _Patience(min(seconds, LONGEST))
    return capacity_curve(problem, CAPACITIES, progress=patience).points
