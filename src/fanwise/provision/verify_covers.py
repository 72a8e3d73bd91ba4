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
SUM_ERROR = 1e-13
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
    spare = np.maximum(total * (1 + SUM_ERROR) - pairs.enough, 0.0)
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
    lacks[lacks <= SUM_ERROR * enough] = 0.0
    is_open = ~is_forced & (rate > 0) & (lacks > 0)[row]
    row, rate, price = row[is_open], rate[is_open], price[is_open]
    is_small = rate < lacks[row]
    least = np.full(num_rows, np.inf)
    np.minimum.at(least, row[~is_small], price[~is_small])
    reach = _add_up(row[is_small], rate[is_small], num_rows)
    is_small &= (reach >= lacks)[row]
    row, rate, price = row[is_small], rate[is_small], price[is_small]
    even = _least_of_even(row, rate, price, lacks, tried)
    least = np.minimum(least, even)
    is_left = np.isinf(even)[row]
    if is_left.any():
        rows, index = np.unique(row[is_left], return_inverse=True)
        small = _least_of_small(index, rate[is_left], price[is_left], lacks[rows], tried)
        least[rows] = np.minimum(least[rows], small)
    return found + np.where(np.isfinite(least), least, 0.0)


def _least_of_even(row: Longs, rate: Floats, price: Floats, lacks: Floats, tried: int) -> Floats:
    """Return the least price of long rows whose events all cost the same; infinite for others.

    Where all pairs that are tried can be taken, the others fill up the rest: nothing is cheaper
    than what is lacking at that price. A shortcut, which saves most of the work.
    """
    least = np.full(len(lacks), np.inf)
    if not len(row):
        return least
    start = np.flatnonzero(np.diff(row, prepend=-1))
    rows = row[start]
    ratio = price / rate
    low, high = np.minimum.reduceat(ratio, start), np.maximum.reduceat(ratio, start)
    is_long = np.diff(start, append=len(row)) > tried
    can_fill = tried * np.maximum.reduceat(rate, start) <= lacks[rows]
    is_clear = is_long & can_fill & (high <= low * (1 + SUM_ERROR))
    least[rows[is_clear]] = low[is_clear] * lacks[rows[is_clear]]
    return least


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
        cells[~is_there] = start[rows][np.nonzero(~is_there)[1]]  # any cell of the same row
        rates = np.where(is_there, rate[cells], 0.0)
        prices = np.where(is_there, price[cells], 0.0)
        ratio = price[cells] / rate[cells]
        least[rows] = _least_in_table(rates, prices, ratio, lacks[rows], tried)
    return least


def _least_in_table(
    rate: Floats, price: Floats, ratio: Floats, lacks: Floats, tried: int
) -> Floats:
    """Try every choice of the first pairs of each column, and fill by fractions of the others."""
    tried = min(len(rate), tried)
    has = np.zeros((2**tried, len(lacks)))
    paid = np.zeros_like(has)
    for i in range(tried):
        has[2**i : 2 ** (i + 1)] = has[: 2**i] + rate[i]
        paid[2**i : 2 ** (i + 1)] = paid[: 2**i] + price[i]
    missing = lacks - has
    rate, price, ratio = rate[tried:], price[tried:], ratio[tried:]
    if len(rate):
        # Most columns have one price for all events: what is missing at that price.
        low, high = ratio.min(axis=0), ratio.max(axis=0)
        is_even = high <= low * (1 + SUM_ERROR)
        filled = low * missing
        filled[:, ~is_even] = _fill(*(one[:, ~is_even] for one in (rate, price, ratio, missing)))
        paid += np.where(missing > 0, filled, 0.0)
    paid[missing > np.maximum(rate.sum(axis=0), 0.0)] = np.inf
    least: Floats = paid.min(axis=0)
    return least


def _fill(rate: Floats, price: Floats, ratio: Floats, missing: Floats) -> Floats:
    """Return what it costs to fill what is missing by fractions, if there is enough.

    The more is missing the dearer the next event: the cost is a largest of straight lines.
    """
    filled = np.zeros_like(missing)
    order = np.argsort(np.where(rate > 0, ratio, np.inf), axis=0, kind="stable")
    rate, price, ratio = (np.take_along_axis(one, order, axis=0) for one in (rate, price, ratio))
    events, cost = np.zeros(missing.shape[1]), np.zeros(missing.shape[1])
    for i in range(len(rate)):
        start = np.where(rate[i] > 0, cost - events * ratio[i], -np.inf)  # none in empty cells
        np.maximum(filled, start + ratio[i] * missing, out=filled)
        events, cost = events + rate[i], cost + price[i]
    return filled


def _add_up(group: npt.NDArray[Any], values: Floats, num_groups: int) -> Floats:
    return np.bincount(group, weights=values, minlength=num_groups).astype(np.float64)
