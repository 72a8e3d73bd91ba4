"""The optimum by an integer programme whose inequalities are found as they are broken.

Columns say which links there are, and how many joins r_t each topic has. For every partition of the
nodes that want a topic, it has at most one join less than nodes in each block and one for every
link between two blocks:

    r_t <= |V_t| - blocks + sum of links between blocks.

There are too many partitions to state. Those that an answer breaks are added, for shares of links
first, then for whole links: there the components of a topic are a partition that says exactly how
many joins it has, so that an answer that breaks nothing is worth what it claims.

Guarantee
    The optimum where it ends, as far as HiGHS is right.

Complexity
    That of integer programmes; O(|V_t|^3) to look for a partition of a topic.

References
----------
    Partitions: W. Cunningham: Optimal attack and reinforcement of a network. Journal of the ACM
    32(3), 1985. That answers add what they break: G. Dantzig, R. Fulkerson, S. Johnson: Solution of
    a large-scale traveling-salesman problem. Operations Research 2(4), 1954.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.connect.arrays import as_edges
from fanwise.connect.overlay_search import OverlaySearch
from fanwise.connect.problem import Connection
from fanwise.planning.highs import Model, Rows, Solver
from fanwise.planning.problem import Stopped

MOST_ROUNDS = 60
"""Of shares of links, before whole links are asked for."""
BROKEN = 1e-6
"""By how much an inequality must be broken to be added."""
STALLED = 1e-5
"""Share of the bound by which a round must lower it, or whole links are asked for."""
WHOLE = 1e-6
"""What whole bounds may be above a whole number by rounding."""


class Group(NamedTuple):
    """Topics that the same nodes want: what they are worth together, and the pairs among them."""

    worth: float
    pair: LongArray
    """The number of the pair of any two of the nodes; -1 on the diagonal."""


class Programme:
    """The programme of a problem, with the inequalities found so far.

    Attributes
    ----------
    ends
        The pairs that share a topic.
    """

    def __init__(self, problem: Connection) -> None:
        network = problem.network
        worth: dict[tuple[int, ...], float] = defaultdict(float)
        for topic in range(network.num_topics):
            nodes = network.nodes[network.topic_indptr[topic] : network.topic_indptr[topic + 1]]
            if len(nodes) > 1:
                worth[tuple(nodes.tolist())] += float(network.weight[topic])
        pairs = sorted({pair for nodes in worth for pair in combinations(nodes, 2)})
        number = {pair: k for k, pair in enumerate(pairs)}
        self._groups = [
            Group(value, np.array([[number.get((min(u, v), max(u, v)), -1) for v in nodes]
                                   for u in nodes]))
            for nodes, value in worth.items()
        ]  # fmt: skip
        self.ends = as_edges(pairs)
        self._problem = problem
        self._rows = Rows()
        self._add_budgets()
        self.num_cuts = 0
        for which, group in enumerate(self._groups):
            self._add_cut(which, np.arange(len(group.pair)))

    def _add_budgets(self) -> None:
        network, budget = self._problem.network, self._problem.budget
        pairs = np.arange(len(self.ends))
        for node in range(network.num_nodes):
            own = pairs[(self.ends == node).any(axis=1)].tolist()
            if len(own) > network.degree_limit[node]:
                self._rows.add(own, [1.0] * len(own), upper=float(network.degree_limit[node]))
        if budget.max_edges < len(pairs):
            self._rows.add(pairs.tolist(), [1.0] * len(pairs), upper=float(budget.max_edges))
        if np.isfinite(budget.max_cost):
            costs = network.costs(self.ends)
            self._rows.add(pairs.tolist(), costs.tolist(), upper=float(budget.max_cost))

    def _add_cut(self, which: int, block: LongArray) -> None:
        """Add the inequality of a partition, given by the block of each node."""
        pair = self._groups[which].pair
        one, other = np.triu_indices(len(pair), 1)
        crossing = pair[one, other][block[one] != block[other]]
        columns = [*crossing.tolist(), len(self.ends) + which]
        joins = float(len(pair) - len(np.unique(block)))
        self._rows.add(columns, [-1.0] * len(crossing) + [1.0], upper=joins)
        self.num_cuts += 1

    def solver(self, *, is_whole: bool, absolute_gap: float = 0.0) -> Solver:
        num_pairs = len(self.ends)
        worth = np.array([group.worth for group in self._groups])
        most = np.array([float(len(group.pair) - 1) for group in self._groups])
        whole = np.zeros(num_pairs + len(worth), dtype=np.bool_)
        whole[:num_pairs] = is_whole
        model = Model(
            cost=np.concatenate([np.zeros(num_pairs), worth]),
            lower=np.zeros(num_pairs + len(worth)),
            upper=np.concatenate([np.ones(num_pairs), most]),
            matrix=self._rows.matrix,
            row_lower=self._rows.lower,
            row_upper=self._rows.upper,
            is_whole=whole,
            is_maximised=True,
        )
        return Solver(model, absolute_gap=absolute_gap)

    def cut_off(self, values: FloatArray) -> int:
        """Add an inequality for each group of topics that breaks one; return how many."""
        num_pairs, before = len(self.ends), self.num_cuts
        for which, group in enumerate(self._groups):
            if len(group.pair) == 2:
                continue
            share = np.where(group.pair >= 0, values[group.pair], 0.0)
            joins, block = least_partition(share)
            if values[num_pairs + which] > joins + BROKEN:
                self._add_cut(which, block)
        return self.num_cuts - before

    def links(self, values: FloatArray) -> IntArray:
        """Return the links that an answer in whole numbers chose."""
        return np.ascontiguousarray(self.ends[values[: len(self.ends)] > 0.5])


def least_partition(share: FloatArray) -> tuple[float, LongArray]:
    """Return a partition that allows few joins, and how many: the least for whole shares.

    Blocks with the largest shares between them meet, until all have; the best partition met on the
    way is returned. Changes nothing.
    """
    between = share.copy()
    block = np.arange(len(share))
    crossing = float(share.sum()) / 2
    best, least = block.copy(), crossing
    for joined in range(1, len(share)):
        place = int(np.argmax(between))
        one, other = sorted(divmod(place, len(share)))
        if one == other:  # nothing is left between any two blocks
            break
        crossing -= float(between[one, other])
        block[block == other] = one
        between[one] += between[other]
        between[:, one] += between[:, other]
        between[one, one] = 0.0
        between[other, :] = between[:, other] = 0.0
        if joined + crossing < least - BROKEN:
            least, best = joined + crossing, block.copy()
    return least, best


def search_by_cuts(search: OverlaySearch, step: float) -> tuple[float, bool]:
    """Offer overlays until one is optimal or time is over; return the bound and whether it is.

    Parameters
    ----------
    step
        By how much values of overlays differ at least: 1 where they are whole numbers, else 0.
    """
    programme = Programme(search.problem)
    bound = _cut_shares(programme, search)
    while not search.run.is_over():
        solver = programme.solver(is_whole=True, absolute_gap=0.999 * step)
        solver.start_from(_known(programme, search))
        answer = solver.solve(time_limit=_time_left(search), keeps_found=True)
        search.count("branched", answer.nodes)
        if answer.bound is not None:
            bound = min(bound, answer.bound)
        if answer.status == "interrupted":
            search.is_interrupted = True
        if not len(answer.values) or not answer.is_feasible:
            search.end(_why(answer.stopped(0.0)))
            break
        search.offer_links(programme.links(answer.values))
        if search.value >= _rounded(bound, step) * (1 - 1e-9):
            return search.value, True
        if answer.status != "optimal":
            search.end(_why(answer.stopped(0.0)))
            break
        if not programme.cut_off(answer.values):
            break
    return _rounded(bound, step), False


def _cut_shares(programme: Programme, search: OverlaySearch) -> float:
    """Add what shares of links break, as long as that lowers the bound; return the bound."""
    bound, last = float(search.problem.network.complete_value), np.inf
    for _ in range(MOST_ROUNDS):
        answer = programme.solver(is_whole=False).solve(time_limit=_time_left(search))
        if answer.status != "optimal":
            break
        bound = min(bound, answer.objective)
        is_stalled = bound > last * (1 - STALLED)
        last = bound
        if not programme.cut_off(answer.values) or is_stalled or search.run.is_over():
            break
    return bound


def _known(programme: Programme, search: OverlaySearch) -> FloatArray:
    """Return the best overlay so far as values of the columns."""
    linked = {tuple(edge) for edge in search.answer.tolist()}
    shares = np.array([float(tuple(pair) in linked) for pair in programme.ends.tolist()])
    joins = [
        least_partition(np.where(group.pair >= 0, shares[group.pair], 0.0))[0]
        for group in programme._groups
    ]
    return np.concatenate([shares, joins])


def _time_left(search: OverlaySearch) -> float | None:
    left = search.run.time_left()
    return left if np.isfinite(left) else None


def _rounded(bound: float, step: float) -> float:
    return float(np.floor(bound + WHOLE)) if step else bound


def _why(stopped: Stopped) -> Stopped:
    return "limit" if stopped == "exhausted" else stopped
