"""Kernels of the relaxation under several inequalities a subscriber, each with a price of its own.

Slots hold the knapsack-cover inequalities of a subscriber: a bit per pair says whether the topic is
in the slot's set, and ``per_event`` is 1 / what the set falls short by, 0 for an empty slot.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.jit import kernel
from fanwise.select.relaxing.covers import order_by_share
from fanwise.select.relaxing.inequalities import LEAST_SHORTAGE, Rows, Sets, put_set

Slots = npt.NDArray[np.float32]
"""A number per subscriber and slot."""
Factors = npt.NDArray[np.float32]
"""Per pair, what its coefficients are multiplied by."""

OUTSIDE = (2, 4, 8, 16, 32, 64)
"""Sets are tried that leave so many of the topics with the smallest shares out."""
WORTH_A_SLOT = 1e-3
"""How much worse than its inequalities so far another one must be broken."""


@kernel
def move_slot_prices(
    rows: Rows,
    sets: Sets,
    per_event: Slots,
    factor: Factors,
    shares: FloatArray,
    prices: Slots,
    step: FloatArray,
    weight: FloatArray,
    first: int,
    last: int,
    moved: Slots,
    profit: FloatArray,
) -> None:
    """Raise prices of inequalities that the shares break, lower the others', within the weight.

    Changes ``moved``, and ``profit`` by what some subscribers pay for each topic.
    """
    indptr, interests, rates, demand = rows
    many = prices.shape[1]
    got = np.empty(many)
    wish = np.empty(many)
    for subscriber in range(first, last):
        if demand[subscriber] <= 0.0 or weight[subscriber] <= 0.0:
            continue
        start, stop = indptr[subscriber], indptr[subscriber + 1]
        got[:] = 0.0
        for i in range(start, stop):
            share = shares[interests[i]] * factor[i]
            if share > 0.0:
                rate = rates[interests[i]]
                for k in range(many):
                    if not sets[i] >> k & 1:
                        got[k] += min(1.0, rate * per_event[subscriber, k]) * share
        for k in range(many):
            wish[k] = 0.0
            if per_event[subscriber, k] > 0.0:
                wish[k] = max(0.0, prices[subscriber, k] + step[subscriber] * (1.0 - got[k]))
        bring_within(wish, weight[subscriber])
        for k in range(many):
            moved[subscriber, k] = wish[k]
        add_paid(
            rows,
            sets[start:stop],
            per_event[subscriber],
            factor[start:stop],
            moved[subscriber],
            subscriber,
            profit,
        )


@kernel
def add_paid(
    rows: Rows,
    sets: Sets,
    per_event: npt.NDArray[np.float32],
    factor: Factors,
    prices: npt.NDArray[np.float32],
    subscriber: int,
    profit: FloatArray,
) -> None:
    """Add what a subscriber pays for each of its topics.

    Changes ``profit``.
    """
    start = rows.indptr[subscriber]
    for k in range(len(prices)):
        if prices[k] <= 0.0:
            continue
        for i in range(len(sets)):
            if not sets[i] >> k & 1:
                topic = rows.interests[start + i]
                slope = min(1.0, rows.rates[topic] * per_event[k])
                profit[topic] += prices[k] * slope * factor[i]


@kernel
def add_all_paid(
    rows: Rows,
    sets: Sets,
    per_event: Slots,
    factor: Factors,
    prices: Slots,
    first: int,
    last: int,
    profit: FloatArray,
) -> None:
    """Add what some subscribers pay for each topic.

    Changes ``profit``.
    """
    for subscriber in range(first, last):
        start, stop = rows.indptr[subscriber], rows.indptr[subscriber + 1]
        add_paid(
            rows,
            sets[start:stop],
            per_event[subscriber],
            factor[start:stop],
            prices[subscriber],
            subscriber,
            profit,
        )


@kernel
def bring_within(wish: FloatArray, most: float) -> None:
    """Bring numbers >= 0 to the nearest ones whose sum is within a limit.

    Changes ``wish``.
    """
    total = 0.0
    for k in range(len(wish)):
        total += wish[k]
    while total > most * (1.0 + 1e-9):
        positive = 0
        for k in range(len(wish)):
            positive += int(wish[k] > 0.0)
        off = (total - most) / positive
        total = 0.0
        for k in range(len(wish)):
            wish[k] = max(0.0, wish[k] - off)
            total += wish[k]


@kernel
def sum_slots(
    rows: Rows, sets: Sets, per_event: Slots, first: int, last: int, largest: FloatArray
) -> None:
    """Find the largest sum of coefficients of any inequality of some subscribers.

    Changes ``largest``.
    """
    for subscriber in range(first, last):
        start, stop = rows.indptr[subscriber], rows.indptr[subscriber + 1]
        largest[subscriber] = 0.0
        for k in range(per_event.shape[1]):
            total = 0.0
            for i in range(start, stop):
                if not sets[i] >> k & 1:
                    total += min(1.0, rows.rates[rows.interests[i]] * per_event[subscriber, k])
            largest[subscriber] = max(largest[subscriber], total)


@kernel
def open_slots(
    rows: Rows,
    shares: FloatArray,
    weight: FloatArray,
    first: int,
    last: int,
    widest: int,
    sets: Sets,
    per_event: Slots,
    prices: Slots,
) -> int:
    """Give a slot to the inequality that the shares break most, where they break it worse.

    Sets of the largest shares that fall short are tried: as many as do, and fewer. It takes the
    slot with the least price, and begins with the price 0.

    Changes ``sets``, ``per_event`` and ``prices``.
    """
    indptr, interests, rates, demand = rows
    order, keys = np.empty(widest, dtype=np.int64), np.empty(widest)
    is_inside = np.empty(widest, dtype=np.bool_)
    many, num_opened = prices.shape[1], 0
    for subscriber in range(first, last):
        start, stop = indptr[subscriber], indptr[subscriber + 1]
        need, size = demand[subscriber], stop - start
        if need <= 0.0 or size == 0 or weight[subscriber] <= 0.0:
            continue
        row = interests[start:stop]
        least_now = np.inf
        for k in range(many):
            if per_event[subscriber, k] > 0.0:
                reached = 0.0
                for i in range(size):
                    if not sets[start + i] >> k & 1:
                        slope = min(1.0, rates[row[i]] * per_event[subscriber, k])
                        reached += slope * shares[row[i]]
                least_now = min(least_now, reached)
        if least_now <= WORTH_A_SLOT:
            continue
        order_by_share(row, shares, rates, order, keys)
        enough = need * (1.0 - LEAST_SHORTAGE)
        best, best_outside = least_now - WORTH_A_SLOT, -1
        for outside in (0, *OUTSIDE):
            if outside >= size:
                break
            got, reached = 0.0, 0.0
            for i in range(size):
                rate = rates[row[order[i]]]
                is_inside[order[i]] = i < size - outside and got + rate < enough
                if is_inside[order[i]]:
                    got += rate
            for i in range(size):
                if not is_inside[i]:
                    reached += min(1.0, rates[row[i]] / (need - got)) * shares[row[i]]
            if reached < best:
                best, best_outside = reached, outside
        if best_outside < 0:
            continue
        got = 0.0
        for i in range(size):
            rate = rates[row[order[i]]]
            is_inside[order[i]] = i < size - best_outside and got + rate < enough
            if is_inside[order[i]]:
                got += rate
        slot = 0
        for k in range(1, many):
            if prices[subscriber, k] < prices[subscriber, slot]:
                slot = k
        put_set(sets[start:stop], slot, is_inside[:size])
        per_event[subscriber, slot] = 1.0 / (need - got)
        prices[subscriber, slot] = 0.0
        num_opened += 1
    return num_opened
