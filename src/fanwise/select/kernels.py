"""Kernels of select: arrays in, arrays out."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.select.lazy_kernels import topic_gain
from fanwise.select.queue_kernels import (
    drop_first,
    entry_key,
    entry_topic,
    make_key,
    pack_entry,
    push_entry,
)


@kernel
def topic_benefit(
    topic: int,
    rate: float,
    indptr: LongArray,
    followers: IntArray,
    remaining: FloatArray,
    weight: FloatArray,
) -> float:
    """Add up min(1, rate / remaining) over the unsatisfied followers (the paper's Alg. 1)."""
    benefit = 0.0
    for i in range(indptr[topic], indptr[topic + 1]):
        subscriber = followers[i]
        if remaining[subscriber] > 0.0:
            benefit += weight[subscriber] * min(1.0, rate / remaining[subscriber])
    return benefit


@kernel
def topic_shares(
    topic: int,
    rate: float,
    indptr: LongArray,
    followers: IntArray,
    missing: FloatArray,
    unit: FloatArray,
) -> int:
    """Add up the followers' shares, min(1, rate / missing) in whole units (the paper's Alg. 1)."""
    benefit = 0
    for i in range(indptr[topic], indptr[topic + 1]):
        subscriber = followers[i]
        if missing[subscriber] > 0.0:
            per_event = unit[subscriber] / missing[subscriber]
            benefit += int(min(rate * per_event, unit[subscriber]))
    return benefit


@kernel
def naive_order(
    topic_indptr: LongArray,
    followers: IntArray,
    subscriber_indptr: LongArray,
    interests: IntArray,
    rates: FloatArray,
    cost: FloatArray,
    price: FloatArray,
    demand: FloatArray,
    unit: FloatArray,
    limit: float,
    tolerance: float,
) -> IntArray:
    """The paper's Alg. 2 as printed, but for the examined topic, which leaves.

    After each accepted topic the benefit of every topic that shares an unsatisfied subscriber with
    it is computed from scratch.
    """
    num_topics = len(rates)
    missing = np.where(unit > 0, demand, 0.0)
    keys = np.empty(num_topics, dtype=np.float32)
    heap = np.empty(max(num_topics, 1), dtype=np.uint64)
    size = 0
    for topic in range(num_topics):
        benefit = topic_shares(topic, rates[topic], topic_indptr, followers, missing, unit)
        keys[topic] = make_key(benefit, price[topic])
        heap = push_entry(heap, size, pack_entry(keys[topic], topic))
        size += 1
    order = np.empty(num_topics, dtype=np.int32)
    served, used = 0, 0.0
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
            missing[subscriber] = left if left > tolerance * demand[subscriber] else 0.0
        for subscriber in touched:
            for i in range(subscriber_indptr[subscriber], subscriber_indptr[subscriber + 1]):
                other = interests[i]
                if keys[other] < 0.0 or updated_for[other] == topic:
                    continue
                updated_for[other] = topic
                benefit = topic_shares(other, rates[other], topic_indptr, followers, missing, unit)
                key = make_key(benefit, price[other])
                if key != keys[other]:
                    keys[other] = key
                    heap = push_entry(heap, size, pack_entry(key, other))
                    size += 1
    return order[:served]


@kernel
def smallest_rates(indptr: LongArray, interests: IntArray, rates: FloatArray) -> FloatArray:
    """The smallest rate among each subscriber's topics; 0 without topics."""
    smallest = np.zeros(len(indptr) - 1)
    for subscriber in range(len(indptr) - 1):
        if indptr[subscriber] < indptr[subscriber + 1]:
            least = np.inf
            for i in range(indptr[subscriber], indptr[subscriber + 1]):
                least = min(least, rates[interests[i]])
            smallest[subscriber] = least
    return smallest


@kernel
def topic_profits(
    indptr: LongArray,
    followers: IntArray,
    rates: FloatArray,
    demand: FloatArray,
    weight: FloatArray,
) -> FloatArray:
    """What each topic alone gives: the sum of weight x min(1, rate / tau_v)."""
    profits = np.zeros(len(rates))
    for topic in range(len(rates)):
        profits[topic] = topic_benefit(topic, rates[topic], indptr, followers, demand, weight)
    return profits


@kernel
def naive_gain_order(
    indptr: LongArray,
    followers: IntArray,
    rates: FloatArray,
    cost: FloatArray,
    price: FloatArray,
    needs: FloatArray,
    slack: FloatArray,
    limit: float,
) -> IntArray:
    """Alg. 5 with every gain computed anew before every choice; ``needs`` is changed."""
    num_topics = len(rates)
    is_open = np.ones(num_topics, dtype=np.bool_)
    order = np.empty(num_topics, dtype=np.int32)
    served, used = 0, 0.0
    while True:
        best, best_key = -1, np.float32(0.0)
        for topic in range(num_topics):
            if is_open[topic]:
                gain = topic_gain(topic, rates[topic], indptr, followers, needs)
                key = make_key(gain, price[topic])
                if key > best_key:
                    best, best_key = topic, key
        if best < 0:
            break
        is_open[best] = False
        if used + cost[best] > limit:
            continue
        used += cost[best]
        order[served] = best
        served += 1
        for i in range(indptr[best], indptr[best + 1]):
            subscriber = followers[i]
            missing = needs[subscriber, 0] - rates[best]
            needs[subscriber, 0] = missing if missing > slack[subscriber] else 0.0
    return order[:served]
