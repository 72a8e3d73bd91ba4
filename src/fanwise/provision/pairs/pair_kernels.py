"""Kernels that choose pairs subscriber by subscriber: greedily, or in the order of a key.

A topic that must not be used has rate 0 here; all others have a rate above 0.

No kernel changes an array that it is given, but for those that it says it changes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import ROUNDING

SHORT = 24
"""Up to this length insertion sort beats the general one; most subscribers follow fewer topics."""

BLOCK = 8192
"""Rates of so many pairs are looked up ahead: without branches in between, they arrive in time."""


@kernel
def longest_row(indptr: LongArray) -> int:
    """Return the largest number of entries in a row. Changes nothing."""
    longest = 0
    for row in range(len(indptr) - 1):
        longest = max(longest, indptr[row + 1] - indptr[row])
    return longest


@kernel
def sort_by_key(row_keys: FloatArray, row_topics: IntArray, count: int) -> None:
    """Sort the first entries of two arrays by falling key; equal keys keep their order.

    Changes ``row_keys`` and ``row_topics``.
    """
    if count > SHORT:
        order = np.argsort(-row_keys[:count], kind="mergesort")
        row_keys[:count] = row_keys[:count][order]
        row_topics[:count] = row_topics[:count][order]
        return
    for i in range(1, count):
        key = row_keys[i]
        topic = row_topics[i]
        position = i
        while position > 0 and row_keys[position - 1] < key:
            row_keys[position] = row_keys[position - 1]
            row_topics[position] = row_topics[position - 1]
            position -= 1
        row_keys[position] = key
        row_topics[position] = topic


@kernel
def look_up(topics: IntArray, first: int, rates: FloatArray, block: FloatArray) -> None:
    """Write the rates of ``topics[first:]`` into ``block``, as many as it holds.

    Changes ``block``.
    """
    for i in range(min(len(block), len(topics) - first)):
        block[i] = rates[topics[first + i]]


@kernel
def choose_greedily(
    indptr: LongArray, topics: IntArray, rates: FloatArray, demand: FloatArray, tolerance: float
) -> tuple[LongArray, IntArray]:
    """Return topics for each subscriber until it has what it demands (the paper's Alg. 1 and 2).

    As rows. By falling rate, then id, each topic that fits what is missing is taken; if something
    is missing at the end, the smallest of those passed over. What is missing counts as nothing
    below ``tolerance`` times the demand. Topics above the whole demand are never sorted: only the
    smallest of them can matter. Changes nothing.
    """
    num_subscribers = len(demand)
    chosen_indptr = np.zeros(num_subscribers + 1, dtype=np.int64)
    chosen = np.empty(len(topics), dtype=np.int32)
    longest = longest_row(indptr)
    block = np.empty(max(BLOCK, longest))
    block_start, block_end = 0, 0
    row_rates = np.empty(longest)
    row_topics = np.empty(longest, dtype=np.int32)
    num_chosen = 0
    for subscriber in range(num_subscribers):
        first, last = indptr[subscriber], indptr[subscriber + 1]
        if last > block_end:
            block_start, block_end = first, first + len(block)
            look_up(topics, first, rates, block)
        missing = demand[subscriber]
        if missing > 0.0:
            hair = tolerance * missing
            count = 0
            smallest = np.inf
            passed_over = -1
            for i in range(first, last):
                rate = block[i - block_start]
                if rate > missing + hair:
                    if rate < smallest:
                        smallest = rate
                        passed_over = topics[i]
                elif rate > 0.0:
                    row_rates[count] = rate
                    row_topics[count] = topics[i]
                    count += 1
            if count > 1:
                sort_by_key(row_rates, row_topics, count)
            for i in range(count):
                rate = row_rates[i]
                if rate <= missing + hair:
                    chosen[num_chosen] = row_topics[i]
                    num_chosen += 1
                    missing -= rate
                    if missing <= hair:
                        break
                elif rate < smallest:
                    smallest = rate
                    passed_over = row_topics[i]
            if missing > hair and passed_over >= 0:
                chosen[num_chosen] = passed_over
                num_chosen += 1
        chosen_indptr[subscriber + 1] = num_chosen
    return chosen_indptr, chosen[:num_chosen].copy()


@kernel
def mark_chosen(
    indptr: LongArray,
    topics: IntArray,
    first: int,
    chosen_indptr: LongArray,
    chosen: IntArray,
    is_chosen: npt.NDArray[np.bool_],
) -> None:
    """Mark the pairs of the topics chosen for the subscribers from ``first`` on.

    Changes ``is_chosen``, for these subscribers alone.
    """
    for row in range(len(chosen_indptr) - 1):
        begin, end = indptr[first + row], indptr[first + row + 1]
        is_chosen[begin:end] = False
        for i in range(chosen_indptr[row], chosen_indptr[row + 1]):
            is_chosen[begin + np.searchsorted(topics[begin:end], chosen[i])] = True


@kernel
def choose_randomly(
    indptr: LongArray,
    topics: IntArray,
    rates: FloatArray,
    demand: FloatArray,
    tolerance: float,
    draws: FloatArray,
) -> tuple[LongArray, IntArray]:
    """Return topics for each subscriber in random order until it has what it demands (Alg. 6).

    As rows. ``draws`` has a number from 0 up to 1 for each pair: which of the topics left comes
    next. Changes nothing.
    """
    num_subscribers = len(demand)
    chosen_indptr = np.zeros(num_subscribers + 1, dtype=np.int64)
    chosen = np.empty(len(topics), dtype=np.int32)
    left = np.empty(longest_row(indptr), dtype=np.int32)
    num_chosen = 0
    for subscriber in range(num_subscribers):
        missing = demand[subscriber]
        hair = tolerance * missing
        first, last = indptr[subscriber], indptr[subscriber + 1]
        count = 0
        if missing > 0.0:
            for i in range(first, last):
                if rates[topics[i]] > 0.0:
                    left[count] = topics[i]
                    count += 1
        while missing > hair and count > 0:
            position = int(draws[first] * count)
            first += 1
            chosen[num_chosen] = left[position]
            num_chosen += 1
            missing -= rates[left[position]]
            count -= 1
            left[position] = left[count]
        chosen_indptr[subscriber + 1] = num_chosen
    return chosen_indptr, chosen[:num_chosen].copy()


@kernel
def cover_fractionally(
    indptr: LongArray,
    topics: IntArray,
    rates: FloatArray,
    sizes: FloatArray,
    demand: FloatArray,
) -> FloatArray:
    """Return the bytes of the cheapest fractional cover of each demand, one whole topic at least.

    Changes nothing.
    """
    least = np.zeros(len(demand))
    longest = longest_row(indptr)
    row_keys = np.empty(longest)
    row_topics = np.empty(longest, dtype=np.int32)
    for subscriber in range(len(demand)):
        missing = demand[subscriber]
        if missing <= 0.0:
            continue
        first = indptr[subscriber]
        count = indptr[subscriber + 1] - first
        is_even = True
        for i in range(count):
            row_topics[i] = topics[first + i]
            row_keys[i] = -sizes[topics[first + i]]
            is_even &= row_keys[i] == row_keys[0]
        if not is_even:
            sort_by_key(row_keys, row_topics, count)
        cover = 0.0
        smallest = np.inf
        for i in range(count):
            rate = rates[row_topics[i]]
            size = -row_keys[i]
            cover += min(rate, missing) * size
            missing = max(missing - rate, 0.0)
            smallest = min(smallest, rate * size)
        least[subscriber] = max(cover, smallest)
    return least


@kernel
def count_fewest_pairs(
    indptr: LongArray, topics: IntArray, rates: FloatArray, enough: FloatArray
) -> float:
    """Return how many pairs it takes at least to give everybody enough: the largest rates first.

    Changes nothing.
    """
    longest = longest_row(indptr)
    row_rates = np.empty(longest)
    fewest = 0.0
    for subscriber in range(len(enough)):
        missing = enough[subscriber]
        first = indptr[subscriber]
        count = indptr[subscriber + 1] - first
        for i in range(count):
            row_rates[i] = -rates[topics[first + i]]
        row_rates[:count].sort()
        position = 0
        while missing > ROUNDING * enough[subscriber] and position < count:
            missing += row_rates[position]
            position += 1
            fewest += 1.0
    return fewest
