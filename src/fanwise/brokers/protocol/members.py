"""What a broker knows of another one: its routes, and the streams between the two."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from fanwise.brokers.messages import Point

Entry = tuple[Any, ...]
"""Of a stream: a publication, or a message as a tuple."""


class Stream:
    """What is sent to another broker and not yet confirmed, numbered without gaps."""

    __slots__ = ("_entries", "first")

    def __init__(self, first: int = 1, entries: tuple[Entry, ...] = ()) -> None:
        self.first = first
        self._entries: deque[Entry] = deque(entries)

    @property
    def last(self) -> int:
        return self.first + len(self._entries) - 1

    def __len__(self) -> int:
        return len(self._entries)

    def append(self, entry: Entry) -> None:
        self._entries.append(entry)

    def trim(self, number: int) -> bool:
        """Forget entries up to this number; say whether there were any."""
        before = self.first
        while self._entries and self.first <= number:
            self._entries.popleft()
            self.first += 1
        return self.first > before

    def __getitem__(self, number: int) -> Entry:
        return self._entries[number - self.first]

    def entries(self, after: int = 0) -> tuple[Entry, ...]:
        """Those with a higher number."""
        return tuple(islice(self._entries, max(0, after + 1 - self.first), None))


@dataclass(slots=True)
class Member:
    """Another broker.

    Attributes
    ----------
    version
        Of its routes, as far as they are known here; -1 if they are not.
    routes
        Its keys, and the keys of the index here.
    received
        Number of the last entry taken from its stream.
    stream
        What is sent to it.

    The rest is not on disk.

    Attributes
    ----------
    session
        Of the link; 0 without.
    is_up
        Both sides have said what they have.
    knows
        The version of the routes to here that it has confirmed.
    told
        The last number of its stream to here, as it said with that.
    since
        The epoch of a view that is known to list it.
    ahead
        Entries that came before others with lower numbers.
    sent
        Number of the last entry that was sent on this link or the tree.
    is_catching_up
        Entries are sent directly, a window at a time; new ones wait behind them.
    """

    name: str
    address: str
    birth: int
    version: int = -1
    routes: dict[int, tuple[int, Point, Point]] = field(default_factory=dict)
    received: int = 0
    stream: Stream = field(default_factory=Stream)
    session: int = 0
    is_up: bool = False
    is_dialled: bool = False
    knows: int = -1
    told: int = 0
    since: int = 0
    ahead: dict[int, Entry] = field(default_factory=dict)
    sent: int = 0
    is_catching_up: bool = False
    progress: float = 0.0
    patience: float = 0.0
    is_watched: bool = False
    is_to_confirm: bool = False
