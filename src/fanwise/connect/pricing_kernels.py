"""Passes over all pairs of nodes that share a topic, row by row: nothing is kept of a pair."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.connect.improving.completion import count_row
from fanwise.connect.improving.ground import Ground, cost_of

NUM_BUCKETS = 4096
DECADES = 12.0
"""Gains down to 10^-12 of the largest are told apart."""


@kernel
def count_free(ground: Ground, label: IntArray, limits: IntArray) -> tuple[LongArray, LongArray]:
    """Count, per topic, components that can still grow, and add up the degrees of its nodes."""
    num_topics = len(ground.weight)
    free, room = np.zeros(num_topics, dtype=np.int64), np.zeros(num_topics, dtype=np.int64)
    is_counted = np.zeros(len(ground.nodes), dtype=np.bool_)
    for slot in range(len(ground.nodes)):
        limit = limits[ground.nodes[slot]]
        if limit > 0:
            topic = ground.topic_of[slot]
            room[topic] += limit
            if not is_counted[label[slot]]:
                is_counted[label[slot]] = True
                free[topic] += 1
    return free, room


@kernel
def count_ahead(
    ground: Ground,
    label: IntArray,
    weight: FloatArray,
    node: int,
    worth: FloatArray,
    found: IntArray,
) -> int:
    """Like ``count_row``, for partners with a larger id: half the work."""
    num_found = 0
    for i in range(ground.indptr[node], ground.indptr[node + 1]):
        topic, own = ground.topics[i], ground.slot_of[i]
        gain, mine = weight[topic], label[own]
        if gain <= 0.0:
            continue
        for slot in range(own + 1, ground.topic_indptr[topic + 1]):
            if label[slot] != mine:
                other = ground.nodes[slot]
                if worth[other] == 0.0:
                    found[num_found] = other
                    num_found += 1
                worth[other] += gain
    return num_found


@kernel
def price_pairs(
    ground: Ground,
    label: IntArray,
    weight: FloatArray,
    node_price: FloatArray,
    link_price: float,
    cost_price: float,
    node_load: FloatArray,
    topic_load: FloatArray,
) -> tuple[float, float, float]:
    """Add up what pairs gain beyond their prices; return it with their number and cost.

    Counts in ``node_load`` and ``topic_load`` how many such pairs a node is in, and a topic.
    """
    num_nodes = len(node_price)
    worth, found = np.zeros(num_nodes), np.empty(num_nodes, dtype=np.int32)
    surplus, count, cost = 0.0, 0.0, 0.0
    for node in range(num_nodes):
        base = node_price[node] + link_price
        num_found = count_ahead(ground, label, weight, node, worth, found)
        for k in range(num_found):
            other = found[k]
            rest = worth[other] - base - node_price[other]
            worth[other] = 0.0
            if rest > 0.0:
                length = cost_of(ground, node, other)
                rest -= cost_price * length
                if rest > 0.0:
                    surplus += rest
                    count += 1.0
                    cost += length
                    node_load[node] += 1.0
                    node_load[other] += 1.0
                    load_topics(ground, label, node, other, topic_load)
    return surplus, count, cost


@kernel
def load_topics(ground: Ground, label: IntArray, u: int, v: int, load: FloatArray) -> None:
    """Count a link in every topic whose components it would join."""
    i, i_end, j, j_end = (
        ground.indptr[u],
        ground.indptr[u + 1],
        ground.indptr[v],
        ground.indptr[v + 1],
    )
    topics = ground.topics
    while i < i_end and j < j_end:
        if topics[i] < topics[j]:
            i += 1
        elif topics[i] > topics[j]:
            j += 1
        else:
            if label[ground.slot_of[i]] != label[ground.slot_of[j]]:
                load[topics[i]] += 1.0
            i += 1
            j += 1


@kernel
def rank_pairs(
    ground: Ground, label: IntArray, limits: IntArray, max_edges: float, max_cost: float
) -> tuple[FloatArray, float, float]:
    """Return the d_v-th largest gain at each node, and about the last gain that budgets afford.

    The second is the gain at which ``max_edges`` links are reached, taking the largest first, the
    third the gain per cost at which ``max_cost`` is reached: read off a histogram, as prices need
    not be exact.
    """
    num_nodes = len(limits)
    worth, found = np.zeros(num_nodes), np.empty(num_nodes, dtype=np.int32)
    row, ceiling = np.empty(num_nodes), np.zeros(num_nodes)
    gains, numbers = np.zeros(NUM_BUCKETS), np.zeros(NUM_BUCKETS)
    ratio_gains, ratio_costs = np.zeros(NUM_BUCKETS), np.zeros(NUM_BUCKETS)
    top = 1e-300
    for topic in range(len(ground.weight)):
        top += ground.weight[topic]
    for node in range(num_nodes):
        num_found, _ = count_row(ground, label, ground.weight, node, worth, found)
        for k in range(num_found):
            other = found[k]
            gain, worth[other] = worth[other], 0.0
            row[k] = gain
            if other > node:
                bucket = bucket_of(gain / top)
                gains[bucket] += gain
                numbers[bucket] += 1.0
                length = cost_of(ground, node, other)
                bucket = bucket_of(gain / length / top)
                ratio_gains[bucket] += gain
                ratio_costs[bucket] += length
        if num_found > limits[node] > 0:
            ceiling[node] = np.partition(row[:num_found], num_found - limits[node])[
                num_found - limits[node]
            ]
    link_price = cut(gains, numbers, max_edges)
    return ceiling, link_price, cut(ratio_gains, ratio_costs, max_cost)


@kernel
def bucket_of(share: float) -> int:
    """Return the bucket of a gain by its logarithm; smaller gains have larger numbers."""
    if share <= 0.0:
        return NUM_BUCKETS - 1
    place = int((3.0 - np.log10(share)) / (DECADES + 3.0) * NUM_BUCKETS)
    return min(max(place, 0), NUM_BUCKETS - 1)


@kernel
def cut(gains: FloatArray, sizes: FloatArray, limit: float) -> float:
    """Return the mean gain per size of the bucket in which the sizes pass a limit, or 0."""
    total = 0.0
    for bucket in range(NUM_BUCKETS):
        total += sizes[bucket]
        if total > limit:
            return float(gains[bucket] / sizes[bucket])
    return 0.0
