"""What a machine has to do later."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

Work = Callable[..., None]


class Timers:
    """Work by its time. Nothing is taken back: work looks whether it still is to be done."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Work, tuple[Any, ...]]] = []
        self._count = 0

    def at(self, time: float, work: Work, *arguments: Any) -> None:
        self._count += 1
        heapq.heappush(self._heap, (time, self._count, work, arguments))

    def run(self, now: float) -> None:
        """Do what is due, in the order of times; what comes up meanwhile is for later."""
        due = []
        while self._heap and self._heap[0][0] <= now:
            due.append(heapq.heappop(self._heap))
        for _, _, work, arguments in due:
            work(*arguments)

    def next(self) -> float | None:
        return self._heap[0][0] if self._heap else None
