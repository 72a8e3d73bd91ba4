"""How things are measured: warm, several times, median with minimum and maximum."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple


class Timing(NamedTuple):
    """Seconds of repeated runs."""

    median: float
    least: float
    most: float

    def __str__(self) -> str:
        return f"{self.median:.3g} s ({self.least:.3g} to {self.most:.3g})"


def time_runs(function: Callable[[], Any], repeats: int = 3) -> Timing:
    """Time ``function`` after it has run once to warm up."""
    function()
    return time_warm_runs(function, repeats)


def time_warm_runs(function: Callable[[], Any], repeats: int = 3) -> Timing:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return Timing(statistics.median(seconds), min(seconds), max(seconds))


def time_processes(*arguments: str, repeats: int = 5) -> Timing:
    """Time fresh Python processes."""

    def run() -> None:
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)

    return time_runs(run, repeats)


def row(what: str, measured: str, bar: str = "", *, met: bool | None = None, **values: Any) -> dict:
    """One line of a benchmark's result."""
    return {"what": what, "measured": measured, "bar": bar, "met": met, "values": values}
