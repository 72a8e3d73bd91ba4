"""Kernels that change filters: letting them hold a box, merging rectangles, taking one away.

Layout and scratch are those of :mod:`fanwise.arrays.rectangle_kernels`. A filter that is changed to
try something is as before when a kernel returns.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.rectangle_kernels import (
    Density,
    Scratch,
    least_growth,
    load_box,
    uncovered_measure,
)


@kernel
def enlarge(
    lo: FloatArray,
    hi: FloatArray,
    counts: LongArray,
    f: int,
    slot: int,
    box_lo: FloatArray,
    box_hi: FloatArray,
) -> None:
    """Make the rectangle in a slot hold a box; the slot after the last is a new rectangle.

    Changes ``lo``, ``hi`` and ``counts``.
    """
    for axis in range(box_lo.shape[0]):
        if slot == counts[f]:
            lo[f, slot, axis] = box_lo[axis]
            hi[f, slot, axis] = box_hi[axis]
        else:
            lo[f, slot, axis] = min(lo[f, slot, axis], box_lo[axis])
            hi[f, slot, axis] = max(hi[f, slot, axis], box_hi[axis])
    if slot == counts[f]:
        counts[f] += 1


@kernel
def growth_of_each(
    lo: FloatArray,
    hi: FloatArray,
    counts: LongArray,
    filters: npt.NDArray[np.int32],
    box_lo: FloatArray,
    box_hi: FloatArray,
    density: Density,
    scratch: Scratch,
    growth: FloatArray,
    slot: LongArray,
) -> None:
    """Fill in least growth and slot for each of the filters named, all slots allowed.

    Changes ``scratch``, ``growth`` and ``slot``.
    """
    for i in range(len(filters)):
        f = filters[i]
        growth[i], slot[i] = least_growth(
            lo, hi, f, counts[f], lo.shape[1], box_lo, box_hi, density, scratch, np.inf
        )


@kernel
def swap_rectangles(lo: FloatArray, hi: FloatArray, f: int, i: int, j: int) -> None:
    """Exchange two rectangles of a filter. Changes ``lo`` and ``hi``."""
    for axis in range(lo.shape[2]):
        lo[f, i, axis], lo[f, j, axis] = lo[f, j, axis], lo[f, i, axis]
        hi[f, i, axis], hi[f, j, axis] = hi[f, j, axis], hi[f, i, axis]


@kernel
def exclusive_measure(
    lo: FloatArray, hi: FloatArray, f: int, count: int, r: int, density: Density, scratch: Scratch
) -> float:
    """Measure of what only rectangle ``r`` covers: what the union loses when it goes.

    Changes ``scratch``; ``lo`` and ``hi`` are as before when it returns.
    """
    swap_rectangles(lo, hi, f, r, count - 1)
    load_box(lo[f, count - 1], hi[f, count - 1], scratch)
    measure = uncovered_measure(lo, hi, f, count - 1, density, scratch, np.inf)
    swap_rectangles(lo, hi, f, r, count - 1)
    return measure


@kernel
def exchange_box(lo: FloatArray, hi: FloatArray, f: int, r: int, scratch: Scratch) -> None:
    """Exchange a rectangle with the spare box of the scratch.

    Changes ``lo``, ``hi`` and ``scratch``.
    """
    dims = lo.shape[2]
    for axis in range(dims):
        lo[f, r, axis], scratch.spare[axis] = scratch.spare[axis], lo[f, r, axis]
        hi[f, r, axis], scratch.spare[dims + axis] = scratch.spare[dims + axis], hi[f, r, axis]


@kernel
def least_growth_by_merging(
    lo: FloatArray,
    hi: FloatArray,
    f: int,
    count: int,
    box_lo: FloatArray,
    box_hi: FloatArray,
    density: Density,
    scratch: Scratch,
    enough: float,
) -> tuple[float, int, int]:
    """Return the least growth when two rectangles become one and the box takes the free slot.

    The two, lower slot first, or (-1, -1) where every pair costs more than ``enough``, with a
    growth above it; always without two rectangles. Ties: the lowest slots. O(slots ** 3) for
    rectangles apart. Changes ``scratch``; ``lo`` and ``hi`` are as before when it returns.
    """
    dims = box_lo.shape[0]
    best, best_i, best_j = np.inf, -1, -1
    for i in range(count - 1):
        for j in range(i + 1, count):
            for axis in range(dims):
                scratch.pieces[0, axis] = min(lo[f, i, axis], lo[f, j, axis])
                scratch.pieces[0, dims + axis] = max(hi[f, i, axis], hi[f, j, axis])
            limit = min(best, enough)
            for column in range(2 * dims):
                scratch.spare[column] = scratch.pieces[0, column]
            growth = uncovered_measure(lo, hi, f, count, density, scratch, limit)
            if growth > limit or growth >= best:
                continue
            exchange_box(lo, hi, f, i, scratch)
            load_box(box_lo, box_hi, scratch)
            growth += uncovered_measure(lo, hi, f, count, density, scratch, limit - growth)
            exchange_box(lo, hi, f, i, scratch)
            if growth < best and growth <= enough:
                best, best_i, best_j = growth, i, j
    return best, best_i, best_j


@kernel
def merge_rectangles(
    lo: FloatArray, hi: FloatArray, counts: LongArray, f: int, i: int, j: int
) -> None:
    """Enlarge rectangle ``i`` to hold ``j``, and take ``j`` away.

    Changes ``lo``, ``hi`` and ``counts``.
    """
    for axis in range(lo.shape[2]):
        lo[f, i, axis] = min(lo[f, i, axis], lo[f, j, axis])
        hi[f, i, axis] = max(hi[f, i, axis], hi[f, j, axis])
    remove_rectangle(lo, hi, counts, f, j)


@kernel
def remove_rectangle(lo: FloatArray, hi: FloatArray, counts: LongArray, f: int, r: int) -> None:
    """Take a rectangle away; those after it move up. Changes ``lo``, ``hi`` and ``counts``."""
    for slot in range(r, counts[f] - 1):
        for axis in range(lo.shape[2]):
            lo[f, slot, axis] = lo[f, slot + 1, axis]
            hi[f, slot, axis] = hi[f, slot + 1, axis]
    counts[f] -= 1
