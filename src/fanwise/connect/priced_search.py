"""Turns of a search that move prices on trees, grow overlays by them, and lower the bound.

Prices of nodes tell greedy which links to leave to others, and the links of a better overlay give
trees that prove a better bound: see :mod:`fanwise.connect.improving.priced_greedy` and
:mod:`fanwise.connect.pricing.tree_prices`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.connect.bounds import BoundSearch
from fanwise.connect.certificate import space_for_levels
from fanwise.connect.growing.grow import complete_greedily
from fanwise.connect.improving.greedy_order import order_greedily
from fanwise.connect.improving.priced_greedy import grow_by_prices
from fanwise.connect.overlay_search import OverlaySearch
from fanwise.connect.pricing.tree_prices import TreePrices
from fanwise.planning.plan import certified_gap
from fanwise.planning.problem import Bound

MAX_TREE_WORK = 1_000_000_000
"""Followers of topics, squared, times the tables that whoever checks shares on trees fills."""
TABLE = 1 << 25
"""Pairs of nodes that such a table has."""
VISIT_SECONDS, LEAST_PASSES = 4e-9, 40
"""What a pass may take for each pair of followers, and how many must fit into a time limit."""
VISITS_PER_STEP = 8
"""How many pairs of followers a pass over trees looks at in the time of a step of a move."""
FEWEST_PASSES, MOST_PASSES, TIMED_PASSES = 12, 800, 20_000
"""Passes of a turn, each with its part of the schedule; at most, without and with a time limit."""
SCHEDULES, LAST_SCHEDULE = ((0.0, 0.85),), (0.35, 1.0)
"""Parts of the schedule of prices in turns that grow overlays, and in the last one."""
FACTORS, FIRST_FACTOR = (0.6, 0.75, 0.9, 1.05, 1.3, 1.6, 2.0, 2.6), 3
"""What prices may be multiplied with before greedy works with them, and which of these is first:
less and more are tried as long as overlays get better."""
CHARGED = 0.5
"""The same where moves choose links. Half is better than nothing, and than all of it."""
PAIRS_PER_NODE = 40
"""Pairs that greedy chooses from, for each node."""
NEARER = 0.98
"""Part of the gap asked for at which prices will prove it when they are rounded."""
ROUNDING_PASSES = 12
"""Passes in which prices are fitted to shares that were rounded."""


class PricedSearch:
    """Turns over trees that belong to a search for overlays."""

    def __init__(
        self, search: OverlaySearch, prices: BoundSearch, share_used: Callable[[], float]
    ) -> None:
        """``share_used`` says how much of time or work is used up, from 0 to 1."""
        self._search, self._prices, self._share_used = search, prices, share_used
        self._network = network = search.problem.network
        tables = 1 + network.num_nodes**2 / TABLE
        seconds = network.counting_work * VISIT_SECONDS * LEAST_PASSES
        # Whether passes and their check are quick enough: decided once, before anything is done.
        self.is_possible = (
            network.counting_work * tables <= MAX_TREE_WORK and seconds <= search.run.time_left()
        )
        self._trees: TreePrices | None = None
        self._seconds = 0.0
        self._factor = FIRST_FACTOR

    def grow(self, until: float) -> None:
        """Take turns of pricing and growing, until so much of time or work is used up."""
        begun, turns = self._share_used(), len(SCHEDULES)
        for turn, schedule in enumerate(SCHEDULES):
            stop = begun + (until - begun) * (turn + 1) / turns
            if not self._descend(stop, schedule) or self._search.is_over():
                return
            if self._is_near():
                self.finish(stop)
                return
            self.grow_overlays()

    def finish(self, until: float) -> None:
        """Lower the bound of the best overlay until so much is used up, and take what is proven."""
        if not self._descend(until, LAST_SCHEDULE) or self._trees is None:
            return
        network = self._network
        most_bytes = space_for_levels(network.num_nodes, network.num_topics)
        found = self._trees.round(most_bytes, ROUNDING_PASSES)
        self._spend(ROUNDING_PASSES)
        if found is not None:
            self._prices.target = self._search.value
            self._prices.lower(*found)
            self._search.prove(Bound(self._prices.bound))

    def charge(self) -> FloatArray | None:
        """Return what moves charge for a link at each node; None where there are no prices."""
        if self._trees is None or self._network.has_costs or self._search.saves_links:
            return None
        return CHARGED * self._trees.node_prices

    def _descend(self, until: float, schedule: tuple[float, float]) -> bool:
        """Move prices on the trees of the best overlay until so much is used up.

        Returns whether there are such prices. ``schedule``: the part of the whole schedule.
        """
        search, begun = self._search, self._share_used()
        edges = order_greedily(self._network, search.answer)
        if self._trees is not None:
            self._trees.replant(edges)
        else:
            self._trees, schedule = self._prices.trees(edges), (0.0, schedule[1])
        if self._trees is None:
            return False
        trees = self._trees
        most_passes = MOST_PASSES if search.run.time_limit is None else TIMED_PASSES
        passes, steps = 0.0, 0
        with search.run.timed("bound"):
            while passes < most_passes:
                used, started = self._share_used(), search.run.elapsed()
                rest = ROUNDING_PASSES * self._seconds
                if used >= until and passes >= FEWEST_PASSES:
                    break
                if search.run.is_over() or search.run.time_left() < rest or self._is_near():
                    break
                by_share = (used - begun) / max(until - begun, 1e-9)
                progress = min(1.0, max(passes / most_passes, by_share))
                # As many steps as by now, for as much again of the schedule.
                expected = steps / progress if progress > 0.0 else 0.0
                at = schedule[0] + (schedule[1] - schedule[0]) * progress
                part = trees.step(at, expected)
                passes, steps = passes + part, steps + 1
                self._seconds = max(self._seconds * 0.9, (search.run.elapsed() - started) / part)
                self._spend(part)
            if trees.bound == math.inf and search.run.time_left() >= self._seconds:
                self._spend(trees.step(schedule[1], is_whole=True))
        return True

    def grow_overlays(self) -> None:
        """Grow overlays by the best prices, a few times more or less of them."""
        search, problem, trees = self._search, self._search.problem, self._trees
        if trees is None:
            return
        pairs = trees.worthy_pairs(PAIRS_PER_NODE * self._network.num_nodes)
        if not len(pairs):
            return
        grown: dict[int, float] = {}
        while not search.is_over():
            near = (self._factor, self._factor - 1, self._factor + 1)
            untried = [one for one in near if 0 <= one < len(FACTORS) and one not in grown]
            if not untried:
                break
            prices = np.ascontiguousarray(FACTORS[untried[0]] * trees.node_prices)
            begun = grow_by_prices(self._network, problem.budget, pairs, prices)
            links = complete_greedily(problem, begun, is_over=search.run.is_over)
            search.offer_links(order_greedily(self._network, links))
            search.spend(self._network.counting_work // VISITS_PER_STEP)
            grown[untried[0]] = problem.value(links)
            self._factor = max(grown, key=lambda one: grown[one])

    def _is_near(self) -> bool:
        """Whether shares and prices at hand prove the gap that was asked for."""
        if self._trees is None or self._trees.bound == math.inf:
            return False
        gap = certified_gap(self._search.value, self._trees.bound, is_feasible=True)
        return gap is not None and gap <= NEARER * self._search.run.limits_in_force["gap"]

    def _spend(self, passes: float) -> None:
        self._search.spend(passes * self._network.counting_work // VISITS_PER_STEP)
