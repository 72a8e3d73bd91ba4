"""A move as the home sees it: ``request_to_move``, ``replicate``, then the ticket."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from fanwise.brokers.messages import (
    Accept,
    Bye,
    Cancel,
    Decline,
    MoveReady,
    Replicate,
    Replicated,
    ReplicateRefused,
    RequestToMove,
)
from fanwise.brokers.protocol.clients import HOME, Client
from fanwise.brokers.protocol.core import Core, Session
from fanwise.brokers.protocol.effects import Propose
from fanwise.brokers.protocol.links import Links

ASKED = "asked"
REPLICATING = "replicating"


@dataclass(slots=True)
class _Move:
    """A move that has not come to the ticket: until then nothing of it is on disk here."""

    move: int
    client: str
    to: str
    epoch: int
    state: str = ASKED
    upto: int = 0


class MovingHome:
    """Moves of clients that are served here."""

    def __init__(self, core: Core, links: Links) -> None:
        self.core = core
        self.links = links
        self._moves: dict[int, _Move] = {}
        self._move_of: dict[str, int] = {}

    # ------------------------------------------------------------ request_to_move

    def propose(self, proposal: Propose) -> None:
        """Ask the client, if it can move there at all."""
        core = self.core
        move = proposal.move or core.random.getrandbits(53) | 1
        client = core.state.clients.get(proposal.client)
        session = core.session_of.get(proposal.client)
        member = core.state.members.get(proposal.to)
        why = ""
        if client is None or client.role != HOME or session is None:
            why = "not here"
        elif client.is_handing_over or client.name in self._move_of:
            why = "is moving"
        elif member is None or not member.is_up:
            why = "not linked"
        if client is None or session is None or member is None or why:
            core.end_move(move, proposal.client, proposal.to, why)
            return
        self._moves[move] = _Move(move, client.name, member.name, client.epoch)
        self._move_of[client.name] = move
        core.send(
            session.number,
            RequestToMove(move, member.name, member.address, proposal.reason, proposal.gain),
        )
        core.later(core.settings.ask_seconds, self._late, move, ASKED)

    def on_decline(self, session: Session, message: Decline) -> None:
        """The client stays."""
        move = self._of(session, message.move)
        if move is not None:
            self._end(move, f"declined: {message.reason}")
            if self.core.is_departing:
                self.dismiss(move.client)

    def dismiss(self, name: str) -> None:
        """Close the session of a client that must go: it finds another broker by itself."""
        session = self.core.session_of.get(name)
        if session is not None:
            self.core.send(session.number, Bye("departs"))
            self.core.close(session.number, "the broker departs")

    def _of(self, session: Session, number: int) -> _Move | None:
        move = self._moves.get(number)
        if move is None or move.client != session.client or move.state != ASKED:
            return None
        return move

    # ------------------------------------------------------------ accept, replicate

    def on_accept(self, session: Session, message: Accept) -> None:
        """The client agrees: give its state to the foreign broker."""
        core = self.core
        move = self._of(session, message.move)
        client = core.served(session)
        if move is None or client is None:
            return
        member = core.state.members.get(move.to)
        if member is None or not member.is_up:
            self._end(move, "not linked")
            return
        move.state = REPLICATING
        waits = tuple(islice(client.queue, core.settings.most_replicated))
        move.upto = waits[-1][0] if waits else client.number
        core.send(member.session, self.replica(move.move, client, waits))
        core.later(core.settings.replicate_seconds, self._late, move.move, REPLICATING)

    def replica(self, move: int, client: Client, waits: tuple) -> Replicate:  # type: ignore[type-arg]
        """The client's state as the foreign broker gets it."""
        return Replicate(
            *(move, client.name, client.epoch + 1, client.demand, client.surely_published),
            *(client.wanted(), waits),
        )

    def on_refused(self, session: Session, message: ReplicateRefused) -> None:
        """The foreign broker cannot take the client."""
        move = self._moves.get(message.move)
        if move is not None and move.state == REPLICATING and move.to == session.peer.name:
            self._end(move, f"refused: {message.code}")

    def on_replicated(self, session: Session, message: Replicated) -> None:
        """Hand over: deliver nothing from here on, and give the client its ticket."""
        core = self.core
        to = session.peer.name
        move = self._moves.get(message.move)
        if move is None or move.state != REPLICATING or move.to != to:
            # Given up meanwhile; the foreign broker has been told, or is told by this.
            self.links.say(to, Cancel(message.move, message.client))
            return
        client = core.state.clients[move.client]
        served = core.session_of.get(move.client)
        member = core.state.members[to]
        if served is None:
            self._cancel(move, "client is not connected")
            return
        self._forget(move)
        core.commit("handing", client.name, move.move, to, message.ticket, move.upto)
        core.send(
            served.number,
            MoveReady(move.move, to, member.address, message.ticket, client.epoch + 1),
        )

    # ------------------------------------------------------------ what goes wrong

    def _late(self, number: int, state: str) -> None:
        move = self._moves.get(number)
        if move is None or move.state != state:
            return
        if state == ASKED:
            self._end(move, "no answer from the client")
        else:
            self._cancel(move, "no answer from the broker")

    def client_away(self, name: str) -> None:
        """The client's session is over, or it is served elsewhere."""
        move = self._moves.get(self._move_of.get(name, 0))
        if move is None:
            return
        if move.state == ASKED:
            self._end(move, "client is not connected")
        else:
            self._cancel(move, "client is not connected")

    def link_down(self, name: str) -> None:
        """The foreign broker cannot be reached."""
        for move in [move for move in self._moves.values() if move.to == name]:
            if move.state == REPLICATING:
                self._cancel(move, "link lost")

    def _cancel(self, move: _Move, why: str) -> None:
        self.links.say(move.to, Cancel(move.move, move.client))
        self._end(move, why)

    def _end(self, move: _Move, outcome: str) -> None:
        self._forget(move)
        self.core.end_move(move.move, move.client, move.to, outcome)

    def _forget(self, move: _Move) -> None:
        del self._moves[move.move]
        del self._move_of[move.client]
