"""What the parts of a broker machine share: state on disk, sessions, time, and effects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from fanwise.brokers.messages import Hello, Message, Point
from fanwise.brokers.protocol.clients import HOME, Client
from fanwise.brokers.protocol.effects import Close, Dial, Effect, Noted, Record, Send
from fanwise.brokers.protocol.ports import Router
from fanwise.brokers.protocol.settings import BrokerSettings
from fanwise.brokers.protocol.state import State
from fanwise.brokers.protocol.timers import Timers

TOLERANCE = 1e-9
"""Of sums of demands."""


@dataclass(slots=True)
class Session:
    """A connection that stands.

    Attributes
    ----------
    client
        Whom it serves; empty until a `Connect` was accepted.
    sent
        Number of the last `Deliver` on it.
    position
        Of the client.
    """

    number: int
    peer: Hello
    client: str = ""
    sent: int = 0
    position: Point = ()


class Core:
    """Shared by the parts of a broker machine.

    Attributes
    ----------
    session_of
        By client.
    absent
        Since when a client has no session.
    went_away
        Told of a client that has none any more.
    up
        Brokers with a link that is up.
    """

    def __init__(
        self, settings: BrokerSettings, state: State, router: Router, now: float, seed: int
    ) -> None:
        self.settings = settings
        self.state = state
        self.router = router
        self.now = now
        self.random = Random(seed)
        self.timers = Timers()
        self.effects: list[Effect] = []
        self._entries: list[tuple[Any, ...]] = []
        self._must_wait = False
        self.sessions: dict[int, Session] = {}
        self.session_of: dict[str, Session] = {}
        self.absent: dict[str, float] = {}
        self.went_away: Callable[[str], None]
        self.move_ended: Callable[[int, str, str, str], None]
        self.is_disk_full = False
        self.is_departing = False
        self.up: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return self.settings.name

    def take_effects(self) -> list[Effect]:
        """What this step wants done: one record of all that it has changed, then the rest.

        A step is on disk as a whole or not at all.
        """
        effects, self.effects = self.effects, []
        if self._entries:
            entries, self._entries = self._entries, []
            entry = entries[0] if len(entries) == 1 else ("all", *entries)
            effects.insert(0, Record(entry, self._must_wait))
            self._must_wait = False
        return effects

    def commit(self, *entry: Any, must_wait: bool = True) -> None:
        """Change the state on disk; nothing is done before, unless it need not wait."""
        self.state.apply(entry)
        self._entries.append(entry)
        self._must_wait |= must_wait

    def send(self, session: int, message: Message) -> None:
        self.effects.append(Send(session, message))

    def close(self, session: int, reason: str) -> None:
        if session in self.sessions:
            self.effects.append(Close(session, reason))
            self.end(session)

    def end(self, number: int) -> Session | None:
        """The session is no more; the client that it served is away."""
        session = self.sessions.pop(number, None)
        if session is not None and session.client:
            name = session.client
            if self.session_of.get(name) is session:
                del self.session_of[name]
                self.absent[name] = self.now
                self.went_away(name)
        return session

    def dial(self, peer: str, address: str) -> None:
        self.effects.append(Dial(peer, address))

    def note(self, what: str, **fields: Any) -> None:
        self.effects.append(Noted(what, fields))

    def end_move(self, move: int, client: str, to: str, outcome: str) -> None:
        """Tell whoever has asked for a move how it ended."""
        self.note("move", move=move, client=client, to=to, outcome=outcome)
        self.move_ended(move, client, to, outcome)

    def later(self, seconds: float, work: Any, *arguments: Any) -> None:
        self.timers.at(self.now + seconds, work, *arguments)

    def served(self, session: Session) -> Client | None:
        """The client that the session serves."""
        client = self.state.clients.get(session.client)
        return client if client is not None and client.role == HOME else None

    def has_room(self, demand: float, freed: float = 0.0) -> bool:
        state = self.state
        return state.load - freed + demand <= self.settings.capacity * (1 + TOLERANCE)

    def refresh_up(self) -> None:
        """After a link came up or went down."""
        self.up = frozenset(m.name for m in self.state.members.values() if m.is_up)
