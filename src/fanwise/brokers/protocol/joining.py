"""The directory as a broker sees it: join, report, hear who is there, leave."""

from __future__ import annotations

from collections.abc import Callable

from fanwise.brokers.messages import Heartbeat, Join, Leave, NotDone, View
from fanwise.brokers.protocol.clients import HOME
from fanwise.brokers.protocol.core import Core, Session
from fanwise.brokers.protocol.effects import Propose
from fanwise.brokers.protocol.links import Links
from fanwise.brokers.protocol.members import Member

AT_ONCE = 8
"""Clients that are asked at once to leave a broker that departs."""


class Joining:
    """Membership: who is there, and links with all of them."""

    def __init__(self, core: Core, links: Links) -> None:
        self.core = core
        self.links = links
        self.session = 0
        self.rooms: dict[str, float] = {}
        self._is_listed = False
        self._was_listed = False
        self._is_left = False
        self._has_asked = False
        self.gone: Callable[[str], None]
        self.propose: Callable[[Propose], None]
        self.dismiss: Callable[[str], None]

    def start(self) -> None:
        """Reach for the directory, and for brokers that are known."""
        if self.core.state.birth == 0:
            self.core.commit("born", self.core.random.getrandbits(53) | 1)
        if self.core.state.covers != self.core.settings.covers:
            self.core.commit("covers", self.core.settings.covers)
        self._dial_directory()
        self._dial_all()

    # ------------------------------------------------------------ the directory

    def _dial_directory(self) -> None:
        if not self.session and self.core.settings.directory and not self._is_left:
            self.core.dial("directory", self.core.settings.directory)

    def directory_failed(self) -> None:
        """It cannot be reached, or the connection is lost."""
        self.session = 0
        self.core.later(self.core.settings.dial_seconds, self._dial_directory)

    def directory_opened(self, session: Session) -> None:
        """Say who is here."""
        if self.session:
            self.core.close(self.session, "another connection has come")
        self.session = session.number
        settings, state = self.core.settings, self.core.state
        self.core.send(
            session.number,
            Join(settings.name, settings.address, settings.position, settings.capacity, state.load,
                 state.birth),
        )  # fmt: skip
        self._report(session.number)

    def _report(self, session: int) -> None:
        if self.session == session:
            is_ready = self.core.state.is_ready and not self.core.is_departing
            self.core.send(session, Heartbeat(self.core.state.load, is_ready))
            self.core.later(self.core.settings.heartbeat_seconds, self._report, session)

    def on_view(self, session: Session, message: View) -> None:
        """Know brokers that have come, forget those that have left."""
        core = self.core
        if session.number != self.session or message.epoch < self.links.view:
            return
        self.links.view = message.epoch
        listed = {row[0]: row for row in message.brokers}
        self._is_listed = core.name in listed and listed[core.name][6] == core.state.birth
        if not self._is_listed and self._was_listed:
            self._end()
        self._was_listed = self._is_listed
        for name, address, _, _, _, _, birth in message.brokers:
            if name != core.name:
                self.know(name, address, birth)
        for member in list(core.state.members.values()):
            if member.name not in listed and message.epoch >= member.since:
                self._forget(member)
        self.rooms = {
            name: capacity - load
            for name, _, _, capacity, load, is_alive, _ in message.brokers
            if is_alive and name != core.name
        }
        core.note("view", epoch=message.epoch, brokers=message.brokers)
        self.become_ready()
        self._dial_all()

    # ------------------------------------------------------------ other brokers

    def know(self, name: str, address: str, birth: int) -> Member:
        """Know a broker; one that was born anew is another."""
        core = self.core
        member = core.state.members.get(name)
        if member is not None and member.birth != birth:
            self._forget(member)
            member = None
        if member is None or (address and member.address != address):
            core.commit("member", name, address, birth)
        return core.state.members[name]

    def _forget(self, member: Member) -> None:
        if member.session:
            self.core.close(member.session, "has left")
        if member.is_up:
            self.links.down(member)
        self.gone(member.name)
        self.core.commit("gone", member.name)
        self.core.refresh_up()
        self.links.confirmed()

    def _dial_all(self) -> None:
        for member in self.core.state.members.values():
            self.dial(member)

    def dial(self, member: Member) -> None:
        """Reach for a broker, if it is up to this side: to the first by name."""
        if member.session or member.is_dialled or member.name < self.core.name or self._is_left:
            return
        member.is_dialled = True
        self.core.dial(member.name, member.address)

    def dial_later(self, name: str) -> None:
        """It could not be reached: try again."""
        member = self.core.state.members.get(name)
        if member is not None:
            member.is_dialled = False
            self.core.later(self.core.settings.dial_seconds, self._redial, name)

    def _redial(self, name: str) -> None:
        member = self.core.state.members.get(name)
        if member is not None:
            self.dial(member)

    def become_ready(self) -> None:
        """Take clients once the routes to all brokers are known."""
        core = self.core
        if core.state.is_ready or not self._is_listed:
            return
        if all(member.version >= 0 for member in core.state.members.values()):
            core.commit("ready")
            core.note("ready")
            if self.session:
                self.core.send(self.session, Heartbeat(core.state.load, True))

    # ------------------------------------------------------------ departing

    def depart(self) -> None:
        """Send all clients away, to brokers with room; leave when nothing is left."""
        if not self.core.is_departing:
            self.core.is_departing = True
            self._send_away()

    def _send_away(self) -> None:
        core = self.core
        if self._is_left:
            return
        here = [client for client in core.state.clients.values() if client.role == HOME]
        asked = 0
        rooms = dict(self.rooms)
        for client in here:
            session = core.session_of.get(client.name)
            if session is None or client.is_handing_over or asked >= AT_ONCE:
                continue
            to = max(sorted(rooms), key=lambda name: rooms[name], default="")
            asked += 1
            if to and rooms[to] >= client.demand and to in core.up:
                rooms[to] -= client.demand
                self.propose(Propose(client.name, to, "the broker departs", 0.0))
            else:
                self.dismiss(client.name)
        self.leave_if_empty()
        core.later(core.settings.dial_seconds, self._send_away)

    def leave_if_empty(self) -> None:
        """Leave when no client and nothing for another broker is left."""
        core = self.core
        if not core.is_departing or self._is_left or core.state.clients or not self.session:
            return
        if any(len(member.stream) for member in core.state.members.values()):
            return
        self._has_asked = True
        core.send(self.session, Leave(core.name))

    def on_not_done(self, session: Session, message: NotDone) -> None:
        """The directory does not take what was said; leaving is asked again."""
        if session.number == self.session:
            if message.code == "left":
                self._end()
            else:
                self.core.note("not joined", code=message.code, detail=message.detail)

    def _end(self) -> None:
        if not self._is_left:
            self._is_left = True
            self.core.note("left" if self._has_asked else "expelled")
