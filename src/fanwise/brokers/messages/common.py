"""What all messages share, and what is said on every connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

VERSION = 1
"""Of the protocol; peers that speak another one are refused."""

Point = tuple[float, ...]
Subscription = tuple[str, Point, Point]
Publication = tuple[str, int, Point, bytes]


class Message:
    """Base of all messages."""

    __slots__ = ()
    TYPE: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class Hello(Message):
    """The first thing that either side says.

    Drivers exchange it and check version and token; machines get the peer's with ``Opened``.

    Attributes
    ----------
    role
        "client", "broker", "directory" or "tool".
    birth
        Of a broker, else 0.
    address
        Where a broker that dials can be dialled itself.
    """

    TYPE: ClassVar[int] = 1
    version: int
    role: str
    name: str
    token: str = ""
    birth: int = 0
    address: str = ""


@dataclass(frozen=True, slots=True)
class Refused(Message):
    """No, to a `Hello`, `Connect` or `Undo`; ``code`` is one of `REFUSALS`.

    Attributes
    ----------
    epoch
        The higher epoch that is known, with code "superseded".
    """

    TYPE: ClassVar[int] = 2
    code: str
    detail: str = ""
    epoch: int = 0


REFUSALS = {
    "version": "speaks another version of the protocol",
    "token": "the token is wrong",
    "name": "the name is empty, or another peer's",
    "not ready": "has not heard of all other brokers' routes yet, or is leaving",
    "no room": "has no capacity left",
    "full disk": "cannot keep what it would have to keep",
    "ticket": "knows no such ticket: it has expired, was cancelled, or is somebody else's",
    "superseded": "knows the client at a higher epoch",
    "invalid": "cannot be read: a rectangle upside down, or of another dimension",
}


@dataclass(frozen=True, slots=True)
class Ping(Message):
    """Are you there? Drivers ask and answer."""

    TYPE: ClassVar[int] = 3


@dataclass(frozen=True, slots=True)
class Pong(Message):
    """I am."""

    TYPE: ClassVar[int] = 4


@dataclass(frozen=True, slots=True)
class Bye(Message):
    """The connection ends on purpose."""

    TYPE: ClassVar[int] = 5
    reason: str = ""
