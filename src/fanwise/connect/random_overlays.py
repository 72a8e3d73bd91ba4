"""Overlays at random: RandomA within a number of links, RandomM within a degree.

Each link is drawn uniformly from the pairs that are not linked and fit; with ``shared`` from those
that share a topic, as others can contribute nothing. RandomM goes on until no pair fits.

Guarantee
    None but the budgets: these are what others are compared with.

Complexity
    O(links) draws while most draws fit; what is left after many misses in a row is listed and
    shuffled, O(open nodes squared).

References
----------
    C. Chen, Y. Tock, H.-A. Jacobsen: Overlay design for topic-based publish/subscribe under node
    degree constraints. IEEE ICDCS 2016 (Sec. IX).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import IntArray
from fanwise.arrays.jit import kernel
from fanwise.connect.arrays import NO_EDGES, Network, as_edges
from fanwise.connect.kernels import NOBODY, count_shared
from fanwise.connect.problem import Connection, edge_table
from fanwise.planning.problem import Outcome, Run

DRAWS = 4096
"""Pairs drawn at a time."""
MISSES = 8
"""Rounds of draws of which fewer than 1% fit, before the rest is listed."""


def solve_average(problem: Connection, run: Run) -> Outcome:
    """RandomA: random links up to a number."""
    problem.require_budget("random-average")
    return _solve(problem, run)


def solve_maximum(problem: Connection, run: Run) -> Outcome:
    """RandomM: random links as long as both ends are below their degree."""
    problem.require_budget("random-maximum")
    return _solve(problem, run)


def _solve(problem: Connection, run: Run) -> Outcome:
    shared = bool(run.settings.get("shared", False))
    with run.progress.step("random links"):
        edges = RandomLinks(problem, run.random(), shared=shared).draw_all()
    return Outcome({"edges": edge_table(edges)})


class RandomLinks:
    """Links drawn so far, and what is left of the budgets."""

    def __init__(self, problem: Connection, rng: np.random.Generator, *, shared: bool) -> None:
        self._network, self._rng, self._shared = problem.network, rng, shared
        self._spare = problem.network.degree_limit.astype(np.int64)
        self._links_left, self._money = problem.budget
        self._linked: set[tuple[int, int]] = set()
        self._edges: list[tuple[int, int]] = []

    def draw_all(self, is_over: Callable[[], bool] = lambda: False) -> IntArray:
        """Draw links until the budget is spent, nothing fits, or after a first round it is over."""
        misses = 0
        while misses < MISSES and self._links_left > 0:
            pairs = self._draw()
            if not len(pairs):
                break
            misses = misses + 1 if self._take(pairs) < DRAWS // 100 else 0
            if is_over():
                return as_edges(self._edges) if self._edges else NO_EDGES
        if self._links_left > 0 and self._network.num_nodes > 1:
            self._take(self._rng.permutation(self._list_rest()))
        return as_edges(self._edges) if self._edges else NO_EDGES

    def _draw(self) -> IntArray:
        """Return pairs, each drawn uniformly from all, or from those that share a topic."""
        open_nodes = np.flatnonzero(self._spare > 0).astype(np.int32)
        if self._shared:
            return draw_sharing(self._network, open_nodes, self._rng, DRAWS)
        return draw_pairs(open_nodes, self._rng, DRAWS) if len(open_nodes) > 1 else NO_EDGES

    def _take(self, pairs: IntArray) -> int:
        """Link pairs that are new and fit, in order; return how many."""
        pairs = np.sort(pairs, axis=1)
        costs = self._network.costs(np.ascontiguousarray(pairs, dtype=np.int32)).tolist()
        before = len(self._edges)
        for (u, v), cost in zip(pairs.tolist(), costs, strict=True):
            if self._links_left <= 0:
                break
            fits = self._spare[u] > 0 and self._spare[v] > 0 and cost <= self._money
            if fits and (u, v) not in self._linked:
                self._linked.add((u, v))
                self._edges.append((u, v))
                self._spare[u] -= 1
                self._spare[v] -= 1
                self._links_left -= 1
                self._money -= cost
        return len(self._edges) - before

    def _list_rest(self) -> IntArray:
        """Return the pairs of nodes with links to spare, or those that share a topic."""
        open_nodes = np.flatnonzero(self._spare > 0).astype(np.int32)
        if self._shared:
            return list_sharing(self._network, self._spare > 0)
        i, j = np.triu_indices(len(open_nodes), 1)
        return np.column_stack([open_nodes[i], open_nodes[j]])


def draw_sharing(
    network: Network, open_nodes: IntArray, rng: np.random.Generator, count: int
) -> IntArray:
    """Draw pairs uniformly from those that share a topic; fewer than ``count`` come back.

    Where most pairs share one, pairs of open nodes are drawn, and kept if they do. Otherwise a
    topic is drawn with as many chances as it has pairs, then one of its pairs; a pair that shares k
    topics comes up k times as often, and is kept one time in k.
    """
    followers = network.followers
    chances = np.cumsum(followers * (followers - 1) // 2)
    if len(open_nodes) < 2 or not len(chances) or not chances[-1]:
        return NO_EDGES
    if chances[-1] > network.num_nodes * (network.num_nodes - 1) // 2:
        pairs = draw_pairs(open_nodes, rng, count)
        return pairs[count_shared(network.indptr, network.topics, pairs) > 0]
    topic = np.searchsorted(chances, rng.integers(chances[-1], size=count), side="right")
    first = rng.integers(followers[topic])
    second = (first + 1 + rng.integers(followers[topic] - 1)) % followers[topic]
    start = network.topic_indptr[topic]
    pairs = np.column_stack([network.nodes[start + first], network.nodes[start + second]])
    # A pair with k common topics was k times as likely to come up.
    is_kept = rng.random(count) * count_shared(network.indptr, network.topics, pairs) < 1
    return pairs[is_kept]


def draw_pairs(nodes: IntArray, rng: np.random.Generator, count: int) -> IntArray:
    """Draw pairs uniformly; those of a node with itself are left out."""
    pairs: IntArray = nodes[rng.integers(len(nodes), size=(count, 2))]
    return np.ascontiguousarray(pairs[pairs[:, 0] != pairs[:, 1]])


@kernel
def list_sharing(network: Network, is_open: npt.NDArray[np.bool_]) -> IntArray:
    """List the pairs of open nodes that share a topic, each once, in order of the first node.

    Changes no array.
    """
    pairs = np.empty((1024, 2), dtype=np.int32)
    count = 0
    partner_of = np.full(len(is_open), NOBODY, dtype=np.int32)
    for u in range(len(is_open)):
        if not is_open[u]:
            continue
        for topic in network.topics[network.indptr[u] : network.indptr[u + 1]]:
            for v in network.nodes[network.topic_indptr[topic] : network.topic_indptr[topic + 1]]:
                if v > u and is_open[v] and partner_of[v] != u:
                    partner_of[v] = u
                    if count == len(pairs):
                        longer = np.empty((2 * count, 2), dtype=np.int32)
                        longer[:count] = pairs
                        pairs = longer
                    pairs[count, 0], pairs[count, 1] = u, v
                    count += 1
    return pairs[:count].copy()
