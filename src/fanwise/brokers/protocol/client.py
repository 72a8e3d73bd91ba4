"""The client machine: subscriptions, publications and deliveries, wherever its home is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fanwise.brokers.messages import (
    Accept,
    Brokers,
    Bye,
    Decline,
    Deliver,
    MoveReady,
    NotRegistered,
    Publish,
    Published,
    Received,
    Refused,
    Register,
    Registered,
    Rejected,
    RequestToMove,
    Settled,
    Superseded,
    Unregister,
    Unregistered,
    Welcome,
)
from fanwise.brokers.protocol.client_core import ClientCore
from fanwise.brokers.protocol.client_state import ClientState
from fanwise.brokers.protocol.effects import (
    Arrived,
    DialFailed,
    Effect,
    Event,
    Handed,
    Lost,
    Opened,
    PublishNew,
    Stop,
    Subscribe,
    Unsubscribe,
)
from fanwise.brokers.protocol.finding import SERVED, Finding
from fanwise.brokers.protocol.settings import ClientSettings

Policy = Callable[[float, RequestToMove], str]
"""By the time and what the home asks, why the client does not move; empty if it does."""


class ClientMachine:
    """A client without sockets and clock.

    Parameters
    ----------
    entries
        Of its log, if it keeps one.
    policy
        Answers `RequestToMove`.
    """

    def __init__(
        self,
        settings: ClientSettings,
        entries: Iterable[tuple[Any, ...]] = (),
        *,
        policy: Policy,
        now: float,
        seed: int,
    ) -> None:
        state = ClientState(settings.first_sequence, settings.most_remembered)
        for entry in entries:
            state.apply(entry)
        self.core = ClientCore(settings, state, now, seed)
        self.policy = policy
        self.finding = Finding(self.core)
        self.finding.served = self._served
        self.finding.invalid = self._invalid
        self._pending: set[str] = set(state.wanted)
        self._ending: set[str] = set()
        self._unconfirmed = 0
        self._is_confirming = False
        self._messages: dict[type, Callable[[int, Any], None]] = {
            Welcome: self.finding.on_welcome,
            Refused: self.finding.on_refused,
            Brokers: self.finding.on_brokers,
            MoveReady: self.finding.on_move_ready,
            Bye: self.finding.on_bye,
            Superseded: lambda session, m: self.finding.on_superseded(session, m.epoch),
            Deliver: self._on_deliver,
            RequestToMove: self._on_request,
            Published: lambda session, m: self._answered(m.sequence, ""),
            Rejected: lambda session, m: self._answered(m.sequence, m.code),
            Registered: lambda session, m: self._registered(m.id),
            NotRegistered: lambda session, m: self._not_registered(m.id, m.code),
            Settled: self._on_settled,
            Unregistered: lambda session, m: self._unregistered(m.id),
        }

    # ------------------------------------------------------------ for drivers

    @property
    def last_sequence(self) -> int:
        """Of the last publication."""
        return self.core.state.sequence

    @property
    def home(self) -> str:
        """The broker that serves it, or served it last."""
        return self.core.state.home

    @property
    def is_served(self) -> bool:
        return self.finding.phase == SERVED

    @property
    def last_moved(self) -> float | None:
        """When it last came to a home by a move."""
        return self.finding.last_moved

    def start(self) -> list[Effect]:
        """Begin; once, before all events."""
        self.finding.start()
        return self._take_effects()

    def handle(self, now: float, event: Event) -> list[Effect]:
        """What is to be done about an event."""
        self.core.now = now
        if isinstance(event, Arrived):
            handler = self._messages.get(type(event.message))
            if handler is not None:
                handler(event.session, event.message)
        elif isinstance(event, Opened):
            self.finding.on_opened(event)
        elif isinstance(event, Lost):
            self.finding.on_lost(event.session)
        elif isinstance(event, DialFailed):
            self.finding.on_dial_failed(event)
        elif isinstance(event, PublishNew):
            self._publish(event)
        elif isinstance(event, Subscribe):
            self._subscribe(event)
        elif isinstance(event, Unsubscribe):
            self._unsubscribe(event)
        elif isinstance(event, Stop):
            self.finding.stop()
        self.core.timers.run(now)
        return self._take_effects()

    def next_deadline(self) -> float | None:
        """When a ``Tick`` is due."""
        return self.core.timers.next()

    def snapshot(self) -> list[tuple[Any, ...]]:
        """Entries that make the state what it is."""
        return self.core.state.snapshot()

    def _take_effects(self) -> list[Effect]:
        effects, self.core.effects = self.core.effects, []
        return effects

    def _serves(self, session: int) -> bool:
        return session == self.finding.session and self.finding.phase == SERVED

    # ------------------------------------------------------------ a home

    def _served(self) -> None:
        """Catch up with what was asked for meanwhile."""
        core, state = self.core, self.core.state
        session = self.finding.session
        sent = self.finding.sent
        for id in sent:
            if id not in state.wanted:
                core.send(session, Unregister(id))
        for id, rectangle in state.wanted.items():
            if sent.get(id) == rectangle:
                self._registered(id)
            else:
                core.send(session, Register(id, *rectangle))
        for id in sorted(self._ending.difference(sent)):
            self._unregistered(id)
        for sequence, (point, payload) in state.unanswered.items():
            core.send(session, Publish(sequence, point, payload))

    # ------------------------------------------------------------ subscriptions

    def _subscribe(self, event: Subscribe) -> None:
        self.core.commit("want", event.id, event.lo, event.hi)
        self._pending.add(event.id)
        self._ending.discard(event.id)
        if self.finding.phase == SERVED:
            self.core.send(self.finding.session, Register(event.id, event.lo, event.hi))

    def _unsubscribe(self, event: Unsubscribe) -> None:
        self.core.commit("end", event.id)
        self._pending.discard(event.id)
        self._ending.add(event.id)
        if self.finding.phase == SERVED:
            self.core.send(self.finding.session, Unregister(event.id))

    def _registered(self, id: str) -> None:
        if id in self._pending:
            self._pending.discard(id)
            self.core.note("registered", id=id)

    def _not_registered(self, id: str, code: str) -> None:
        if id in self._pending:
            self._pending.discard(id)
            self.core.commit("end", id)
            self.core.note("not registered", id=id, code=code)

    def _invalid(self) -> None:
        for id in sorted(self._pending):
            self._not_registered(id, "invalid")

    def _on_settled(self, session: int, message: Settled) -> None:
        if self._serves(session):
            # What was sent before a subscription was replaced is about the former one.
            wanted = self.core.state.wanted
            ids = tuple(id for id in message.ids if id in wanted and id not in self._pending)
            if ids:
                self.core.note("settled", ids=ids, everywhere=message.everywhere)

    def _unregistered(self, id: str) -> None:
        if id in self._ending:
            self._ending.discard(id)
            self.core.note("unregistered", id=id)

    # ------------------------------------------------------------ publications

    def _publish(self, event: PublishNew) -> None:
        core, state = self.core, self.core.state
        if len(state.unanswered) >= core.settings.most_unanswered:
            core.note("rejected", sequence=0, code="too many wait for an answer")
            return
        sequence = state.sequence + 1
        core.commit("new", sequence, event.point, event.payload)
        if self.finding.phase == SERVED:
            core.send(self.finding.session, Publish(sequence, event.point, event.payload))

    def _answered(self, sequence: int, code: str) -> None:
        if sequence in self.core.state.unanswered:
            self.core.commit("answered", sequence)
            if code:
                self.core.note("rejected", sequence=sequence, code=code)
            else:
                self.core.note("published", sequence=sequence)

    # ------------------------------------------------------------ deliveries

    def _on_deliver(self, session: int, message: Deliver) -> None:
        core, state = self.core, self.core.state
        if not self._serves(session):
            return
        if message.number != state.received + 1:
            why = f"delivery {message.number} came after {state.received}"
            core.note("protocol", peer=state.home, why=why)
            core.close(session, why)
            self.finding.on_lost(session)
            return
        id = (message.publisher, message.sequence)
        is_new = id not in state.seen
        if is_new:
            core.effects.append(Handed((*id, message.point, message.payload)))
        core.commit("handed", message.number, *id)
        self._unconfirmed += 1
        if self._unconfirmed >= core.settings.confirm_count:
            self._confirm()
        elif not self._is_confirming:
            self._is_confirming = True
            core.later(core.settings.confirm_seconds, self._confirm_later)

    def _confirm_later(self) -> None:
        self._is_confirming = False
        self._confirm()

    def _confirm(self) -> None:
        if self._unconfirmed and self.finding.phase == SERVED:
            self.core.send(self.finding.session, Received(self.core.state.received))
        self._unconfirmed = 0

    # ------------------------------------------------------------ moves

    def _on_request(self, session: int, message: RequestToMove) -> None:
        if not self._serves(session):
            return
        reason = self.policy(self.core.now, message)
        answer = Decline(message.move, reason) if reason else Accept(message.move)
        self.core.send(session, answer)
        self.core.note(
            "asked", to=message.to, reason=message.reason, gain=message.gain, answer=reason
        )
