"""What a certificate of shares is worth: kernels that price covers as whoever checks it will.

No kernel changes an array that it is given, but for those that it says it changes.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.provision.pairs.cover_kernels import Workspace, cheapest_cover

SUM_ERROR = 1e-13
"""Sums of a subscriber's rates are known to about this, relatively."""


@kernel
def price_covers(
    first: int,
    last: int,
    indptr: LongArray,
    topics: IntArray,
    rates: FloatArray,
    enough: FloatArray,
    pair_price: FloatArray,
    shared_pairs: LongArray,
    shares: FloatArray,
    tried: int,
    workspace: Workspace,
) -> float:
    """Add up what the subscribers from ``first`` up to ``last`` pay at least.

    A pair costs ``pair_price`` of its topic, and its share if it is one of ``shared_pairs``, which
    ascend. Covers are the cheapest ones; but where more than ``tried`` small topics are to be
    chosen from, those with fewer events may be taken in part. Changes ``workspace``.
    """
    longest = len(workspace.order)
    items = np.empty((2, longest))
    small = np.empty((2, longest))
    table = np.empty((2, 2**tried))
    cursor = np.searchsorted(shared_pairs, indptr[first])
    total = 0.0
    for subscriber in range(first, last):
        begin, end = indptr[subscriber], indptr[subscriber + 1]
        wanted = enough[subscriber]
        reach = 0.0
        for i in range(begin, end):
            reach += rates[topics[i]]
        spare = max(reach * (1.0 + SUM_ERROR) - wanted, 0.0)
        lacks = wanted
        count = 0
        for i in range(begin, end):
            price = pair_price[topics[i]]
            if cursor < len(shared_pairs) and shared_pairs[cursor] == i:
                price += shares[cursor]
                cursor += 1
            if wanted <= 0.0:
                continue
            rate = rates[topics[i]]
            if rate > spare:
                total += price
                lacks -= rate
            elif rate > 0.0:
                items[0, count] = rate
                items[1, count] = price
                count += 1
        if wanted <= 0.0 or lacks <= SUM_ERROR * wanted or count == 0:
            continue
        num_small = 0
        single = np.inf
        reach = 0.0
        for i in range(count):
            if items[0, i] < lacks:
                small[0, num_small] = items[0, i]
                small[1, num_small] = items[1, i]
                reach += items[0, i]
                num_small += 1
            else:
                single = min(single, items[1, i])
        least = single
        if reach >= lacks:
            if num_small > tried:
                found = fill_choices(small[:, :num_small], lacks, tried, table)
            else:
                _, found = cheapest_cover(
                    small[0, :num_small], small[1, :num_small], lacks, workspace
                )
            least = min(least, found)
        if least < np.inf:
            total += least
    return total


@kernel
def fill_choices(small: FloatArray, lacks: float, tried: int, table: FloatArray) -> float:
    """Try every choice of the topics with most events, and fill by fractions of the others.

    Changes ``small`` and ``table``.
    """
    count = small.shape[1]
    for position in range(tried):
        best = position
        for i in range(position + 1, count):
            if small[0, i] > small[0, best] or (
                small[0, i] == small[0, best] and small[1, i] < small[1, best]
            ):
                best = i
        for part in range(2):
            small[part, position], small[part, best] = small[part, best], small[part, position]
    rest = count - tried
    ratio = small[1, tried:] / small[0, tried:]
    order = np.argsort(ratio, kind="mergesort")
    events, cost = np.zeros(rest + 1), np.zeros(rest + 1)
    for i in range(rest):
        events[i + 1] = events[i] + small[0, tried + order[i]]
        cost[i + 1] = cost[i] + small[1, tried + order[i]]
    table[0, 0] = 0.0
    table[1, 0] = 0.0
    for i in range(tried):
        for choice in range(2**i):
            table[0, 2**i + choice] = table[0, choice] + small[0, i]
            table[1, 2**i + choice] = table[1, choice] + small[1, i]
    least = np.inf
    for choice in range(2**tried):
        missing = lacks - table[0, choice]
        paid = table[1, choice]
        if missing > 0.0:
            if events[rest] < missing or paid >= least:
                continue
            low, high = 0, rest - 1
            while low < high:
                middle = (low + high) // 2
                if events[middle + 1] < missing:
                    low = middle + 1
                else:
                    high = middle
            paid += cost[low] + (missing - events[low]) * ratio[order[low]]
        least = min(least, paid)
    return least
