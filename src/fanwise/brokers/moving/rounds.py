"""The distributed optimiser without a network: brokers take turns, and moves happen at once.

Summaries are what clients are; each round every broker looks at those of the round before, in an
order drawn anew, and its moves take place before the next round. It is how cost over time is
measured, and how proposals are tested by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.arrays.tolerance import fits
from fanwise.brokers.moving.proposing import Move, Proposer
from fanwise.brokers.moving.settings import MovingSettings
from fanwise.brokers.moving.view import Scene, View, summaries_of
from fanwise.workload.content import ContentWorkload


@dataclass(frozen=True)
class Round:
    """What a round has brought.

    Attributes
    ----------
    cost
        C1 + C2 after it.
    moves
        That were made, and those that were refused for want of room.
    is_settled
        Whether no broker has anything to propose until something changes.
    """

    now: float
    cost: float
    moves: tuple[Move, ...]
    num_refused: int
    is_settled: bool


class Rounds:
    """Brokers with all their clients.

    Parameters
    ----------
    workload
        Clients, brokers and rates.
    broker_of_client
        Where clients are at first.
    is_simultaneous
        Whether all brokers decide on the same summaries, or each sees what those before it did.
    """

    def __init__(
        self,
        workload: ContentWorkload,
        broker_of_client: IntArray,
        settings: MovingSettings,
        *,
        seed: int = 0,
        is_simultaneous: bool = True,
    ) -> None:
        self.workload = workload
        self.broker_of_client = np.array(broker_of_client, dtype=np.int32)
        self.now = 0.0
        self._settings, self._is_simultaneous = settings, is_simultaneous
        self._scene = Scene(workload)
        names = workload.broker_names.to_pylist()
        self.proposers = [Proposer(name, settings, seed) for name in names]
        self._random = np.random.default_rng([seed, 1])
        self._view = self.view()
        self._row_of_client = {
            name: row for row, name in enumerate(workload.subscriber_names.to_pylist())
        }

    def change(self, workload: ContentWorkload) -> None:
        """Let clients want and publish otherwise from now on; who they are stays."""
        self.workload = workload
        self._view = self.view()

    def view(self) -> View:
        """Return what everybody sees."""
        summaries = [
            replace(summary, rearrangement=proposer.rearrangement)
            for summary, proposer in zip(
                summaries_of(self.workload, self.broker_of_client), self.proposers, strict=True
            )
        ]
        return self._scene.view(summaries)

    def run(self, num_rounds: int) -> Iterator[Round]:
        """Yield rounds, one after the other."""
        for _ in range(num_rounds):
            yield self._round()

    def _round(self) -> Round:
        made: list[Move] = []
        num_refused = 0
        self.now += self._settings.turn_seconds
        seen = self._view
        for index in self._random.permutation(len(self.proposers)).tolist():
            for move in self.proposers[index].turn(self.now, seen):
                if self._make(move):
                    made.append(move)
                else:
                    num_refused += 1
            if not self._is_simultaneous:
                seen = self.view()
        self._view = self.view()
        is_settled = not made and all(one.is_settled for one in self.proposers)
        return Round(self.now, self._view.state().cost, tuple(made), num_refused, is_settled)

    def _make(self, move: Move) -> bool:
        """Make a move if there is room: the foreign broker would refuse it otherwise."""
        view, client = self._view, self._row_of_client[move.client]
        to = view.id_of_broker[move.to]
        demand = view.arrays.demand[[view.id_of_client[name] for name in self._row_of_client]]
        load = float(demand[self.broker_of_client == to].sum())
        if not fits(load + float(demand[client]), float(view.arrays.capacity[to])):
            return False
        self.broker_of_client[client] = to
        return True
