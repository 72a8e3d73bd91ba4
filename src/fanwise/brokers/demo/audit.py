"""Whether everybody got what was due, once each.

Due is a publication that was acknowledged, to every client with a subscription that had settled
before it was published, and that was kept until some time later. What came beyond that, while a
subscription began or ended, is neither due nor wrong.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

Point = tuple[float, ...]
KEPT = 10.0
"""Seconds after a publication for which a subscription must be kept to make it due."""


@dataclass(slots=True)
class _Interest:
    lo: Point
    hi: Point
    since: float
    until: float = math.inf


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
    _published: dict[tuple[str, int], tuple[float, Point]] = field(default_factory=dict)
    _received: Counter[tuple[int, str, int]] = field(default_factory=Counter)

    def wants(self, client: int, lo: Point, hi: Point, now: float) -> None:
        """A subscription has settled."""
        self._interests.setdefault(client, []).append(_Interest(lo, hi, now))

    def ends(self, client: int, now: float) -> None:
        """A client's oldest subscription is about to end."""
        for interest in self._interests.get(client, []):
            if interest.until == math.inf:
                interest.until = now
                return

    def published(self, publisher: str, sequence: int, began: float, point: Point) -> None:
        """A publication that began at a time was acknowledged."""
        self._published[publisher, sequence] = began, point

    def received(self, client: int, publisher: str, sequence: int) -> None:
        """A client's application was handed a message."""
        self._received[client, publisher, sequence] += 1

    @property
    def num_published(self) -> int:
        return len(self._published)

    @property
    def num_received(self) -> int:
        return len(self._received)

    def verdict(self) -> Verdict:
        """Compare what came with what was due. O(publications x interests)."""
        due = lost = 0
        for client, interests in self._interests.items():
            for (publisher, sequence), (began, point) in self._published.items():
                if any(_is_due(interest, began, point) for interest in interests):
                    due += 1
                    lost += (client, publisher, sequence) not in self._received
        doubled = sum(count - 1 for count in self._received.values())
        return Verdict(due, len(self._received), lost, doubled)


def _is_due(interest: _Interest, began: float, point: Point) -> bool:
    if not interest.since <= began or interest.until < began + KEPT:
        return False
    return all(a <= x <= b for a, x, b in zip(interest.lo, point, interest.hi, strict=True))
