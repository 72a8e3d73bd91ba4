"""What operators ask a broker: who is here, and to move somebody."""

from __future__ import annotations

from collections.abc import Callable

from fanwise.brokers.messages import Clients, ListClients, MoveClient, MoveEnded, Point
from fanwise.brokers.protocol.clients import HOME
from fanwise.brokers.protocol.core import Core, Session
from fanwise.brokers.protocol.effects import Propose

Rectangles = tuple[tuple[Point, Point], ...]


class Tools:
    """Sessions of tools."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.propose: Callable[[Propose], None]
        self._asked: dict[int, int] = {}
        core.move_ended = self._move_ended

    def clients(self) -> dict[str, tuple[Point, float, Rectangles]]:
        """Position, demand and rectangles of those who are at home here."""
        sessions = self.core.session_of
        return {
            client.name: (
                sessions[client.name].position if client.name in sessions else (),
                client.demand,
                tuple((lo, hi) for lo, hi, _ in client.subscriptions.values()),
            )
            for client in self.core.state.clients.values()
            if client.role == HOME
        }

    def on_list(self, session: Session, message: ListClients) -> None:
        """Say who is here."""
        state = self.core.state
        rows = tuple(
            (name, state.clients[name].epoch, demand, name in self.core.session_of, where, what)
            for name, (where, demand, what) in sorted(self.clients().items())
        )
        self.core.send(session.number, Clients(rows, self.core.settings.capacity, state.load))

    def on_move(self, session: Session, message: MoveClient) -> None:
        """Ask a client to move, and tell the tool how it ends."""
        self._asked[message.move] = session.number
        self.propose(
            Propose(message.client, message.to, message.reason, message.gain, message.move)
        )

    def _move_ended(self, move: int, client: str, to: str, outcome: str) -> None:
        session = self._asked.pop(move, 0)
        if session in self.core.sessions:
            self.core.send(session, MoveEnded(move, client, to, outcome))
