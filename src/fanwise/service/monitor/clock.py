"""A clock for events that goes on where the machine's is set back."""

from __future__ import annotations

import time


class SteadyClock:
    """Tells microseconds since the epoch, and never goes back.

    Events that get their time on arrival belong to the window that is open. Were the clock set back
    an hour, they would be late for an hour; so time goes on at its own pace from where it was. A
    clock that is set forward is followed.
    """

    def __init__(self) -> None:
        self._begun, self._since = time.time_ns(), time.monotonic_ns()

    def now(self) -> int:
        """Return the time."""
        passed = time.monotonic_ns() - self._since
        return max(time.time_ns(), self._begun + passed) // 1000
