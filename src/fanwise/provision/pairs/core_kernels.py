"""Kernels that settle most subscribers at once and cut the others down to what is undecided.

No kernel changes an array that it is given, but for those that it says it changes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.provision.pairs.cover_kernels import EQUAL_PRICES, Workspace, cheapest_cover

TIE = 1e-11
"""Prices closer than this, relatively, may be decided by something else."""

SUM_ROUNDING = 1e-13
"""Sums of a subscriber's rates are known to about this, relatively."""


@kernel
def count_forced_pairs(
    indptr: LongArray, topics: IntArray, rates: FloatArray, enough: FloatArray
) -> LongArray:
    """Return how many subscribers of each topic cannot get enough without it.

    A topic that must not be used has rate 0 here. Changes nothing.
    """
    num_forced = np.zeros(len(rates), dtype=np.int64)
    for subscriber in range(len(enough)):
        if enough[subscriber] <= 0.0:
            continue
        total = 0.0
        for i in range(indptr[subscriber], indptr[subscriber + 1]):
            total += rates[topics[i]]
        spare = max(total * (1.0 + SUM_ROUNDING) - enough[subscriber], 0.0)
        for i in range(indptr[subscriber], indptr[subscriber + 1]):
            if rates[topics[i]] > spare:
                num_forced[topics[i]] += 1
    return num_forced


@kernel
def choose_forced(
    subscriber: int,
    indptr: LongArray,
    topics: IntArray,
    rates: FloatArray,
    enough: float,
    is_chosen: npt.NDArray[np.bool_],
    pairs: IntArray,
) -> tuple[int, float]:
    """Choose the topics without which a subscriber cannot get enough; list the others.

    Returns how many others there are, 0 where they do not matter, and what is still lacking.

    Changes ``is_chosen`` and ``pairs``.
    """
    total = 0.0
    for i in range(indptr[subscriber], indptr[subscriber + 1]):
        is_chosen[i] = False
        total += rates[topics[i]]
    spare = max(total * (1.0 + SUM_ROUNDING) - enough, 0.0)
    lacks = enough
    count = 0
    for i in range(indptr[subscriber], indptr[subscriber + 1]):
        rate = rates[topics[i]]
        if rate > spare:
            is_chosen[i] = True
            lacks -= rate
        elif rate > 0.0:
            pairs[count] = i
            count += 1
    # What rounding alone leaves missing is nothing.
    return (count, lacks) if lacks > SUM_ROUNDING * enough else (0, 0.0)


@kernel
def load_items(
    pairs: IntArray, topics: IntArray, rates: FloatArray, prices: FloatArray, items: FloatArray
) -> None:
    """Write the rates and prices of some pairs into the two rows of ``items``.

    Changes ``items``.
    """
    for i in range(len(pairs)):
        items[0, i] = rates[topics[pairs[i]]]
        items[1, i] = prices[topics[pairs[i]]]


@kernel
def all_the_same(pairs: IntArray, topics: IntArray, prices: FloatArray, others: FloatArray) -> bool:
    """Whether all of these pairs have the same price in both. Changes nothing."""
    is_same = True
    for i in range(len(pairs)):
        is_same &= prices[topics[pairs[i]]] == others[topics[pairs[i]]]
    return is_same


@kernel
def keep_payable(pairs: IntArray, topics: IntArray, prices: FloatArray, most: float) -> int:
    """Keep the pairs that cost no more than a sum; return how many. Changes ``pairs``."""
    kept = 0
    for i in range(len(pairs)):
        if prices[topics[pairs[i]]] <= most * (1.0 + TIE):
            pairs[kept] = pairs[i]
            kept += 1
    return kept


@kernel
def takes_free_ones(
    pairs: IntArray, topics: IntArray, fixed_price: FloatArray, workspace: Workspace
) -> bool:
    """Whether the cover just found has only topics without a fixed price. Changes nothing."""
    for i in range(len(pairs)):
        if workspace.is_taken[i] and fixed_price[topics[pairs[i]]] > 0.0:
            return False
    return True


@kernel
def settle_subscribers(
    first: int,
    last: int,
    indptr: LongArray,
    topics: IntArray,
    rates: FloatArray,
    enough: FloatArray,
    pair_price: FloatArray,
    fixed_price: FloatArray,
    worst_price: FloatArray,
    is_chosen: npt.NDArray[np.bool_],
    workspace: Workspace,
) -> tuple[float, IntArray, FloatArray, LongArray, IntArray]:
    """Choose for the subscribers whose choice is clear; list what the others choose from.

    Topics without which a subscriber cannot get enough are chosen for it. If the cheapest cover of
    the rest, incoming copies not counted, consists of topics without a fixed price, it is chosen
    too. Otherwise the subscriber becomes a row: what it still lacks, and the pairs that can be in
    its cheapest cover, whatever it pays towards incoming copies. A pair cannot where it alone costs
    more than a whole cover at the worst prices.

    Returns a lower bound on the price of all that is settled; the rows' subscribers, what they
    lack, where their pairs start, and the pairs. Changes ``is_chosen`` and ``workspace``.
    """
    row_subscriber = np.empty(last - first, dtype=np.int32)
    row_enough = np.empty(last - first)
    row_indptr = np.zeros(last - first + 1, dtype=np.int64)
    row_pairs = np.empty(indptr[last] - indptr[first], dtype=np.int32)
    pairs = np.empty(len(workspace.order), dtype=np.int32)
    items = np.empty((2, len(workspace.order)))
    num_rows, num_pairs = 0, 0
    settled = 0.0
    for subscriber in range(first, last):
        if enough[subscriber] <= 0.0:
            continue
        count, lacks = choose_forced(
            subscriber, indptr, topics, rates, enough[subscriber], is_chosen, pairs
        )
        for i in range(indptr[subscriber], indptr[subscriber + 1]):
            if is_chosen[i]:
                settled += pair_price[topics[i]]
        if count == 0:
            continue
        if not all_the_same(pairs[:count], topics, pair_price, worst_price):
            load_items(pairs[:count], topics, rates, worst_price, items)
            most, _ = cheapest_cover(items[0, :count], items[1, :count], lacks, workspace)
            count = keep_payable(pairs[:count], topics, pair_price, most)
        load_items(pairs[:count], topics, rates, pair_price, items)
        price, least = cheapest_cover(items[0, :count], items[1, :count], lacks, workspace)
        is_clear = takes_free_ones(pairs[:count], topics, fixed_price, workspace)
        if not is_clear:
            # Where prices tie, topics that are there anyway come first.
            for i in range(count):
                items[1, i] += TIE * fixed_price[topics[pairs[i]]]
            other, _ = cheapest_cover(items[0, :count], items[1, :count], lacks, workspace)
            is_clear = other <= price * (1.0 + EQUAL_PRICES) and takes_free_ones(
                pairs[:count], topics, fixed_price, workspace
            )
        if is_clear:
            settled += least
            for i in range(count):
                is_chosen[pairs[i]] = workspace.is_taken[i]
            continue
        row_subscriber[num_rows] = subscriber
        row_enough[num_rows] = lacks
        row_pairs[num_pairs : num_pairs + count] = pairs[:count]
        num_pairs += count
        num_rows += 1
        row_indptr[num_rows] = num_pairs
    return (
        settled,
        row_subscriber[:num_rows].copy(),
        row_enough[:num_rows].copy(),
        row_indptr[: num_rows + 1].copy(),
        row_pairs[:num_pairs].copy(),
    )


@kernel
def choose_covers(
    first: int,
    last: int,
    indptr: LongArray,
    topics: IntArray,
    rates: FloatArray,
    enough: FloatArray,
    prices: FloatArray,
    is_chosen: npt.NDArray[np.bool_],
    workspace: Workspace,
) -> IntArray:
    """Choose the cheapest cover of each subscriber; return those whose search was cut off.

    Changes ``is_chosen`` and ``workspace``.
    """
    pairs = np.empty(len(workspace.order), dtype=np.int32)
    items = np.empty((2, len(workspace.order)))
    cut_off = np.empty(last - first, dtype=np.int32)
    num_cut_off = 0
    for subscriber in range(first, last):
        if enough[subscriber] <= 0.0:
            continue
        count, lacks = choose_forced(
            subscriber, indptr, topics, rates, enough[subscriber], is_chosen, pairs
        )
        if count == 0:
            continue
        load_items(pairs[:count], topics, rates, prices, items)
        price, least = cheapest_cover(items[0, :count], items[1, :count], lacks, workspace)
        if least < price * (1.0 - 10.0 * EQUAL_PRICES):
            cut_off[num_cut_off] = subscriber
            num_cut_off += 1
        for i in range(count):
            is_chosen[pairs[i]] = workspace.is_taken[i]
    return cut_off[:num_cut_off].copy()


@kernel
def gather_chosen(
    indptr: LongArray, topics: IntArray, is_chosen: npt.NDArray[np.bool_]
) -> tuple[LongArray, IntArray]:
    """Return the chosen pairs as rows of their own. Changes nothing."""
    chosen_indptr = np.zeros(len(indptr), dtype=np.int64)
    chosen = np.empty(np.count_nonzero(is_chosen), dtype=np.int32)
    count = 0
    for subscriber in range(len(indptr) - 1):
        for i in range(indptr[subscriber], indptr[subscriber + 1]):
            if is_chosen[i]:
                chosen[count] = topics[i]
                count += 1
        chosen_indptr[subscriber + 1] = count
    return chosen_indptr, chosen
