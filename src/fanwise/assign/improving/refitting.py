"""Better filters for an assignment that stays as it is.

Each leaf takes the smallest of several filters around what it serves: bounding boxes of clusters,
what taking in or merging one by one leads to, and, where it serves few different things, the least
cover of them, in which two rectangles may hold a subscription together. Those above are fitted to
the leaves' anew, level by level, in the same ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.assign.arrays import AssignmentArrays, Filters
from fanwise.assign.covers.branch_and_bound import Budget, TooMuchWorkError
from fanwise.assign.covers.least_covers import (
    count_rectangles,
    distinct,
    least_cover,
    make_grid,
    sides_of,
)
from fanwise.assign.filters import fit_boxes, list_rectangles, nest_filters
from fanwise.assign.slp_steps.adjusting import adjust_filters

FEW = 12
"""Boxes, none within another, of which the least cover is looked for."""
MOST_BOXES = 600
"""Boxes among which to look for those within no other."""
MOST_STEPS = 2_000_000
"""Steps of the search for one cover, and rectangles or cells of its grid."""


def refit(
    arrays: AssignmentArrays,
    broker_of_subscriber: IntArray,
    filters: Filters,
    rng: np.random.Generator,
    is_over: Callable[[], bool] = lambda: False,
) -> Iterator[Filters]:
    """Yield filters of an assignment that may be better than the ones it has.

    Complexity: that of fitting, and a search of limited length for each broker that has to hold
    few different things.

    Parameters
    ----------
    is_over
        Whether to leave filters that can only get better as they are.
    """
    fitted = nest_filters(arrays, adjust_filters(arrays, broker_of_subscriber, filters, rng))
    yield fitted
    if arrays.alpha > 1:  # of one rectangle there is only the bounding box
        # A least cover replaces a leaf's filter only where it is smaller, so that both sets are
        # worth a try: leaves with too many different things keep what they had.
        for leaves in (filters, fitted):
            if is_over():
                return
            closer = leaves.copy()
            cover_leaves(arrays, broker_of_subscriber, closer, is_over)
            yield nest_closely(arrays, closer, is_over)


def cover_leaves(
    arrays: AssignmentArrays,
    broker_of_subscriber: IntArray,
    filters: Filters,
    is_over: Callable[[], bool],
) -> None:
    """Give leaves that serve few different things the least cover of them, where it is smaller."""
    order = np.argsort(broker_of_subscriber, kind="stable")
    starts = np.searchsorted(broker_of_subscriber[order], np.arange(arrays.num_brokers + 1))
    measures = arrays.measures(filters)
    for broker in arrays.leaves.tolist():
        if is_over():
            return
        own = order[starts[broker] : starts[broker + 1]]
        own = own[arrays.lo[own, 0] <= arrays.hi[own, 0]]
        cover_boxes(arrays, filters, broker, arrays.lo[own], arrays.hi[own], measures[broker])


def nest_closely(
    arrays: AssignmentArrays, filters: Filters, is_over: Callable[[], bool]
) -> Filters:
    """Return filters with those of inner brokers fitted to their children's, the closer way."""
    nested = filters.copy()
    leaves = set(arrays.leaves.tolist())
    for broker in arrays.bottom_up.tolist():
        if broker in leaves:
            continue
        nested.counts[broker] = 0
        lo, hi, _ = list_rectangles(nested, np.flatnonzero(arrays.parent == broker))
        fit_boxes(arrays, nested, lo, hi, np.full(len(lo), broker, dtype=np.int32))
        if not is_over():
            cover_boxes(arrays, nested, broker, lo, hi, float(arrays.measures(nested)[broker]))
    return nested


def cover_boxes(
    arrays: AssignmentArrays,
    filters: Filters,
    broker: int,
    lo: FloatArray,
    hi: FloatArray,
    measure: float,
) -> None:
    """Give a broker the least cover of boxes, where that is quick to find and measures less."""
    both = np.unique(np.hstack([lo, hi]), axis=0)
    if not 0 < len(both) <= MOST_BOXES:
        return
    lo, hi = distinct(both[:, : arrays.event_dims], both[:, arrays.event_dims :])
    sides = sides_of(lo, hi, arrays.density)
    size = count_rectangles(sides) if arrays.alpha == 2 else np.prod([len(some) for some in sides])
    if len(lo) > FEW or size > MOST_STEPS:
        return
    grid = make_grid(sides, arrays.density, arrays.alpha)
    try:
        cover = least_cover(grid, *grid.lines_of(lo, hi), arrays.alpha, Budget(MOST_STEPS))
    except TooMuchWorkError:
        return
    if cover.mass < measure:
        count = len(cover.lo)
        filters.lo[broker, :count] = grid.coordinates(cover.lo)
        filters.hi[broker, :count] = grid.coordinates(cover.hi)
        filters.counts[broker] = count
