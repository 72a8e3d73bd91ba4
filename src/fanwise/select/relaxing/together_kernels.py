"""Kernels for what followers of a topic pay at most if only those pay that are satisfied."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.select.reach import Flags
from fanwise.select.relaxing.inequalities import Rows, Sets
from fanwise.select.relaxing.slot_kernels import Slots

Shares = npt.NDArray[np.float32]


@kernel
def write_payments(
    rows: Rows,
    sets: Sets,
    per_event: Slots,
    prices: Slots,
    first: int,
    last: int,
    pay: FloatArray,
) -> None:
    """Write what some subscribers pay for each of their topics.

    Changes ``pay``.
    """
    for subscriber in range(first, last):
        for i in range(rows.indptr[subscriber], rows.indptr[subscriber + 1]):
            pay[i] = 0.0
        for k in range(prices.shape[1]):
            price = prices[subscriber, k]
            if price <= 0.0:
                continue
            for i in range(rows.indptr[subscriber], rows.indptr[subscriber + 1]):
                if not sets[i] >> k & 1:
                    rate = rows.rates[rows.interests[i]]
                    pay[i] += price * min(1.0, rate * per_event[subscriber, k])


@kernel
def number_pairs(
    indptr: LongArray, interests: IntArray, topic_indptr: LongArray, pair_at: LongArray
) -> None:
    """Write for each pair of the topic CSR which pair of the subscriber CSR it is.

    Changes ``pair_at``.
    """
    cursor = topic_indptr[:-1].copy()
    for subscriber in range(len(indptr) - 1):
        for i in range(indptr[subscriber], indptr[subscriber + 1]):
            topic = interests[i]
            pair_at[cursor[topic]] = i
            cursor[topic] += 1


@kernel
def pay_together(
    topic_indptr: LongArray,
    followers: IntArray,
    pair_at: LongArray,
    indptr: LongArray,
    interests: IntArray,
    pay: FloatArray,
    price: FloatArray,
    cost: FloatArray,
    state: npt.NDArray[np.int8],
    room: float,
    chosen: Flags,
    first: int,
    last: int,
    most: FloatArray,
    answer: Shares,
) -> None:
    """Bound what the followers of chosen topics, of some, pay if only the satisfied do.

    Whoever is satisfied gets enough of its own topics, so the followers' payments are passed on to
    these, in proportion to what each of them pays; as many as fit beside the topic count, the last
    one in part.

    Changes ``most`` and ``answer``.

    Parameters
    ----------
    state
        Of each topic: 1 if it is served anyway, -1 if it is not, 0 if that is open.
    most
        The bound of each topic, no more than what all followers pay.
    answer
        Per pair of the subscriber CSR, how far the follower is satisfied there; may be empty.
    """
    num_topics = len(cost)
    passed, share = np.zeros(num_topics), np.zeros(num_topics)
    is_seen = np.zeros(num_topics, dtype=np.bool_)
    seen = np.empty(num_topics, dtype=np.int64)
    for topic in range(first, last):
        if not chosen[topic]:
            continue
        begin, end = topic_indptr[topic], topic_indptr[topic + 1]
        many, everything = 0, 0.0
        for a in range(begin, end):
            own = pay[pair_at[a]]
            if own <= 0.0:
                continue
            everything += own
            subscriber = followers[a]
            part = own / price[subscriber]
            for i in range(indptr[subscriber], indptr[subscriber + 1]):
                other = interests[i]
                if pay[i] > 0.0 and state[other] >= 0:
                    if not is_seen[other]:
                        is_seen[other] = True
                        seen[many] = other
                        many += 1
                    passed[other] += part * pay[i]
        total, left = 0.0, room - (0.0 if state[topic] > 0 else cost[topic])
        open_to = 0
        slope = np.empty(many)
        for k in range(many):
            other = seen[k]
            if other == topic or state[other] > 0 or cost[other] <= 0.0:
                share[other] = 1.0
                total += passed[other]
                slope[k] = -1.0
            else:
                slope[k] = passed[other] / cost[other]
                open_to += 1
        for k in np.argsort(-slope)[:open_to]:
            other = seen[k]
            if left <= 0.0 or total >= everything:
                break
            share[other] = min(1.0, left / cost[other])
            total += share[other] * passed[other]
            left -= cost[other]
        most[topic] = min(total, everything)
        if len(answer):
            for a in range(begin, end):
                pair, subscriber = pair_at[a], followers[a]
                answer[pair] = 1.0
                if total < everything and pay[pair] > 0.0:
                    got = 0.0
                    for i in range(indptr[subscriber], indptr[subscriber + 1]):
                        got += pay[i] * share[interests[i]]
                    answer[pair] = min(1.0, got / price[subscriber])
        for k in range(many):
            other = seen[k]
            is_seen[other] = False
            passed[other] = share[other] = 0.0
