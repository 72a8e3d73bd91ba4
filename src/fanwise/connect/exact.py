"""The optimum: by branch and bound for a few dozen pairs of nodes, by cuts for some hundreds.

Prices from the linear programme cut the tree, and prove the optimum alone where they come down to
it. Elsewhere the leaves of the tree do; the search is run once more with the optimum known, so that
they are few.

Above ``MAX_PAIRS`` pairs, under a budget, HiGHS searches instead, and learns what an overlay is
worth from the inequalities that it breaks: see :mod:`fanwise.connect.cutting`. The bound is then
that of prices on trees if they come down to it, else a solver's word.

Without any budget, the optimum connects every topic with the fewest links: overlays with one link
less are sought until there is none.

Guarantee
    The optimum, unless a limit ends the search; up to ``MAX_PAIRS`` pairs with a certificate that
    whoever checks can follow, above that where prices on trees come down to it.

Complexity
    O(2^pairs) cases at worst, for at most ``MAX_PAIRS`` pairs; each looks at all pairs and their
    common topics. Above that, that of an integer programme.

References
----------
    A. Land, A. Doig: An automatic method of solving discrete programming problems. Econometrica
    28(3), 1960. The bounds are those of :mod:`fanwise.connect.bounds`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.connect.arrays import as_edges
from fanwise.connect.bounds import CLOSED, BoundSearch, cost_limit, snap
from fanwise.connect.branching_kernels import (
    IN,
    NUM_BRANCHED,
    Charges,
    Pairs,
    plant_tree,
    search_tree,
)
from fanwise.connect.certificate import (
    MAX_ROWS_OF_TREE,
    Prices,
    make_proof,
    space_for_levels,
)
from fanwise.connect.cutting import search_by_cuts
from fanwise.connect.growing.grow import complete_greedily
from fanwise.connect.improving.greedy_order import order_greedily
from fanwise.connect.overlay_search import OverlaySearch
from fanwise.connect.problem import Connection, edge_table
from fanwise.errors import ParameterError
from fanwise.planning.problem import Bound, Outcome, Run
from fanwise.planning.stopping import limits_of

MAX_PAIRS = 36
"""Pairs that share a topic, up to which all overlays are searched."""
MAX_CUT_PAIRS = 2_000
"""Pairs that share a topic, up to which an integer programme is searched under a budget."""
TREE_PASSES = 400
"""Passes for prices on trees, which may prove what HiGHS found."""
NODES_PER_CALL = 20_000
"""Nodes of the tree between two looks at the clock: a fraction of a second."""
ALMOST = 4e-12
"""Relative: what an overlay that connects every topic may lack by rounding."""
ROUNDING_PASSES = 20
"""Passes in which prices are fitted to shares that were rounded."""
WHOLE = 1e-8
"""Share of all there is to gain that a bound may be off by; the next whole value is further."""


def solve(problem: Connection, run: Run) -> Outcome:
    """Solve to optimality, or to the time limit."""
    num_pairs = count_pairs(problem, MAX_CUT_PAIRS)
    is_small, most = num_pairs <= MAX_PAIRS, MAX_CUT_PAIRS if _is_limited(problem) else MAX_PAIRS
    if num_pairs > most:
        raise ParameterError("algorithm", f"'best' above {most} pairs that share a topic", "exact")
    with run.progress.step("branch and bound") as step:
        search = OverlaySearch(problem, run, step, limits_of(run))
        num_branched = search_all(search) if is_small else _search_by_cuts(search)
    is_shown = search.bound is not None and search.bound.value <= search.value * (1 + CLOSED)
    search.metrics |= {"branched": num_branched, "proven": is_shown}
    return search.outcome({"edges": edge_table(search.answer)})


def _is_limited(problem: Connection) -> bool:
    network, budget = problem.network, problem.budget
    num_nodes = network.num_nodes
    is_free = bool((network.degree_limit >= num_nodes - 1).all())
    every_pair = num_nodes * (num_nodes - 1) // 2
    return not is_free or budget.max_edges < every_pair or problem.max_link_cost is not None


def _search_by_cuts(search: OverlaySearch) -> int:
    """Search by an integer programme; return how many cases it looked at."""
    problem = search.problem
    network = problem.network
    search.offer_links(complete_greedily(problem))
    is_whole = bool((network.weight == np.floor(network.weight)).all())
    bound, is_proven = network.complete_value, False
    with search.until_interrupted():
        bound, is_proven = search_by_cuts(search, 1.0 if is_whole else 0.0)
    search.is_settled = is_proven
    edges = order_greedily(network, search.answer)
    bounds = BoundSearch(problem, edges)
    bounds.step()
    trees = bounds.trees(edges)
    if trees is not None:
        for turn in range(TREE_PASSES):
            trees.step(turn / TREE_PASSES)
        space = space_for_levels(network.num_nodes, network.num_topics)
        found = trees.round(space, ROUNDING_PASSES)
        if found is not None:
            bounds.lower(*found)
    proven = snap(bounds.certify(search.answer), search.value)
    if bound < proven.value * (1 - CLOSED) and proven.proof is not None:
        proof = replace(proven.proof, kind="solver", proves=bounds.bound)
        proven = Bound(bound, proof)
    search.prove(proven)
    return int(search.metrics.pop("branched", 0))


def count_pairs(problem: Connection, most: int) -> int:
    """Count pairs of nodes that share a topic; stop above ``most``."""
    network = problem.network
    found: set[tuple[int, int]] = set()
    for topic in range(network.num_topics):
        nodes = network.nodes[network.topic_indptr[topic] : network.topic_indptr[topic + 1]]
        if len(nodes) * (len(nodes) - 1) // 2 > most:
            return most + 1
        found.update(combinations(nodes.tolist(), 2))
        if len(found) > most:
            return len(found)
    return len(found)


class SmallProblem:
    """A small problem as pairs that may be linked; topics wanted by the same nodes are one."""

    def __init__(self, problem: Connection) -> None:
        self.problem = problem
        network = problem.network
        self._topics_of: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for topic in range(network.num_topics):
            nodes = network.nodes[network.topic_indptr[topic] : network.topic_indptr[topic + 1]]
            if len(nodes) > 1:
                self._topics_of[tuple(nodes.tolist())].append(topic)
        self._groups = sorted(self._topics_of)
        self.max_cost = cost_limit(problem)
        is_whole = bool((network.weight == np.floor(network.weight)).all())
        self.step = max(0.0, 1.0 - WHOLE * network.complete_value) if is_whole else 0.0

    def price(self, prices: Prices) -> tuple[Pairs, Charges]:
        """Return the pairs and what prices charge for them."""
        weight = self.problem.network.weight
        whole = [float(weight[self._topics_of[group]].sum()) for group in self._groups]
        share = prices.topic * weight
        charged = [float(share[self._topics_of[group]].sum()) for group in self._groups]
        joins: dict[tuple[int, int], list[tuple[int, int, float, float]]] = defaultdict(list)
        starts = np.cumsum([0, *map(len, self._groups)], dtype=np.int64)
        for number, group in enumerate(self._groups):
            base = int(starts[number])
            for i, j in combinations(range(len(group)), 2):
                joins[group[i], group[j]].append(
                    (base + i, base + j, whole[number], charged[number])
                )
        ends = sorted(joins)
        flat = [join for pair in ends for join in joins[pair]]
        edges = as_edges(ends)
        pairs = Pairs(
            edges,
            self.problem.network.costs(edges),
            np.cumsum([0, *(len(joins[pair]) for pair in ends)], dtype=np.int64),
            np.array([join[0] for join in flat], dtype=np.int32),
            np.array([join[1] for join in flat], dtype=np.int32),
            np.array([join[2] for join in flat], dtype=np.float64),
            np.array([join[3] for join in flat], dtype=np.float64),
            starts,
            np.array([node for group in self._groups for node in group], dtype=np.int32),
        )
        rest = np.array(whole, dtype=np.float64) - np.array(charged, dtype=np.float64)
        return pairs, Charges(np.maximum(rest, 0.0), prices.node, prices.link, prices.cost)


def search_all(search: OverlaySearch, patience: int | None = None) -> int:
    """Search all overlays of the pairs, until done or out of time, or after so many branchings.

    What it finds is offered and proved to the search, which is settled where nothing is left to
    try. Returns the number of branchings.
    """
    problem = search.problem
    start, max_edges = complete_greedily(problem), problem.budget.max_edges
    small = SmallProblem(problem)
    bounds = BoundSearch(problem, start)
    prices = bounds.price_by_lp()
    priced = small.price(prices)
    best = _branch(
        small, priced, start, problem.value(start), max_edges, patience, small.step, search
    )
    bound = _bound(small, priced, prices, bounds, best)
    almost = problem.network.complete_value * (1 - ALMOST)
    num_branched, is_fewest = best.num_branched, True
    # Every topic is connected: the same again with one link less, until that cannot be.
    while best.is_proven and is_fewest and problem.value(best.edges) >= almost and len(best.edges):
        fewer = len(best.edges) - 1
        again = small.price(bounds.price_by_lp(max_edges=fewer))
        found = _branch(small, again, best.edges, almost, fewer, patience, 0.0, search)
        num_branched += found.num_branched
        is_fewest = found.is_proven or len(found.edges) < len(best.edges)
        if len(found.edges) == len(best.edges):
            break
        best = best._replace(edges=found.edges)
    search.offer_links(best.edges)
    search.prove(snap(bound, problem.value(best.edges)))  # fewer links add up in another order
    search.is_settled = best.is_proven and is_fewest
    return num_branched


class Branched(NamedTuple):
    """The best overlay of a tree, whether the tree is complete, and its size and record."""

    edges: IntArray
    is_proven: bool
    num_branched: int
    record: IntArray


def _bound(
    small: SmallProblem,
    priced: tuple[Pairs, Charges],
    prices: Prices,
    bounds: BoundSearch,
    best: Branched,
) -> Bound:
    """Return the bound that can be certified: the optimum by prices or by leaves, if proven."""
    value = small.problem.value(best.edges)
    bounds.target = max(bounds.target, value)
    duals = bounds.certify(best.edges)
    if not best.is_proven:
        return duals
    if duals.value <= value * (1 + CLOSED):
        return Bound(value, make_proof(value, bounds.prices, best.edges))
    max_edges = small.problem.budget.max_edges
    tree = _branch(small, priced, best.edges, value, max_edges, MAX_ROWS_OF_TREE, small.step)
    if not tree.is_proven or tree.num_branched > MAX_ROWS_OF_TREE:
        return duals
    return Bound(value, make_proof(value, prices, best.edges, tree.record))


def _branch(
    small: SmallProblem,
    priced: tuple[Pairs, Charges],
    edges: IntArray,
    value: float,
    max_edges: int,
    patience: int | None,
    step: float,
    search: OverlaySearch | None = None,
) -> Branched:
    """Look for an overlay worth more than ``value``; without one, return ``edges``.

    Ends with the search whose part it is, if it is part of one, and counts as its work.
    """
    pairs, charges = priced
    tree = plant_tree(len(pairs.cost), len(pairs.node_of), value, MAX_ROWS_OF_TREE)
    num_nodes = small.problem.network.num_nodes
    limits = np.minimum(small.problem.network.degree_limit, max(0, num_nodes - 1)).astype(np.int32)
    nodes = NODES_PER_CALL if patience is None else min(patience, NODES_PER_CALL)
    is_proven, num_branched = False, 0
    while not is_proven:
        try:
            is_proven = search_tree(
                pairs, charges, tree, limits, max_edges, small.max_cost, step, nodes
            )
        except KeyboardInterrupt:  # what was found is in the tree
            if search is None:
                raise
            search.is_interrupted = True
        before, num_branched = num_branched, int(tree.counters[NUM_BRANCHED])
        if patience is not None and num_branched >= patience:
            break
        if search is not None:
            search.spend((num_branched - before) * len(pairs.one))
            if search.is_interrupted or search.is_over():
                break
    if tree.best_value[1] > 0:
        edges = np.ascontiguousarray(pairs.ends[tree.best == IN])
    return Branched(edges, is_proven, num_branched, tree.record[:num_branched])
