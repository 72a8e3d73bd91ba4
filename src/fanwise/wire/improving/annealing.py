"""Ruin and recreate with a heat that falls: batches of changes, and the best attachment of all."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.wire.ground import Ground
from fanwise.wire.improving.ruining import NUM_DRAWS, TRIED, WORK, change_on, make_bench
from fanwise.wire.state import make_state

HOT, COLD = 0.3, 0.003
"""Heat at the start and at the end, in costs of a mean user."""
CHANGES_PER_USER, LEAST_CHANGES = 100, 200
BATCH = 250
MOST_DETACHED = 10
RENEWALS = 40
"""Batches after which sums are made anew, so that rounding does not add up."""


class Annealing:
    """A search from one attachment on; the same generator gives the same way."""

    def __init__(
        self, ground: Ground, start: IntArray, row: LongArray, random: np.random.Generator
    ) -> None:
        self.ground, self._row, self._random = ground, row, random
        self.state = make_state(ground, start)
        self._bench = make_bench(self.state, MOST_DETACHED)
        self._unit = self.state.cost / max(ground.num_users, 1)
        self._most = CHANGES_PER_USER * ground.num_users + LEAST_CHANGES
        self._num_batches = 0

    @property
    def best(self) -> IntArray:
        return self._bench.best

    @property
    def num_tried(self) -> int:
        return int(self._bench.counters[TRIED])

    def share_done(self, work: float) -> float:
        """Return the share of all changes, or of the work, that is behind us."""
        return max(self.num_tried / self._most, float(self._bench.counters[WORK]) / max(work, 1.0))

    def run_batch(self, fraction: float, work: float) -> None:
        """Try some changes at the heat of a fraction of the way, up to some work."""
        heat = self._unit * HOT * (COLD / HOT) ** fraction
        draws = self._random.random((BATCH, NUM_DRAWS))
        until = self._bench.counters[WORK] + work
        change_on(self.ground, self.state, self._row, self._bench, draws, heat, until)
        self._num_batches += 1
        if self._num_batches % RENEWALS == 0:
            self.state = make_state(self.ground, self.state.broker_of_user)
