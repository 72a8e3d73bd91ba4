"""A search by moves over one overlay, in batches, the same for the same seed."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.connect.improving.completion import best_partners
from fanwise.connect.improving.ground import Budget, Ground
from fanwise.connect.improving.live import edges_in, make_live
from fanwise.connect.improving.moves import MAX_MADE, NUM_DRAWS, ROUNDING, drop_redundant, try_moves
from fanwise.connect.improving.state import VALUE

LIST_LENGTH = 8
"""Partners of a node listed by what they share, and as many by what a link would add now."""
BATCH = 256
LISTING = 20
"""Moves per link after which partners are listed anew; after that, after twice as many."""
DESCENT, CYCLE = 15, 40
"""Moves per link of plain improvement at first, and of a cycle of falling heat."""


class MoveSearch:
    """An overlay that gets better.

    After a while of plain improvement the search runs in cycles: it starts each with some heat,
    which falls to nothing. The best overlay met is kept.

    Attributes
    ----------
    edges, value
        The best overlay so far and its mu.
    num_tried, num_better
        Moves so far.
    """

    def __init__(
        self,
        ground: Ground,
        budget: Budget,
        edges: IntArray,
        rng: np.random.Generator,
        *,
        is_complete: bool = False,
    ) -> None:
        self._ground, self._budget, self._rng = ground, budget, rng
        self._widest = int(np.diff(ground.indptr).max(initial=0))
        self._live = make_live(ground, edges, **self._room(len(edges)))
        drop_redundant(ground, self._live)
        self._shared = best_partners(ground, edges[:0], LIST_LENGTH)
        self._partners = self._join(best_partners(ground, edges, LIST_LENGTH))
        self._next_listing = LISTING * (len(edges) + 1)
        self._descent = DESCENT * (len(edges) + 1)
        self._cycle = CYCLE * (len(edges) + 1)
        is_wanted = np.diff(ground.topic_indptr) > 1
        self._heat = float(ground.weight[is_wanted].mean()) if is_wanted.any() else 0.0
        if is_complete:  # mu cannot grow, and must not shrink
            self._heat = 0.0
        self.num_tried = self.num_better = 0
        self._last_gain = 0
        self.edges, self.value, self._cost = edges_in(self._live), self._live.totals[VALUE], np.inf
        self._keep_best()

    @property
    def is_exhausted(self) -> bool:
        """Whether two cycles have brought nothing."""
        return self.num_tried - self._last_gain > self.most_idle

    @property
    def most_idle(self) -> int:
        """Moves without a better overlay after which the search ends."""
        return self._descent + 2 * self._cycle

    def run_batch(self) -> bool:
        """Try some moves; say whether there is a new best overlay."""
        if self.num_tried >= self._next_listing:
            self._next_listing = 2 * self.num_tried
            self._partners = self._join(
                best_partners(self._ground, edges_in(self._live), LIST_LENGTH)
            )
        draws = self._rng.random((BATCH, NUM_DRAWS))
        heat, done = self._heat_now(), 0
        while done < BATCH:
            tried, better = try_moves(
                self._ground,
                self._live,
                self._budget,
                self._partners,
                draws[done:],
                self._widest,
                heat,
            )
            done += tried
            self.num_better += better
            if done < BATCH:
                edges = edges_in(self._live)
                self._live = make_live(self._ground, edges, **self._room(len(edges)))
        self.num_tried += BATCH
        return self._keep_best()

    def _heat_now(self) -> float:
        """Return the heat at this point of the descent or the cycle."""
        since = self.num_tried - self._descent
        if since < 0:
            return 0.0
        return self._heat * max(0.0, 1 - 1.25 * (since % self._cycle) / self._cycle)

    def _keep_best(self) -> bool:
        value, cost = self._live.totals
        rounding = ROUNDING * (1 + abs(value))
        is_better = value > self.value + rounding
        if not is_better and not (value >= self.value - rounding and cost < self._cost - ROUNDING):
            return False
        self.edges, self.value, self._cost = edges_in(self._live), float(value), float(cost)
        self._last_gain = self.num_tried
        return True

    def _room(self, num_edges: int) -> dict[str, int]:
        """Return how much room to leave for links to come."""
        spare = 4 * MAX_MADE + num_edges // 4
        return {
            "spare_edges": spare,
            "spare_records": 4 * MAX_MADE * self._widest + num_edges * self._widest // 16,
        }

    def _join(self, gaining: IntArray) -> IntArray:
        """Return both lists side by side."""
        return np.ascontiguousarray(np.hstack([self._shared, gaining]))
