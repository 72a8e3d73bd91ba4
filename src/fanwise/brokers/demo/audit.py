"""Whether everybody got what was due, once each.

Due is a publication that was acknowledged, to every client with a subscription that had settled
before it was published, and that was kept until some time after the acknowledgement. What came
beyond that, while a subscription began or ended, is neither due nor wrong.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

Point = tuple[float, ...]
KEPT = 10.0
"""Seconds after an acknowledgement for which a subscription must be kept to make it due."""


@dataclass(slots=True)
class _Interest:
    lo: Point
    hi: Point
    since: float
    until: float = math.inf


class _Published(NamedTuple):
    began: float
    acknowledged: float
    point: Point


class Due(NamedTuple):
    """A publication that a client should get."""

    client: int
    publisher: str
    sequence: int


class Verdict(NamedTuple):
    """How many publications were due to somebody and did not come, and how many came twice."""

    due: int
    delivered: int
    lost: int
    doubled: int


@dataclass(slots=True)
class Audit:
    """Notes of what was wanted, published and received."""

    _interests: dict[int, list[_Interest]] = field(default_factory=dict)
    _published: dict[tuple[str, int], _Published] = field(default_factory=dict)
    _received: Counter[Due] = field(default_factory=Counter)

    def wants(self, client: int, lo: Point, hi: Point, now: float) -> None:
        """A subscription has settled."""
        self._interests.setdefault(client, []).append(_Interest(lo, hi, now))

    def ends(self, client: int, now: float) -> None:
        """A client's oldest subscription is about to end."""
        for interest in self._interests.get(client, []):
            if interest.until == math.inf:
                interest.until = now
                return

    def published(
        self, publisher: str, sequence: int, began: float, acknowledged: float, point: Point
    ) -> None:
        """A publication that began at a time was acknowledged."""
        self._published[publisher, sequence] = _Published(began, acknowledged, point)

    def received(self, client: int, publisher: str, sequence: int) -> None:
        """A client's application was handed a message."""
        self._received[Due(client, publisher, sequence)] += 1

    @property
    def num_published(self) -> int:
        return len(self._published)

    @property
    def num_received(self) -> int:
        return len(self._received)

    def verdict(self) -> Verdict:
        """Compare what came with what was due. O(publications x interests)."""
        due = self._due()
        doubled = sum(count - 1 for count in self._received.values())
        lost = sum(one not in self._received for one in due)
        return Verdict(len(due), len(self._received), lost, doubled)

    def missing(self) -> list[Due]:
        """Return what was due and has not come. O(publications x interests)."""
        return [one for one in self._due() if one not in self._received]

    def has_come(self, due: Due) -> bool:
        return due in self._received

    def _due(self) -> list[Due]:
        return [
            Due(client, *name)
            for client, interests in self._interests.items()
            for name, sent in self._published.items()
            if any(_is_due(interest, sent) for interest in interests)
        ]


def _is_due(interest: _Interest, sent: _Published) -> bool:
    if not interest.since <= sent.began or interest.until < sent.acknowledged + KEPT:
        return False
    sides = zip(interest.lo, sent.point, interest.hi, strict=True)
    return all(low <= x <= high for low, x, high in sides)
