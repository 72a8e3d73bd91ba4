"""A search by moves from one assignment, in batches, the same for the same seed."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.assign.ground import Filters
from fanwise.assign.improving.crowd import Crowd
from fanwise.assign.improving.live import WORK, make_live
from fanwise.assign.improving.moves import NUM_DRAWS, make_room, shrink_all, try_moves

BATCH = 500
HOT, COLD = 1.0, 1e-3
"""Heat at first, as a share of what a leaf's filter measures, and what remains of it at the end."""
MELTING, COOLING = 0.1, 0.85
"""Shares of the search before and after which only improvements count: what a short search can get
comes first."""


class MoveSearch:
    """An assignment that gets better.

    First only improvements count. Then heat allows moves that make things worse; it falls
    geometrically, and in the end there is none again. The best
    assignment met at the end of any batch is kept.

    Attributes
    ----------
    amounts, filters, value
        The best so far.
    num_tried, num_kept
        Moves so far.
    """

    def __init__(
        self,
        crowd: Crowd,
        amounts: IntArray,
        filters: Filters,
        limits: LongArray,
        rng: np.random.Generator,
        *,
        heat: float = HOT,
    ) -> None:
        self._crowd, self._rng = crowd, rng
        self._live = make_live(crowd, amounts, filters, limits)
        self._room = make_room(self._live)
        shrink_all(crowd.ground, self._live)
        self.num_tried = self.num_kept = 0
        self._keep_best()
        used = int(np.count_nonzero(self._live.size))
        self._heat = heat * self.value / max(used, 1)

    @property
    def work(self) -> int:
        """What the moves have looked at so far."""
        return int(self._live.counters[WORK])

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing is left to save."""
        return self.value <= 0.0

    def run_batch(self, fraction: float) -> bool:
        """Try some moves; say whether there is a new best assignment.

        Parameters
        ----------
        fraction
            How much of the search is over, from 0 to 1.
        """
        ground = self._crowd.ground
        leaves = ground.leaves[self._live.filters.counts[ground.leaves] > 0]
        if len(leaves) == 0:
            return False
        draws = self._rng.random((BATCH, NUM_DRAWS))
        cooled = (fraction - MELTING) / (COOLING - MELTING)
        heat = self._heat * COLD**cooled if 0.0 <= cooled < 1.0 else 0.0
        self.num_kept += try_moves(ground, self._live, self._room, leaves, draws, heat)
        self.num_tried += BATCH
        if self._live.measures.sum() >= self.value:
            return False
        self._keep_best()
        return True

    def _keep_best(self) -> None:
        live = self._live
        best = live.amounts.copy(), live.filters.copy(), float(live.measures.sum())
        self.amounts, self.filters, self.value = best
