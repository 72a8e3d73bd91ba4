"""Greedy links under prices of nodes: what is left of a gain after what its ends are worth.

Plain greedy takes the link of largest gain, and uses up the degree of nodes that others need more.
Prices that prove a good bound say what a link at each node is worth; the link of largest gain above
the prices of its ends goes first. Links that are not worth their prices are left to plain greedy.

Guarantee
    None, but that every budget is kept.

Complexity
    O(candidates log candidates) and the evaluations of gains; these only fall, so that old ones are
    upper bounds.

References
----------
    Our own; greedy on reduced costs is common in Lagrangian heuristics.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tournament import first_largest, mend_tree, set_leaf
from fanwise.connect.arrays import Budget, Network
from fanwise.connect.components import Components, gain_of, link_nodes
from fanwise.connect.kernels import link_length


def grow_by_prices(
    network: Network, budget: Budget, pairs: IntArray, node_price: FloatArray
) -> IntArray:
    """Return links among the given pairs that are worth more than the prices of their ends."""
    prices = node_price[pairs[:, 0]] + node_price[pairs[:, 1]]
    leaves = 1 << max(len(pairs) - 1, 0).bit_length()
    tree = np.zeros(2 * leaves)
    tree[leaves : leaves + len(pairs)] = np.inf
    mend_tree(tree)
    chosen = choose_links(network, network.components(), budget, pairs, prices, tree)
    return np.ascontiguousarray(pairs[chosen])


@kernel
def choose_links(
    network: Network,
    components: Components,
    budget: Budget,
    pairs: IntArray,
    prices: FloatArray,
    tree: FloatArray,
) -> LongArray:
    """Return which pairs are linked, in order, by gain less price. Changes components and tree."""
    limit = network.degree_limit
    degree = np.zeros(len(limit), dtype=np.int64)
    chosen, count, cost = np.empty(len(pairs), dtype=np.int64), 0, 0.0
    while tree[1] > 0.0 and count < budget.max_edges:
        link = first_largest(tree)
        u, v = pairs[link, 0], pairs[link, 1]
        length = link_length(network.positions, u, v)
        key = 0.0
        if degree[u] < limit[u] and degree[v] < limit[v] and cost + length <= budget.max_cost:
            key = gain_of(network, components.label, u, v) - prices[link]
        set_leaf(tree, link, max(key, 0.0))
        if key > 0.0 and key >= tree[1]:
            link_nodes(network, components, u, v)
            degree[u] += 1
            degree[v] += 1
            cost += length
            chosen[count] = link
            count += 1
            set_leaf(tree, link, 0.0)
    return chosen[:count]
