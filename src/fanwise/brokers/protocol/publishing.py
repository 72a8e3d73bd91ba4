"""From a publisher to its home, from there to brokers, from each to its clients."""

from __future__ import annotations

from fanwise.brokers.messages import (
    Deliver,
    Publication,
    Publish,
    Published,
    Received,
    Redirect,
    Rejected,
)
from fanwise.brokers.protocol.clients import HOME, LEAVING, Client
from fanwise.brokers.protocol.core import Core, Session
from fanwise.brokers.protocol.links import Links
from fanwise.brokers.protocol.members import Member
from fanwise.brokers.protocol.ports import covers
from fanwise.brokers.protocol.registering import is_point

MOST_SKIPPED = 100_000
"""Sequences that a publisher may leave out at once."""


class Publishing:
    """Takes publications and delivers them."""

    def __init__(self, core: Core, links: Links) -> None:
        self.core = core
        self.links = links

    def on_publish(self, session: Session, message: Publish) -> None:
        """Keep a publication for all that want it, then say so."""
        core, state = self.core, self.core.state
        client = core.served(session)
        if client is None:
            return
        sequence, point = message.sequence, message.point
        if client.has_published(sequence):
            core.send(session.number, Published(sequence))
            return
        why = ""
        if (
            not is_point(point, core.settings.dimensions)
            or sequence > client.published + MOST_SKIPPED
        ):
            why = "invalid"
        elif core.is_disk_full:
            why = "full disk"
        else:
            brokers = state.brokers_at(point)
            most = core.settings.most_waiting
            if any(len(state.members[name].stream) >= most for name in brokers):
                why = "no room"
        if why:
            core.send(session.number, Rejected(sequence, why))
            return
        clients = state.clients_at(point)
        core.commit("publish", client.name, sequence, point, message.payload, brokers, clients)
        core.send(session.number, Published(sequence))
        publication = (client.name, sequence, point, message.payload)
        numbers = {name: self._number_of(name, publication) for name in brokers}
        if numbers:
            self.links.spread(numbers, publication)
        self._serve(clients)
        core.note(
            "matched", publisher=client.name, point=point, brokers=len(brokers), clients=clients
        )

    def _number_of(self, name: str, publication: Publication) -> int:
        # Behind it are, at most, the same for clients that have left for that broker.
        stream = self.core.state.members[name].stream
        number = stream.last
        while stream[number] != publication:
            number -= 1
        return number

    def take(self, member: Member, number: int, publication: Publication) -> None:
        """Take a publication that another broker sent."""
        clients = self.core.state.clients_at(publication[2])
        if clients:
            self.core.commit("arrive", member.name, number, publication, clients)
            self._serve(clients)
        else:
            # Not worth a line in the log: after a crash the peer says from where on it holds.
            member.received = number

    def _serve(self, names: tuple[str, ...]) -> None:
        for name in names:
            client = self.core.state.clients[name]
            if client.role == HOME:
                self.deliver(client)
            else:
                self.links.push_all((client.target,))

    def on_redirect(self, member: Member, message: Redirect) -> None:
        """Take a publication for a client that came from the member."""
        client = self.core.state.clients.get(message.client)
        if client is None or client.role not in (HOME, LEAVING):
            return
        point = message.publication[2]
        # The other broker does not know what has ended since.
        wants = any(covers(lo, hi, point) for lo, hi, _ in client.subscriptions.values())
        if client.role == LEAVING or wants:
            self.core.commit("enqueue", client.name, message.publication)
            self._serve((client.name,))

    def deliver(self, client: Client) -> None:
        """Send what waits for a client, as far as the window allows."""
        session = self.core.session_of.get(client.name)
        if session is None or client.is_handing_over or not client.queue:
            return
        first = client.queue[0][0]
        last = min(client.number, first - 1 + self.core.settings.window)
        session.sent = max(session.sent, first - 1)
        while session.sent < last:
            session.sent += 1
            number, (publisher, sequence, point, payload) = client.queue[session.sent - first]
            self.core.send(session.number, Deliver(number, publisher, sequence, point, payload))

    def on_received(self, session: Session, message: Received) -> None:
        """Forget what the client has handed over."""
        client = self.core.served(session)
        if client is not None and message.number <= session.sent:
            self.core.commit("confirm", client.name, message.number, must_wait=False)
            self.deliver(client)
