"""A move as the foreign broker sees it: keep room and state until the client comes, or will not."""

from __future__ import annotations

from fanwise.brokers.messages import Cancel, Replicate, Replicated, ReplicateRefused
from fanwise.brokers.protocol.clients import HOME, LEAVING, PREPARED, Client
from fanwise.brokers.protocol.core import Core, Session
from fanwise.brokers.protocol.links import Links
from fanwise.brokers.protocol.members import Member
from fanwise.brokers.protocol.registering import Registering


class MovingForeign:
    """Clients that may come with a ticket."""

    def __init__(self, core: Core, links: Links, registering: Registering) -> None:
        self.core = core
        self.links = links
        self.registering = registering

    def restore(self) -> None:
        """After a start: wait once more for clients that may come."""
        for client in self.core.state.clients.values():
            if client.role == PREPARED:
                self._wait(client)

    def on_replicate(self, session: Session, message: Replicate) -> None:
        """Keep room for the client, and its state; tell routes to it before it is here."""
        core = self.core
        member = self.links.member_of(session)
        if member is None or not member.is_up:
            return
        client = core.state.clients.get(message.client)
        refusal = self._refusal(client, message)
        if refusal:
            core.send(session.number, ReplicateRefused(message.move, refusal))
            return
        if client is not None:
            self._drop(client, "another move")
        ticket = core.random.getrandbits(53) | 1
        keyed = self.registering.with_keys(None, message.subscriptions)
        core.commit(
            *("prepared", message.client, message.move, member.name, message.epoch, ticket),
            *(message.demand, message.published, keyed, message.undelivered),
        )
        core.note("prepared", client=message.client, move=message.move, demand=message.demand)
        core.send(session.number, Replicated(message.move, ticket, message.client))
        self._wait(core.state.clients[message.client])

    def _refusal(self, client: Client | None, message: Replicate) -> str:
        core = self.core
        if core.is_departing or not core.state.is_ready:
            return "not ready"
        if client is not None:
            if client.role == LEAVING:
                return "busy" if client.epoch < message.epoch else "superseded"
            if client.role == HOME or client.epoch > message.epoch:
                return "superseded"
        if core.is_disk_full:
            return "full disk"
        freed = client.demand if client is not None else 0.0
        return "" if self.has_room(message.demand, freed) else "no room"

    def has_room(self, demand: float, freed: float) -> bool:
        """Whether the client fits."""
        return self.core.has_room(demand, freed)

    def on_cancel(self, member: Member, message: Cancel) -> None:
        """The client will not come."""
        client = self.core.state.clients.get(message.client)
        if client is not None and client.role == PREPARED and client.move == message.move:
            self._drop(client, "cancelled")

    def _wait(self, client: Client) -> None:
        seconds = self.core.settings.prepared_seconds
        self.core.later(seconds, self._expire, client.name, client.move)

    def _expire(self, name: str, move: int) -> None:
        client = self.core.state.clients.get(name)
        if client is not None and client.role == PREPARED and client.move == move:
            self._drop(client, "expired")

    def _drop(self, client: Client, why: str) -> None:
        self.core.commit("forgotten", client.name)
        self.core.note("dropped", client=client.name, move=client.move, why=why)
