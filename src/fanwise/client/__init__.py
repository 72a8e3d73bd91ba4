"""For programs that publish and subscribe: each message once, from whichever side it comes.

A subscriber listens at the back end and at its edge broker, drops doubles by id, and has what a
broker lost sent again. Needs paho-mqtt alone: ``pip install 'fanwise[client]'``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fanwise.client.blocking import Client, Publisher
    from fanwise.client.publishing import AsyncPublisher
    from fanwise.client.subscribing import AsyncClient, Message

_HOMES = {
    "AsyncClient": "fanwise.client.subscribing",
    "AsyncPublisher": "fanwise.client.publishing",
    "Client": "fanwise.client.blocking",
    "Message": "fanwise.client.subscribing",
    "Publisher": "fanwise.client.blocking",
}

__all__ = ["AsyncClient", "AsyncPublisher", "Client", "Message", "Publisher"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fanwise.client' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
