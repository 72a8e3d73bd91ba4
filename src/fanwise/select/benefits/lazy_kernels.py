"""Lazy greedy for the fractional metric, whose gains only ever fall (Alg. 5 of the paper)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.deadlines import Flag
from fanwise.arrays.jit import kernel
from fanwise.select.benefits.queue_kernels import (
    Entries,
    drop_first,
    entry_key,
    entry_topic,
    make_key,
    pack_entry,
    push_entry,
)

Needs = npt.NDArray[np.float64]
"""Per subscriber: what is still missing, and what one event is worth (weight / tau_v)."""


@kernel
def topic_gain(
    topic: int, rate: float, indptr: LongArray, followers: IntArray, needs: Needs
) -> float:
    """Return what serving a topic now adds: weight x min(missing, rate) / tau_v over its followers.

    Changes nothing.
    """
    gain = 0.0
    for i in range(indptr[topic], indptr[topic + 1]):
        missing = needs[followers[i], 0]
        if missing > 0.0:
            gain += min(missing, rate) * needs[followers[i], 1]
    return gain


@kernel
def queue_gains(
    indptr: LongArray, followers: IntArray, rates: FloatArray, price: FloatArray, needs: Needs
) -> Entries:
    """Return an entry for every topic that gains anything; unsorted. Changes nothing."""
    entries = np.empty(len(rates), dtype=np.uint64)
    size = 0
    for topic in range(len(rates)):
        gain = topic_gain(topic, rates[topic], indptr, followers, needs)
        if gain > 0.0:
            entries[size] = pack_entry(make_key(gain, price[topic]), topic)
            size += 1
    return entries[:size]


@kernel
def lazy_order(
    indptr: LongArray,
    followers: IntArray,
    rates: FloatArray,
    cost: FloatArray,
    price: FloatArray,
    needs: Needs,
    slack: FloatArray,
    entries: Entries,
    limit: float,
    used: float,
    is_late: Flag,
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Serve topics by gain per price; an old gain is an upper bound, made new before it counts.

    Changes ``needs``.

    Parameters
    ----------
    price
        What a gain is divided by: the cost (type R) or 1 (type G).
    needs
        What is missing goes down.
    slack
        How little may be missing of each subscriber's threshold before it counts as nothing.
    entries
        Sorted, ascending.
    is_late
        Ends the run early, with what is served so far.

    Returns
    -------
    order, used_after, gained_after
        The served topics, and the cost and value after each.
    """
    order = np.empty(len(entries), dtype=np.int32)
    used_after = np.empty(len(entries))
    gained_after = np.empty(len(entries))
    heap = np.empty(1024, dtype=np.uint64)
    size, head, served, gained = 0, len(entries) - 1, 0, 0.0
    while (size > 0 or head >= 0) and not is_late[0]:
        if size > 0 and (head < 0 or heap[0] > entries[head]):
            entry = heap[0]
            size -= 1
            drop_first(heap, size)
        else:
            entry = entries[head]
            head -= 1
        topic = entry_topic(entry)
        if used + cost[topic] > limit:
            continue  # it will never fit again
        rate = rates[topic]
        gain = topic_gain(topic, rate, indptr, followers, needs)
        key = make_key(gain, price[topic])
        if key < entry_key(entry):
            if key > 0:
                heap = push_entry(heap, size, pack_entry(key, topic))
                size += 1
            continue
        used += cost[topic]
        gained += gain
        order[served] = topic
        used_after[served] = used
        gained_after[served] = gained
        served += 1
        for i in range(indptr[topic], indptr[topic + 1]):
            subscriber = followers[i]
            missing = needs[subscriber, 0]
            if missing > 0.0:
                missing -= rate
                needs[subscriber, 0] = missing if missing > slack[subscriber] else 0.0
    return order[:served], used_after[:served], gained_after[:served]
