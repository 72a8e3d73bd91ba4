"""The call ``register``, and its opposite."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from math import isfinite

from fanwise.brokers.messages import (
    NotRegistered,
    Point,
    Register,
    Registered,
    Settled,
    Subscription,
    Unregister,
    Unregistered,
)
from fanwise.brokers.protocol.clients import HOME, Client
from fanwise.brokers.protocol.core import Core, Session
from fanwise.brokers.protocol.routes import RouteBook

Keyed = tuple[tuple[str, Point, Point, int], ...]


def is_point(point: Point, dimensions: int) -> bool:
    """Whether it is one of the event space; whatever a peer may have sent."""
    try:
        return len(point) == dimensions and all(isfinite(x) for x in point)
    except TypeError:
        return False


def is_rectangle(lo: Point, hi: Point, dimensions: int) -> bool:
    """Whether both corners are points, the lower one below the upper one."""
    return (
        is_point(lo, dimensions)
        and is_point(hi, dimensions)
        and all(a <= b for a, b in zip(lo, hi, strict=True))
    )


class Registering:
    """Subscriptions of the clients that are served here."""

    def __init__(self, core: Core, routes: RouteBook) -> None:
        self.core = core
        self.routes = routes

    def are_valid(self, subscriptions: Iterable[Subscription]) -> bool:
        dimensions = self.core.settings.dimensions
        return all(
            len(row) == 3 and isinstance(row[0], str) and is_rectangle(row[1], row[2], dimensions)
            for row in subscriptions
        )

    def with_keys(self, client: Client | None, subscriptions: tuple[Subscription, ...]) -> Keyed:
        """The subscriptions with keys: the ones they have, if nothing changed, else new ones."""
        known = client.subscriptions if client is not None else {}
        keys = iter(self.core.state.next_keys(len(subscriptions)))
        keyed = []
        for id, lo, hi in subscriptions:
            old = known.get(id)
            same = old is not None and old[:2] == (lo, hi)
            keyed.append((id, lo, hi, old[2] if same and old is not None else next(keys)))
        return tuple(keyed)

    def on_register(self, session: Session, message: Register) -> None:
        """Keep it, say so, and tell when others know it."""
        core = self.core
        client = core.served(session)
        if client is None:
            return
        if not is_rectangle(message.lo, message.hi, core.settings.dimensions):
            core.send(session.number, NotRegistered(message.id, "invalid"))
            return
        if core.is_disk_full:
            core.send(session.number, NotRegistered(message.id, "full disk"))
            return
        old = client.subscriptions.get(message.id)
        if old is None or old[:2] != (message.lo, message.hi):
            (key,) = core.state.next_keys(1)
            core.commit("subscribe", client.name, message.id, message.lo, message.hi, key)
        core.send(session.number, Registered(message.id))
        self.tell_when_settled(client, (message.id,))

    def tell_when_settled(self, client: Client, ids: tuple[str, ...]) -> None:
        """Tell the client when these subscriptions, as they are now, are known to others."""
        if not ids:
            return
        keys = tuple(client.subscriptions[id][2] for id in ids)
        for everywhere in (False, True):
            tell = partial(self._tell, client.name, ids, keys, everywhere)
            self.routes.when_known(tell, everywhere=everywhere)

    def _tell(
        self, name: str, ids: tuple[str, ...], keys: tuple[int, ...], everywhere: bool
    ) -> None:
        client = self.core.state.clients.get(name)
        session = self.core.session_of.get(name)
        if client is None or client.role != HOME or session is None:
            return
        now = client.subscriptions
        still = tuple(
            id for id, key in zip(ids, keys, strict=True) if id in now and now[id][2] == key
        )
        if still:
            self.core.send(session.number, Settled(still, everywhere))

    def on_unregister(self, session: Session, message: Unregister) -> None:
        """End it, also where nothing more can be kept."""
        client = self.core.served(session)
        if client is None:
            return
        if message.id in client.subscriptions:
            self.core.commit("unsubscribe", client.name, message.id)
        self.core.send(session.number, Unregistered(message.id))
