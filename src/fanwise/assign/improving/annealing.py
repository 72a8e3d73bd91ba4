"""Simulated annealing from one assignment by moves, in batches, the same for the same seed.

Guarantee
    The best assignment met at the end of any batch is kept, so that the result is never worse than
    the start with its filters shrunk. Loads stay within the limits, or where they were above them.

Complexity
    A move looks at the members of a broker once for each of its rectangles, and at the brokers of
    those whom it drives out: :attr:`Annealing.work` counts both.

References
----------
    S. Kirkpatrick, C. Gelatt, M. Vecchi: Optimization by simulated annealing. Science 220, 1983.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.assign.arrays import Filters
from fanwise.assign.improving.move_state import WORK, make_state
from fanwise.assign.improving.moves import NUM_DRAWS, make_workspace, shrink_all, try_moves
from fanwise.assign.subscriber_types import SubscriberTypes

BATCH = 500
FIRST_SLICE, SLICE_WORK = 20, 1_000_000
"""Moves, and work of those that follow, between two looks at the clock: a few hundredths of a
second."""
HOT, COLD = 1.0, 1e-3
"""Heat at first, as a share of what a leaf's filter measures, and what remains of it at the end."""
MELTING, COOLING = 0.1, 0.85
"""Shares of the search before and after which only improvements count: what a short search can get
comes first."""


class Annealing:
    """An assignment that gets better.

    First only improvements count. Then heat allows moves that make things worse; it falls
    geometrically, and in the end there is none again.

    Attributes
    ----------
    amounts, filters, value
        The best so far.
    num_tried
        Moves so far.
    """

    def __init__(
        self,
        types: SubscriberTypes,
        amounts: IntArray,
        filters: Filters,
        limits: LongArray,
        rng: np.random.Generator,
        *,
        heat: float = HOT,
    ) -> None:
        self._types, self._rng = types, rng
        self._state = make_state(types, amounts, filters, limits)
        self._workspace = make_workspace(self._state)
        shrink_all(types.arrays, self._state)
        self.num_tried = 0
        self._slice = FIRST_SLICE
        self._keep_best()
        used = int(np.count_nonzero(self._state.size))
        self._heat = heat * self.value / max(used, 1)

    @property
    def work(self) -> int:
        """What the moves have looked at so far."""
        return int(self._state.counters[WORK])

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing is left to save."""
        return self.value <= 0.0

    def run_batch(self, fraction: float, is_over: Callable[[], bool] = lambda: False) -> bool:
        """Try some moves; say whether there is a new best assignment.

        Parameters
        ----------
        fraction
            How much of the search is over, from 0 to 1.
        is_over
            Asked now and then whether to leave the rest of the batch.
        """
        arrays = self._types.arrays
        leaves = arrays.leaves[self._state.filters.counts[arrays.leaves] > 0]
        if len(leaves) == 0:
            return False
        draws = self._rng.random((BATCH, NUM_DRAWS))
        cooled = (fraction - MELTING) / (COOLING - MELTING)
        heat = self._heat * COLD**cooled if 0.0 <= cooled < 1.0 else 0.0
        first = 0
        while first < BATCH and not is_over():
            some = draws[first : first + self._slice]
            before = self.work
            try_moves(arrays, self._state, self._workspace, leaves, some, heat)
            first += len(some)
            self.num_tried += len(some)
            # A slice decides when to look at the clock, never which moves are tried: without a time
            # limit, the plan does not depend on the machine.
            self._slice = max(1, SLICE_WORK * len(some) // (self.work - before))
        if self._state.measures.sum() >= self.value:
            return False
        self._keep_best()
        return True

    def _keep_best(self) -> None:
        state = self._state
        best = state.amounts.copy(), state.filters.copy(), float(state.measures.sum())
        self.amounts, self.filters, self.value = best
