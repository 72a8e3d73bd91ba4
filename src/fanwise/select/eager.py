"""The paper's ModifiedGreedyFB3MSlow: every topic that shares a subscriber is updated each time.

The choices of the fractional greedy, but for rounding: gains are kept up to date by differences
instead of being looked up when a topic comes to the top. It exists for measuring what laziness
saves, in ``reproduce``.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.select.greedy import scaled_price
from fanwise.select.lazy_kernels import Needs, topic_gain
from fanwise.select.problem import Selection
from fanwise.select.queue_kernels import (
    drop_first,
    entry_key,
    entry_topic,
    make_key,
    pack_entry,
    push_entry,
)
from fanwise.workload.topic import RELATIVE_TOLERANCE


def eager_fractional(problem: Selection, *, by_cost: bool) -> IntArray:
    """Return the topics in the order served, of type R (``by_cost``) or G."""
    workload, demand = problem.workload, problem.demand
    worth = np.divide(problem.weight, demand, out=np.zeros_like(demand), where=demand > 0)
    price = scaled_price(problem.cost, 1.0) if by_cost else np.ones(workload.num_topics)
    order: IntArray = eager_order(
        *workload.followers,
        *workload.interests,
        workload.rates,
        problem.cost,
        price,
        np.column_stack([np.where(worth > 0, demand, 0.0), worth]),
        RELATIVE_TOLERANCE * demand,
        problem.limit * (1 + RELATIVE_TOLERANCE),
        RELATIVE_TOLERANCE,
    )
    return order


@kernel
def eager_order(
    topic_indptr: LongArray,
    followers: IntArray,
    subscriber_indptr: LongArray,
    interests: IntArray,
    rates: FloatArray,
    cost: FloatArray,
    price: FloatArray,
    needs: Needs,
    slack: FloatArray,
    limit: float,
    tolerance: float,
) -> IntArray:
    """Alg. 5 with all gains up to date after every accepted topic; ``needs`` is changed."""
    num_topics = len(rates)
    gains = np.empty(num_topics)
    keys = np.empty(num_topics, dtype=np.float32)
    heap = np.empty(max(num_topics, 1), dtype=np.uint64)
    size = 0
    for topic in range(num_topics):
        gains[topic] = topic_gain(topic, rates[topic], topic_indptr, followers, needs)
        keys[topic] = make_key(gains[topic], price[topic])
        heap = push_entry(heap, size, pack_entry(keys[topic], topic))
        size += 1
    # What differences leave of a gain that has gone to zero is rounding.
    dust = tolerance * gains
    order = np.empty(num_topics, dtype=np.int32)
    changed = np.empty(num_topics, dtype=np.int32)
    changed_for = np.full(num_topics, -1, dtype=np.int64)
    served, used = 0, 0.0
    while size > 0:
        topic = entry_topic(heap[0])
        key = entry_key(heap[0])
        size -= 1
        drop_first(heap, size)
        if key != keys[topic]:
            continue
        if key <= 0.0:
            break
        keys[topic] = -1.0
        if used + cost[topic] > limit:
            continue
        used += cost[topic]
        order[served] = topic
        served += 1
        num_changed = 0
        for i in range(topic_indptr[topic], topic_indptr[topic + 1]):
            subscriber = followers[i]
            before = needs[subscriber, 0]
            if before <= 0.0:
                continue
            after = before - rates[topic]
            after = after if after > slack[subscriber] else 0.0
            needs[subscriber, 0] = after
            for j in range(subscriber_indptr[subscriber], subscriber_indptr[subscriber + 1]):
                other = interests[j]
                if keys[other] < 0.0:
                    continue
                lost = min(before, rates[other]) - min(after, rates[other])
                gains[other] -= lost * needs[subscriber, 1]
                if changed_for[other] != topic:
                    changed_for[other] = topic
                    changed[num_changed] = other
                    num_changed += 1
        for i in range(num_changed):
            other = changed[i]
            gain = gains[other] if gains[other] > dust[other] else 0.0
            key = make_key(gain, price[other])
            if key != keys[other]:
                keys[other] = key
                heap = push_entry(heap, size, pack_entry(key, other))
                size += 1
    return order[:served]
