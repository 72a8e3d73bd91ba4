"""Kernels of select: arrays in, arrays out."""

from __future__ import annotations

import math

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel

KEY_BITS = 40
"""Ratios that agree in this many bits tie: real ties differ in the last few after rounding."""


@kernel
def round_key(value: float) -> float:
    """Keep the leading bits of a ratio, so that equal ratios compare equal however summed."""
    if value == 0.0 or np.isinf(value):
        return value
    mantissa, exponent = math.frexp(value)
    scale = 2.0**KEY_BITS
    return math.ldexp(np.rint(mantissa * scale) / scale, exponent)


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
def benefit_key(benefit: float, cost: float) -> float:
    """Benefit per cost; free topics that help come first."""
    if benefit <= 0.0:
        return 0.0
    if cost <= 0.0:
        return np.inf
    return round_key(benefit / cost)


@kernel
def comes_first(left: int, right: int, keys: FloatArray) -> bool:
    """Whether topic ``left`` stands before ``right``: larger key, then smaller id."""
    return keys[left] > keys[right] or (keys[left] == keys[right] and left < right)


@kernel
def sift_up(heap: LongArray, places: LongArray, keys: FloatArray, place: int) -> None:
    """Move the entry at ``place`` towards the root until it is in order."""
    topic = heap[place]
    while place > 0:
        parent = (place - 1) // 2
        if not comes_first(topic, heap[parent], keys):
            break
        heap[place] = heap[parent]
        places[heap[place]] = place
        place = parent
    heap[place] = topic
    places[topic] = place


@kernel
def sift_down(heap: LongArray, places: LongArray, keys: FloatArray, place: int, size: int) -> None:
    """Move the entry at ``place`` towards the leaves until it is in order."""
    topic = heap[place]
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and comes_first(heap[child + 1], heap[child], keys):
            child += 1
        if not comes_first(heap[child], topic, keys):
            break
        heap[place] = heap[child]
        places[heap[place]] = place
        place = child
    heap[place] = topic
    places[topic] = place


@kernel
def serve_topic(
    topic: int,
    rate: float,
    indptr: LongArray,
    followers: IntArray,
    remaining: FloatArray,
    demand: FloatArray,
    tolerance: float,
) -> None:
    """Take a topic's rate off what its followers still need; a hair above 0 counts as 0."""
    for i in range(indptr[topic], indptr[topic + 1]):
        subscriber = followers[i]
        if remaining[subscriber] > 0.0:
            left = remaining[subscriber] - rate
            remaining[subscriber] = left if left > tolerance * demand[subscriber] else 0.0


@kernel
def greedy_order(
    topic_indptr: LongArray,
    followers: IntArray,
    subscriber_indptr: LongArray,
    interests: IntArray,
    rates: FloatArray,
    cost: FloatArray,
    demand: FloatArray,
    weight: FloatArray,
    limit: float,
    tolerance: float,
) -> IntArray:
    """Serve topics by benefit per cost until nothing helps (the paper's Alg. 2).

    The examined topic leaves the queue whether it fits or not. After each accepted topic, the
    benefit of every topic that shares a subscriber with it is computed afresh.
    """
    num_topics = len(rates)
    remaining = demand.copy()
    keys = np.zeros(num_topics)
    heap = np.arange(num_topics)
    places = np.arange(num_topics)
    for topic in range(num_topics):
        benefit = topic_benefit(topic, rates[topic], topic_indptr, followers, remaining, weight)
        keys[topic] = benefit_key(benefit, cost[topic])
    for place in range(num_topics // 2 - 1, -1, -1):
        sift_down(heap, places, keys, place, num_topics)

    order = np.empty(num_topics, dtype=np.int32)
    num_served = 0
    used = 0.0
    touched_by = np.full(num_topics, -1, dtype=np.int64)
    size = num_topics
    while size > 0:
        topic = heap[0]
        if keys[topic] <= 0.0:
            break
        size -= 1
        places[topic] = -1
        if size > 0:
            heap[0] = heap[size]
            places[heap[0]] = 0
            sift_down(heap, places, keys, 0, size)
        if used + cost[topic] > limit:
            continue
        used += cost[topic]
        order[num_served] = topic
        num_served += 1
        unsatisfied = np.empty(topic_indptr[topic + 1] - topic_indptr[topic], dtype=np.int32)
        num_unsatisfied = 0
        for i in range(topic_indptr[topic], topic_indptr[topic + 1]):
            if remaining[followers[i]] > 0.0:
                unsatisfied[num_unsatisfied] = followers[i]
                num_unsatisfied += 1
        serve_topic(topic, rates[topic], topic_indptr, followers, remaining, demand, tolerance)
        for j in range(num_unsatisfied):
            subscriber = unsatisfied[j]
            for i in range(subscriber_indptr[subscriber], subscriber_indptr[subscriber + 1]):
                other = interests[i]
                if places[other] < 0 or touched_by[other] == topic:
                    continue
                touched_by[other] = topic
                benefit = topic_benefit(
                    other, rates[other], topic_indptr, followers, remaining, weight
                )
                key = benefit_key(benefit, cost[other])
                rises = key > keys[other]
                keys[other] = key
                if rises:
                    sift_up(heap, places, keys, places[other])
                else:
                    sift_down(heap, places, keys, places[other], size)
    return order[:num_served]


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
