"""Rectangles no larger than what they must hold, at a leaf and at all brokers above it."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.rectangle_moves import remove_rectangle
from fanwise.assign.arrays import AssignmentArrays, Filters
from fanwise.assign.improving.move_state import MoveState


@kernel
def is_held_by_another(
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

    Arrays one by one, not as tuples: a call then costs a quarter. Changes nothing.
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
    """Make a box hold nothing, ready to be stretched. Changes ``box``."""
    for axis in range(box.shape[1]):
        box[0, axis] = np.inf
        box[1, axis] = -np.inf


@kernel
def stretch_box(box: FloatArray, lo: FloatArray, hi: FloatArray, t: int) -> None:
    """Make a box hold row ``t`` of boxes. Changes ``box``."""
    for axis in range(box.shape[1]):
        box[0, axis] = min(box[0, axis], lo[t, axis])
        box[1, axis] = max(box[1, axis], hi[t, axis])


@kernel
def set_rectangle(filters: Filters, b: int, r: int, box: FloatArray) -> bool:
    """Make a rectangle a box, or take it away where that is empty; say whether it is there.

    Changes ``filters``.
    """
    if box[0, 0] > box[1, 0]:
        remove_rectangle(filters.lo, filters.hi, filters.counts, b, r)
        return False
    for axis in range(box.shape[1]):
        filters.lo[b, r, axis] = box[0, axis]
        filters.hi[b, r, axis] = box[1, axis]
    return True


@kernel
def shrink_leaf(arrays: AssignmentArrays, state: MoveState, b: int) -> None:
    """Shrink each rectangle of a leaf to what no other of them holds; empty ones go.

    Changes the filter of the leaf in ``state``.
    """
    first = state.first[b]
    lo, hi, counts = state.filters
    # One after the other, never all at once: what two rectangles hold, the first gives up and the
    # second, which no longer sees it there, keeps.
    r = 0
    while r < counts[b]:
        empty_box(state.box)
        for at in range(first, first + state.size[b]):
            t = state.listed_type[at]
            if not is_held_by_another(lo, hi, b, counts[b], r, arrays.lo, arrays.hi, t):
                stretch_box(state.box, arrays.lo, arrays.hi, t)
        r += set_rectangle(state.filters, b, r, state.box)


@kernel
def shrink_above(arrays: AssignmentArrays, state: MoveState, leaf: int) -> None:
    """Shrink the rectangles above a leaf to those of the children that no other of them holds.

    The children may have shrunk, not grown, since they were held.
    Changes the filters above the leaf in ``state``.
    """
    lo, hi, counts = state.filters
    p = arrays.parent[leaf]
    while p >= 0:
        r = 0
        while r < counts[p]:
            empty_box(state.box)
            for k in range(state.children_indptr[p], state.children_indptr[p + 1]):
                c = state.children[k]
                for slot in range(counts[c]):
                    if not is_held_by_another(lo, hi, p, counts[p], r, lo[c], hi[c], slot):
                        stretch_box(state.box, lo[c], hi[c], slot)
            r += set_rectangle(state.filters, p, r, state.box)
        p = arrays.parent[p]
