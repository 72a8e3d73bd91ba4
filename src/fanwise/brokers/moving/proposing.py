"""Which of its clients a broker asks to move, and where to: the paper's Section IV.C, and more.

From time to time a broker looks at the summaries of all and proposes, in this order:

1. *relief*: while it carries more than its capacity, its clients with most traffic go to the broker
   with room that costs least;
2. *rearrangement*: the part of the best rearrangement that concerns its own clients. Brokers tell
   what they propose with their summaries; each prices all proposals by itself and follows the one
   that saves most (ties: by name and number), once it has known them for a while. Since all know
   the same, all follow the same, and nobody has to be asked;
3. *single moves*, as in the paper: its clients with most traffic first, each to the broker with
   room where the cost falls most, if it falls enough;
4. if there is little of these, it looks for a rearrangement (:mod:`.rearranging`).

Damping
    A move must save a share of what a client costs; a client that was asked rests; at most so many
    are asked in a minute. After its own single moves a broker looks whether the cost has fallen as
    far as it should; if it has not, because others moved at the same time, it sits out ever more of
    its turns, by chance, until it has. Costs of a rearrangement are those of the end, and only one
    that saves a share of the whole cost is followed.

Guarantee
    Every move that is asked for on right summaries lowers C1 + C2, is part of a rearrangement that
    does, or relieves a broker. By the summaries no broker gets above its capacity; that it does not
    in truth is for the calls: who has no room refuses.

Complexity
    A turn prices the broker's clients at all brokers (see :mod:`fanwise.wire.move_costs`) and lays
    out the view for each proposal. A turn that looks for a rearrangement tries ``changes`` for each
    client on top.

References
----------
    Y. Zhao, J. Wu: On the construction of the minimum cost content-based publish/subscribe
    overlays. IEEE SECON 2011, Section IV.C.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanwise.arrays.tolerance import fits
from fanwise.brokers.moving.ordering import Moving
from fanwise.brokers.moving.rearranging import num_starts, rearrange
from fanwise.brokers.moving.settings import MovingSettings
from fanwise.brokers.moving.summaries import Rearrangement
from fanwise.brokers.moving.view import View
from fanwise.wire.migration import cheapest_move
from fanwise.wire.state import State, apply_move, is_overloaded, make_state

MOST_BACKOFF = 8
"""Turns of which all but one are sat out, at most."""
KEPT_PROMISE = 0.5
"""Share of what single moves should have saved, below which others were in the way."""
CHANGED = 0.01
"""Share by which the cost must change before a broker that found nothing looks again."""


@dataclass(frozen=True, slots=True)
class Move:
    """A client should move; what that saves, and why."""

    client: str
    to: str
    reason: str
    gain: float


class Proposer:
    """The proposals of one broker.

    Parameters
    ----------
    broker
        Whose.
    seed
        Of all that is left to chance.
    """

    def __init__(self, broker: str, settings: MovingSettings, seed: int) -> None:
        self.broker, self.settings = broker, settings
        self.rearrangement: Rearrangement | None = None
        self._random = np.random.default_rng([seed, *broker.encode()])
        self._allowed, self._allowed_at = 1.0, -np.inf
        self._resting: dict[str, float] = {}
        self._heard: dict[tuple[str, int], float] = {}
        self._number = 0
        self._promise: tuple[float, float] | None = None
        self._backoff = 1
        self._tries = 0
        self._tried_at = np.inf
        self._is_idle = False

    @property
    def is_settled(self) -> bool:
        """Whether it has looked everywhere and found nothing, and nothing has changed since."""
        return self._is_idle and (self._tries < 0 or not self._may_look)

    @property
    def _may_look(self) -> bool:
        return self.settings.changes > 0 and self.settings.moves_per_minute > 0

    def turn(self, now: float, view: View) -> list[Move]:
        """Return whom to ask now. The moves count as made for what comes after."""
        settings = self.settings
        self._allow(now)
        self._resting = {name: end for name, end in self._resting.items() if end > now}
        me = view.id_of_broker[self.broker]
        state = view.state()
        self._look_back(state.cost)
        self._is_idle = False
        moves = self._relieve(view, state, me)
        if not moves:
            followed = self._choose(now, view, state)
            if followed is not None:
                moves = self._follow(view, followed, me)
            elif self._random.random() * self._backoff < 1:
                moves = self._single_moves(view, state, me)
                if self._may_look and len(moves) <= settings.busy * self._allowed:
                    self._look(view, me)
                mine = np.flatnonzero(view.broker_of_client == me).tolist()
                is_resting = any(view.clients[client] in self._resting for client in mine)
                self._is_idle = not (moves or is_resting or self.rearrangement)
        for move in moves:
            self._allowed -= 1
            self._resting[move.client] = now + settings.rest_seconds
        return moves

    def _allow(self, now: float) -> None:
        """Let the moves of the time since the last turn be added to what may be asked."""
        settings = self.settings
        per_turn = settings.moves_per_minute * settings.turn_seconds / 60
        if now > self._allowed_at > -np.inf:
            self._allowed += settings.moves_per_minute * (now - self._allowed_at) / 60
        else:
            self._allowed = per_turn
        self._allowed = min(self._allowed, max(per_turn, 1.0)) if per_turn > 0 else 0.0
        self._allowed_at = now

    def _look_back(self, cost: float) -> None:
        """See whether the last single moves did what they should have."""
        if self._promise is None:
            return
        before, gain = self._promise
        self._promise = None
        if before - cost >= KEPT_PROMISE * gain:
            self._backoff = 1
        else:
            self._backoff = min(2 * self._backoff, MOST_BACKOFF)

    def _own(self, view: View, me: int) -> list[int]:
        """Clients of this broker that do not rest, most traffic first."""
        mine = np.flatnonzero(view.broker_of_client == me)
        order = mine[np.argsort(-view.arrays.demand[mine], kind="stable")]
        return [client for client in order.tolist() if view.clients[client] not in self._resting]

    def _relieve(self, view: View, state: State, me: int) -> list[Move]:
        arrays = view.arrays
        moves: list[Move] = []
        for client in self._own(view, me):
            if self._allowed - len(moves) < 1 or not is_overloaded(arrays, state, me):
                break
            best = cheapest_move(arrays, state, client, np.inf)
            if best != me and arrays.demand[client] > 0:
                gain = -float(state.changes[best])
                apply_move(arrays, state, client, best)
                moves.append(Move(view.clients[client], view.brokers[best], "relief", gain))
        return moves

    def _single_moves(self, view: View, state: State, me: int) -> list[Move]:
        arrays = view.arrays
        moves: list[Move] = []
        before = state.cost
        enough = -self.settings.least_gain * before / max(arrays.num_users, 1)
        for client in self._own(view, me):
            if self._allowed - len(moves) < 1:
                break
            best = cheapest_move(arrays, state, client, min(enough, -1e-12 * before))
            if best != me:
                gain = -float(state.changes[best])
                apply_move(arrays, state, client, best)
                moves.append(Move(view.clients[client], view.brokers[best], "cost", gain))
        if moves:
            self._promise = before, before - state.cost
        return moves

    def _choose(self, now: float, view: View, state: State) -> Rearrangement | None:
        """Return the rearrangement to follow: the one that saves most, once known for a while."""
        settings = self.settings
        proposed = dict(view.rearrangements)
        proposed.pop(self.broker, None)
        if self.rearrangement is not None:
            proposed[self.broker] = self.rearrangement
        heard = {one.key: self._heard.get(one.key, now) for one in proposed.values()}
        self._heard = heard
        best, most = None, 0.0
        for _, one in sorted(proposed.items()):
            gain = self._gain(view, state, one)
            is_old = now - heard[one.key] > settings.rearrangement_seconds
            if gain <= settings.least_rearrangement_gain * state.cost / 4 or is_old:
                if one is self.rearrangement:
                    self.rearrangement = None
            elif gain > most:
                best, most = one, gain
        if best is None or now - heard[best.key] < settings.wait_seconds:
            return best if best is None else Rearrangement(best.broker, best.number, ())
        return best

    def _gain(self, view: View, state: State, proposed: Rearrangement) -> float:
        """Return what is still to be saved by a rearrangement; -inf if there is no room for it."""
        after = self._targets(view, proposed)
        if (after == view.broker_of_client).all():
            return -np.inf
        moved = make_state(view.arrays, after)
        had_room = fits(state.load, view.arrays.capacity)
        if not np.all(fits(moved.load, view.arrays.capacity) | ~had_room):
            return -np.inf
        return state.cost - moved.cost

    def _targets(self, view: View, proposed: Rearrangement) -> np.ndarray:
        after = view.broker_of_client.copy()
        for client, broker in proposed.targets:
            if client in view.id_of_client and broker in view.id_of_broker:
                after[view.id_of_client[client]] = view.id_of_broker[broker]
        return after

    def _follow(self, view: View, proposed: Rearrangement, me: int) -> list[Move]:
        """Return the moves of own clients for which there is room now."""
        arrays = view.arrays
        moves: list[Move] = []
        after = self._targets(view, proposed)
        moving = Moving(arrays.demand, view.broker_of_client, after, arrays.capacity)
        own = set(self._own(view, me))
        for client in range(arrays.num_users):
            if view.broker_of_client[client] == me and client not in own:
                moving.give_up(client)
        # Others do the same: a step of theirs takes room, one of this broker's is asked for.
        while self._allowed - len(moves) >= 1:
            step = moving.next_step()
            if step is None:
                break
            moving.begin(step)
            if step.client in own:
                name = view.clients[step.client]
                reason = f"rearrangement {proposed.broker} {proposed.number}"
                moves.append(Move(name, view.brokers[step.broker], reason, 0.0))
        return moves

    def _look(self, view: View, me: int) -> None:
        """Look for a rearrangement from the next start, unless nothing has changed since the last.

        A broker that has found nothing from any start is settled until the cost is another.
        """
        arrays, cost = view.arrays, view.state().cost
        if self.rearrangement is not None or not arrays.num_users:
            return
        if self._tries < 0:
            if abs(cost - self._tried_at) <= CHANGED * abs(self._tried_at):
                return
            self._tries = 0
        starts = num_starts(arrays, me)
        num_changes = int(self.settings.changes * arrays.num_users) + 1
        found = rearrange(arrays, view.broker_of_client, me, self._tries, num_changes, self._random)
        self._tries += 1
        if found is not None and cost - found[1] > self.settings.least_rearrangement_gain * cost:
            self._propose(view, found[0])
            self._tries = 0
        elif self._tries >= starts:
            self._tries, self._tried_at = -1, cost

    def _propose(self, view: View, after: np.ndarray) -> None:
        self._number += 1
        targets = tuple(
            (view.clients[client], view.brokers[after[client]])
            for client in np.flatnonzero(after != view.broker_of_client).tolist()
        )
        self.rearrangement = Rearrangement(self.broker, self._number, targets)
