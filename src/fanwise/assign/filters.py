"""Filters for an assignment that has none: at most alpha rectangles for each broker, bottom-up.

Algorithms that do not look at the event space are all fitted alike. A broker takes in its
rectangles one by one, the largest first, each where the union grows least: in a slot of its own, by
enlarging a rectangle, or by merging two to make room. Inner brokers do the same with the rectangles
of their children, so that every filter holds those below it.

Complexity: O(rectangles x alpha^3) in the plane.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.rectangle_kernels import Density, Scratch, find_container, least_growth
from fanwise.arrays.rectangle_moves import enlarge, least_growth_by_merging, merge_rectangles
from fanwise.arrays.rectangles import bounding_boxes
from fanwise.assign.arrays import AssignmentArrays, Filters, depths


def fit_filters(arrays: AssignmentArrays, broker_of_subscriber: IntArray) -> Filters:
    """Return filters of all brokers for an assignment; subscribers on broker -1 are left out."""
    filters = arrays.no_filters()
    fit_boxes(arrays, filters, arrays.lo, arrays.hi, broker_of_subscriber)
    return nest_filters(arrays, filters)


def nest_filters(arrays: AssignmentArrays, filters: Filters) -> Filters:
    """Return the filters with those of inner brokers fitted anew to their children's, bottom-up.

    What a leaf has stays. This repairs nesting whatever the inner brokers had before.
    """
    repaired = filters.copy()
    is_inner = np.ones(arrays.num_brokers, dtype=np.bool_)
    is_inner[arrays.leaves] = False
    repaired.counts[is_inner] = 0
    depth = depths(arrays.parent)
    for level in range(int(depth.max(initial=1)), 1, -1):
        children = np.flatnonzero(depth == level)
        lo, hi, child = list_rectangles(repaired, children)
        fit_boxes(arrays, repaired, lo, hi, arrays.parent[child])
    return repaired


def tighten_filters(
    arrays: AssignmentArrays, broker_of_subscriber: IntArray, filters: Filters
) -> Filters:
    """Return filters that are nowhere larger: bounding boxes of what is assigned to each rectangle.

    A subscriber belongs to the first rectangle of its broker that holds it, a rectangle to the
    first that holds it at the parent. Each must lie in one, as it does after Gr.
    """
    slots = filters.lo.shape[1]
    tight = filters.copy()
    depth = depths(arrays.parent)
    _shrink(tight, arrays.lo, arrays.hi, broker_of_subscriber, arrays.leaves, slots)
    for level in range(int(depth.max(initial=1)), 1, -1):
        lo, hi, child = list_rectangles(tight, np.flatnonzero(depth == level))
        inner = np.unique(arrays.parent[child])
        _shrink(tight, lo, hi, arrays.parent[child], inner, slots)
    return tight


def list_rectangles(
    filters: Filters, brokers: LongArray
) -> tuple[FloatArray, FloatArray, LongArray]:
    """Return the rectangles of some brokers, and whose each is."""
    taken = np.arange(filters.lo.shape[1]) < filters.counts[brokers, None]
    whose = np.repeat(brokers, filters.counts[brokers])
    return filters.lo[brokers][taken], filters.hi[brokers][taken], whose


def fit_boxes(
    arrays: AssignmentArrays, filters: Filters, lo: FloatArray, hi: FloatArray, broker: IntArray
) -> None:
    """Let the filters of brokers hold boxes, the largest of each first; -1: nobody holds it."""
    with np.errstate(invalid="ignore"):
        volume = np.maximum(hi - lo, 0.0).prod(axis=1)
    order = np.lexsort((np.arange(len(lo)), -volume, broker))
    order = order[(broker[order] >= 0) & (lo[order, 0] <= hi[order, 0])]
    insert_boxes(
        arrays, filters, lo, hi, broker.astype(np.int32), order.astype(np.int64), arrays.scratch()
    )


def _shrink(
    filters: Filters, lo: FloatArray, hi: FloatArray, broker: IntArray, who: IntArray, slots: int
) -> None:
    """Shrink rectangles of brokers to what they hold; those that hold nothing go."""
    home = find_homes(filters, lo, hi, broker.astype(np.int32))
    shape = filters.lo.shape
    low, high = bounding_boxes(lo, hi, home, shape[0] * slots)
    low, high = low.reshape(shape), high.reshape(shape)
    for b in who:
        kept = np.flatnonzero(low[b, :, 0] <= high[b, :, 0])
        filters.lo[b, : len(kept)] = low[b, kept]
        filters.hi[b, : len(kept)] = high[b, kept]
        filters.counts[b] = len(kept)


@kernel
def find_homes(filters: Filters, lo: FloatArray, hi: FloatArray, broker: IntArray) -> IntArray:
    """Return broker x slots + slot of the first rectangle that holds each box; -1 for none.

    Changes nothing.
    """
    slots = filters.lo.shape[1]
    homes = np.full(len(broker), -1, dtype=np.int32)
    for row in range(len(broker)):
        b = broker[row]
        if b >= 0 and lo[row, 0] <= hi[row, 0]:
            count = filters.counts[b]
            slot = find_container(filters.lo, filters.hi, b, count, lo[row], hi[row])
            if slot >= 0:
                homes[row] = b * slots + slot
    return homes


@kernel
def find_growth(
    filters: Filters,
    b: int,
    alpha: int,
    lo: FloatArray,
    hi: FloatArray,
    density: Density,
    scratch: Scratch,
    enough: float,
) -> tuple[float, int]:
    """Return the least growth of a broker's filter that holds a box, and which slot grows.

    The slot is -1 where it would be more than ``enough``. Changes ``scratch``.
    """
    return least_growth(
        filters.lo, filters.hi, b, filters.counts[b], alpha, lo, hi, density, scratch, enough
    )


@kernel
def insert_boxes(
    arrays: AssignmentArrays,
    filters: Filters,
    lo: FloatArray,
    hi: FloatArray,
    broker: IntArray,
    order: LongArray,
    scratch: Scratch,
) -> None:
    """Let the filters of brokers hold their boxes, in the order given.

    Changes ``filters`` and ``scratch``.
    """
    for row in order:
        b = broker[row]
        count = filters.counts[b]
        growth, slot = find_growth(
            filters, b, arrays.alpha, lo[row], hi[row], arrays.density, scratch, np.inf
        )
        # With a free slot, a box of its own is among the ways compared already; merging two old
        # ones only pays where it frees the slot that is missing.
        if growth == 0.0 or count < arrays.alpha or count < 2:
            enlarge(filters.lo, filters.hi, filters.counts, b, slot, lo[row], hi[row])
            continue
        merged, i, j = least_growth_by_merging(
            filters.lo, filters.hi, b, count, lo[row], hi[row], arrays.density, scratch, growth
        )
        if i >= 0 and merged < growth:
            merge_rectangles(filters.lo, filters.hi, filters.counts, b, i, j)
            slot = filters.counts[b]
        enlarge(filters.lo, filters.hi, filters.counts, b, slot, lo[row], hi[row])
