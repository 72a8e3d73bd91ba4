"""Rectangles no larger than what they must hold, at a leaf and at all brokers above it."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.rectangle_moves import remove_rectangle
from fanwise.assign.ground import Filters, Ground
from fanwise.assign.improving.live import Live


@kernel
def is_elsewhere(
    lo: FloatArray,
    hi: FloatArray,
    b: int,
    count: int,
    r: int,
    boxes_lo: FloatArray,
    boxes_hi: FloatArray,
    t: int,
) -> bool:
    """Whether a rectangle of a filter other than ``r`` holds box ``t``; -1: whether any does.

    Arrays one by one, not as tuples: a call then costs a quarter.
    """
    for other in range(count):
        if other == r:
            continue
        inside = True
        for axis in range(boxes_lo.shape[1]):
            if boxes_lo[t, axis] < lo[b, other, axis] or boxes_hi[t, axis] > hi[b, other, axis]:
                inside = False
                break
        if inside:
            return True
    return False


@kernel
def empty_box(box: FloatArray) -> None:
    """Make a box hold nothing, ready to be stretched."""
    for axis in range(box.shape[1]):
        box[0, axis] = np.inf
        box[1, axis] = -np.inf


@kernel
def stretch_box(box: FloatArray, lo: FloatArray, hi: FloatArray, t: int) -> None:
    """Make a box hold row ``t`` of boxes."""
    for axis in range(box.shape[1]):
        box[0, axis] = min(box[0, axis], lo[t, axis])
        box[1, axis] = max(box[1, axis], hi[t, axis])


@kernel
def set_rectangle(filters: Filters, b: int, r: int, box: FloatArray) -> bool:
    """Make a rectangle a box, or take it away where that is empty; say whether it is there."""
    if box[0, 0] > box[1, 0]:
        remove_rectangle(filters.lo, filters.hi, filters.counts, b, r)
        return False
    for axis in range(box.shape[1]):
        filters.lo[b, r, axis] = box[0, axis]
        filters.hi[b, r, axis] = box[1, axis]
    return True


@kernel
def shrink_leaf(ground: Ground, live: Live, b: int) -> None:
    """Shrink each rectangle of a leaf to what no other of them holds; empty ones go."""
    first = live.first[b]
    lo, hi, counts = live.filters
    r = 0
    while r < counts[b]:
        empty_box(live.box)
        for at in range(first, first + live.size[b]):
            t = live.listed_type[at]
            if not is_elsewhere(lo, hi, b, counts[b], r, ground.lo, ground.hi, t):
                stretch_box(live.box, ground.lo, ground.hi, t)
        r += set_rectangle(live.filters, b, r, live.box)


@kernel
def shrink_above(ground: Ground, live: Live, leaf: int) -> None:
    """Shrink the rectangles above a leaf to those of the children that no other of them holds.

    The children may have shrunk, not grown, since they were held.
    """
    lo, hi, counts = live.filters
    p = ground.parent[leaf]
    while p >= 0:
        r = 0
        while r < counts[p]:
            empty_box(live.box)
            for k in range(live.children_indptr[p], live.children_indptr[p + 1]):
                c = live.children[k]
                for slot in range(counts[c]):
                    if not is_elsewhere(lo, hi, p, counts[p], r, lo[c], hi[c], slot):
                        stretch_box(live.box, lo[c], hi[c], slot)
            r += set_rectangle(live.filters, p, r, live.box)
        p = ground.parent[p]
