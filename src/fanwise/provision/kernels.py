"""Kernels of provision: arrays in, arrays out.

Topics are sorted once for everybody: ``rank[topic]`` is a topic's place in that order, -1 for a
topic that must not be used, and arrays ``*_of_rank`` hold a topic's values by place. Sorting the
topics of a subscriber is then sorting small integers.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel

SHORT = 24
"""Up to this length insertion sort beats the general one; most subscribers follow fewer topics."""


@kernel
def longest_row(indptr: LongArray) -> int:
    """The largest number of entries in a row."""
    longest = 0
    for row in range(len(indptr) - 1):
        longest = max(longest, indptr[row + 1] - indptr[row])
    return longest


@kernel
def sort_ranks(first: int, last: int, topics: IntArray, rank: IntArray, ranks: IntArray) -> int:
    """Write the ascending ranks of ``topics[first:last]`` into ``ranks``; return how many."""
    count = 0
    if last - first > SHORT:
        for i in range(first, last):
            if rank[topics[i]] >= 0:
                ranks[count] = rank[topics[i]]
                count += 1
        ranks[:count].sort()
        return count
    for i in range(first, last):
        entry = rank[topics[i]]
        if entry < 0:
            continue
        place = count
        while place > 0 and ranks[place - 1] > entry:
            ranks[place] = ranks[place - 1]
            place -= 1
        ranks[place] = entry
        count += 1
    return count


@kernel
def choose_greedily(
    indptr: LongArray,
    topics: IntArray,
    rank: IntArray,
    topic_of_rank: IntArray,
    rate_of_rank: FloatArray,
    demand: FloatArray,
    tolerance: float,
) -> tuple[LongArray, IntArray]:
    """Choose topics for each subscriber until it has what it demands (the paper's Alg. 1 and 2).

    Ranks order topics by falling rate, then id. Each topic that fits what is missing is taken; if
    something is missing at the end, the smallest of those passed over. What is missing counts as
    nothing below ``tolerance`` times the demand.
    """
    num_subscribers = len(demand)
    chosen_indptr = np.zeros(num_subscribers + 1, dtype=np.int64)
    chosen = np.empty(len(topics), dtype=np.int32)
    ranks = np.empty(longest_row(indptr), dtype=np.int32)
    num_chosen = 0
    for subscriber in range(num_subscribers):
        missing = demand[subscriber]
        if missing > 0.0:
            hair = tolerance * missing
            count = sort_ranks(indptr[subscriber], indptr[subscriber + 1], topics, rank, ranks)
            passed_over = -1
            for i in range(count):
                rate = rate_of_rank[ranks[i]]
                if rate <= missing + hair:
                    chosen[num_chosen] = topic_of_rank[ranks[i]]
                    num_chosen += 1
                    missing -= rate
                    if missing <= hair:
                        break
                elif passed_over < 0 or rate < rate_of_rank[passed_over]:
                    passed_over = ranks[i]
            if missing > hair and passed_over >= 0:
                chosen[num_chosen] = topic_of_rank[passed_over]
                num_chosen += 1
        chosen_indptr[subscriber + 1] = num_chosen
    return chosen_indptr, chosen[:num_chosen].copy()


@kernel
def first_with_room(free: FloatArray, need: float) -> int:
    """The first leaf of a tree of maxima with at least ``need``; the root must have it."""
    num_leaves = len(free) // 2
    node = 1
    while node < num_leaves:
        node *= 2
        if free[node] < need:
            node += 1
    return node - num_leaves


@kernel
def take_room(free: FloatArray, leaf: int, amount: float) -> None:
    """Lower a leaf of a tree of maxima and mend the maxima above it."""
    node = len(free) // 2 + leaf
    free[node] -= amount
    while node > 1:
        node //= 2
        largest = max(free[2 * node], free[2 * node + 1])
        if free[node] == largest:
            break
        free[node] = largest


@kernel
def double_leaves(free: FloatArray, capacity: float) -> FloatArray:
    """Return a tree of maxima with twice the leaves, the new ones at full capacity."""
    num_leaves = len(free) // 2
    grown = np.full(4 * num_leaves, capacity)
    grown[2 * num_leaves : 3 * num_leaves] = free[num_leaves:]
    for node in range(2 * num_leaves - 1, 0, -1):
        grown[node] = max(grown[2 * node], grown[2 * node + 1])
    return grown


@kernel
def pack_first_fit(topics: IntArray, needs: FloatArray, capacity: float) -> tuple[IntArray, int]:
    """Put each pair on the first machine with room (the paper's Alg. 3).

    A pair takes ``needs[topic]`` where its topic is already, twice that elsewhere, for the topic's
    incoming copy. Every need must be at most half the capacity. Returns the machine of each pair
    and the number of machines.

    Only the machine that got the topic last can be the first with room among those that have it:
    when the topic went there, the others had no room for one more pair and no machine before it
    had room for a new topic; and room only shrinks. So one machine per topic is remembered, and a
    tree of maxima finds the first machine with room for a new topic. Machines not in use yet stand
    behind in the tree with full capacity, so that opening one is finding it. O(log machines) per
    pair at most.
    """
    latest = np.full(len(needs), -1, dtype=np.int32)
    vm_of_pair = np.empty(len(topics), dtype=np.int32)
    free = np.full(2 * 64, capacity)
    num_leaves = 64
    num_vms = 0
    for i in range(len(topics)):
        topic = topics[i]
        need = needs[topic]
        vm = latest[topic]
        if vm >= 0 and free[num_leaves + vm] >= need:
            take_room(free, vm, need)
        else:
            vm = first_with_room(free, 2.0 * need)
            take_room(free, vm, 2.0 * need)
            latest[topic] = vm
            if vm == num_vms:
                num_vms += 1
                if num_vms == num_leaves:
                    free = double_leaves(free, capacity)
                    num_leaves *= 2
        vm_of_pair[i] = vm
    return vm_of_pair, num_vms


@kernel
def deliver_events(
    indptr: LongArray,
    topics: IntArray,
    rates: FloatArray,
    pair_subscriber: IntArray,
    pair_topic: IntArray,
) -> FloatArray:
    """Events each subscriber gets from allocated pairs, all real interests, each counted once."""
    is_allocated = np.zeros(len(topics), dtype=np.bool_)
    for i in range(len(pair_topic)):
        low = indptr[pair_subscriber[i]]
        high = indptr[pair_subscriber[i] + 1] - 1
        while low < high:
            middle = (low + high) // 2
            if topics[middle] < pair_topic[i]:
                low = middle + 1
            else:
                high = middle
        is_allocated[low] = True
    delivered = np.zeros(len(indptr) - 1)
    for subscriber in range(len(indptr) - 1):
        total = 0.0
        for i in range(indptr[subscriber], indptr[subscriber + 1]):
            if is_allocated[i]:
                total += rates[topics[i]]
        delivered[subscriber] = total
    return delivered


@kernel
def cover_subscribers(
    indptr: LongArray,
    topics: IntArray,
    rank: IntArray,
    rate_of_rank: FloatArray,
    size_of_rank: FloatArray,
    demand: FloatArray,
) -> FloatArray:
    """Bytes that must go out to each subscriber at least.

    Ranks order topics by rising message size, so the cheapest events come first. A subscriber gets
    at least the cheapest fractional cover of its demand, and at least one whole topic.
    """
    least = np.zeros(len(demand))
    ranks = np.empty(longest_row(indptr), dtype=np.int32)
    for subscriber in range(len(demand)):
        missing = demand[subscriber]
        if missing <= 0.0:
            continue
        count = sort_ranks(indptr[subscriber], indptr[subscriber + 1], topics, rank, ranks)
        cover = 0.0
        smallest = np.inf if count > 0 else 0.0
        for i in range(count):
            rate = rate_of_rank[ranks[i]]
            size = size_of_rank[ranks[i]]
            cover += min(rate, missing) * size
            missing = max(missing - rate, 0.0)
            smallest = min(smallest, rate * size)
        least[subscriber] = max(cover, smallest)
    return least


@kernel
def count_forced_pairs(
    indptr: LongArray,
    topics: IntArray,
    rates: FloatArray,
    demand: FloatArray,
    tolerance: float,
) -> LongArray:
    """How many subscribers of each topic cannot reach their demand without it.

    A topic that must not be used has rate 0 here.
    """
    num_forced = np.zeros(len(rates), dtype=np.int64)
    for subscriber in range(len(demand)):
        if demand[subscriber] <= 0.0:
            continue
        total = 0.0
        for i in range(indptr[subscriber], indptr[subscriber + 1]):
            total += rates[topics[i]]
        enough = demand[subscriber] * (1.0 - tolerance)
        for i in range(indptr[subscriber], indptr[subscriber + 1]):
            rate = rates[topics[i]]
            if rate > 0.0 and total - rate < enough:
                num_forced[topics[i]] += 1
    return num_forced


@kernel
def largest_excess(
    indptr: LongArray, topics: IntArray, needs_of_forced: FloatArray, least: FloatArray
) -> float:
    """The most that one subscriber's traffic exceeds the forced topics among its interests."""
    largest = 0.0
    for subscriber in range(len(least)):
        excess = least[subscriber]
        for i in range(indptr[subscriber], indptr[subscriber + 1]):
            excess -= needs_of_forced[topics[i]]
        largest = max(largest, excess)
    return largest
