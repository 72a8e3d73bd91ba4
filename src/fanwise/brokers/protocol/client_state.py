"""What a client knows: where it is at home, what it wants, and what was not answered yet."""

from __future__ import annotations

from typing import Any

from fanwise.brokers.messages import Point, Subscription


class ClientState:
    """The state of a client; entries of its log make it, if it keeps one.

    Attributes
    ----------
    epoch, at
        The highest epoch that was used, and the broker for which.
    home
        The broker that welcomed it last.
    previous
        Other brokers that may hold something for it: the last home, and those tried since.
    received
        Number of the last delivery from ``home``.
    wanted
        Subscriptions.
    sequence
        Of the last publication.
    unanswered
        Publications that no home has answered, by sequence.
    seen
        Ids of publications that were handed over, oldest first.
    """

    def __init__(self, first_sequence: int, most_remembered: int) -> None:
        self.epoch = 0
        self.at = ""
        self.home = ""
        self.previous: dict[str, None] = {}
        self.received = 0
        self.wanted: dict[str, tuple[Point, Point]] = {}
        self.sequence = first_sequence - 1
        self.unanswered: dict[int, tuple[Point, bytes]] = {}
        self.seen: dict[tuple[str, int], None] = {}
        self._most_remembered = most_remembered

    @property
    def published(self) -> int:
        """All publications up to this one have been answered."""
        return next(iter(self.unanswered), self.sequence + 1) - 1

    @property
    def subscriptions(self) -> tuple[Subscription, ...]:
        return tuple((id, lo, hi) for id, (lo, hi) in self.wanted.items())

    def apply(self, entry: tuple[Any, ...]) -> None:
        """Change the state as the entry says."""
        kind, values = entry[0], entry[1:]
        if kind == "new":
            self.sequence = values[0]
            self.unanswered[values[0]] = (values[1], values[2])
        elif kind == "answered":
            self.unanswered.pop(values[0], None)
        elif kind == "handed":
            self.received = values[0]
            self.see((values[1], values[2]))
        elif kind == "try":
            self._try(*values)
        elif kind == "home":
            self.home = self.at
            self.previous.clear()
            self.received = values[0]
        elif kind == "adopt":
            # Whoever refused holds something for this name.
            if self.at:
                self.previous[self.at] = None
            self.epoch, self.at = values[0], ""
        elif kind == "want":
            self.wanted[values[0]] = (values[1], values[2])
        elif kind == "end":
            self.wanted.pop(values[0], None)
        elif kind == "all":
            self.epoch, self.at, self.home, previous, self.received, self.sequence = values
            self.previous = dict.fromkeys(previous)

    def _try(self, name: str, epoch: int) -> None:
        if self.at and self.at != name:
            self.previous[self.at] = None
        self.epoch, self.at = epoch, name

    def see(self, id: tuple[str, int]) -> None:
        self.seen[id] = None
        if len(self.seen) > self._most_remembered:
            del self.seen[next(iter(self.seen))]

    def snapshot(self) -> list[tuple[Any, ...]]:
        """Entries that make this state of an empty one."""
        entries: list[tuple[Any, ...]] = [("want", *row) for row in self.subscriptions]
        entries.extend(("new", number, *what) for number, what in self.unanswered.items())
        entries.extend(("handed", 0, *id) for id in self.seen)
        return [
            *entries,
            ("all", self.epoch, self.at, self.home, tuple(self.previous), self.received,
             self.sequence),
        ]  # fmt: skip
