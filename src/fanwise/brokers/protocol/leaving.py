"""A client is elsewhere: the call ``redirect``, until nothing more comes for it; then forget it."""

from __future__ import annotations

from functools import partial

from fanwise.brokers.messages import Covered, Moved, Released, Superseded, Takeover
from fanwise.brokers.protocol.clients import HOME, LEAVING, PREPARED, Client
from fanwise.brokers.protocol.core import Core
from fanwise.brokers.protocol.links import Links
from fanwise.brokers.protocol.members import Member
from fanwise.brokers.protocol.routes import RouteBook

FENCE_SECONDS = 3600.0
"""No connection that was given up brings anything after so long."""


class Leaving:
    """Clients that have gone, and what other brokers still have for those that have come."""

    def __init__(self, core: Core, links: Links, routes: RouteBook) -> None:
        self.core = core
        self.links = links
        self.routes = routes
        self.fences: dict[str, int] = {}
        self._over: dict[str, int] = {}
        """Clients whose time to redirect has passed, with the epoch."""
        self._drained: dict[str, int] = {}
        """Clients for which nothing more can come by routes to here, with the epoch."""

    def fence(self, name: str, epoch: int) -> None:
        """Take the client in at higher epochs only.

        A broker that holds nothing of a client may still get a `Connect` that was sent long ago, on
        a connection that the client has given up. Not on disk: no connection outlives the process.
        """
        self.fences[name] = max(epoch, self.fences.get(name, 0))
        self.core.later(FENCE_SECONDS, self._unfence, name, self.fences[name])

    def _unfence(self, name: str, epoch: int) -> None:
        if self.fences.get(name) == epoch:
            del self.fences[name]

    def restore(self) -> None:
        """After a start: wait again for what was waited for."""
        for client in self.core.state.clients.values():
            if client.role == HOME:
                self.tell_when_covered(client)
            elif client.role == LEAVING:
                self._wait(client)
                if client.is_withdrawn:
                    self._wait_drained(client)

    # ------------------------------------------------------------ the client has gone

    def on_moved(self, member: Member, message: Moved) -> None:
        """The client has used its ticket."""
        client = self.core.state.clients.get(message.client)
        skip = 0
        if client is not None and client.is_handing_over and client.move == message.move:
            skip = client.upto
        self._gone_to(member, message.client, message.epoch, skip)

    def on_takeover(self, member: Member, message: Takeover) -> None:
        """The client has come to another broker by itself."""
        self._gone_to(member, message.client, message.epoch, 0)

    def _gone_to(self, member: Member, name: str, epoch: int, skip: int) -> None:
        core = self.core
        client = core.state.clients.get(name)
        if client is not None and client.role == PREPARED and client.epoch <= epoch:
            core.commit("forgotten", name)
            core.note("dropped", client=name, move=client.move, why="is elsewhere")
            client = None
        is_leaving = client is not None and client.role == LEAVING
        if client and is_leaving and (client.epoch, client.target) == (epoch, member.name):
            return  # said twice
        if client is None or client.role == PREPARED or client.epoch >= epoch:
            self.links.say(member.name, Released(name, epoch))
            if client is None:
                self.fence(name, epoch)
            if client is not None and client.role == HOME and client.epoch > epoch:
                self._correct(member, client)
            return
        self._leave(client, member, epoch, skip)

    def _correct(self, member: Member, client: Client) -> None:
        """A broker believes to be the home, and is so no more: it hears it like any other."""
        if member.name not in client.sources:
            self.links.say(member.name, Takeover(client.name, client.epoch))
            self.core.commit("source", client.name, member.name, client.epoch)
            self.tell_when_covered(client)

    def _leave(self, client: Client, member: Member, epoch: int, skip: int) -> None:
        core = self.core
        if client.role == LEAVING:
            self.release_target(client)
        elif client.is_handing_over:
            outcome = "moved" if client.target == member.name else "went elsewhere"
            core.end_move(client.move, client.name, client.target, outcome)
            # If it is not there, what was prepared goes when the time for it has passed.
        was_withdrawn = client.is_withdrawn
        core.commit("leaving", client.name, epoch, member.name, skip)
        session = core.session_of.get(client.name)
        if session is not None:
            core.send(session.number, Superseded(epoch))
            core.close(session.number, "the client is elsewhere")
        core.note("away", client=client.name, epoch=epoch, to=member.name)
        self.links.push(member)
        self._drained.pop(client.name, None)
        self._wait(client)
        if was_withdrawn:
            self._wait_drained(client)

    def release_target(self, client: Client) -> None:
        """Nothing more is redirected to where the client was thought to be."""
        self.links.say(client.target, Released(client.name, client.epoch))

    # ------------------------------------------------------------ until nothing more comes

    def _wait(self, client: Client) -> None:
        self.core.later(
            self.core.settings.redirect_seconds, self._time_over, client.name, client.epoch
        )

    def _time_over(self, name: str, epoch: int) -> None:
        client = self._leaving(name, epoch)
        if client is not None:
            self._over[name] = epoch
            if not client.is_covered:
                self.core.note("ttl", client=name, waiting=True)
            self.review(client)

    def _leaving(self, name: str, epoch: int) -> Client | None:
        client = self.core.state.clients.get(name)
        if client is None or client.role != LEAVING or client.epoch != epoch:
            return None
        return client

    def on_covered(self, member: Member, message: Covered) -> None:
        """All brokers know the routes to the client's home: those to here may go."""
        client = self.core.state.clients.get(message.client)
        if client is None or client.role != LEAVING or message.epoch < client.epoch:
            return
        if not client.is_covered:
            # Who redirects to here is covered by that home as well.
            for source in client.sources:
                self.links.say(source, message)
            self.core.commit("covered", client.name)
            self.review(client)

    def review(self, client: Client) -> None:
        """Take routes back once they may go, and forget the client once nothing comes."""
        name, epoch = client.name, client.epoch
        if client.is_withdrawn:
            if self._drained.get(name) == epoch and not client.sources:
                self._forget(client)
        elif client.is_covered and self._over.get(name) == epoch:
            self.core.commit("withdrawn", name)
            self._wait_drained(client)

    def _wait_drained(self, client: Client) -> None:
        self.routes.when_drained(partial(self._note_drained, client.name, client.epoch))

    def _note_drained(self, name: str, epoch: int) -> None:
        client = self._leaving(name, epoch)
        if client is not None and client.is_withdrawn:
            self._drained[name] = epoch
            self.review(client)

    def _forget(self, client: Client) -> None:
        self.release_target(client)
        self.core.commit("forgotten", client.name)
        self.fence(client.name, client.epoch)
        self._over.pop(client.name, None)
        self._drained.pop(client.name, None)
        self.core.note("forgotten", client=client.name)

    # ------------------------------------------------------------ the client has come

    def tell_when_covered(self, client: Client) -> None:
        """Tell those that redirect to here when all brokers know the routes to here."""
        if client.sources:
            self.routes.when_known(
                partial(self._tell_covered, client.name, client.epoch), everywhere=True
            )

    def _tell_covered(self, name: str, epoch: int) -> None:
        client = self.core.state.clients.get(name)
        if client is not None and client.role == HOME and client.epoch == epoch:
            for source in client.sources:
                self.links.say(source, Covered(name, epoch))

    def on_released(self, member: Member, message: Released) -> None:
        """Nothing more is redirected from the member."""
        client = self.core.state.clients.get(message.client)
        since = client.sources.get(member.name) if client is not None else None
        if client is not None and since is not None and message.epoch >= since:
            self.core.commit("released", client.name, member.name)
            if client.role == LEAVING:
                self.review(client)

    # ------------------------------------------------------------ brokers that have left

    def gone(self, name: str) -> None:
        """A broker has left: it redirects nothing, and nothing can be redirected to it."""
        for client in list(self.core.state.clients.values()):
            if name in client.sources:
                self.core.commit("released", client.name, name)
                if client.role == LEAVING:
                    self.review(client)
            if client.role == LEAVING and client.target == name:
                self.core.commit("forgotten", client.name)
                self.core.note("forgotten", client=client.name)
