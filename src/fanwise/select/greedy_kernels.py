"""Exact greedy by benefit per cost for the binary metric, fast (Alg. 2 of the paper).

A topic's benefit adds up shares min(1, rate / missing) over its unsatisfied followers. A share
*rises* while other topics reduce what is missing, and drops to 0 once nothing is, so benefits that
are out of date bound nothing. Three ideas make exact bookkeeping cheap:

- Shares are whole numbers of 2^-k. Sums do not depend on their order, and taking back a share
  leaves exactly what was there before: benefits are kept up to date by differences.
- A topic is queued under an upper bound of its key. A rise beyond the bound queues it anew, a
  little higher than needed; a fall is found when the topic comes up.
- A *heavy* subscriber follows many topics, and each event it gets would touch all of them. Its
  share is entered for a level below what is missing, which bounds the share from above, and
  entered anew only when the level is passed. A topic that comes up trades these bounds for the true
  shares and is kept exact from then on (it is *settled*); few are at any time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.select.queue_kernels import (
    Entries,
    drop_first,
    entry_key,
    entry_topic,
    make_key,
    pack_entry,
    push_entry,
)

Records = npt.NDArray[Any]

# One compact record each: nearly every step of the algorithm misses the cache once.
TOPIC = np.dtype([("benefit", "i8"), ("rate", "f8"), ("ceiling", "f8")], align=True)
SUBSCRIBER = np.dtype(
    [("missing", "f8"), ("unit", "f8"), ("start", "i4"), ("stop", "i4"), ("heavy", "i4")],
    align=True,
)

HEAVY_DEGREE = 16
LEVEL = 0.6
"""A heavy subscriber's share is entered for this fraction of what is missing."""
HEADROOM = 1.03
"""How much higher than its key a rising topic is queued."""
CLOSED = -1.0
"""Key on record of a topic that is served, does not fit, or helps nobody."""


class Heavy(NamedTuple):
    """Heavy subscribers' topics, settled ones first, and where each topic stands in them."""

    indptr: LongArray
    topics: IntArray
    back: IntArray
    topic_indptr: LongArray
    subscribers: IntArray
    places: IntArray
    level: FloatArray
    num_settled: IntArray


@kernel
def share_of(rate: float, per_event: float, unit: float) -> int:
    """A subscriber's share in whole units: rate / missing of it, at most all."""
    return int(min(rate * per_event, unit))


@kernel
def ceiling_of(key: np.float32, price: float) -> float:
    """The benefit up to which a queued key bounds a topic; free topics cannot rise further."""
    if price <= 0.0:
        return np.inf
    return float(key) * price


@kernel
def list_heavy(
    indptr: LongArray, interests: IntArray, heavy_of_subscriber: IntArray, num_topics: int
) -> tuple[LongArray, IntArray, IntArray, LongArray, IntArray, IntArray]:
    """Copy the rows of heavy subscribers, with references both ways between rows and topics."""
    num_heavy = 0
    for heavy in heavy_of_subscriber:
        num_heavy = max(num_heavy, heavy + 1)
    row_indptr = np.zeros(num_heavy + 1, dtype=np.int64)
    topic_indptr = np.zeros(num_topics + 1, dtype=np.int64)
    for subscriber in range(len(heavy_of_subscriber)):
        heavy = heavy_of_subscriber[subscriber]
        if heavy >= 0:
            row_indptr[heavy + 1] = indptr[subscriber + 1] - indptr[subscriber]
            for i in range(indptr[subscriber], indptr[subscriber + 1]):
                topic_indptr[interests[i] + 1] += 1
    for heavy in range(num_heavy):
        row_indptr[heavy + 1] += row_indptr[heavy]
    for topic in range(num_topics):
        topic_indptr[topic + 1] += topic_indptr[topic]
    topics = np.empty(row_indptr[-1], dtype=np.int32)
    back = np.empty(row_indptr[-1], dtype=np.int32)
    subscribers = np.empty(row_indptr[-1], dtype=np.int32)
    places = np.empty(row_indptr[-1], dtype=np.int32)
    cursor = topic_indptr[:-1].copy()
    for subscriber in range(len(heavy_of_subscriber)):
        heavy = heavy_of_subscriber[subscriber]
        if heavy >= 0:
            place = row_indptr[heavy]
            for i in range(indptr[subscriber], indptr[subscriber + 1]):
                topic = interests[i]
                topics[place] = topic
                back[place] = cursor[topic]
                subscribers[cursor[topic]] = subscriber
                places[cursor[topic]] = place
                cursor[topic] += 1
                place += 1
    return row_indptr, topics, back, topic_indptr, subscribers, places


@kernel
def queue_benefits(
    topics: Records,
    keys: npt.NDArray[np.float32],
    indptr: LongArray,
    followers: IntArray,
    rates: FloatArray,
    price: FloatArray,
    per_event: FloatArray,
    unit: FloatArray,
) -> Entries:
    """Add up every topic's benefit and return an entry for each that has one; unsorted."""
    entries = np.empty(len(rates), dtype=np.uint64)
    size = 0
    for topic in range(len(rates)):
        rate = rates[topic]
        benefit = 0
        for i in range(indptr[topic], indptr[topic + 1]):
            subscriber = followers[i]
            benefit += share_of(rate, per_event[subscriber], unit[subscriber])
        record = topics[topic]
        record.benefit = benefit
        record.ceiling = np.inf
        key = make_key(benefit, price[topic])
        if key > 0:
            record.rate = rate
            record.ceiling = ceiling_of(key, price[topic])
            keys[topic] = key
            entries[size] = pack_entry(key, topic)
            size += 1
        else:
            keys[topic] = CLOSED
    return entries[:size]


@kernel
def close_topic(topics: Records, keys: npt.NDArray[np.float32], topic: int) -> None:
    """Take a topic out: with rate 0 it shares nothing, with that ceiling it never rises."""
    topics[topic].rate = 0.0
    topics[topic].ceiling = np.inf
    keys[topic] = CLOSED


@kernel
def swap_places(heavy: Heavy, one: int, other: int) -> None:
    """Swap two places of one heavy subscriber's row."""
    topics, back, places = heavy.topics, heavy.back, heavy.places
    topics[one], topics[other] = topics[other], topics[one]
    back[one], back[other] = back[other], back[one]
    places[back[one]] = one
    places[back[other]] = other


@kernel
def settle_topic(topics: Records, subscribers: Records, heavy: Heavy, topic: int) -> None:
    """Trade a topic's bounds for true shares, and keep them true from now on."""
    record = topics[topic]
    for i in range(heavy.topic_indptr[topic], heavy.topic_indptr[topic + 1]):
        subscriber = subscribers[heavy.subscribers[i]]
        if subscriber.missing > 0.0:
            row, unit = subscriber.heavy, subscriber.unit
            record.benefit += share_of(record.rate, unit / subscriber.missing, unit)
            record.benefit -= share_of(record.rate, unit / heavy.level[row], unit)
            swap_places(heavy, heavy.places[i], heavy.indptr[row] + heavy.num_settled[row])
            heavy.num_settled[row] += 1


@kernel
def raise_topics(
    topics: Records,
    keys: npt.NDArray[np.float32],
    price: FloatArray,
    row: IntArray,
    rise_from: float,
    rise_to: float,
    unit: float,
    heap: Entries,
    size: int,
) -> tuple[Entries, int]:
    """Exchange a subscriber's shares in some topics; queue anew those that rise too far."""
    for topic in row:
        record = topics[topic]
        rate = record.rate
        benefit = record.benefit + (share_of(rate, rise_to, unit) - share_of(rate, rise_from, unit))
        record.benefit = benefit
        if benefit > record.ceiling:
            key = make_key(benefit * HEADROOM, price[topic])
            keys[topic] = key
            record.ceiling = ceiling_of(key, price[topic])
            heap = push_entry(heap, size, pack_entry(key, topic))
            size += 1
    return heap, size


@kernel
def drop_shares(topics: Records, row: IntArray, per_event: float, unit: float) -> None:
    """Take a subscriber's shares back from some topics."""
    for topic in row:
        topics[topic].benefit -= share_of(topics[topic].rate, per_event, unit)


@kernel
def forget_closed(topics: Records, heavy: Heavy, row: int) -> None:
    """Move closed topics out of the settled part of a heavy subscriber's row."""
    place = heavy.indptr[row]
    while place < heavy.indptr[row] + heavy.num_settled[row]:
        if topics[heavy.topics[place]].rate == 0.0:
            heavy.num_settled[row] -= 1
            swap_places(heavy, place, heavy.indptr[row] + heavy.num_settled[row])
        else:
            place += 1


@kernel
def benefit_order(
    topics: Records,
    keys: npt.NDArray[np.float32],
    subscribers: Records,
    slack: FloatArray,
    indptr: LongArray,
    followers: IntArray,
    interests: IntArray,
    cost: FloatArray,
    price: FloatArray,
    heavy: Heavy,
    entries: Entries,
    limit: float,
    used: float,
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Serve topics by benefit per cost until nothing helps or fits.

    Parameters
    ----------
    slack
        How little may be missing of each subscriber's threshold before it counts as nothing.
    price
        The cost, scaled by a power of two so that keys fit their range.
    entries
        Sorted, ascending.

    Returns
    -------
    order, used_after, satisfied_after
        The served topics, and the cost and the units of satisfied subscribers after each.
    """
    order = np.empty(len(entries), dtype=np.int32)
    used_after = np.empty(len(entries))
    satisfied_after = np.empty(len(entries))
    is_settled = np.zeros(len(topics), dtype=np.bool_)
    heap = np.empty(1024, dtype=np.uint64)
    size, head, served, satisfied = 0, len(entries) - 1, 0, 0.0
    while size > 0 or head >= 0:
        if size > 0 and (head < 0 or heap[0] > entries[head]):
            entry = heap[0]
            size -= 1
            drop_first(heap, size)
        else:
            entry = entries[head]
            head -= 1
        topic = entry_topic(entry)
        if entry_key(entry) != keys[topic]:
            continue
        if used + cost[topic] > limit:
            close_topic(topics, keys, topic)  # it will never fit again
            continue
        record = topics[topic]
        if not is_settled[topic]:
            is_settled[topic] = True
            settle_topic(topics, subscribers, heavy, topic)
        key = make_key(record.benefit, price[topic])
        if key < keys[topic]:
            if key > 0:
                keys[topic] = key
                record.ceiling = ceiling_of(key, price[topic])
                heap = push_entry(heap, size, pack_entry(key, topic))
                size += 1
            else:
                close_topic(topics, keys, topic)
            continue

        rate = record.rate
        close_topic(topics, keys, topic)
        used += cost[topic]
        for i in range(indptr[topic], indptr[topic + 1]):
            subscriber = subscribers[followers[i]]
            before = subscriber.missing
            if before <= 0.0:
                continue
            unit, row = subscriber.unit, subscriber.heavy
            missing = before - rate
            per_event = unit / before
            if missing <= slack[followers[i]]:
                subscriber.missing = 0.0
                satisfied += unit
                if row < 0:
                    drop_shares(
                        topics, interests[subscriber.start : subscriber.stop], per_event, unit
                    )
                else:
                    first = heavy.indptr[row]
                    middle = first + heavy.num_settled[row]
                    drop_shares(topics, heavy.topics[first:middle], per_event, unit)
                    bound = unit / heavy.level[row]
                    drop_shares(topics, heavy.topics[middle : heavy.indptr[row + 1]], bound, unit)
                continue
            subscriber.missing = missing
            if row < 0:
                heap, size = raise_topics(
                    topics, keys, price, interests[subscriber.start : subscriber.stop],
                    per_event, unit / missing, unit, heap, size,
                )  # fmt: skip
                continue
            forget_closed(topics, heavy, row)
            first = heavy.indptr[row]
            middle = first + heavy.num_settled[row]
            heap, size = raise_topics(
                topics, keys, price, heavy.topics[first:middle],
                per_event, unit / missing, unit, heap, size,
            )  # fmt: skip
            if missing < heavy.level[row]:
                bound = unit / heavy.level[row]
                heavy.level[row] = LEVEL * missing
                heap, size = raise_topics(
                    topics, keys, price, heavy.topics[middle : heavy.indptr[row + 1]],
                    bound, unit / heavy.level[row], unit, heap, size,
                )  # fmt: skip
        order[served] = topic
        used_after[served] = used
        satisfied_after[served] = satisfied
        served += 1
    return order[:served], used_after[:served], satisfied_after[:served]
