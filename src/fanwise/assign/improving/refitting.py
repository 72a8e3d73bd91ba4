"""Better filters for an assignment that stays as it is.

Each leaf takes the smallest of several filters around what it serves: bounding boxes of clusters,
what taking in or merging one by one leads to, and, where it serves few different things, the least
cover of them, in which two rectangles may hold a subscription together. Those above are fitted to
the leaves' anew, level by level, in the same ways.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.assign.cover_search import Budget, TooMuchWorkError
from fanwise.assign.covers import count_rectangles, distinct, least_cover, make_grid, sides_of
from fanwise.assign.filters import fit_boxes, list_rectangles, nest_filters
from fanwise.assign.ground import Filters, Ground
from fanwise.assign.slp_steps.adjusting import adjust_filters

FEW = 12
"""Boxes, none within another, of which the least cover is looked for."""
MOST_BOXES = 600
"""Boxes among which to look for those within no other."""
MOST_STEPS = 2_000_000
"""Steps of the search for one cover, and rectangles or cells of its grid."""


def refit(
    ground: Ground, broker_of_subscriber: IntArray, filters: Filters, rng: np.random.Generator
) -> list[Filters]:
    """Return filters of an assignment that may be better than the ones it has.

    Complexity: that of fitting, and a search of limited length for each broker that has to hold
    few different things.
    """
    fitted = nest_filters(ground, adjust_filters(ground, broker_of_subscriber, filters, rng))
    rivals = [fitted]
    if ground.alpha > 1:  # of one rectangle there is only the bounding box
        for leaves in (filters, fitted):
            closer = leaves.copy()
            cover_leaves(ground, broker_of_subscriber, closer)
            rivals.append(nest_closely(ground, closer))
    return rivals


def cover_leaves(ground: Ground, broker_of_subscriber: IntArray, filters: Filters) -> None:
    """Give leaves that serve few different things the least cover of them, where it is smaller."""
    order = np.argsort(broker_of_subscriber, kind="stable")
    starts = np.searchsorted(broker_of_subscriber[order], np.arange(ground.num_brokers + 1))
    measures = ground.measures(filters)
    for broker in ground.leaves.tolist():
        own = order[starts[broker] : starts[broker + 1]]
        own = own[ground.lo[own, 0] <= ground.hi[own, 0]]
        cover_boxes(ground, filters, broker, ground.lo[own], ground.hi[own], measures[broker])


def nest_closely(ground: Ground, filters: Filters) -> Filters:
    """Return filters with those of inner brokers fitted to their children's, the closer way."""
    nested = filters.copy()
    leaves = set(ground.leaves.tolist())
    for broker in ground.bottom_up.tolist():
        if broker in leaves:
            continue
        nested.counts[broker] = 0
        lo, hi, _ = list_rectangles(nested, np.flatnonzero(ground.parent == broker))
        fit_boxes(ground, nested, lo, hi, np.full(len(lo), broker, dtype=np.int32))
        cover_boxes(ground, nested, broker, lo, hi, float(ground.measures(nested)[broker]))
    return nested


def cover_boxes(
    ground: Ground, filters: Filters, broker: int, lo: FloatArray, hi: FloatArray, measure: float
) -> None:
    """Give a broker the least cover of boxes, where that is quick to find and measures less."""
    both = np.unique(np.hstack([lo, hi]), axis=0)
    if not 0 < len(both) <= MOST_BOXES:
        return
    lo, hi = distinct(both[:, : ground.event_dims], both[:, ground.event_dims :])
    sides = sides_of(lo, hi, ground.density)
    size = count_rectangles(sides) if ground.alpha == 2 else np.prod([len(some) for some in sides])
    if len(lo) > FEW or size > MOST_STEPS:
        return
    grid = make_grid(sides, ground.density, ground.alpha)
    try:
        cover = least_cover(grid, *grid.places(lo, hi), ground.alpha, Budget(MOST_STEPS))
    except TooMuchWorkError:
        return
    if cover.mass < measure:
        count = len(cover.lo)
        filters.lo[broker, :count] = grid.coordinates(cover.lo)
        filters.hi[broker, :count] = grid.coordinates(cover.hi)
        filters.counts[broker] = count
