"""A clock for events that goes on where the machine's is set back."""

from __future__ import annotations

import time


class SteadyClock:
    """Tells microseconds since the epoch; each answer is later than all before it.

    Events that get their time on arrival belong to the window that is open. Were the clock set back
    an hour, they would be late for an hour. So time never goes back: where it is ahead of the
    machine's clock, be it that this was set back or that it was wrongly forward for a while, time
    goes at half its pace until the machine's clock has caught up. A clock that is set forward is
    followed.
    """

    def __init__(self, least: int = 0) -> None:
        """Begin.

        Parameters
        ----------
        least
            What a clock before this one told last, in microseconds since the epoch.
        """
        self._last, self._asked = least * 1000, time.monotonic_ns()

    def now(self) -> int:
        """Return the time."""
        asked = time.monotonic_ns()
        passed, self._asked = asked - self._asked, asked
        self._last = max(time.time_ns(), self._last + passed // 2, self._last + 1000)
        return self._last // 1000
