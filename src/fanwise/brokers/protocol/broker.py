"""The broker machine: gives each event to the part that it concerns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fanwise.brokers.messages import (
    Accept,
    Bye,
    Cancel,
    Carry,
    Connect,
    Covered,
    Decline,
    Forward,
    Forwarded,
    LinkOpen,
    ListClients,
    Message,
    MoveClient,
    Moved,
    NotDone,
    Point,
    Publish,
    Received,
    Redirect,
    Register,
    Released,
    Replicate,
    Replicated,
    ReplicateRefused,
    Routes,
    RoutesKnown,
    Summary,
    Takeover,
    Undo,
    Unregister,
    View,
)
from fanwise.brokers.protocol.arriving import Arriving
from fanwise.brokers.protocol.clients import HOME, LEAVING, PREPARED
from fanwise.brokers.protocol.core import Core, Session
from fanwise.brokers.protocol.effects import (
    Arrived,
    Demands,
    Depart,
    DialFailed,
    Disk,
    Effect,
    Event,
    Heard,
    Lost,
    Opened,
    Propose,
    Tell,
)
from fanwise.brokers.protocol.joining import Joining
from fanwise.brokers.protocol.leaving import Leaving
from fanwise.brokers.protocol.links import Links
from fanwise.brokers.protocol.members import Member
from fanwise.brokers.protocol.moving_foreign import MovingForeign
from fanwise.brokers.protocol.moving_home import MovingHome
from fanwise.brokers.protocol.ports import MakeMatcher, Router
from fanwise.brokers.protocol.publishing import Publishing
from fanwise.brokers.protocol.registering import Registering
from fanwise.brokers.protocol.routes import RouteBook
from fanwise.brokers.protocol.settings import BrokerSettings
from fanwise.brokers.protocol.state import State
from fanwise.brokers.protocol.tools import Rectangles, Tools

DIRECTORY = "directory"


class BrokerMachine:
    """A broker without sockets, clock and disk.

    Parameters
    ----------
    entries
        The log: entries of a snapshot, then those recorded since.
    seed
        Of tickets and numbers of moves; another one at each start.
    """

    def __init__(
        self,
        settings: BrokerSettings,
        entries: Iterable[tuple[Any, ...]] = (),
        *,
        matcher: MakeMatcher,
        router: Router,
        now: float,
        seed: int,
    ) -> None:
        state = State(matcher)
        for entry in entries:
            state.apply(entry)
        self.core = core = Core(settings, state, router, now, seed)
        self.links = Links(core)
        self.routes = RouteBook(core, self.links)
        self.registering = Registering(core, self.routes)
        self.publishing = Publishing(core, self.links)
        self.leaving = Leaving(core, self.links, self.routes)
        self.arriving = Arriving(
            core, self.links, self.routes, self.registering, self.publishing, self.leaving
        )
        self.moving_home = MovingHome(core, self.links)
        self.moving_foreign = MovingForeign(core, self.links, self.registering)
        self.joining = Joining(core, self.links)
        self.tools = Tools(core)
        self._connect_parts()
        self._events: dict[type, Callable[[Any], None]] = {
            Opened: self._opened,
            DialFailed: self._dial_failed,
            Arrived: self._arrived,
            Lost: self._lost,
            Disk: self._disk,
            Propose: lambda event: self.moving_home.propose(event),
            Depart: lambda event: self.joining.depart(),
            Demands: self._demands,
            Tell: self._tell,
        }
        self._handlers = {
            (role, kind): handler
            for role, handlers in self._handlers_by_role().items()
            for kind, handler in handlers.items()
        }
        self._stream: dict[type, Callable[[Member, Any], None]] = {
            Redirect: self.publishing.on_redirect,
            Moved: self.leaving.on_moved,
            Takeover: self.leaving.on_takeover,
            Covered: self.leaving.on_covered,
            Released: self.leaving.on_released,
            Cancel: self.moving_foreign.on_cancel,
        }

    def _connect_parts(self) -> None:
        self.links.take_publication = self.publishing.take
        self.links.take_message = lambda member, message: self._stream[type(message)](
            member, message
        )
        self.links.opened = self.routes.on_opened
        self.links.moved_on = self.routes.moved_on
        self.links.confirmed = self.joining.leave_if_empty
        self.routes.learned = self.joining.become_ready
        self.joining.propose = self.moving_home.propose
        self.tools.propose = self.moving_home.propose
        self.joining.dismiss = self.moving_home.dismiss
        self.joining.gone = self._gone
        self.core.went_away = self._went_away

    def _handlers_by_role(self) -> dict[str, dict[type, Callable[[Session, Any], None]]]:
        """Which messages are taken from whom."""
        client: dict[type, Callable[[Session, Any], None]] = {
            Connect: self.arriving.on_connect,
            Undo: self.arriving.on_undo,
            Bye: self.arriving.on_bye,
            Register: self.registering.on_register,
            Unregister: self.registering.on_unregister,
            Publish: self.publishing.on_publish,
            Received: self.publishing.on_received,
            Accept: self.moving_home.on_accept,
            Decline: self.moving_home.on_decline,
        }
        broker: dict[type, Callable[[Session, Any], None]] = {
            LinkOpen: self.links.on_open,
            Forward: self.links.on_forward,
            Carry: self.links.on_carry,
            Forwarded: self.links.on_forwarded,
            Routes: self.routes.on_routes,
            RoutesKnown: self.routes.on_known,
            Replicate: self.moving_foreign.on_replicate,
            Replicated: self.moving_home.on_replicated,
            ReplicateRefused: self.moving_home.on_refused,
            Summary: self._heard,
        }
        directory: dict[type, Callable[[Session, Any], None]] = {
            View: self.joining.on_view,
            NotDone: self.joining.on_not_done,
        }
        tool: dict[type, Callable[[Session, Any], None]] = {
            ListClients: self.tools.on_list,
            MoveClient: self.tools.on_move,
        }
        return {"client": client, "broker": broker, "directory": directory, "tool": tool}

    # ------------------------------------------------------------ for drivers

    @property
    def birth(self) -> int:
        """Drawn by `start` on an empty disk; goes into ``Hello``."""
        return self.core.state.birth

    def start(self) -> list[Effect]:
        """Begin; once, before all events."""
        self.leaving.restore()
        self.moving_foreign.restore()
        for name in self.core.state.clients:
            self.core.absent[name] = self.core.now
            self._went_away(name)
        self.joining.start()
        return self.core.take_effects()

    def handle(self, now: float, event: Event) -> list[Effect]:
        """What is to be done about an event."""
        self.core.now = now
        handler = self._events.get(type(event))
        if handler is not None:
            handler(event)
        self.core.timers.run(now)
        return self.core.take_effects()

    def next_deadline(self) -> float | None:
        """When a ``Tick`` is due."""
        return self.core.timers.next()

    def snapshot(self) -> list[tuple[Any, ...]]:
        """Entries that make the state on disk what it is: a log may begin with them."""
        return self.core.state.snapshot()

    def clients(self) -> dict[str, tuple[Point, float, Rectangles]]:
        """Position, demand and rectangles of those who are at home here."""
        return self.tools.clients()

    def counts(self) -> dict[str, float]:
        """Numbers for metrics; it looks at every client and broker."""
        state, settings = self.core.state, self.core.settings
        clients = state.clients.values()
        return {
            "clients": sum(client.role == HOME for client in clients),
            "connected": len(self.core.session_of),
            "prepared": sum(client.role == PREPARED for client in clients),
            "leaving": sum(client.role == LEAVING for client in clients),
            "subscriptions": sum(len(client.subscriptions) for client in clients),
            "undelivered": sum(len(client.queue) for client in clients),
            "waiting": sum(len(member.stream) for member in state.members.values()),
            "brokers": len(state.members),
            "linked": len(self.core.up),
            "routes": len(state.routes),
            "others_routes": sum(len(member.routes) for member in state.members.values()),
            "load": state.load,
            "capacity": settings.capacity,
        }

    # ------------------------------------------------------------ connections

    def _opened(self, event: Opened) -> None:
        core = self.core
        session = core.sessions[event.session] = Session(event.session, event.peer)
        if event.peer.role == "broker":
            if event.peer.name == core.name:
                core.close(event.session, "has the name of this broker")
                return
            member = self.joining.know(event.peer.name, event.peer.address, event.peer.birth)
            self.links.open(session, member)
        elif event.peer.role == "directory":
            self.joining.directory_opened(session)

    def _dial_failed(self, event: DialFailed) -> None:
        if event.peer == DIRECTORY:
            self.joining.directory_failed()
        else:
            self.joining.dial_later(event.peer)

    def _arrived(self, event: Arrived) -> None:
        session = self.core.sessions.get(event.session)
        if session is None:
            return
        handler = self._handlers.get((session.peer.role, type(event.message)))
        if handler is not None:
            handler(session, event.message)
        else:
            self.core.note(
                "protocol", peer=session.peer.name, why=f"sent {type(event.message).__name__}"
            )

    def _lost(self, event: Lost) -> None:
        core = self.core
        session = core.end(event.session)
        if session is None:
            return
        if event.session == self.joining.session:
            self.joining.directory_failed()
        elif session.peer.role == "broker":
            member = core.state.members.get(session.peer.name)
            if member is not None and member.session == event.session:
                self.links.down(member)
                self.moving_home.link_down(member.name)
                self.routes.review()
                self.joining.dial_later(member.name)

    # ------------------------------------------------------------ clients that stay away

    def _went_away(self, name: str) -> None:
        self.moving_home.client_away(name)
        since = self.core.absent[name]
        self.core.later(self.core.settings.absent_seconds, self._give_up, name, since)

    def _give_up(self, name: str, since: float) -> None:
        core = self.core
        if core.absent.get(name) != since:
            return
        del core.absent[name]
        client = core.state.clients.get(name)
        if client is None or client.role != HOME:
            return
        for source in client.sources:
            self.links.say(source, Covered(name, client.epoch))
        core.commit("forgotten", name)
        core.note("expired", client=name, undelivered=len(client.queue))

    # ------------------------------------------------------------ the rest

    def _gone(self, name: str) -> None:
        self.leaving.gone(name)
        self.routes.gone(name)

    def _disk(self, event: Disk) -> None:
        self.core.is_disk_full = event.is_full

    def _demands(self, event: Demands) -> None:
        for name, demand in event.demands.items():
            client = self.core.state.clients.get(name)
            if client is not None and client.role == HOME and client.demand != demand:
                self.core.commit("demand", name, demand, must_wait=False)

    def _tell(self, event: Tell) -> None:
        for member in self.core.state.members.values():
            if member.is_up and event.to in (None, member.name):
                self.core.send(member.session, event.message)

    def _heard(self, session: Session, message: Message) -> None:
        self.core.effects.append(Heard(session.peer.name, message))
