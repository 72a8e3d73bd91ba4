"""Ruin and recreate with a heat that falls: batches of changes, and the best attachment of all.

Guarantee
    The best attachment costs no more than the start. The same generator gives the same changes.

Complexity
    At most CHANGES_PER_USER changes for each user; a change prices MOST_DETACHED users at all
    brokers (see :mod:`fanwise.wire.move_costs`).

References
----------
    S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi: Optimization by simulated annealing. Science 220,
    1983.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.wire.arrays import WiringArrays
from fanwise.wire.improving.ruin_and_recreate import NUM_DRAWS, TRIED, WORK, make_ruin, try_changes
from fanwise.wire.state import make_state

HOT, COLD = 0.3, 0.003
"""Heat at the start and at the end, in costs of a mean user."""
CHANGES_PER_USER, LEAST_CHANGES = 100, 200
BATCH = 250
"""Changes at one heat."""
MOST_DETACHED = 10
"""Users that one change detaches."""
RENEWALS = 40
"""Batches after which sums are made anew, so that rounding does not add up."""


def most_changes(num_users: int) -> int:
    """Return after how many changes annealing ends."""
    return CHANGES_PER_USER * num_users + LEAST_CHANGES


class Annealing:
    """A search from one attachment on.

    Parameters
    ----------
    start
        The broker of each user.
    order
        Users of like interests next to each other.
    random
        Draws the changes.
    longer
        How many times as many changes as usual.
    """

    def __init__(
        self,
        arrays: WiringArrays,
        start: IntArray,
        order: LongArray,
        random: np.random.Generator,
        longer: float = 1.0,
    ) -> None:
        self.arrays, self._order, self._random = arrays, order, random
        self.state = make_state(arrays, start)
        self._ruin = make_ruin(self.state, MOST_DETACHED)
        self._unit = self.state.cost / max(arrays.num_users, 1)
        self._most = longer * most_changes(arrays.num_users)
        self._num_batches = 0

    @property
    def best(self) -> IntArray:
        return self._ruin.best

    @property
    def num_tried(self) -> int:
        return int(self._ruin.counters[TRIED])

    def share_done(self, work: float) -> float:
        """Return the share of all changes, or of the work, that is behind us."""
        return max(self.num_tried / self._most, float(self._ruin.counters[WORK]) / max(work, 1.0))

    def run_batch(self, fraction: float, work: float) -> float:
        """Try some changes at the heat of a fraction of the way; return the work that took.

        No further change is begun once it has taken ``work``.
        """
        # Geometric, by what is behind us and not by batches: the end is cold whatever ends the
        # search.
        heat = self._unit * HOT * (COLD / HOT) ** fraction
        draws = self._random.random((BATCH, NUM_DRAWS))
        before = float(self._ruin.counters[WORK])
        try_changes(self.arrays, self.state, self._order, self._ruin, draws, heat, before + work)
        self._num_batches += 1
        if self._num_batches % RENEWALS == 0:
            self.state = make_state(self.arrays, self.state.broker_of_user)
        return float(self._ruin.counters[WORK]) - before
