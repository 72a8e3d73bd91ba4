"""A client comes: for the first time, again, with a ticket, or from a broker it cannot reach."""

from __future__ import annotations

from fanwise.brokers.messages import (
    Bye,
    Cancel,
    Connect,
    Moved,
    Refused,
    Superseded,
    Takeover,
    Undo,
    Welcome,
)
from fanwise.brokers.protocol.clients import HOME, LEAVING, PREPARED, Client
from fanwise.brokers.protocol.core import Core, Session
from fanwise.brokers.protocol.leaving import Leaving
from fanwise.brokers.protocol.links import Links
from fanwise.brokers.protocol.publishing import Publishing
from fanwise.brokers.protocol.registering import Registering
from fanwise.brokers.protocol.routes import RouteBook


class Arriving:
    """Takes clients in, each at one home."""

    def __init__(
        self,
        core: Core,
        links: Links,
        routes: RouteBook,
        registering: Registering,
        publishing: Publishing,
        leaving: Leaving,
    ) -> None:
        self.core = core
        self.links = links
        self.routes = routes
        self.registering = registering
        self.publishing = publishing
        self.leaving = leaving

    def on_connect(self, session: Session, message: Connect) -> None:
        """Serve the client from here on, or say why not."""
        core = self.core
        session.position = message.position
        client = core.state.clients.get(session.peer.name)
        if not session.peer.name:
            core.send(session.number, Refused("name"))
        elif not self.registering.are_valid(message.subscriptions):
            core.send(session.number, Refused("invalid"))
        elif client is not None and self._comes_again(client, message):
            self._resume(session, client, message)
        elif refusal := self._refusal(session.peer.name, client, message):
            core.send(session.number, refusal)
        else:
            self._take_in(session, client, message)

    def on_undo(self, session: Session, message: Undo) -> None:
        """The client could not connect where it was sent: it stays."""
        client = self.core.served(session)
        if client is None or message.epoch <= client.epoch:
            known = client.epoch if client is not None else 0
            self.core.send(session.number, Refused("superseded", epoch=known))
            return
        again = Connect(
            *(message.epoch, 0, (client.target,) if client.target else (), self.core.name),
            *(message.received, message.published, client.demand, message.subscriptions),
            session.position,
        )
        self.on_connect(session, again)

    def on_bye(self, session: Session, message: Bye) -> None:
        """The client closes this connection."""
        self.core.close(session.number, "bye")

    def _refusal(self, name: str, client: Client | None, message: Connect) -> Refused | None:
        core = self.core
        known = client.epoch if client is not None and client.role != PREPARED else 0
        known = max(known, self.leaving.fences.get(name, 0))
        if known >= message.epoch:
            return Refused("superseded", epoch=known)
        if message.ticket and not self._has_ticket(client, message):
            return Refused("ticket")
        if core.is_departing or not core.state.is_ready:
            return Refused("not ready")
        if client is not None and client.role == HOME:
            return None
        if core.is_disk_full:
            return Refused("full disk")
        freed = client.demand if client is not None and client.role == PREPARED else 0.0
        if not core.has_room(self._demand(client, message), freed):
            return Refused("no room")
        return None

    def _has_ticket(self, client: Client | None, message: Connect) -> bool:
        return (
            client is not None
            and client.role == PREPARED
            and client.ticket == message.ticket
            and client.epoch == message.epoch
        )

    def _demand(self, client: Client | None, message: Connect) -> float:
        if client is not None and client.role == PREPARED and message.ticket:
            return client.demand
        return message.demand or self.core.settings.default_demand

    def _comes_again(self, client: Client, message: Connect) -> bool:
        """Whether it is who was welcome here at this epoch.

        Somebody else under its name may well have the same epoch, since all count from 1. That one
        has not been welcome here: it is refused and comes with a higher epoch, as does a client
        whose `Welcome` was lost. So no two hold one epoch, and whoever held the lower one hears of
        it and stops; they would take turns otherwise.
        """
        is_epoch = client.role == HOME and client.epoch == message.epoch
        return is_epoch and message.home == self.core.name

    def _resume(self, session: Session, client: Client, message: Connect) -> None:
        if client.is_handing_over:
            # It does not know of the ticket, and comes without: the move is off.
            self._cancel(client)
        received = message.received if message.home == self.core.name else 0
        keyed = self.registering.with_keys(client, message.subscriptions)
        self.core.commit("resume", client.name, message.published, received, keyed)
        self._welcome(session, client)

    def _cancel(self, client: Client) -> None:
        self.links.say(client.target, Cancel(client.move, client.name))
        self.core.end_move(client.move, client.name, client.target, "came back")

    def _take_in(self, session: Session, client: Client | None, message: Connect) -> None:
        core, name = self.core, session.peer.name
        how = "moved" if message.ticket else "takeover" if message.previous else "new"
        previous = [broker for broker in message.previous if broker in core.state.members]
        move, moved_from, received = 0, "", 0
        if client is not None and client.role == PREPARED:
            if message.ticket:
                move, moved_from = client.move, client.target
                received = message.received if message.home == client.target else 0
            else:
                # What was prepared is for a client that comes with a ticket.
                core.commit("forgotten", name)
                core.note("dropped", client=name, move=client.move, why="came otherwise")
                client = None
        elif client is not None:
            received = message.received if message.home == core.name else 0
            if client.role == LEAVING:
                self.leaving.release_target(client)
            if client.target and client.target not in previous:
                previous.append(client.target)
            if client.is_handing_over:
                self._cancel(client)
        if moved_from and moved_from in core.state.members and moved_from not in previous:
            previous.append(moved_from)
        demand = self._demand(client, message)
        keyed = self.registering.with_keys(client, message.subscriptions)
        sources = tuple((broker, message.epoch) for broker in previous)
        core.commit(
            *("home", name, message.epoch, demand, message.published, received, keyed, sources)
        )
        client = core.state.clients[name]
        for broker in previous:
            if broker == moved_from:
                self.links.say(broker, Moved(move, name, message.epoch))
            else:
                self.links.say(broker, Takeover(name, message.epoch))
        core.note("home", client=name, epoch=message.epoch, demand=demand, how=how)
        old = core.session_of.get(name)
        if old is not None and old is not session:
            core.send(old.number, Superseded(message.epoch))
        self._welcome(session, client)
        self.leaving.tell_when_covered(client)

    def _welcome(self, session: Session, client: Client) -> None:
        core = self.core
        old = core.session_of.get(client.name)
        if old is not None and old is not session:
            core.close(old.number, "the client has come on another connection")
        core.absent.pop(client.name, None)
        session.client = client.name
        core.session_of[client.name] = session
        first = client.queue[0][0] if client.queue else client.number + 1
        session.sent = first - 1
        brokers = tuple((m.name, m.address) for m in core.state.members.values())
        core.send(session.number, Welcome(client.epoch, first, brokers))
        self.registering.tell_when_settled(client, tuple(client.subscriptions))
        self.publishing.deliver(client)
