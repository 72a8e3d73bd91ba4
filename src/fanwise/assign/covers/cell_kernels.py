"""Kernels on the cells of a small grid: which ones rectangles hold, and what those measure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel

BoolArray = npt.NDArray[np.bool_]


@kernel
def held_cells(sizes: LongArray, lo: LongArray, hi: LongArray, count: int) -> BoolArray:
    """Whether each cell of the grid lies in any of the first boxes. Changes nothing."""
    num_cells = 1
    for axis in range(len(sizes)):
        num_cells *= sizes[axis]
    held = np.zeros(num_cells, dtype=np.bool_)
    at = np.empty(len(sizes), dtype=np.int64)
    for row in range(count):
        if start_cells(lo[row], hi[row], at):
            cell = number_of(sizes, at)
            while cell >= 0:
                held[cell] = True
                cell = next_cell(sizes, lo[row], hi[row], at)
    return held


@kernel
def start_cells(lo: LongArray, hi: LongArray, at: LongArray) -> bool:
    """Begin with the first cell of a box; False where it has none. Changes ``at``."""
    for axis in range(len(lo)):
        if lo[axis] >= hi[axis]:
            return False
        at[axis] = lo[axis]
    return True


@kernel
def next_cell(sizes: LongArray, lo: LongArray, hi: LongArray, at: LongArray) -> int:
    """Go on to the next cell of a box and return its number; -1 after the last. Changes ``at``."""
    axis = len(lo) - 1
    at[axis] += 1
    while at[axis] == hi[axis]:
        if axis == 0:
            return -1
        at[axis] = lo[axis]
        axis -= 1
        at[axis] += 1
    return number_of(sizes, at)


@kernel
def number_of(sizes: LongArray, at: LongArray) -> int:
    """Return the number of a cell in C order. Changes nothing."""
    cell = 0
    for axis in range(len(sizes)):
        cell = cell * sizes[axis] + at[axis]
    return cell


@kernel
def new_mass(
    cells: FloatArray,
    sizes: LongArray,
    lo: LongArray,
    hi: LongArray,
    held: BoolArray,
    at: LongArray,
) -> float:
    """Return the measure of a rectangle's cells that are not held yet.

    Changes ``at`` alone, as scratch space.
    """
    total = 0.0
    if start_cells(lo, hi, at):
        cell = number_of(sizes, at)
        while cell >= 0:
            if not held[cell]:
                total += cells[cell]
            cell = next_cell(sizes, lo, hi, at)
    return total


@kernel
def hold_cells(
    sizes: LongArray, lo: LongArray, hi: LongArray, held: BoolArray, at: LongArray
) -> None:
    """Mark the cells of a rectangle as held. Changes ``held``, and ``at`` as scratch space."""
    if start_cells(lo, hi, at):
        cell = number_of(sizes, at)
        while cell >= 0:
            held[cell] = True
            cell = next_cell(sizes, lo, hi, at)


@kernel
def merge_down(
    cells: FloatArray, sizes: LongArray, lo: LongArray, hi: LongArray, alpha: int
) -> tuple[LongArray, LongArray, int]:
    """Merge two boxes at a time, those whose bounding box adds least, until alpha are left.

    Changes nothing.
    """
    lo, hi, count = lo.copy(), hi.copy(), len(lo)
    dims = len(sizes)
    held = held_cells(sizes, lo, hi, count)
    at, low, high = np.empty(dims, np.int64), np.empty(dims, np.int64), np.empty(dims, np.int64)
    while count > alpha:
        # Ties: the first pair. Quadratic in the boxes left, which are few.
        best, left, right = np.inf, 0, 1
        for i in range(count):
            for j in range(i + 1, count):
                for axis in range(dims):
                    low[axis] = min(lo[i, axis], lo[j, axis])
                    high[axis] = max(hi[i, axis], hi[j, axis])
                mass = new_mass(cells, sizes, low, high, held, at)
                if mass < best:
                    best, left, right = mass, i, j
        count -= 1
        for axis in range(dims):
            lo[left, axis] = min(lo[left, axis], lo[right, axis])
            hi[left, axis] = max(hi[left, axis], hi[right, axis])
            lo[right, axis] = lo[count, axis]
            hi[right, axis] = hi[count, axis]
        hold_cells(sizes, lo[left], hi[left], held, at)
    return lo, hi, count


@kernel
def fill_table(
    cells: FloatArray,
    sizes: LongArray,
    strides: LongArray,
    held: BoolArray,
    table: FloatArray,
    at: LongArray,
) -> None:
    """Sum up what is not held below and left of each corner of the grid. Changes ``table``."""
    table[:] = 0.0
    # A summed-area table. It has a line more than there are cells along each axis: entries on a
    # lowest line stay 0, so that sums over boxes need no special case.
    for cell in range(len(held)):
        left, corner = cell, 0
        for axis in range(len(sizes) - 1, -1, -1):
            corner += (left % sizes[axis] + 1) * strides[axis]
            left //= sizes[axis]
        table[corner] = 0.0 if held[cell] else cells[cell]
    for axis in range(len(sizes)):
        for corner in range(len(table)):
            if corner // strides[axis] % (sizes[axis] + 1) > 0:
                table[corner] += table[corner - strides[axis]]


@kernel
def box_mass(table: FloatArray, strides: LongArray, lo: LongArray, hi: LongArray) -> float:
    """Return the sum of a table of cells over a rectangle, from its corners. Changes nothing."""
    total = 0.0
    dims = len(lo)
    # Inclusion and exclusion: a corner counts negatively if it lies on an odd number of lower
    # sides.
    for corner in range(1 << dims):
        at, sign = 0, 1.0
        for axis in range(dims):
            if (corner >> axis) & 1:
                at += hi[axis] * strides[axis]
            else:
                at += lo[axis] * strides[axis]
                sign = -sign
        total += sign * table[at]
    return total
