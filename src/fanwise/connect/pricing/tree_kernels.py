"""Passes over all pairs of nodes that share a topic, gains read off spanning trees of topics."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.connect.arrays import Network
from fanwise.connect.kernels import NOBODY, cost_of, first_common, next_common
from fanwise.connect.pricing.topic_trees import Trees


@kernel
def price_trees(
    network: Network,
    trees: Trees,
    share: FloatArray,
    is_hot: npt.NDArray[np.bool_],
    prices: FloatArray,
    softness: float,
    first: int,
    stride: int,
    node_load: FloatArray,
    join_load: FloatArray,
) -> tuple[float, float, float]:
    """Add up what pairs gain beyond their prices; return it with their number and cost.

    Of the pairs whose smaller node is ``first``, ``first`` + ``stride``, ….
    A pair counts in full where its surplus is ``softness`` or more, in part below; the surplus
    itself is never softened. Changes ``node_load`` and ``join_load``: adds how many such pairs a
    node is in, and in how many the share of a join is the largest on the way between the ends.

    Parameters
    ----------
    share
        Of the join above each position; 0 at the roots.
    is_hot
        Whether any share of a topic is above 0.
    prices
        Of nodes, then of a link and of a unit of cost.
    """
    indptr, topics, weight = network.indptr, network.topics, network.weight
    num_nodes = len(indptr) - 1
    gains, way = np.zeros(num_nodes), np.zeros(len(share))
    ancestors = np.zeros(len(share) + 1, dtype=np.int64)
    link_price, cost_price = prices[num_nodes], prices[num_nodes + 1]
    surplus, count, cost = 0.0, 0.0, 0.0
    for node in range(first, num_nodes, stride):
        for i in range(indptr[node], indptr[node + 1]):
            topic = topics[i]
            if is_hot[topic]:
                end = network.topic_indptr[topic + 1]
                add_gains(trees, share, weight[topic], trees.position[i], end, way, ancestors,
                          gains)  # fmt: skip
        base = prices[node] + link_price
        for other in range(node + 1, num_nodes):
            rest = gains[other] - base - prices[other]
            if rest > 0.0:
                length = cost_of(network.positions, node, other)
                rest -= cost_price * length
                if rest > 0.0:
                    part = min(1.0, rest / softness) if softness > 0.0 else 1.0
                    surplus += rest
                    count += part
                    cost += part * length
                    node_load[node] += part
                    node_load[other] += part
                    load_joins(network, trees, share, node, other, part, join_load)
        gains[:] = 0.0
    return surplus, count, cost


@kernel
def add_gains(
    trees: Trees,
    share: FloatArray,
    weight: float,
    own: int,
    end: int,
    way: FloatArray,
    ancestors: LongArray,
    gains: FloatArray,
) -> None:
    """Add, for all nodes of a topic, its weight times the largest share on the way from one.

    Ways lead up from the position to each ancestor, and from there down: in preorder, all but
    ancestors have the position above them before themselves. Changes ``way``, ``ancestors`` and
    ``gains``.
    """
    parent, node = trees.parent, trees.node
    position, largest, num_ancestors = own, 0.0, 0
    way[own], ancestors[0] = 0.0, own
    while parent[position] != NOBODY:
        largest = max(largest, share[position])
        position = parent[position]
        num_ancestors += 1
        way[position], ancestors[num_ancestors] = largest, position
    for k in range(num_ancestors, -1, -1):
        position = ancestors[k]
        gains[node[position]] += weight * way[position]
        stop = ancestors[k - 1] if k > 0 else end
        for below in range(position + 1, stop):
            largest = max(way[parent[below]], share[below])
            way[below] = largest
            gains[node[below]] += weight * largest


@kernel
def load_joins(
    network: Network,
    trees: Trees,
    share: FloatArray,
    u: int,
    v: int,
    part: float,
    load: FloatArray,
) -> None:
    """Count a link at the join of largest share between its ends, in every common topic.

    Changes ``load``.
    """
    parent, position_of = trees.parent, trees.position
    i, j = first_common(network.indptr, network.topics, u, v)
    while i != NOBODY:
        load[largest_between(parent, share, position_of[i], position_of[j])] += part
        i, j = next_common(network.indptr, network.topics, u, v, i, j)


@kernel
def list_worthy(
    network: Network,
    trees: Trees,
    share: FloatArray,
    is_hot: npt.NDArray[np.bool_],
    prices: FloatArray,
    least: float,
    pairs: IntArray,
) -> int:
    """List pairs whose gain is at least a part of the prices of their ends, up to what fits.

    Returns how many there are. Changes ``pairs``.
    """
    indptr, topics, weight = network.indptr, network.topics, network.weight
    num_nodes = len(indptr) - 1
    gains, way = np.zeros(num_nodes), np.zeros(len(share))
    ancestors = np.zeros(len(share) + 1, dtype=np.int64)
    count = 0
    for node in range(num_nodes):
        for i in range(indptr[node], indptr[node + 1]):
            topic = topics[i]
            if is_hot[topic]:
                end = network.topic_indptr[topic + 1]
                add_gains(trees, share, weight[topic], trees.position[i], end, way, ancestors,
                          gains)  # fmt: skip
        for other in range(node + 1, num_nodes):
            if gains[other] > 0.0 and gains[other] >= least * (prices[node] + prices[other]):
                if count < len(pairs):
                    pairs[count, 0], pairs[count, 1] = node, other
                count += 1
        gains[:] = 0.0
    return count


@kernel
def largest_between(parent: IntArray, share: FloatArray, one: int, other: int) -> int:
    """Return the position below the join of largest share between two. Changes no array."""
    best, largest = one, -1.0
    while one != other:
        # The later position is no ancestor of the other one.
        if one > other:
            if share[one] > largest:
                best, largest = one, share[one]
            one = parent[one]
        else:
            if share[other] > largest:
                best, largest = other, share[other]
            other = parent[other]
    return int(best)


@kernel
def shares_between(old: Trees, share: FloatArray, new: Trees) -> FloatArray:
    """Return for each join of new trees the largest share between its ends in the old ones.

    Changes no array.
    """
    interest = np.zeros(len(share), dtype=np.int64)
    for i in range(len(share)):
        interest[new.position[i]] = i
    found = np.zeros(len(share))
    for position in range(len(share)):
        above = new.parent[position]
        if above != NOBODY:
            one, other = old.position[interest[position]], old.position[interest[above]]
            found[position] = share[largest_between(old.parent, share, one, other)]
    return found
