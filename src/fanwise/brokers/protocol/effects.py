"""What drivers tell machines, and what machines want done.

A driver calls ``handle(now, event)`` for each event and carries out the effects in order. After a
`Record`, it holds everything back until the entry is durable; that goes for effects of later steps
as well, so that several entries can be written at once. It calls ``handle(now, Tick())`` when the
machine's ``next_deadline()`` has come.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fanwise.brokers.messages import Hello, Message, Point, Publication

# ---------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class Opened:
    """A connection stands, dialled by either side, and the peer has said who it is.

    Attributes
    ----------
    session
        A number that the driver never uses again in this process.
    """

    session: int
    peer: Hello


@dataclass(frozen=True, slots=True)
class DialFailed:
    """The peer of a `Dial` could not be reached, or refused."""

    peer: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class Arrived:
    """A message came."""

    session: int
    message: Message


@dataclass(frozen=True, slots=True)
class Lost:
    """A connection ended otherwise than by the machine's own `Close`."""

    session: int


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


@dataclass(frozen=True, slots=True)
class Disk:
    """Space runs out, or is there again.

    The driver says so while there still is room for what the machine has asked for: a machine that
    knows takes nothing more that it would have to keep.
    """

    is_full: bool


@dataclass(frozen=True, slots=True)
class Propose:
    """To a broker: ask this client to move.

    How it ends is a `Noted` "move", with ``move`` as given here if it is not 0.
    """

    client: str
    to: str
    reason: str
    gain: float
    move: int = 0


@dataclass(frozen=True, slots=True)
class Depart:
    """To a broker: send all clients away, then leave.

    When nothing is left, the machine says `Leave` to the directory and gives a `Noted` "left".
    """


@dataclass(frozen=True, slots=True)
class Demands:
    """To a broker: what its clients are found to load it with, in the unit of capacities."""

    demands: dict[str, float]


@dataclass(frozen=True, slots=True)
class Tell:
    """To a broker: say this to another one if it is linked (a `Summary`); ``to`` None is to all."""

    to: str | None
    message: Message


@dataclass(frozen=True, slots=True)
class Subscribe:
    """To a client: want this rectangle under this id."""

    id: str
    lo: Point
    hi: Point


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """To a client: want it no more."""

    id: str


@dataclass(frozen=True, slots=True)
class PublishNew:
    """To a client: publish this; its sequence is ``machine.last_sequence`` afterwards."""

    point: Point
    payload: bytes


@dataclass(frozen=True, slots=True)
class Stop:
    """To a client: say good-bye. Its home goes on collecting for it."""


Event = (
    Opened
    | DialFailed
    | Arrived
    | Lost
    | Tick
    | Disk
    | Propose
    | Depart
    | Demands
    | Tell
    | Subscribe
    | Unsubscribe
    | PublishNew
    | Stop
)

# ---------------------------------------------------------------- effects


@dataclass(frozen=True, slots=True)
class Send:
    """Send this; silently nothing if the session is no more."""

    session: int
    message: Message


@dataclass(frozen=True, slots=True)
class Close:
    """End this session, after what was sent before. No `Lost` comes for it."""

    session: int
    reason: str


@dataclass(frozen=True, slots=True)
class Dial:
    """Connect to a peer; the driver answers with `Opened` or `DialFailed`.

    The name may be empty where the address alone is known, as of a directory.
    """

    peer: str
    address: str


@dataclass(frozen=True, slots=True)
class Record:
    """Write this entry to the log.

    Attributes
    ----------
    must_wait
        Effects after it wait until it is durable. Else it may be lost in a crash, but only together
        with all entries after it.
    """

    entry: tuple[Any, ...]
    must_wait: bool = True


@dataclass(frozen=True, slots=True)
class Handed:
    """At a client: a publication for the application, each once."""

    publication: Publication


@dataclass(frozen=True, slots=True)
class Heard:
    """At a broker: another one said what this machine has no business with (a `Summary`)."""

    broker: str
    message: Message


@dataclass(frozen=True, slots=True)
class Noted:
    """Something for logs, metrics, and whoever waits for it; see `NOTES`."""

    what: str
    fields: dict[str, Any] = field(default_factory=dict)


NOTES = {
    # At a broker.
    "move": "a move ended: move, client, to, outcome ('moved' or why not)",
    "home": "a client is at home here: client, epoch, demand, how ('new', 'moved', 'takeover')",
    "away": "a client is served here no more: client, epoch, to",
    "forgotten": "nothing is left of a client that has gone: client",
    "expired": "an absent client was given up: client, undelivered",
    "prepared": "room is kept for a client: client, move, demand",
    "dropped": "room is kept no more: client, move, why",
    "ttl": "the time to redirect passed before routes had settled: client, waiting",
    "ready": "all routes are known, publications are taken",
    "linked": "a link to a broker stands: broker",
    "unlinked": "it is lost: broker",
    "not joined": "the directory does not take this broker: code, detail",
    "left": "nothing is left here; the process may end",
    "expelled": "the directory no longer lists this broker; the process should end",
    "matched": "a publication was matched here: publisher, point, brokers, clients",
    # At a client.
    "welcome": "served: broker, epoch",
    "seeking": "not served: why",
    "registered": "id",
    "not registered": "id, code",
    "settled": "ids, everywhere",
    "unregistered": "id",
    "published": "sequence",
    "rejected": "sequence, code",
    "asked": "asked to move: to, reason, gain, answer",
    "stopped": "not served, and will not be: why",
    "undone": "a move failed on the client's side: to, why",
    # At either, and at the directory.
    "protocol": "a peer broke the protocol: peer, why",
    "view": "brokers changed: epoch, brokers",
}
"""What can be noted, with its fields."""

Effect = Send | Close | Dial | Record | Handed | Heard | Noted
