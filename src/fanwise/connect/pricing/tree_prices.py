r"""Prices on spanning trees of topics: a partition, and a mix of them, of its own for each topic.

Give every topic t a spanning tree on the nodes V_t that want it, and every join e of the tree a
share l_te between 0 and 1. Let l_t(uv) be the largest share on the way between u and v. For every
threshold h between 0 and 1, the joins of share at most h leave a partition of V_t: an overlay E*
joins no more than its blocks allow inside (one join less than nodes, each), and outside it needs a
link between two blocks for each join. The mean over all h is

    mu(E*) <= sum_t w_t sum_e (1 - l_te) + sum_{uv in E*} sum_t w_t l_t(uv),

and prices p_v of links at nodes, q of links and s of cost bound the last sum as in
:mod:`fanwise.connect.bounds`. Both are convex in shares and prices. Where all joins of a topic have
the same share, the bound is the one from there.

Which trees? The best ones are maximum spanning trees for the best prices of links inside topics;
those that the links of a good overlay give are near them. On instances small enough for the whole
linear programme they come within 0.1% of it, which itself was within 1% of the optimum.

Shares and prices go down the slope with momentum. Steps are shortened by a schedule, and so is the
softness: pairs count in part where their surplus is small, as otherwise slopes jump between the
many pairs that are alike. Far from the best prices a rough slope is as good as an exact one: the
first steps look at some of the nodes with all their pairs, other ones each time.

Guarantee
    Any shares and prices prove a bound.

Complexity
    O(sum of |V_t| squared) for each pass.

References
----------
    Our own. Partitions: W. Tutte: On the problem of decomposing a graph into n connected factors.
    Journal of the London Mathematical Society 36, 1961; W. Cunningham: Optimal attack and
    reinforcement of a network. Journal of the ACM 32(3), 1985. Smoothing: Y. Nesterov: Smooth
    minimization of non-smooth functions. Mathematical Programming 103, 2005.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.connect.arrays import Budget, Network
from fanwise.connect.certificate import LARGEST_PRICE, LEVELS, Prices, round_prices
from fanwise.connect.kernels import NOBODY
from fanwise.connect.pricing.topic_trees import plant_trees
from fanwise.connect.pricing.tree_kernels import list_worthy, price_trees, shares_between

MOMENTUM = 0.8
SHARE_STEP, PRICE_STEP = 0.8, 0.4
"""How far a share, and a price as a part of a link's mean gain, moves at first by a slope of 1: a
pair too few or too many on a join, and as many as a node may have links."""
STEEPEST = 2.0
"""How far above the limit of a node, in times of it, its pairs are counted for a step."""
SOFTNESS = 0.15
"""The surplus at which a pair counts in full, as a part of a link's mean gain."""
DECAY, STEPS_PER_DECAY = (0.003, 0.05), 3.0
"""What of steps and softness is left in the end, at least and at most, and for how many steps: the
more of them there are, the finer they may become."""
ROUGH, PARTS = 0.5, 4
"""Up to where in the schedule a step looks at some nodes alone, and at which part of them."""
THREADS, WORTH_THREADS = 2, 1_000_000
"""Threads that share the nodes of a pass, and followers of topics, squared, from which on they are
worth their while. Neither depends on the machine, so that sums are the same everywhere."""
GRADES = (255, 85, 51, 17, 15, 5, 3, 1)
"""How many shares above 0 are told apart: as many as there is space for."""
FITTED = {255: 0.01}
"""How long steps are, of the first ones, when prices are fitted to shares that were rounded to so
many grades; ``FITTED_ELSE`` for others."""
FITTED_ELSE = 0.06

LEAST_WORTH, WORTH_TRIALS = 0.5, 4
"""Part of the prices of its ends that a pair must gain at first to be worth a try; it is raised
where that lists too many."""


class TreePrices:
    """Shares of joins and prices of nodes that move towards the best ones.

    Attributes
    ----------
    bound
        The best so far, of shares and prices that are not rounded yet.
    """

    def __init__(
        self, network: Network, budget: Budget, limits: IntArray, edges: IntArray, first: Prices
    ) -> None:
        """Begin from prices without trees: every join has the share of its topic."""
        self._network, self._edges = network, edges
        self._trees = trees = plant_trees(network, edges)
        self._is_join = trees.parent != NOBODY
        self._worth = network.weight[network.topic_of] * self._is_join
        num_first = len(first.start)
        if not np.array_equal(edges[:num_first], first.start):
            num_first = 0
        is_given = (trees.link != NOBODY) & (trees.link < num_first)
        self._share = np.where(self._is_join & ~is_given, first.topic[network.topic_of], 0.0)
        self._prices = np.concatenate([first.node, [first.link, first.cost]])
        gains = network.gains(edges)
        self._unit = float(gains.mean()) if len(gains) else 1.0
        self._budgets, self._paces = self._scale(budget, limits)
        self._share_slope = np.zeros(network.num_slots)
        self._price_slope = np.zeros(len(self._prices))
        self.bound = math.inf
        self._best = self._share, self._prices
        self._turn = 0

    def replant(self, edges: IntArray) -> None:
        """Go on with the trees of other links; shares between the ends of joins stay the same.

        What was proven before is no longer known.
        """
        share, self._prices = self._best
        trees = plant_trees(self._network, edges)
        self._share = shares_between(self._trees, share, trees)
        self._edges, self._trees = edges, trees
        self._is_join = trees.parent != NOBODY
        self._worth = self._network.weight[self._network.topic_of] * self._is_join
        self._share_slope[:] = 0.0
        self._price_slope[:] = 0.0
        self.bound, self._best = math.inf, (self._share, self._prices)

    def _scale(self, budget: Budget, limits: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the budgets that prices are of, and how far each price moves by a slope of 1."""
        num_nodes, lengths = self._network.num_nodes, self._network.costs(self._edges)
        has_cost = budget.max_cost < math.inf and float(lengths.sum()) > 0
        most_cost = budget.max_cost if has_cost else 0.0
        paces = np.full(num_nodes + 2, PRICE_STEP * self._unit)
        paces[:-2] /= np.maximum(limits, 1)
        # One price for all links: as far as that of a node whose limit is the mean degree.
        paces[-2] /= max(len(self._edges), 1)
        length = float(lengths.mean()) if has_cost else 1.0
        paces[-1] *= 1.0 / (max(len(self._edges), 1) * length**2) if has_cost else 0.0
        budgets = np.concatenate([limits, [float(budget.max_edges), most_cost]])
        return budgets.astype(np.float64), paces

    def step(self, progress: float, num_steps: float = 0.0, *, is_whole: bool = False) -> float:
        """Move once; return which part of all pairs was looked at.

        ``progress`` is the part of the schedule that is behind, 0 to 1, and ``num_steps`` how many
        steps the whole of it is expected to have. Nothing is proven by steps that look at some
        pairs; with ``is_whole`` the step looks at all of them.
        """
        finest, coarsest = DECAY
        left = max(finest, min(coarsest, STEPS_PER_DECAY / max(num_steps, 1.0))) ** progress
        parts = 1 if is_whole or progress >= ROUGH else PARTS
        self._turn += 1
        bound, share_slope, price_slope = self._evaluate(
            left * SOFTNESS * self._unit, self._turn % parts, parts
        )
        if parts == 1:
            self._keep(bound)
        self._share_slope = MOMENTUM * self._share_slope + (1 - MOMENTUM) * share_slope
        self._share = np.clip(self._share - left * SHARE_STEP * self._share_slope, 0.0, 1.0)
        self._move_prices(price_slope, left)
        return 1.0 / parts

    def _move_prices(self, slope: FloatArray, left: float) -> None:
        steepest = -STEEPEST * np.maximum(self._budgets, 1.0)
        slope = np.maximum(slope, steepest)
        self._price_slope = MOMENTUM * self._price_slope + (1 - MOMENTUM) * slope
        moved = self._prices - left * self._paces * self._price_slope
        self._prices = np.clip(moved, 0.0, LARGEST_PRICE)

    def _keep(self, bound: float) -> None:
        if bound < self.bound:
            self.bound, self._best = bound, (self._share, self._prices)

    def _evaluate(
        self, softness: float, part: int = 0, parts: int = 1
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return the bound, and how it changes with shares (per weight) and with prices.

        With several parts as estimated by the pairs of one of them.
        """
        network = self._network
        is_hot = np.zeros(network.num_topics, dtype=np.bool_)
        is_hot[network.topic_of[self._share > 0]] = True
        threads = THREADS if network.counting_work >= WORTH_THREADS else 1
        loads = [(np.zeros(network.num_nodes), np.zeros(network.num_slots)) for _ in range(threads)]

        def look(thread: int) -> tuple[float, float, float]:
            return price_trees(
                network, self._trees, self._share, is_hot, self._prices, softness,
                part + parts * thread, parts * threads, *loads[thread],
            )  # fmt: skip

        if threads == 1:
            sums = np.array([look(0)])
        else:
            with ThreadPoolExecutor(threads) as pool:
                sums = np.array(list(pool.map(look, range(threads))))
        surplus, count, cost = parts * sums.sum(axis=0)
        node_load = parts * np.sum([node for node, _ in loads], axis=0)
        join_load = parts * np.sum([join for _, join in loads], axis=0)
        bound = float(np.dot(self._worth, 1.0 - self._share)) + float(surplus)
        bound += float(np.dot(self._prices, self._budgets))
        used = np.concatenate([node_load, [count, cost]])
        return bound, np.where(self._is_join, join_load - 1.0, 0.0), self._budgets - used

    @property
    def node_prices(self) -> FloatArray:
        """The prices of links at nodes that prove the best bound so far."""
        return self._best[1][:-2]

    def worthy_pairs(self, most: int) -> IntArray:
        """Return about as many pairs as wished, those whose gain is nearest to their prices."""
        share, prices = self._best
        is_hot = np.ones(self._network.num_topics, dtype=np.bool_)
        pairs, least = np.empty((most, 2), dtype=np.int32), LEAST_WORTH
        for _ in range(WORTH_TRIALS):
            count = list_worthy(self._network, self._trees, share, is_hot, prices, least, pairs)
            if count <= most:
                break
            least = (1 + least) / 2
        return np.ascontiguousarray(pairs[: min(count, most)])

    def round(self, most_bytes: int, num_passes: int) -> tuple[float, Prices] | None:
        """Return the best bound, and prices that prove it and take no more space.

        Shares are rounded, and the prices of nodes then fitted to them in a few more passes. None
        where no rounding is small enough.
        """
        share, self._prices = self._best
        for grade in GRADES:
            level = np.round(share * grade).astype(np.uint8) * np.uint8(LEVELS // grade)
            listed = np.zeros(int(self._is_join.sum()), dtype=np.uint8)
            listed[self._trees.row[self._is_join]] = level[self._is_join]
            if stored_bytes(listed) <= most_bytes:
                break
        else:
            return None
        self._share = np.where(self._is_join, level / LEVELS, 0.0)
        self._price_slope[:] = 0.0
        self.bound = math.inf
        for turn in range(max(1, num_passes)):
            left = FITTED.get(grade, FITTED_ELSE) * (1.0 - turn / (2.0 * max(1, num_passes)))
            self._prices = round_prices(self._prices)
            bound, _, slope = self._evaluate(left * SOFTNESS * self._unit)
            self._keep(bound)
            self._move_prices(slope, left)
        prices = self._best[1]
        return self.bound, Prices(
            np.zeros(self._network.num_topics), prices[:-2].copy(), float(prices[-2]),
            float(prices[-1]), self._edges, listed,
        )  # fmt: skip


def stored_bytes(level: npt.NDArray[np.uint8]) -> int:
    """Return what a column of levels takes as a file."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"level": pa.array(level, pa.uint8())}), sink, compression="zstd")
    return int(sink.getvalue().size)
