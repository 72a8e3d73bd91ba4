"""Which messages of a forwarder's log came, which are missing, and how far all are there.

Plain bookkeeping without any connection. A message is known by its sequence in the log; the
forwarder says which sequences there were for the filters of a client.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

MOST_REMEMBERED = 200_000
"""Sequences remembered beyond the one up to which all are there."""


class Gaps:
    """Keeps account of one log.

    Attributes
    ----------
    lost
        Messages that were due and are no longer kept by the forwarder; at least so many.
    """

    def __init__(self) -> None:
        self.lost = 0
        self._through: int | None = None
        self._start = 0
        """What came before is not due, but dropped when it comes twice all the same."""
        self._known = 0
        self._seen: OrderedDict[int, None] = OrderedDict()
        self._missing: dict[int, float] = {}

    @property
    def through(self) -> int | None:
        """Sequence up to which all messages that are due came; None before a forwarder answered."""
        if self._through is None:
            return None
        return min(self._missing) - 1 if self._missing else self._known

    @property
    def known(self) -> int:
        """How far the forwarder has told which messages there were."""
        return self._known

    @property
    def num_missing(self) -> int:
        """How many messages are known to be missing."""
        return len(self._missing)

    def take(self, sequence: int) -> bool:
        """Note that a message came; return whether it is the first time."""
        is_settled = self._through is not None and self._start < sequence <= self._through
        if is_settled or sequence in self._seen:
            return False
        self._seen[sequence] = None
        self._missing.pop(sequence, None)
        if len(self._seen) > MOST_REMEMBERED:
            self._seen.popitem(last=False)
        return True

    def begin(self, position: int) -> None:
        """Count from a position on, if that is not done yet."""
        if self._through is None:
            self._through = self._start = self._known = position

    def learn(self, sequences: Iterable[int], through: int, first: int, now: float) -> None:
        """Hear which messages there were, up to a sequence, and which is the oldest one kept."""
        assert self._through is not None
        if first > self._known + 1:
            self.lost += 1  # at least: what there was is not known any more
        for one in sequences:
            if one > self._through and one not in self._seen:
                self._missing.setdefault(one, now)
        for one in [one for one in self._missing if one < first]:
            del self._missing[one]
            self._seen[one] = None  # should it come all the same, nobody expects it any more
            self.lost += 1
        self._known = max(self._known, through)
        self._settle()

    def missing(self, now: float, patience: float) -> list[int]:
        """Return what has been missing for so many seconds, oldest first."""
        return sorted(one for one, since in self._missing.items() if now - since >= patience)

    def _settle(self) -> None:
        """Forget single messages up to where all are there."""
        reached = self.through
        assert reached is not None
        assert self._through is not None
        if reached > self._through:
            self._through = reached
            for one in [one for one in self._seen if self._start < one <= reached]:
                del self._seen[one]
