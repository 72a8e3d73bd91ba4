"""For programs: publish points, subscribe to rectangles; moves between brokers are invisible.

`AsyncClient` is for programs with an event loop, `Client` for those without.
"""

from fanwise.brokers.library.asynchronous import AsyncClient
from fanwise.brokers.library.blocking import Client
from fanwise.brokers.library.errors import (
    NotConnectedError,
    RejectedError,
    SubscriptionError,
)
from fanwise.brokers.library.policies import (
    Policy,
    all_of,
    always,
    at_most_every,
    gain_above,
    never,
    parse_policy,
    sticky,
)
from fanwise.brokers.library.received import Message

__all__ = [
    "AsyncClient",
    "Client",
    "Message",
    "NotConnectedError",
    "Policy",
    "RejectedError",
    "SubscriptionError",
    "all_of",
    "always",
    "at_most_every",
    "gain_above",
    "never",
    "parse_policy",
    "sticky",
]
