"""A search by moves over one overlay, in batches, the same for the same seed."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.arrays.tolerance import ROUNDING
from fanwise.connect.arrays import Budget, Network
from fanwise.connect.improving.linking import edges_in, make_overlay
from fanwise.connect.improving.moves import MAX_MADE, NUM_DRAWS, drop_redundant, try_moves
from fanwise.connect.improving.overlay import VALUE, WORK
from fanwise.connect.improving.partners import best_partners

LIST_LENGTH = 8
"""Partners of a node listed by what they share, and as many by what a link would add now."""
BATCH = 256
"""Moves between two looks at the clock."""
MAX_LISTING_WORK = 100_000_000
"""Followers of topics, squared, that are counted to list partners."""
PAIRS_PER_STEP = 6
"""How many pairs of followers are counted in the time of a step of a move."""
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
    work
        Steps of walks over slots so far, and what else moves do in the time of so many: the same
        count on any machine.
    """

    def __init__(
        self,
        network: Network,
        budget: Budget,
        edges: IntArray,
        rng: np.random.Generator,
        *,
        charge: FloatArray | None = None,
        is_complete: bool = False,
        listing_work: float = MAX_LISTING_WORK,
    ) -> None:
        self._charge = np.zeros(network.num_nodes) if charge is None else charge
        self._network, self._budget, self._rng = network, budget, rng
        self._widest = network.most_interests
        self._overlay = make_overlay(network, edges, **self._spare_slots(len(edges)))
        drop_redundant(network, self._overlay)
        self.work = 0
        self._listing_work = min(listing_work, MAX_LISTING_WORK)
        self._shared = self._list(edges[:0])
        self._partners = self._list_anew(edges)
        self._next_listing = LISTING * (len(edges) + 1)
        self._descent = DESCENT * (len(edges) + 1)
        self._cycle = CYCLE * (len(edges) + 1)
        is_wanted = np.diff(network.topic_indptr) > 1
        self._heat = float(network.weight[is_wanted].mean()) if is_wanted.any() else 0.0
        if is_complete:  # mu cannot grow, and must not shrink
            self._heat = 0.0
        self.num_tried = self.num_better = 0
        self._last_gain = 0
        self.edges, self.value, self._cost = (
            edges_in(self._overlay),
            self._overlay.totals[VALUE],
            np.inf,
        )
        self._keep_best()

    @property
    def num_idle(self) -> int:
        """Moves since the last better overlay."""
        return self.num_tried - self._last_gain

    @property
    def most_idle(self) -> int:
        """Moves without a better overlay after which no more is to be hoped: two cycles' worth."""
        return self._descent + 2 * self._cycle

    def run_batch(self) -> bool:
        """Try some moves; say whether there is a new best overlay."""
        if self.num_tried >= self._next_listing:
            self._next_listing = 2 * self.num_tried
            self._partners = self._list_anew(edges_in(self._overlay))
        draws = self._rng.random((BATCH, NUM_DRAWS))
        heat, done = self._heat_now(), 0
        while done < BATCH:
            tried, better = try_moves(
                self._network,
                self._overlay,
                self._budget,
                self._partners,
                self._charge,
                draws[done:],
                self._widest,
                heat,
            )
            done += tried
            self.work += int(self._overlay.counters[WORK])
            self._overlay.counters[WORK] = 0
            self.num_better += better
            if done < BATCH:
                edges = edges_in(self._overlay)
                self._overlay = make_overlay(self._network, edges, **self._spare_slots(len(edges)))
        self.num_tried += BATCH
        return self._keep_best()

    def _heat_now(self) -> float:
        """Return the heat at this point of the descent or the cycle."""
        since = self.num_tried - self._descent
        if since < 0:
            return 0.0
        # The last fifth of a cycle is without heat: it ends in a local optimum.
        return self._heat * max(0.0, 1 - 1.25 * (since % self._cycle) / self._cycle)

    def _keep_best(self) -> bool:
        value, cost = self._overlay.totals
        rounding = ROUNDING * (1 + abs(value))
        is_better = value > self.value + rounding
        if not is_better and not (value >= self.value - rounding and cost < self._cost - ROUNDING):
            return False
        self.edges, self.value, self._cost = edges_in(self._overlay), float(value), float(cost)
        self._last_gain = self.num_tried
        return True

    def _spare_slots(self, num_edges: int) -> dict[str, int]:
        """Return how many slots to keep free for links to come."""
        spare = 4 * MAX_MADE + num_edges // 4
        return {
            "spare_edges": spare,
            "spare_records": 4 * MAX_MADE * self._widest + num_edges * self._widest // 16,
        }

    def _list(self, edges: IntArray) -> IntArray:
        """Return the partners of each node whose links would add most to an overlay."""
        pairs = min(self._network.counting_work, self._listing_work)
        self.work += int(pairs) // PAIRS_PER_STEP
        return best_partners(self._network, edges, LIST_LENGTH, self._listing_work)

    def _list_anew(self, edges: IntArray) -> IntArray:
        """Return partners by what they share, and by what a link would add now, side by side."""
        return np.ascontiguousarray(np.hstack([self._shared, self._list(edges)]))
