"""Prices that the paper's algorithms leave behind: bounds without a pass over all pairs.

What a greedy step takes is the most that any link adds at that point, so it can be the price of all
links. Let gpa have m links to give (and nothing else be limited), let S_i be its first i links and
g its next gain. Then no link adds more than g to S_i, and

    mu(E*) <= mu(S_i) + m g.

The best i is never worse than the paper's ratio, mu(E) / (1 - (1 - 1/m)^m): that is what the
inequalities for all i imply together.

Let gpm work under one degree d, and let S_i be the links of its first i phases. A pair of nodes
without a link was passed over until phase i gave one of them its last link; so it adds no more than
that link did, and the gain of a node's last link in phase i can be its price:

    mu(E*) <= mu(S_i) + d (sum, over nodes, of the gain of their last link in phase i).

For phases that are matchings that is mu(S_i) + 2 d (mu(S_i) - mu(S_{i-1})), never worse than what
the paper's Lemma 5 (3 (d + 1) in place of 2 d) and its ratio for gpm give.

Guarantee
    No overlay within the budgets is worth more: any prices prove a bound, and prices are raised
    (``LIFT``) so that no pair gains beyond them by rounding.

Complexity
    O(links x interests of their ends), and O(nodes) for each phase of gpm.

References
----------
    C. Chen, Y. Tock, H.-A. Jacobsen: Overlay design for topic-based publish/subscribe under node
    degree constraints. IEEE ICDCS 2016 (Sec. V and VII).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.connect.arrays import NO_LIMIT
from fanwise.connect.certificate import LARGEST_PRICE, Prices
from fanwise.connect.problem import Connection

LIFT = 1e-9
"""What prices are raised by, so that rounding does not let a gain come out above its price."""


def prices_of_gpa(problem: Connection, edges: IntArray) -> tuple[float, Prices] | None:
    """Return the bound that gpa's links prove and its prices; None where a limit interferes."""
    limits = problem.network.degree_limit
    most = problem.edge_limit
    if most is None or problem.network.has_costs or not (limits == NO_LIMIT).all():
        return None
    gains = problem.network.gains(edges)
    if not len(gains):
        return None
    values = np.concatenate([[0.0], np.cumsum(gains)[:-1]])
    prices = _lift(gains)
    bounds = values + most * prices
    first = int(np.argmin(bounds))
    nodes = np.zeros(problem.network.num_nodes)
    ones = np.ones(problem.network.num_topics)
    return float(bounds[first]), Prices(ones, nodes, float(prices[first]), 0.0, edges[:first])


def prices_of_gpm(problem: Connection, edges: IntArray) -> tuple[float, Prices] | None:
    """Return the bound that gpm's phases prove and its prices; None where a limit interferes."""
    network = problem.network
    limits = network.degree_limit
    if problem.edge_limit is not None or network.has_costs or len(set(limits.tolist())) != 1:
        return None
    degree = min(int(limits[0]), network.num_nodes - 1)
    gains = network.gains(edges)
    best: tuple[float, Prices] | None = None
    for start, end in _whole_phases(edges, degree, network.num_nodes):
        last = np.zeros(network.num_nodes)
        for (u, v), gain in zip(edges[start:end].tolist(), gains[start:end].tolist(), strict=True):
            # In the order chosen, so that the last link of the phase at each node stays.
            last[u] = last[v] = gain
        node = _lift(last)
        bound = float(gains[:end].sum() + degree * node.sum())
        if best is None or bound < best[0]:
            ones = np.ones(network.num_topics)
            best = bound, Prices(ones, node, 0.0, 0.0, edges[:end])
    return best


def _whole_phases(edges: IntArray, degree: int, num_nodes: int) -> Iterator[tuple[int, int]]:
    """Yield where phases begin and end; one begins with the link that raises the largest degree.

    The last one may have been cut short (by Ctrl-C, or because every topic is connected); then it
    proves nothing, and is left out unless another follows.
    """
    count = np.zeros(num_nodes, dtype=np.int64)
    start, largest = 0, 0
    for row, (u, v) in enumerate(edges.tolist()):
        count[u] += 1
        count[v] += 1
        if max(count[u], count[v]) > largest:
            if row > start:
                yield start, row
            start, largest = row, int(max(count[u], count[v]))
    if len(edges) and largest == degree and np.count_nonzero(count < degree) <= 1:
        yield start, len(edges)


def _lift(prices: FloatArray) -> FloatArray:
    """Return prices that single precision holds, none smaller than before."""
    lifted = np.minimum(prices * (1 + LIFT), LARGEST_PRICE).astype(np.float32)
    raised = np.nextafter(lifted, np.float32(np.inf), dtype=np.float32)
    return np.where(prices > 0, raised, 0.0).astype(np.float64)
