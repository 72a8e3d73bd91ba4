"""Between a client and a broker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fanwise.brokers.messages.common import Message, Point, Subscription


@dataclass(frozen=True, slots=True)
class Connect(Message):
    """A client comes: for the first time, again, with a ticket, or from a broker out of reach.

    Attributes
    ----------
    ticket
        Of the move that brings it here, from `MoveReady`; 0 without.
    previous
        Brokers that may hold something for the client: its last home, and those where it tried to
        connect since and got no answer.
    received
        The last delivery number taken from ``home``.
    home
        The broker that it was last served by; empty for a new client.
    published
        All its publications up to this one have been answered.
    demand
        Load that it means to a broker, in the unit of capacities; 0 if it does not know.
    subscriptions
        All that it wants, whatever brokers remember.
    position
        Where it is, or empty: whoever proposes moves may know what links cost from there.
    """

    TYPE: ClassVar[int] = 10
    epoch: int
    ticket: int
    previous: tuple[str, ...]
    home: str
    received: int
    published: int
    demand: float
    subscriptions: tuple[Subscription, ...]
    position: Point = ()


@dataclass(frozen=True, slots=True)
class Welcome(Message):
    """The client is served from here on.

    Attributes
    ----------
    first
        Number of the next `Deliver`.
    brokers
        ``(name, address)`` of the brokers that are known, for the time when no directory answers.
    """

    TYPE: ClassVar[int] = 11
    epoch: int
    first: int
    brokers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Register(Message):
    """The paper's ``register``: a subscription; one of the same id is replaced."""

    TYPE: ClassVar[int] = 12
    id: str
    lo: Point
    hi: Point


@dataclass(frozen=True, slots=True)
class Registered(Message):
    """The subscription is on the home's disk."""

    TYPE: ClassVar[int] = 13
    id: str


@dataclass(frozen=True, slots=True)
class NotRegistered(Message):
    """The subscription was not taken: "invalid" or "full disk"."""

    TYPE: ClassVar[int] = 14
    id: str
    code: str


@dataclass(frozen=True, slots=True)
class Settled(Message):
    """Subscriptions that other brokers know by now.

    Attributes
    ----------
    everywhere
        All brokers know them; else those that the home is linked with at the moment.
    """

    TYPE: ClassVar[int] = 15
    ids: tuple[str, ...]
    everywhere: bool


@dataclass(frozen=True, slots=True)
class Unregister(Message):
    """A subscription ends."""

    TYPE: ClassVar[int] = 16
    id: str


@dataclass(frozen=True, slots=True)
class Unregistered(Message):
    """It has ended, on disk: nothing published from now on comes by it."""

    TYPE: ClassVar[int] = 17
    id: str


@dataclass(frozen=True, slots=True)
class Publish(Message):
    """A publication; the client counts them and keeps each until it is answered."""

    TYPE: ClassVar[int] = 18
    sequence: int
    point: Point
    payload: bytes


@dataclass(frozen=True, slots=True)
class Published(Message):
    """It is on the home's disk, and will come to whoever wants it."""

    TYPE: ClassVar[int] = 19
    sequence: int


@dataclass(frozen=True, slots=True)
class Rejected(Message):
    """It was not taken, for good: "full disk", "no room" (too much waits) or "invalid"."""

    TYPE: ClassVar[int] = 20
    sequence: int
    code: str


@dataclass(frozen=True, slots=True)
class Deliver(Message):
    """A publication for the client; numbers have no gaps."""

    TYPE: ClassVar[int] = 21
    number: int
    publisher: str
    sequence: int
    point: Point
    payload: bytes


@dataclass(frozen=True, slots=True)
class Received(Message):
    """All up to this number have been handed over; the home forgets them."""

    TYPE: ClassVar[int] = 22
    number: int


@dataclass(frozen=True, slots=True)
class RequestToMove(Message):
    """The home asks the client to move, and says why and for what gain (cost saved)."""

    TYPE: ClassVar[int] = 23
    move: int
    to: str
    address: str
    reason: str
    gain: float


@dataclass(frozen=True, slots=True)
class Accept(Message):
    """The client will move."""

    TYPE: ClassVar[int] = 24
    move: int


@dataclass(frozen=True, slots=True)
class Decline(Message):
    """The client will not."""

    TYPE: ClassVar[int] = 25
    move: int
    reason: str


@dataclass(frozen=True, slots=True)
class MoveReady(Message):
    """The foreign broker holds the client's state: connect there, with this ticket and epoch."""

    TYPE: ClassVar[int] = 26
    move: int
    to: str
    address: str
    ticket: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Undo(Message):
    """The client stays: it could not connect there, and will never use the ticket.

    Attributes
    ----------
    epoch
        Above that of the move: what the foreign broker may have recorded is void.
    received
        The last delivery number taken from the home that it stays with.
    """

    TYPE: ClassVar[int] = 27
    move: int
    epoch: int
    received: int
    published: int
    subscriptions: tuple[Subscription, ...]


@dataclass(frozen=True, slots=True)
class Superseded(Message):
    """The client is known elsewhere at a higher epoch: this connection serves it no more."""

    TYPE: ClassVar[int] = 28
    epoch: int
