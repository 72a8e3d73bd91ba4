"""Between an operator's tool and a broker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fanwise.brokers.messages.common import Message, Point


@dataclass(frozen=True, slots=True)
class ListClients(Message):
    """The tool asks who is at home here."""

    TYPE: ClassVar[int] = 80


@dataclass(frozen=True, slots=True)
class Clients(Message):
    """Clients at home here, and room.

    Attributes
    ----------
    rows
        ``(name, epoch, demand, is_connected, position, rectangles)`` by name.
    """

    TYPE: ClassVar[int] = 81
    rows: tuple[tuple[str, int, float, bool, Point, tuple[tuple[Point, Point], ...]], ...]
    capacity: float
    load: float


@dataclass(frozen=True, slots=True)
class MoveClient(Message):
    """Ask this client to move, as a broker would by itself; ``move`` is any number but 0."""

    TYPE: ClassVar[int] = 82
    move: int
    client: str
    to: str
    reason: str
    gain: float


@dataclass(frozen=True, slots=True)
class MoveEnded(Message):
    """How it ended: "moved", or why not."""

    TYPE: ClassVar[int] = 83
    move: int
    client: str
    to: str
    outcome: str


@dataclass(frozen=True, slots=True)
class AskSummary(Message):
    """The last `Summary` of the broker; its driver answers."""

    TYPE: ClassVar[int] = 84
