"""How a client finds a broker: its home first, then whom the directory names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fanwise.brokers.messages import (
    REFUSALS,
    Ask,
    Brokers,
    Bye,
    Connect,
    MoveReady,
    Point,
    Refused,
    Undo,
    Welcome,
)
from fanwise.brokers.protocol.client_core import ClientCore
from fanwise.brokers.protocol.effects import DialFailed, Opened

OUT, ASKING, DIALLING, CONNECTING, SERVED, UNDOING, STOPPED = (
    "out", "asking", "dialling", "connecting", "served", "undoing", "stopped"
)  # fmt: skip
MOST_BACKOFF = 8
"""Waits between rounds grow so many times."""


@dataclass(slots=True)
class _Moving:
    """A move under way: the ticket, and the session to where the client still has a home."""

    ready: MoveReady
    old: int


class Finding:
    """Keeps a client connected to one home.

    Epochs: whoever is tried other than the broker of the last try gets a higher one, so that no two
    brokers ever have the same; what the former may have recorded is then void.
    """

    def __init__(self, core: ClientCore) -> None:
        self.core = core
        self.phase = OUT
        self.session = 0
        self.served: Callable[[], None]
        self.last_moved: float | None = None
        self._try = 0
        self._aim = ("", "")
        self._candidates: list[tuple[str, str]] = []
        self._known: dict[str, str] = dict(core.settings.brokers)
        self._home_until = 0.0
        self._wait = core.settings.retry_seconds
        self._moving: _Moving | None = None
        self._was_welcome = False
        self._asking = 0
        self._sent: dict[str, tuple[Point, Point]] = {}

    # ------------------------------------------------------------ rounds

    def start(self) -> None:
        """Look for a home."""
        self._seek(self.core.settings.home_seconds)

    def _seek(self, home_seconds: float) -> None:
        self._home_until = self.core.now + home_seconds
        self._next()

    def _next(self) -> None:
        """Try the home as long as it may come back, then others, then wait and begin again."""
        core = self.core
        if self._may_be_back():
            self._dial(core.state.home, self._known[core.state.home])
        elif self._candidates:
            self._dial(*self._candidates.pop(0))
        elif self.phase != ASKING and core.settings.directory:
            self.phase = ASKING
            self._aim = ("directory", core.settings.directory)
            core.dial(*self._aim)
            self._limit()
        elif self.phase != ASKING:
            self._begin_with(tuple(self._known.items()))

    def _may_be_back(self) -> bool:
        return self.core.state.home in self._known and self.core.now < self._home_until

    def _dial(self, name: str, address: str) -> None:
        self.phase = DIALLING
        self._aim = (name, address)
        self.core.dial(name, address)
        self._limit()

    def _limit(self) -> None:
        self._try += 1
        self.core.later(self.core.settings.connect_seconds, self._late, self._try)

    def _late(self, number: int) -> None:
        if number == self._try and self.phase in (ASKING, DIALLING, CONNECTING, UNDOING):
            self._failed("no answer in time")

    def _begin_with(self, candidates: tuple[tuple[str, str], ...]) -> None:
        self._candidates = list(candidates)
        self.phase = OUT
        if self._candidates:
            self._next()
        else:
            self._retry()

    def _retry(self) -> None:
        self._try += 1
        self.phase = OUT
        seconds = self._wait * (0.5 + self.core.random.random())
        self._wait = min(self._wait * 2, MOST_BACKOFF * self.core.settings.retry_seconds)
        self.core.later(seconds, self._again, self._try)

    def _again(self, number: int) -> None:
        if number == self._try and self.phase == OUT:
            self._next()

    def _failed(self, why: str) -> None:
        """What was tried did not work."""
        core = self.core
        core.note("seeking", why=f"{self._aim[0]}: {why}")
        phase, self.phase = self.phase, OUT
        self._try += 1
        if self.session and (self._moving is None or self.session != self._moving.old):
            core.close(self.session, why)
        self.session = 0
        if phase == ASKING:
            if self._asking:
                core.close(self._asking, why)
                self._asking = 0
            self._begin_with(tuple(self._known.items()))
        elif phase == UNDOING or self._moving is None:
            self._moving = None
            if self._candidates and not self._may_be_back():
                self._next()
            else:
                self._retry()
        else:
            self._undo(why)

    # ------------------------------------------------------------ connections

    def on_opened(self, event: Opened) -> None:
        """Ask the directory, or connect to the broker that was dialled."""
        core, state = self.core, self.core.state
        if self.phase == ASKING and event.peer.role == "directory" and not self._asking:
            self._asking = event.session
            core.send(event.session, Ask(core.name, core.settings.position, core.settings.demand))
            return
        if self.phase != DIALLING or event.peer.name != self._aim[0]:
            core.close(event.session, "came too late")
            return
        self.phase = CONNECTING
        self.session = event.session
        name = event.peer.name
        ticket = 0
        if self._moving is not None:
            ticket = self._moving.ready.ticket
        elif state.at != name:
            core.commit("try", name, state.epoch + 1)
        previous = [broker for broker in state.previous if broker != name]
        self._sent = dict(state.wanted)
        core.send(
            event.session,
            Connect(
                *(state.epoch, ticket, tuple(previous), state.home, state.received),
                *(state.published, core.settings.demand, state.subscriptions),
                core.settings.position,
            ),
        )
        self._limit()

    def on_dial_failed(self, event: DialFailed) -> None:
        if self.phase in (ASKING, DIALLING) and event.peer == self._aim[0]:
            self._failed(REFUSALS.get(event.code, event.code) or "cannot be reached")

    def on_brokers(self, session: int, message: Brokers) -> None:
        """The directory says whom to try."""
        if self.phase == ASKING and session == self._asking:
            self._asking = 0
            self.core.close(session, "has answered")
            self._known.update(message.brokers)
            self._begin_with(message.brokers)

    def on_lost(self, session: int) -> None:
        """A connection broke."""
        if session == self._asking:
            self._asking = 0
            self._failed("connection lost")
        elif self._moving is not None and session == self._moving.old and session != self.session:
            self._moving.old = 0
        elif session == self.session:
            if self.phase == SERVED:
                self._out("connection lost")
            else:
                self._failed("connection lost")

    def _out(self, why: str, home_seconds: float | None = None) -> None:
        self.core.note("seeking", why=why)
        self.phase = OUT
        self.session = 0
        self._candidates.clear()
        self._wait = self.core.settings.retry_seconds
        self._seek(self.core.settings.home_seconds if home_seconds is None else home_seconds)

    def on_bye(self, session: int, message: Bye) -> None:
        """The broker sends the client away."""
        if session == self.session and self.phase == SERVED:
            self.core.close(session, "bye")
            self._out(message.reason, home_seconds=0.0)

    def on_superseded(self, session: int, epoch: int) -> None:
        """Somebody has come under this name elsewhere."""
        if session == self.session:
            self.core.close(session, "superseded")
            self.session = 0
            if epoch > self.core.state.epoch:
                self._stop("another program uses this name")
            elif self.phase == SERVED:
                self._out("superseded")
            else:
                self._failed("superseded")

    def _stop(self, why: str) -> None:
        self.phase = STOPPED
        self._try += 1
        self.core.note("stopped", why=why)

    def stop(self) -> None:
        """Say good-bye."""
        for session in (self.session, self._asking, self._moving.old if self._moving else 0):
            if session:
                self.core.send(session, Bye("stops"))
                self.core.close(session, "stops")
        self.session = self._asking = 0
        self._moving = None
        self._stop("asked to")

    # ------------------------------------------------------------ answers of brokers

    def on_welcome(self, session: int, message: Welcome) -> None:
        """At home."""
        core, state = self.core, self.core.state
        if session != self.session or self.phase not in (CONNECTING, UNDOING):
            return
        if self._moving is not None:
            if self.phase == CONNECTING:
                self.last_moved = core.now
                if self._moving.old:
                    core.send(self._moving.old, Bye("moved"))
                    core.close(self._moving.old, "moved")
            self._moving = None
        core.commit("home", message.first - 1)
        self._known.update(message.brokers)
        self._known[state.home] = self._aim[1]
        self.phase = SERVED
        self._try += 1
        self._wait = core.settings.retry_seconds
        self._candidates.clear()
        self._was_welcome = True
        core.note("welcome", broker=state.home, epoch=state.epoch)
        self.served()

    @property
    def sent(self) -> dict[str, tuple[Point, Point]]:
        """The subscriptions that the home was told when it was connected to."""
        return self._sent

    def on_refused(self, session: int, message: Refused) -> None:
        """Not there."""
        core = self.core
        if session != self.session or self.phase not in (CONNECTING, UNDOING):
            return
        if message.code == "superseded" and message.epoch >= core.state.epoch:
            if self._was_welcome and message.epoch > core.state.epoch:
                core.close(session, "superseded")
                self.session = 0
                self._stop("another program uses this name")
                return
            # Its own former life, of which it knows nothing, or a welcome that was lost.
            core.commit("adopt", message.epoch)
        if message.code == "invalid":
            self.invalid()
        self._failed(f"refused: {message.code}")

    invalid: Callable[[], None]

    # ------------------------------------------------------------ moves

    def on_move_ready(self, session: int, message: MoveReady) -> None:
        """Go where the ticket says; the former session stays until the client is there."""
        core, state = self.core, self.core.state
        if session != self.session or self.phase != SERVED or message.epoch != state.epoch + 1:
            return
        core.commit("try", message.to, message.epoch)
        self._moving = _Moving(message, session)
        self._known[message.to] = message.address
        self.session = 0
        self._dial(message.to, message.address)

    def _undo(self, why: str) -> None:
        """Stay at home: by the session that still stands, or by a new one."""
        core, state, moving = self.core, self.core.state, self._moving
        assert moving is not None
        core.note("undone", to=moving.ready.to, why=why)
        core.commit("try", state.home, state.epoch + 1)
        self._home_until = core.now + core.settings.home_seconds
        if not moving.old:
            self._moving = None
            self._next()
            return
        self.phase, self.session = UNDOING, moving.old
        self._aim = (state.home, self._known.get(state.home, ""))
        self._sent = dict(state.wanted)
        core.send(
            moving.old,
            Undo(
                *(moving.ready.move, state.epoch, state.received, state.published),
                state.subscriptions,
            ),
        )
        moving.old = 0
        self._limit()
