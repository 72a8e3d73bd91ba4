"""Everything that brokers, clients and the directory say to each other.

A message is a frozen dataclass with a number, ``TYPE``, and fields that are numbers, texts, bytes,
truth values, tuples, None or dicts of such: frames need to know no more to write it as
``[TYPE, field, field, …]``. Fields are only ever added at the end, with a default: whoever does not
know them yet leaves them out. What a message means, and in which state, is in
``docs/brokers/protocol.md``.

Some values come up in several messages:

point
    A tuple of floats, one for each dimension of the event space.
subscription
    ``(id, lo, hi)``: a text of the client's choice, and a closed rectangle.
publication
    ``(publisher, sequence, point, payload)``: the first two are its id.
epoch
    Of a client; each change of home raises it, and the higher epoch wins everywhere.
birth
    Drawn when a broker first starts on an empty disk: tells a broker that came back from one that
    has forgotten everything.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from fanwise.brokers.messages.client import (
    Accept,
    Connect,
    Decline,
    Deliver,
    MoveReady,
    NotRegistered,
    Publish,
    Published,
    Received,
    Register,
    Registered,
    Rejected,
    RequestToMove,
    Settled,
    Superseded,
    Undo,
    Unregister,
    Unregistered,
    Welcome,
)
from fanwise.brokers.messages.common import (
    REFUSALS,
    VERSION,
    Bye,
    Hello,
    Message,
    Ping,
    Point,
    Pong,
    Publication,
    Refused,
    Subscription,
)
from fanwise.brokers.messages.directory import Ask, Brokers, Heartbeat, Join, Leave, NotDone, View
from fanwise.brokers.messages.link import (
    Cancel,
    Carry,
    Covered,
    Forward,
    Forwarded,
    LinkOpen,
    Moved,
    Redirect,
    Released,
    Replicate,
    Replicated,
    ReplicateRefused,
    Resent,
    Routes,
    RoutesKnown,
    Summary,
    Takeover,
)
from fanwise.brokers.messages.tool import AskSummary, Clients, ListClients, MoveClient, MoveEnded

__all__ = [
    "MESSAGES",
    "REFUSALS",
    "VERSION",
    "Accept",
    "Ask",
    "AskSummary",
    "Brokers",
    "Bye",
    "Cancel",
    "Carry",
    "Clients",
    "Connect",
    "Covered",
    "Decline",
    "Deliver",
    "Forward",
    "Forwarded",
    "Heartbeat",
    "Hello",
    "Join",
    "Leave",
    "LinkOpen",
    "ListClients",
    "Message",
    "MoveClient",
    "MoveEnded",
    "MoveReady",
    "Moved",
    "NotDone",
    "NotRegistered",
    "Ping",
    "Point",
    "Pong",
    "Publication",
    "Publish",
    "Published",
    "Received",
    "Redirect",
    "Refused",
    "Register",
    "Registered",
    "Rejected",
    "Released",
    "Replicate",
    "ReplicateRefused",
    "Replicated",
    "RequestToMove",
    "Resent",
    "Routes",
    "RoutesKnown",
    "Settled",
    "Subscription",
    "Summary",
    "Superseded",
    "Takeover",
    "Undo",
    "Unregister",
    "Unregistered",
    "View",
    "Welcome",
    "as_tuple",
    "from_tuple",
]

MESSAGES: dict[int, type[Message]] = {
    kind.TYPE: kind
    for kind in list(globals().values())
    if isinstance(kind, type) and issubclass(kind, Message) and kind is not Message
}
"""Every kind of message by its number."""

_FIELDS: dict[type[Message], tuple[str, ...]] = {
    kind: tuple(field.name for field in fields(kind))  # type: ignore[arg-type]
    for kind in MESSAGES.values()
}


def as_tuple(message: Message) -> tuple[Any, ...]:
    """The message as ``(TYPE, field, field, …)``."""
    return (message.TYPE, *(getattr(message, name) for name in _FIELDS[type(message)]))


def from_tuple(values: tuple[Any, ...]) -> Message:
    """The message that `as_tuple` gave; fields after those that are known are left out.

    Raises
    ------
    ValueError
        If there is no such message, or a field is missing.
    """
    kind = MESSAGES.get(values[0]) if values else None
    if kind is None:
        raise ValueError(f"no message has the type {values[0] if values else None!r}")
    try:
        return kind(*values[1 : 1 + len(_FIELDS[kind])])
    except TypeError as error:
        raise ValueError(f"{kind.__name__}: {error}") from None
