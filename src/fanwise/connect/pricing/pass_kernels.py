"""Passes over all pairs of nodes that share a topic, row by row: nothing is kept of a pair."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.connect.arrays import Network
from fanwise.connect.components import sum_gains
from fanwise.connect.kernels import NOBODY, cost_of, first_common, next_common

NUM_BUCKETS = 4096
"""Of the histogram of gains."""
DECADES = 12.0
"""Gains down to 10^-12 of the largest are told apart."""


@kernel
def count_free(network: Network, label: IntArray, limits: IntArray) -> tuple[LongArray, LongArray]:
    """Count, per topic, components that can still grow, and add up the degrees of its nodes.

    Changes no array.
    """
    num_topics = len(network.weight)
    free, degrees = np.zeros(num_topics, dtype=np.int64), np.zeros(num_topics, dtype=np.int64)
    is_counted = np.zeros(len(network.nodes), dtype=np.bool_)
    for slot in range(len(network.nodes)):
        limit = limits[network.nodes[slot]]
        if limit > 0:
            topic = network.topic_of[slot]
            degrees[topic] += limit
            if not is_counted[label[slot]]:
                is_counted[label[slot]] = True
                free[topic] += 1
    return free, degrees


@kernel
def price_pairs(
    network: Network,
    label: IntArray,
    weight: FloatArray,
    node_price: FloatArray,
    link_price: float,
    cost_price: float,
    node_load: FloatArray,
    topic_load: FloatArray,
) -> tuple[float, float, float]:
    """Add up what pairs gain beyond their prices; return it with their number and cost.

    Changes ``node_load`` and ``topic_load``: counts how many such pairs a node is in, and a topic.
    """
    num_nodes = len(node_price)
    worth, found = np.zeros(num_nodes), np.empty(num_nodes, dtype=np.int32)
    surplus, count, cost = 0.0, 0.0, 0.0
    for node in range(num_nodes):
        base = node_price[node] + link_price
        num_found = sum_gains(network, label, weight, node, True, worth, found)
        for k in range(num_found):
            other = found[k]
            rest = worth[other] - base - node_price[other]
            worth[other] = 0.0
            if rest > 0.0:
                length = cost_of(network.positions, node, other)
                rest -= cost_price * length
                if rest > 0.0:
                    surplus += rest
                    count += 1.0
                    cost += length
                    node_load[node] += 1.0
                    node_load[other] += 1.0
                    load_topics(network, label, node, other, topic_load)
    return surplus, count, cost


@kernel
def load_topics(network: Network, label: IntArray, u: int, v: int, load: FloatArray) -> None:
    """Count a link in every topic whose components it would join. Changes ``load``."""
    slot_of = network.slot_of
    i, j = first_common(network.indptr, network.topics, u, v)
    while i != NOBODY:
        if label[slot_of[i]] != label[slot_of[j]]:
            load[network.topics[i]] += 1.0
        i, j = next_common(network.indptr, network.topics, u, v, i, j)


@kernel
def rank_pairs(
    network: Network, label: IntArray, limits: IntArray, max_edges: float, max_cost: float
) -> tuple[FloatArray, float, float]:
    """Return the d_v-th largest gain at each node, and about the last gain that budgets afford.

    The second is the gain at which ``max_edges`` links are reached, taking the largest first, the
    third the gain per cost at which ``max_cost`` is reached: read off a histogram, as prices need
    not be exact. Changes no array.
    """
    num_nodes = len(limits)
    worth, found = np.zeros(num_nodes), np.empty(num_nodes, dtype=np.int32)
    row, ceiling = np.empty(num_nodes), np.zeros(num_nodes)
    gains, numbers = np.zeros(NUM_BUCKETS), np.zeros(NUM_BUCKETS)
    ratio_gains, ratio_costs = np.zeros(NUM_BUCKETS), np.zeros(NUM_BUCKETS)
    # No gain exceeds the sum of all weights; it sets the scale of the histogram.
    top = 1e-300
    for topic in range(len(network.weight)):
        top += network.weight[topic]
    for node in range(num_nodes):
        num_found = sum_gains(network, label, network.weight, node, False, worth, found)
        for k in range(num_found):
            other = found[k]
            gain, worth[other] = worth[other], 0.0
            row[k] = gain
            if other > node:
                bucket = bucket_of(gain / top)
                gains[bucket] += gain
                numbers[bucket] += 1.0
                length = cost_of(network.positions, node, other)
                bucket = bucket_of(gain / length / top)
                ratio_gains[bucket] += gain
                ratio_costs[bucket] += length
        # Where a node has no more partners than links, its degree limits nothing and costs nothing.
        if num_found > limits[node] > 0:
            ceiling[node] = np.partition(row[:num_found], num_found - limits[node])[
                num_found - limits[node]
            ]
    link_price = cut(gains, numbers, max_edges)
    return ceiling, link_price, cut(ratio_gains, ratio_costs, max_cost)


@kernel
def bucket_of(share: float) -> int:
    """Return the bucket of a gain by its logarithm; smaller gains have larger numbers.

    Changes no array.
    """
    if share <= 0.0:
        return NUM_BUCKETS - 1
    # Three decades above 1 are for gain per cost, which cheap links push beyond the largest gain.
    bucket = int((3.0 - np.log10(share)) / (DECADES + 3.0) * NUM_BUCKETS)
    return min(max(bucket, 0), NUM_BUCKETS - 1)


@kernel
def cut(gains: FloatArray, sizes: FloatArray, limit: float) -> float:
    """Return the mean gain per size of the bucket in which the sizes pass a limit, or 0.

    Changes no array.
    """
    total = 0.0
    for bucket in range(NUM_BUCKETS):
        total += sizes[bucket]
        if total > limit:
            return float(gains[bucket] / sizes[bucket])
    return 0.0
