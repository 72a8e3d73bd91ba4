"""With the directory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fanwise.brokers.messages.common import Message, Point


@dataclass(frozen=True, slots=True)
class Join(Message):
    """A broker is there, with this room; said again on every connection to the directory."""

    TYPE: ClassVar[int] = 70
    name: str
    address: str
    position: Point
    capacity: float
    load: float
    birth: int


@dataclass(frozen=True, slots=True)
class View(Message):
    """All brokers that have joined and not left.

    Attributes
    ----------
    epoch
        Counts changes of who is there; a lower one is old.
    brokers
        ``(name, address, position, capacity, load, is_alive, birth)`` by name.
    """

    TYPE: ClassVar[int] = 71
    epoch: int
    brokers: tuple[tuple[str, str, Point, float, float, bool, int], ...]


@dataclass(frozen=True, slots=True)
class Leave(Message):
    """A broker is gone for good, said by itself when nothing is left, or by an operator."""

    TYPE: ClassVar[int] = 72
    name: str


@dataclass(frozen=True, slots=True)
class Heartbeat(Message):
    """A broker lives, carries this load, and takes clients or not."""

    TYPE: ClassVar[int] = 73
    load: float
    is_ready: bool


@dataclass(frozen=True, slots=True)
class Ask(Message):
    """Which brokers may this client use? The position may be empty."""

    TYPE: ClassVar[int] = 74
    client: str
    position: Point = ()
    demand: float = 0.0


@dataclass(frozen=True, slots=True)
class Brokers(Message):
    """Live brokers with room for the client, best first: ``(name, address)``."""

    TYPE: ClassVar[int] = 75
    brokers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class NotDone(Message):
    """What was said to the directory cannot be: "full disk", "name", "left", "unknown", "role"."""

    TYPE: ClassVar[int] = 76
    code: str
    detail: str = ""
