"""The paper's greedy without any trick: every benefit that may have changed, from scratch."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.select.benefits.queue_kernels import (
    drop_first,
    entry_key,
    entry_topic,
    make_key,
    pack_entry,
    push_entry,
)


@kernel
def topic_shares(
    topic: int,
    rate: float,
    indptr: LongArray,
    followers: IntArray,
    missing: FloatArray,
    worth: FloatArray,
    is_binary: bool,
) -> float:
    """Add up what a topic gives its unsatisfied followers now.

    Changes nothing.

    Binary: min(1, rate / missing) in whole units, ``worth`` of them to a subscriber (the paper's
    Alg. 1). Fractional: min(missing, rate) events, each ``worth`` as much as it adds to the value.
    """
    units, gain = 0, 0.0
    for i in range(indptr[topic], indptr[topic + 1]):
        subscriber = followers[i]
        lacks = missing[subscriber]
        if lacks > 0.0:
            if is_binary:
                units += int(min(rate * (worth[subscriber] / lacks), worth[subscriber]))
            else:
                gain += min(lacks, rate) * worth[subscriber]
    return float(units) if is_binary else gain


@kernel
def naive_order(
    topic_indptr: LongArray,
    followers: IntArray,
    subscriber_indptr: LongArray,
    interests: IntArray,
    rates: FloatArray,
    cost: FloatArray,
    price: FloatArray,
    missing: FloatArray,
    worth: FloatArray,
    slack: FloatArray,
    limit: float,
    used: float,
    is_binary: bool,
) -> IntArray:
    """Return topics as the paper's Alg. 2 serves them, and its Alg. 5 without laziness.

    After each accepted topic, the benefit of every topic that shares an unsatisfied subscriber with
    it is computed from scratch; no other is another one. An examined topic leaves. Changes
    ``missing``.

    Parameters
    ----------
    price
        What a benefit is divided by.
    missing
        What each subscriber still needs.
    worth
        Units of a whole subscriber (binary), or what an event is worth to it (fractional).
    slack
        How little may be missing before it counts as nothing.
    """
    num_topics = len(rates)
    keys = np.empty(num_topics, dtype=np.float32)
    heap = np.empty(max(num_topics, 1), dtype=np.uint64)
    size = 0
    for topic in range(num_topics):
        benefit = topic_shares(
            topic, rates[topic], topic_indptr, followers, missing, worth, is_binary
        )
        keys[topic] = make_key(benefit, price[topic])
        heap = push_entry(heap, size, pack_entry(keys[topic], topic))
        size += 1
    order = np.empty(num_topics, dtype=np.int32)
    served = 0
    updated_for = np.full(num_topics, -1, dtype=np.int64)
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
        row = followers[topic_indptr[topic] : topic_indptr[topic + 1]]
        touched = row[missing[row] > 0.0]
        for subscriber in touched:
            left = missing[subscriber] - rates[topic]
            missing[subscriber] = left if left > slack[subscriber] else 0.0
        for subscriber in touched:
            for i in range(subscriber_indptr[subscriber], subscriber_indptr[subscriber + 1]):
                other = interests[i]
                if keys[other] < 0.0 or updated_for[other] == topic:
                    continue
                updated_for[other] = topic
                benefit = topic_shares(
                    other, rates[other], topic_indptr, followers, missing, worth, is_binary
                )
                key = make_key(benefit, price[other])
                if key != keys[other]:
                    keys[other] = key
                    heap = push_entry(heap, size, pack_entry(key, other))
                    size += 1
    return order[:served]
