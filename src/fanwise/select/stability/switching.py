"""Selections near the one in force, by prices under which a change costs more.

A topic that was not served before counts as dearer by a surcharge, one that was as cheaper: greedy
selection under such prices trades value for stability. Where topics have prices of their own for
being switched, the surcharge is so much larger. What changes too much is taken back, and
changes that are left are spent.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE
from fanwise.select.greedy import continue_from
from fanwise.select.improve import topic_losses
from fanwise.select.problem import Selection, Served

LEAST_PRICE = 1e-3
"""Of its cost: a topic that stays is never free, or all of them would tie."""


class Switching:
    """Makes selections that weigh changes."""

    def __init__(self, problem: Selection) -> None:
        self.problem = problem
        self._was_served = problem.before

    def prices(self, surcharge: float) -> FloatArray:
        """Return what topics cost when a change costs this much more."""
        cost = self.problem.cost
        change = np.where(self._was_served, -surcharge, surcharge) * self.problem.change_units
        return np.maximum(cost + change, LEAST_PRICE * cost)

    def complete(self, kept: Served, surcharge: float) -> Served:
        """Go on greedily from kept topics under a surcharge, whatever the number of changes."""
        served = kept.copy()
        served[continue_from(self.problem, kept, self.prices(surcharge)).order] = True
        return self._restore(served)

    def finish(self, served: Served, surcharge: float) -> Served:
        """Take back changes that are too many or earn too little, spend those that are left."""
        served = self._take_back(served)
        allowed = self.problem.max_changes
        return served if allowed is None else self._spend(served, surcharge, allowed)

    def _restore(self, served: Served) -> Served:
        """Serve again what was served before and still fits: fewer changes, never less value."""
        problem = self.problem
        gone = np.flatnonzero(self._was_served & ~served & ~problem.is_excluded)
        gone = gone[np.argsort(problem.cost[gone], kind="stable")]
        # Half the tolerance: sums in another order must not pass the other half.
        room = problem.limit * (1 + RELATIVE_TOLERANCE / 2) - float(problem.cost[served].sum())
        restored = served.copy()
        restored[gone[np.cumsum(problem.cost[gone]) <= room]] = True
        return restored

    def _take_back(self, served: Served) -> Served:
        """Switch new topics off, those that earn least first, until changes are few or worth it.

        One taken back may make room for old topics, or raise what the others earn: half of them at
        a time, then look again.
        """
        while True:
            new = np.flatnonzero(served & ~self._was_served & ~self.problem.is_pinned)
            losses = topic_losses(self.problem, served)[new]
            losses -= self.problem.price_level * self.problem.change_units[new]
            count = min(len(new), self._num_unwanted(served, losses))
            if count <= 0:
                return served
            worst = new[np.argsort(losses, kind="stable")[: (count + 1) // 2]]
            served = served.copy()
            served[worst] = False
            served = self._restore(served)

    def _num_unwanted(self, served: Served, losses: FloatArray) -> int:
        if self.problem.max_changes is not None:
            return self.problem.num_changes(served) - self.problem.max_changes
        return int(np.count_nonzero(losses < 0))

    def _spend(self, served: Served, surcharge: float, allowed: int) -> Served:
        """Use the changes that are left for new topics, within the capacity that is left."""
        order = continue_from(self.problem, served, self.prices(surcharge)).order
        left = allowed - self.problem.num_changes(served)
        order = order[np.cumsum(np.where(self._was_served[order], -1, 1)) <= left]
        spent = served.copy()
        spent[order] = True
        return spent
