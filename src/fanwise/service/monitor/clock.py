"""A clock for events that goes on where the machine's is set back, and doubts long jumps."""

from __future__ import annotations

import logging
import time

from fanwise.formatting import span

log = logging.getLogger(__name__)

FAR = 6 * 3600.0
"""Seconds: whoever's clock is set by more than that is doubted at first."""
DOUBT_SECONDS = 600.0
"""How long a clock that jumped far has to stay there before it is believed."""


class SteadyClock:
    """Tells microseconds since the epoch; each answer is later than all before it.

    Events that get their time on arrival belong to the window that is open. Were the clock set back
    an hour, they would be late for an hour. So time does not go back: where it is ahead of the
    machine's clock, be it that this was set back or that it was wrongly forward for a while, time
    goes at half its pace until the machine's clock has caught up. A clock that is set forward is
    followed.

    A jump of more than FAR is another matter: forward it would close all windows until then, and
    back it would take days to be caught up with. Time goes on as before for DOUBT_SECONDS; if the
    machine's clock is as far away then, it is believed, and that alone may make time go back.

    Attributes
    ----------
    doubt
        What is doubted, in a sentence; empty while nothing is.
    """

    def __init__(self, least: int = 0, *, patience: float = DOUBT_SECONDS) -> None:
        """Begin.

        Parameters
        ----------
        least
            What a clock before this one told last, in microseconds since the epoch.
        patience
            Seconds after which a clock that jumped far is believed.
        """
        # Nobody knows how long nobody told the time: what is later than the last time is believed.
        self._last = max(least * 1000, time.time_ns() - 1000)
        self._asked = time.monotonic_ns()
        self._patience = patience
        self._since: int | None = None
        self.doubt = ""

    def now(self) -> int:
        """Return the time."""
        asked = time.monotonic_ns()
        passed, self._asked = asked - self._asked, asked
        wall = time.time_ns()
        is_ahead = wall < self._last
        away = abs(wall - self._last - (0 if is_ahead else passed)) / 1e9
        least = self._last + (passed // 2 if is_ahead else passed)
        if away <= FAR:
            self._since, self.doubt = None, ""
            self._last = max(wall, self._last + passed // 2, self._last + 1000)
        elif self._is_believed(asked, away, "back" if is_ahead else "forward"):
            self._since, self.doubt = None, ""
            self._last = wall
        else:
            self._last = max(least, self._last + 1000)
        return self._last // 1000

    def _is_believed(self, asked: int, away: float, where: str) -> bool:
        """Whether a clock that is far away has been so for long enough."""
        if self._since is None:
            self._since = asked
            self.doubt = (
                f"the machine's clock was set {where} by {away / 3600:,.0f} hours; time goes on as "
                f"before for {span(self._patience)}, then the clock is believed"
            )
            log.warning("%s", self.doubt)
        if asked - self._since < self._patience * 1e9:
            return False
        log.warning(
            "the machine's clock is still %.0f hours %s: it is believed", away / 3600, where
        )
        return True
