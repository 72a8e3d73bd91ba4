"""Exact greedy by benefit per cost for the binary metric, fast (Alg. 2 of the paper).

A topic's benefit adds up shares min(1, rate / missing) over its unsatisfied followers. A share
*rises* while other topics reduce what is missing, and drops to 0 once nothing is, so benefits that
are out of date bound nothing. Four ideas make exact bookkeeping cheap:

- Shares are whole numbers of 2^-k. Sums do not depend on their order, and taking back a share
  leaves exactly what was there before: benefits are kept up to date by differences.
- A topic is queued under an upper bound of its key. A rise beyond the bound queues it anew, a
  little higher than needed; a fall is found when the topic comes up.
- A share that is whole stays whole while less is missing. Rows keep such topics apart, and forget
  topics that are served or do not fit: an event touches only shares that change.
- A *heavy* subscriber follows many topics, and each event it gets would touch all of them. Its
  share is entered for a level below what is missing, which bounds the share from above, and
  entered anew only when the level is passed. A topic that comes up trades these bounds for the true
  shares and is kept exact from then on (it is *settled*); few are at any time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.deadlines import Flag
from fanwise.arrays.jit import kernel
from fanwise.select.benefits.bucket_kernels import (
    NUM_BUCKETS,
    Keys,
    Queue,
    bucket_of,
    free_entries,
    lower_floor,
    wait_entry,
)
from fanwise.select.benefits.queue_kernels import (
    Entries,
    drop_first,
    entry_key,
    entry_topic,
    lift_entry,
    make_key,
    pack_entry,
)
from fanwise.select.benefits.row_kernels import BenefitArrays, Record, Records, share_of

Flags = npt.NDArray[np.bool_]

TOPIC = np.dtype(
    [("benefit", "i8"), ("rate", "f8"), ("ceiling", "f8"), ("price", "f8")], align=True
)

HEAVY_DEGREE = 16
LEVEL = 0.6
"""A heavy subscriber's share is entered for this fraction of what is missing."""
HEADROOM = 1.03
"""How much higher than its key a rising topic is queued."""
CLOSED = -1.0
"""Key on record of a topic that is served, does not fit, or helps nobody."""


class Topics(NamedTuple):
    """Topics as the queue sees them."""

    records: Records
    keys: Keys
    is_settled: Flags


@kernel
def ceiling_of(key: np.float32, price: float) -> float:
    """Return the benefit up to which a queued key bounds a topic; free topics cannot rise further.

    Changes nothing.
    """
    if price <= 0.0:
        return np.inf
    return float(key) * price


@kernel
def queue_benefits(
    topics: Topics, rates: FloatArray, price: FloatArray, benefits: LongArray
) -> Entries:
    """Fill in the records and return an entry for every topic that helps anybody; unsorted.

    Changes the records and keys of ``topics``.
    """
    records, keys, _ = topics
    entries = np.empty(len(rates), dtype=np.uint64)
    size = 0
    for topic in range(len(rates)):
        record = records[topic]
        record.benefit = benefits[topic]
        record.rate = rates[topic]
        record.price = price[topic]
        key = make_key(benefits[topic], price[topic])
        if rates[topic] > 0.0 and key > 0:
            record.ceiling = ceiling_of(key, price[topic])
            keys[topic] = key
            entries[size] = pack_entry(key, topic)
            size += 1
        else:
            close_topic(records, keys, topic)
    return entries[:size]


@kernel
def close_topic(records: Records, keys: Keys, topic: int) -> None:
    """Take a topic out: with rate 0 it shares nothing, with that ceiling it never rises.

    Changes ``records`` and ``keys``.
    """
    records[topic].rate = 0.0
    records[topic].ceiling = np.inf
    keys[topic] = CLOSED


@kernel
def settle_row(
    subscribers: Records,
    heavy: Records,
    row: IntArray,
    followers: IntArray,
    first: int,
    last: int,
    topic: int,
    rate: float,
) -> int:
    """Enter a topic into the exact rows of heavy subscribers; return how its benefit changes.

    Changes ``row`` and the spans of ``heavy``.
    """
    change = 0
    for i in range(first, last):
        subscriber = subscribers[followers[i]]
        if subscriber.missing <= 0.0:
            continue
        span, unit = heavy[followers[i]], subscriber.unit
        share = share_of(rate, unit / subscriber.missing, unit)
        change += share - share_of(rate, unit / span.level, unit)
        if share < unit:
            row[span.rising] = topic
            span.rising += 1
        else:
            span.whole -= 1
            row[span.whole] = topic
    return change


@kernel
def raise_row(
    records: Records,
    is_left_out: Flags,
    row: IntArray,
    span: Record,
    rise_from: float,
    rise_to: float,
    unit: float,
    risen: IntArray,
    num_risen: int,
) -> int:
    """Exchange a subscriber's rising shares and note the topics that rise too far.

    Changes ``records``, ``row``, ``span`` and ``risen``.

    Topics that are closed or left out leave the row. Returns how many topics are noted.
    """
    i, rising, whole = span.start, span.rising, span.whole
    while i < rising:
        topic = row[i]
        record = records[topic]
        rate = record.rate
        if rate == 0.0 or (len(is_left_out) and is_left_out[topic]):
            rising -= 1
            row[i] = row[rising]
            continue
        share = share_of(rate, rise_to, unit)
        benefit = record.benefit + (share - share_of(rate, rise_from, unit))
        record.benefit = benefit
        if benefit > record.ceiling:
            record.ceiling = np.inf  # noted once
            risen[num_risen] = topic
            num_risen += 1
        if share < unit:
            i += 1
        else:
            rising -= 1
            whole -= 1
            row[i] = row[rising]
            row[whole] = topic
    span.rising, span.whole = rising, whole
    return num_risen


@kernel
def drop_row(
    records: Records,
    is_left_out: Flags,
    row: IntArray,
    span: Record,
    per_event: float,
    unit: float,
) -> None:
    """Take a subscriber's shares back, but for topics that are left out.

    Changes ``records``.
    """
    some = len(is_left_out) > 0
    for i in range(span.start, span.rising):
        if not (some and is_left_out[row[i]]):
            record = records[row[i]]
            record.benefit -= share_of(record.rate, per_event, unit)
    whole = int(unit)
    for i in range(span.whole, span.stop):
        if not (some and is_left_out[row[i]]):
            records[row[i]].benefit -= whole


@kernel
def list_wanting(
    subscribers: Records,
    followers: IntArray,
    first: int,
    last: int,
    wanting: IntArray,
    size: int,
) -> int:
    """Append the unsatisfied among some followers to a list of ``size``; return its new size.

    Changes ``wanting``.
    """
    for i in range(first, last):
        wanting[size] = followers[i]
        size += subscribers[followers[i]].missing > 0.0
    return size


@kernel
def prefetch(
    records: Records, subscribers: Records, row: IntArray, wanting: IntArray, size: int
) -> int:
    """Touch what is needed next, all at once: memory then fetches it side by side.

    Changes nothing.
    """
    seen = 0
    for i in range(size):
        seen ^= records[row[subscribers[wanting[i]].start]].benefit
    return seen


@kernel
def benefit_order(
    topics: Topics,
    arrays: BenefitArrays,
    queue: Queue,
    entries: Entries,
    level: float,
    limit: float,
    used: float,
    is_late: Flag,
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Serve topics by benefit per price until nothing helps or fits, or it is late.

    Changes ``topics``, ``arrays`` and ``queue``, which it uses up.

    Parameters
    ----------
    entries
        Sorted, ascending.
    is_late
        Ends the run early, with what is served so far.

    Returns
    -------
    order, used_after, satisfied_after
        The served topics, and the cost and the units of satisfied subscribers after each.
    """
    # Local arrays, and branches inside this loop: Numba counts references, with a lock each, for
    # what is reached through a tuple and in functions that use arrays in some branches only.
    records, keys, is_settled = topics
    subscribers, slack, heavy, row, settled_row, audience, followers = arrays
    heap, waiting, link, first = queue
    order = np.empty(len(entries), dtype=np.int32)
    used_after = np.empty(len(entries))
    satisfied_after = np.empty(len(entries))
    risen = np.empty(len(keys), dtype=np.int32)
    wanting = np.empty(len(subscribers) + 1, dtype=np.int32)
    none_left_out = np.zeros(0, dtype=np.bool_)
    largest_slack = slack.max() if len(slack) else 0.0
    floor, size, num_waiting = NUM_BUCKETS, 0, 0
    head, served, satisfied, seen = len(entries) - 1, 0, 0.0, 0
    while not is_late[0]:
        other = entries[head] if head >= 0 else np.uint64(0)
        if size == 0 and floor > bucket_of(other):
            floor, size = lower_floor(heap, waiting, link, first, keys, floor, bucket_of(other))
        if size > 0 and heap[0] > other:
            entry = heap[0]
            size -= 1
            drop_first(heap, size)
        elif head >= 0:
            entry = other
            head -= 1
        else:
            break
        topic = entry_topic(entry)
        if entry_key(entry) != keys[topic]:
            continue
        record, span = records[topic], audience[topic]
        if used + span.cost > limit:
            close_topic(records, keys, topic)  # it will never fit again
            continue
        rate = record.rate
        if not is_settled[topic]:
            is_settled[topic] = True
            record.benefit += settle_row(
                subscribers, heavy, settled_row, followers, span.start, span.heavy, topic, rate
            )
        key = make_key(record.benefit, record.price)
        num_risen, headroom = 0, 1.0
        if key <= 0:
            close_topic(records, keys, topic)
        elif key < keys[topic]:
            keys[topic] = 0.0
            risen[0] = topic
            num_risen = 1
        else:
            close_topic(records, keys, topic)
            used += span.cost
            satisfied += span.alone
            headroom = HEADROOM
            num_wanting = list_wanting(subscribers, followers, span.start, span.heavy, wanting, 0)
            num_wanting = list_wanting(
                subscribers, followers, span.light, span.stop, wanting, num_wanting
            )
            seen ^= prefetch(records, subscribers, row, wanting, num_wanting)
            for i in range(num_wanting):
                number = wanting[i]
                subscriber = subscribers[number]
                before, unit = subscriber.missing, subscriber.unit
                missing = before - rate
                per_event = unit / before
                is_satisfied = missing <= largest_slack and missing <= slack[number]
                if is_satisfied:
                    satisfied += unit
                    missing = 0.0
                subscriber.missing = missing
                if number >= len(heavy):
                    if is_satisfied:
                        drop_row(records, none_left_out, row, subscriber, per_event, unit)
                    else:
                        num_risen = raise_row(
                            records, none_left_out, row, subscriber,
                            per_event, unit / missing, unit, risen, num_risen,
                        )  # fmt: skip
                    continue
                exact = heavy[number]
                bound = unit / exact.level
                if is_satisfied:
                    drop_row(records, none_left_out, settled_row, exact, per_event, unit)
                    drop_row(records, is_settled, row, subscriber, bound, unit)
                    continue
                num_risen = raise_row(
                    records, none_left_out, settled_row, exact,
                    per_event, unit / missing, unit, risen, num_risen,
                )  # fmt: skip
                if missing < exact.level:
                    exact.level = level * missing
                    num_risen = raise_row(
                        records, is_settled, row, subscriber,
                        bound, unit / exact.level, unit, risen, num_risen,
                    )  # fmt: skip
            order[served] = topic
            used_after[served] = used
            satisfied_after[served] = satisfied
            served += 1
        if num_risen + max(size, num_waiting) > len(heap):
            size, num_waiting = free_entries(queue, size, num_waiting, keys, num_risen)
        for i in range(num_risen):
            topic = risen[i]
            record = records[topic]
            if make_key(record.benefit, record.price) > keys[topic]:
                key = make_key(record.benefit * headroom, record.price)
                keys[topic] = key
                entry = pack_entry(key, topic)
                if bucket_of(entry) >= floor:
                    lift_entry(heap, size, entry)
                    size += 1
                else:
                    wait_entry(waiting, link, first, num_waiting, entry)
                    num_waiting += 1
            record.ceiling = ceiling_of(keys[topic], record.price)
    order[served:] = seen & 1  # a use, so that the compiler keeps the prefetch
    return order[:served], used_after[:served], satisfied_after[:served]
