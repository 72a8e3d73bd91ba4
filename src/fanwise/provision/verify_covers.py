"""The least price of a cover, for many subscribers at once: plain NumPy, no kernel.

A cover is a set of a subscriber's topics with enough events together. What is returned is never
more than the price of the cheapest cover, whatever the numbers are, and equal to it where few
topics are to be chosen from.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

FEW_TRIED, MORE_TRIED = 8, 12
"""Of so many topics, those with most events, every choice is tried; others count by fractions."""
SMALL = 10_000
"""Up to so many pairs a workload is small enough for more choices."""
ROUNDING = 1e-13
"""Sums of a subscriber's rates are known to about this, relatively."""
CELLS = 1 << 21
"""Numbers in a table at once."""

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Pairs(NamedTuple):
    """Pairs of a block by row, in ascending order of rows, and what each row needs.

    Attributes
    ----------
    row, rate
        By pair: the row it belongs to, and its events; 0 where its topic must not be used.
    enough
        By row: the events that are enough.
    """

    row: Longs
    rate: Floats
    enough: Floats


def tried_of(num_pairs: int) -> int:
    """Return of how many topics every choice is tried, in a workload of so many pairs."""
    return MORE_TRIED if num_pairs <= SMALL else FEW_TRIED


def find_forced(pairs: Pairs) -> Flags:
    """Return which pairs a row cannot do without: the others together are not enough."""
    total = _add_up(pairs.row, pairs.rate, len(pairs.enough))
    spare = np.maximum(total * (1 + ROUNDING) - pairs.enough, 0.0)
    spare[pairs.enough <= 0] = np.inf
    forced: Flags = pairs.rate > spare[pairs.row]
    return forced


def least_prices(pairs: Pairs, price: Floats, is_forced: Flags, tried: int) -> Floats:
    """Return for each row what its pairs cost at least.

    Forced pairs count whole. Of the others either one that is enough by itself is taken, or
    smaller ones together; see :func:`_least_of_small`.
    """
    row, rate, enough = pairs
    num_rows = len(enough)
    found = _add_up(row[is_forced], price[is_forced], num_rows)
    lacks = enough - _add_up(row[is_forced], rate[is_forced], num_rows)
    lacks[lacks <= ROUNDING * enough] = 0.0
    is_open = ~is_forced & (rate > 0) & (lacks > 0)[row]
    row, rate, price = row[is_open], rate[is_open], price[is_open]
    is_small = rate < lacks[row]
    least = np.full(num_rows, np.inf)
    np.minimum.at(least, row[~is_small], price[~is_small])
    reach = _add_up(row[is_small], rate[is_small], num_rows)
    is_small &= (reach >= lacks)[row]
    if is_small.any():
        rows, place = np.unique(row[is_small], return_inverse=True)
        small = _least_of_small(place, rate[is_small], price[is_small], lacks[rows], tried)
        least[rows] = np.minimum(least[rows], small)
    return found + np.where(np.isfinite(least), least, 0.0)


def _least_of_small(row: Longs, rate: Floats, price: Floats, lacks: Floats, tried: int) -> Floats:
    """Return what pairs cost at least of which none alone is enough, but all together are.

    Every choice of the pairs with most events is tried; what it lacks is filled by the others, in
    part if need be, those with the lowest price for an event first.
    """
    order = np.lexsort((price, -rate, row))
    rate, price = rate[order], price[order]  # rows were in order already
    length = np.bincount(row, minlength=len(lacks))
    start = np.cumsum(length) - length
    least = np.empty(len(lacks))
    by_length = np.argsort(length, kind="stable")
    begin = 0
    while begin < len(by_length):
        shortest = int(length[by_length[begin]])
        # Rows of about the same length make a table with few empty cells.
        longest = shortest if shortest <= tried else shortest + max(shortest // 4, 4)
        end = int(np.searchsorted(length[by_length], longest, side="right"))
        size = max(1, CELLS // max(longest, 2 ** min(shortest, tried)))
        rows = by_length[begin : min(end, begin + size)]
        begin += len(rows)
        width = int(length[rows].max())
        cells = start[rows] + np.arange(width)[:, None]
        is_there = np.arange(width)[:, None] < length[rows]
        cells[~is_there] = 0
        rates = np.where(is_there, rate[cells], 0.0)
        prices = np.where(is_there, price[cells], 0.0)
        least[rows] = _least_in_table(rates, prices, lacks[rows], tried)
    return least


def _least_in_table(rate: Floats, price: Floats, lacks: Floats, tried: int) -> Floats:
    """Try every choice of the first pairs of each column, and fill by fractions of the others."""
    tried = min(len(rate), tried)
    has = np.zeros((2**tried, len(lacks)))
    paid = np.zeros_like(has)
    for i in range(tried):
        has[2**i : 2 ** (i + 1)] = has[: 2**i] + rate[i]
        paid[2**i : 2 ** (i + 1)] = paid[: 2**i] + price[i]
    missing = lacks - has
    paid += np.where(missing > 0, _fill(rate[tried:], price[tried:], missing), 0.0)
    least: Floats = paid.min(axis=0)
    return least


def _fill(rate: Floats, price: Floats, missing: Floats) -> Floats:
    """Return what it costs to fill what is missing by fractions; infinite where it is too much."""
    if not len(rate):
        return np.full(missing.shape, np.inf)
    ratio = np.full(rate.shape, np.inf)
    np.divide(price, rate, out=ratio, where=rate > 0)
    order = np.argsort(ratio, axis=0, kind="stable")
    rate, price, ratio = (np.take_along_axis(one, order, axis=0) for one in (rate, price, ratio))
    none = np.zeros((1, rate.shape[1]))
    events = np.concatenate([none, np.cumsum(rate, axis=0)])
    cost = np.concatenate([none, np.cumsum(price, axis=0)])
    low = np.zeros(missing.shape, dtype=np.int64)  # the pairs taken whole: less than is missing
    high = np.full(missing.shape, len(rate))
    while np.any(low < high):
        middle = (low + high) // 2
        is_less = np.take_along_axis(events, middle + 1 - (middle == len(rate)), axis=0) < missing
        is_less &= middle < len(rate)
        low = np.where(is_less, middle + 1, low)
        high = np.where(is_less, high, middle)
    is_enough = low < len(rate)
    last = np.minimum(low, len(rate) - 1)
    left = missing - np.take_along_axis(events, last, axis=0)
    filled = np.take_along_axis(cost, last, axis=0) + left * np.take_along_axis(ratio, last, axis=0)
    return np.where(is_enough, filled, np.inf)


def _add_up(group: npt.NDArray[Any], values: Floats, num_groups: int) -> Floats:
    return np.bincount(group, weights=values, minlength=num_groups).astype(np.float64)
