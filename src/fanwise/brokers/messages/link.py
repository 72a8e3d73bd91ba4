"""Between two brokers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fanwise.brokers.messages.common import Message, Point, Publication, Subscription


@dataclass(frozen=True, slots=True)
class LinkOpen(Message):
    """The first message of either broker on a link: what it has, so that nothing is lost between.

    Attributes
    ----------
    received
        The last number taken from the peer's stream.
    first
        Number of the first entry that the own stream still holds.
    last
        Number of its last entry; what was matched by the routes that it knows has no higher one.
    knows
        The version of the peer's routes that it has; -1 for none.
    view
        The epoch of the directory's view that it has.
    """

    TYPE: ClassVar[int] = 40
    received: int
    first: int
    last: int
    knows: int
    view: int


@dataclass(frozen=True, slots=True)
class Routes(Message):
    """What leads to the sender: rectangles of its subscribers, or covering ones of a plan.

    Attributes
    ----------
    is_full
        Forget what was known before.
    added
        ``(key, lo, hi)``; keys are the sender's, and never used again.
    removed
        Keys.
    """

    TYPE: ClassVar[int] = 41
    version: int
    is_full: bool
    added: tuple[tuple[int, Point, Point], ...]
    removed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RoutesKnown(Message):
    """These routes are on disk.

    Attributes
    ----------
    sent
        The last number of the stream to the broker to which this is said: what was matched by older
        routes has this number or a lower one.
    """

    TYPE: ClassVar[int] = 42
    version: int
    sent: int


@dataclass(frozen=True, slots=True)
class Forward(Message):
    """A publication on its way along the tree.

    Attributes
    ----------
    origin, birth
        The publisher's home.
    numbers
        The brokers still to be reached behind this link, each with the number of the publication in
        the stream from the origin to it.
    """

    TYPE: ClassVar[int] = 43
    origin: str
    birth: int
    numbers: dict[str, int]
    publication: Publication


@dataclass(frozen=True, slots=True)
class Carry(Message):
    """An entry of the stream to the peer, sent directly: a message, or a publication again.

    Attributes
    ----------
    content
        ``as_tuple`` of a `Resent`, `Redirect`, `Moved`, `Cancel`, `Takeover`, `Covered` or
        `Released`.
    """

    TYPE: ClassVar[int] = 44
    number: int
    content: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Forwarded(Message):
    """All entries of the stream up to this number are on disk here, or of no concern."""

    TYPE: ClassVar[int] = 45
    number: int


@dataclass(frozen=True, slots=True)
class Resent(Message):
    """In a `Carry`: a publication that the tree may not have brought."""

    TYPE: ClassVar[int] = 46
    publication: Publication


@dataclass(frozen=True, slots=True)
class Redirect(Message):
    """In a `Carry`: a publication for one client that has moved to the receiver."""

    TYPE: ClassVar[int] = 47
    client: str
    publication: Publication


@dataclass(frozen=True, slots=True)
class Replicate(Message):
    """The state of a client that has accepted a move.

    Attributes
    ----------
    epoch
        The one that it will come with.
    published
        All its publications up to this one are known to the home.
    undelivered
        ``(number, publication)`` in order: what the client has not confirmed.
    """

    TYPE: ClassVar[int] = 48
    move: int
    client: str
    epoch: int
    demand: float
    published: int
    subscriptions: tuple[Subscription, ...]
    undelivered: tuple[tuple[int, Publication], ...]


@dataclass(frozen=True, slots=True)
class Replicated(Message):
    """The state is on disk and room is kept; the client may come with this ticket."""

    TYPE: ClassVar[int] = 49
    move: int
    ticket: int
    client: str


@dataclass(frozen=True, slots=True)
class ReplicateRefused(Message):
    """The client cannot come: "no room", "full disk", "not ready", "busy" or "superseded"."""

    TYPE: ClassVar[int] = 50
    move: int
    code: str


@dataclass(frozen=True, slots=True)
class Moved(Message):
    """In a `Carry`: the client came with its ticket; the sender is its home now."""

    TYPE: ClassVar[int] = 51
    move: int
    client: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Cancel(Message):
    """In a `Carry`: the client will not come by this move."""

    TYPE: ClassVar[int] = 52
    move: int
    client: str


@dataclass(frozen=True, slots=True)
class Takeover(Message):
    """In a `Carry`: the client came to the sender, which is its home now; hand over what waits."""

    TYPE: ClassVar[int] = 53
    client: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Covered(Message):
    """In a `Carry`: all brokers know the routes by which the client is reached at the sender."""

    TYPE: ClassVar[int] = 54
    client: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Released(Message):
    """In a `Carry`: nothing more comes for this client from the sender, up to this epoch."""

    TYPE: ClassVar[int] = 55
    client: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Summary(Message):
    """Rate densities of the sender's clients, for whoever proposes moves; see ``moving``."""

    TYPE: ClassVar[int] = 56
    version: int
    body: dict[str, Any]
