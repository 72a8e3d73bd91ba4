"""Windows that a clock far ahead had closed, and how the time before them is opened again.

Where events get their time on arrival, a clock that is days ahead closes all windows until then,
and once it is set right every event is late for days. Which of two clocks was wrong nobody can see;
but a clock that was set right goes on where the history was dense, with nothing for hours after
that, and one that is wrongly behind is in the midst of what was decided, or before all of it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from fanwise.formatting import span
from fanwise.service.monitor.clock import DOUBT_SECONDS, FAR
from fanwise.service.monitor.ledger import Ledger
from fanwise.service.records import Decision

log = logging.getLogger(__name__)

FAR_AHEAD = int(FAR * 1e6)


class JumpWatch:
    """Looks for windows that were closed far ahead of the time.

    Parameters
    ----------
    decided_before
        Gives the decision of the last window that had ended at an instant.
    """

    def __init__(self, ledger: Ledger, decided_before: Callable[[int], Decision | None]) -> None:
        self._ledger, self._decided_before = ledger, decided_before
        self._since: float | None = None

    def look(self, now: int, ahead: float) -> int | None:
        """Open the time again where that is right; return how far windows stay closed.

        None where nothing was to do, or it is not sure yet.

        Parameters
        ----------
        now
            The time in microseconds since the epoch.
        ahead
            Seconds that events may be ahead of it.
        """
        far = FAR_AHEAD + int(ahead * 1e6)
        away = self._ledger.last_instant() - now
        if away <= far or not self._is_gap(now):
            self._since = None
            return None
        if self._since is None:
            self._since = time.monotonic()
            log.warning(
                "the newest event is %.0f hours ahead of the clock: unless that is set within "
                "%s, windows after it are opened again", away / 3.6e9, span(DOUBT_SECONDS),
            )  # fmt: skip
        if time.monotonic() - self._since < DOUBT_SECONDS:
            return None
        self._since = None
        through = self._ledger.go_back(now)
        log.warning("windows from now on are open again; what was counted after now is forgotten")
        return through

    def _is_gap(self, now: int) -> bool:
        """Whether something was decided before, and nothing for hours from then on."""
        before = self._decided_before(now + FAR_AHEAD)
        return before is not None and before.window.end <= now
