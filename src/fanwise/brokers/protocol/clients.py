"""What a broker knows of a client, on disk."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from fanwise.brokers.messages import Point, Publication, Subscription

HOME = "home"
"""Serves the client, or waits for it. While ``target`` is set, it hands over: it delivers nothing
until the client is known to be there, or back."""
LEAVING = "leaving"
"""Redirects to ``target`` what still comes for the client."""
PREPARED = "prepared"
"""Keeps room and state for a client that may come with a ticket."""


@dataclass(slots=True)
class Client:
    """A client at a broker.

    Attributes
    ----------
    epoch
        At home and prepared: of the client here. Leaving: of the client at its next home.
    subscriptions
        ``(lo, hi, key)`` by id; the key is that of the index and of routes.
    queue
        ``(number, publication)``: not confirmed by the client; numbers have no gaps.
    number
        Of the last publication put in the queue.
    published, skipped
        All its publications up to this one were taken, but for these.
    sources
        Brokers that may still redirect to here, and the epoch since when.
    move, target, ticket
        Of the hand-over, at home; ``target`` also when leaving. Prepared: ``target`` is the home.
    upto
        Number of the last publication that was replicated to the target.
    is_covered
        Leaving: all brokers know the routes to the next home.
    is_withdrawn
        Leaving: the routes to here have been taken back.
    """

    name: str
    role: str
    epoch: int
    demand: float
    subscriptions: dict[str, tuple[Point, Point, int]] = field(default_factory=dict)
    queue: deque[tuple[int, Publication]] = field(default_factory=deque)
    number: int = 0
    published: int = 0
    skipped: set[int] = field(default_factory=set)
    sources: dict[str, int] = field(default_factory=dict)
    move: int = 0
    target: str = ""
    ticket: int = 0
    upto: int = 0
    is_covered: bool = False
    is_withdrawn: bool = False

    @property
    def is_handing_over(self) -> bool:
        return self.role == HOME and self.target != ""

    def wanted(self) -> tuple[Subscription, ...]:
        """Its subscriptions as they are told to others."""
        return tuple((id, lo, hi) for id, (lo, hi, _) in self.subscriptions.items())

    def enqueue(self, publication: Publication) -> None:
        self.number += 1
        self.queue.append((self.number, publication))

    def confirm(self, number: int) -> None:
        """Forget what the client has handed over."""
        while self.queue and self.queue[0][0] <= number:
            self.queue.popleft()

    def note_published(self, sequence: int) -> None:
        if sequence > self.published:
            self.skipped.update(range(self.published + 1, sequence))
            self.published = sequence
        else:
            self.skipped.discard(sequence)

    def has_published(self, sequence: int) -> bool:
        return sequence <= self.published and sequence not in self.skipped

    @property
    def surely_published(self) -> int:
        """All up to this one were taken."""
        return min(self.skipped, default=self.published + 1) - 1

    def all_published(self, sequence: int) -> None:
        """The client knows the fate of all up to this one: only what was taken counts."""
        if sequence > self.published:
            self.published = sequence
        if self.skipped:
            self.skipped = {number for number in self.skipped if number > sequence}
