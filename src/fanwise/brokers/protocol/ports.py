"""What a broker machine needs from others: an index of rectangles, and ways between brokers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from fanwise.brokers.messages import Point


class Matcher(Protocol):
    """An index of closed rectangles under keys."""

    def add(self, key: int, lo: Point, hi: Point) -> None:
        """Hold this rectangle; the key is not held yet."""
        ...

    def remove(self, key: int) -> None:
        """Hold it no more."""
        ...

    def match(self, point: Point) -> Sequence[int]:
        """Keys of the rectangles that have the point, each once, in any order."""
        ...

    def __len__(self) -> int: ...


MakeMatcher = Callable[[], Matcher]
"""A broker has two: of its clients' subscriptions, and of other brokers' routes."""


class Router(Protocol):
    """Which way publications go."""

    def next_hops(
        self, here: str, point: Point, destinations: frozenset[str], alive: frozenset[str]
    ) -> dict[str, frozenset[str]]:
        """Say over which links destinations are reached.

        Parameters
        ----------
        here
            The broker that asks; not among the destinations.
        destinations
            Brokers to reach, each alive.
        alive
            Brokers that ``here`` has a link with.

        Returns
        -------
        For each neighbour in ``alive``, the destinations behind it, itself included where it is
        one. Destinations left out are sent to directly, later.
        """
        ...


class DirectRouter:
    """Sends to each destination on the direct link."""

    def next_hops(
        self, here: str, point: Point, destinations: frozenset[str], alive: frozenset[str]
    ) -> dict[str, frozenset[str]]:
        return {broker: frozenset((broker,)) for broker in sorted(destinations)}


class PlainMatcher:
    """Looks at every rectangle."""

    def __init__(self) -> None:
        self._rectangles: dict[int, tuple[Point, Point]] = {}

    def add(self, key: int, lo: Point, hi: Point) -> None:
        self._rectangles[key] = (lo, hi)

    def remove(self, key: int) -> None:
        del self._rectangles[key]

    def match(self, point: Point) -> Sequence[int]:
        return [key for key, (lo, hi) in self._rectangles.items() if covers(lo, hi, point)]

    def __len__(self) -> int:
        return len(self._rectangles)


def covers(lo: Point, hi: Point, point: Point) -> bool:
    """Whether the closed rectangle has the point."""
    return all(low <= x <= high for low, x, high in zip(lo, point, hi, strict=True))
