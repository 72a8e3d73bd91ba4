"""Kernels on axis-parallel rectangles: what a union covers, and what one more would add.

Filters lie in arrays of the shape (filters, slots, dimensions); filter ``f`` is the union of its
first ``count`` rectangles. All work by cutting: a box is carved along the sides of the rectangles
it meets, and what is left over is uncovered. Coordinates are only compared, never changed, so that
"nothing is left" is exact. No kernel allocates; see :func:`fanwise.arrays.rectangles.make_scratch`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel


class Density(NamedTuple):
    """Where events happen: disjoint cells, ascending by their lower side on the first axis.

    Attributes
    ----------
    lo, hi
        Sides of the cells.
    intensity
        Events per unit of volume inside each.
    reach
        The longest side on the first axis. Without cells events are uniform: measure is volume.
    """

    lo: FloatArray
    hi: FloatArray
    intensity: FloatArray
    reach: float


class Scratch(NamedTuple):
    """Scratch for the pieces of one box: a row each, lower sides first, then upper sides.

    Attributes
    ----------
    pieces
        The first row is where a box goes in; the last is for the piece being carved.
    start
        Which rectangle a piece has to be compared with next.
    spare
        One more box.
    """

    pieces: FloatArray
    start: LongArray
    spare: FloatArray


@kernel
def find_container(
    lo: FloatArray, hi: FloatArray, f: int, count: int, box_lo: FloatArray, box_hi: FloatArray
) -> int:
    """Return the first rectangle of filter ``f`` that holds the box by itself, or -1.

    Changes nothing.
    """
    for r in range(count):
        inside = True
        for axis in range(box_lo.shape[0]):
            if box_lo[axis] < lo[f, r, axis] or box_hi[axis] > hi[f, r, axis]:
                inside = False
                break
        if inside:
            return r
    return -1


@kernel
def load_box(box_lo: FloatArray, box_hi: FloatArray, scratch: Scratch) -> None:
    """Put a box where the cutting starts. Changes ``scratch``."""
    dims = box_lo.shape[0]
    for axis in range(dims):
        scratch.pieces[0, axis] = box_lo[axis]
        scratch.pieces[0, dims + axis] = box_hi[axis]


@kernel
def piece_volume(pieces: FloatArray, row: int) -> float:
    """Volume of one piece. Changes nothing."""
    dims = pieces.shape[1] // 2
    volume = 1.0
    for axis in range(dims):
        side = pieces[row, dims + axis] - pieces[row, axis]
        if side <= 0:
            return 0.0
        volume *= side
    return volume


@kernel
def overlap_volume(lo: FloatArray, hi: FloatArray, f: int, r: int, pieces: FloatArray) -> float:
    """Volume that the box in the first row of the scratch shares with one rectangle.

    Changes nothing.
    """
    dims = pieces.shape[1] // 2
    volume = 1.0
    for axis in range(dims):
        below = max(pieces[0, axis], lo[f, r, axis])
        side = min(pieces[0, dims + axis], hi[f, r, axis]) - below
        if side <= 0:
            return 0.0
        volume *= side
    return volume


@kernel
def piece_mass(pieces: FloatArray, row: int, density: Density) -> float:
    """Events of one piece; only cells whose first axis can reach it are looked at.

    Changes nothing.
    """
    dims = pieces.shape[1] // 2
    first = np.searchsorted(density.lo[:, 0], pieces[row, 0] - density.reach)
    total = 0.0
    for cell in range(first, density.lo.shape[0]):
        if density.lo[cell, 0] >= pieces[row, dims]:
            break
        mass = density.intensity[cell]
        for axis in range(dims):
            below = max(pieces[row, axis], density.lo[cell, axis])
            side = min(pieces[row, dims + axis], density.hi[cell, axis]) - below
            if side <= 0:
                mass = 0.0
                break
            mass *= side
        total += mass
    return total


@kernel
def meets_piece(
    lo: FloatArray, hi: FloatArray, f: int, r: int, pieces: FloatArray, row: int
) -> bool:
    """Whether a rectangle covers a part of a piece that matters.

    A piece may be flat along some axes. What matters there is to contain the one coordinate; along
    the others a common side must have a length, because closed rectangles that only touch a piece
    leave its inside uncovered. Changes nothing.
    """
    dims = pieces.shape[1] // 2
    for axis in range(dims):
        piece_lo = pieces[row, axis]
        piece_hi = pieces[row, dims + axis]
        if piece_lo == piece_hi:
            if piece_lo < lo[f, r, axis] or piece_lo > hi[f, r, axis]:
                return False
        elif max(piece_lo, lo[f, r, axis]) >= min(piece_hi, hi[f, r, axis]):
            return False
    return True


@kernel
def carve_piece(lo: FloatArray, hi: FloatArray, f: int, r: int, top: int, scratch: Scratch) -> int:
    """Replace the piece in row ``top`` by those parts of it that lie outside one rectangle.

    Returns the row after the last part. There are at most two for each axis, so that the parts
    waiting at any time are at most 2 x dimensions x rectangles. Changes ``scratch``.
    """
    pieces = scratch.pieces
    dims = pieces.shape[1] // 2
    work = pieces.shape[0] - 1
    for column in range(2 * dims):
        pieces[work, column] = pieces[top, column]
    for axis in range(dims):
        for upper in range(2):
            side = hi[f, r, axis] if upper else lo[f, r, axis]
            sticks_out = pieces[work, dims + axis] > side if upper else pieces[work, axis] < side
            if not sticks_out:
                continue
            for column in range(2 * dims):
                pieces[top, column] = pieces[work, column]
            if upper:
                pieces[top, axis] = side
                pieces[work, dims + axis] = side
            else:
                pieces[top, dims + axis] = side
                pieces[work, axis] = side
            scratch.start[top] = r + 1
            top += 1
    return top


@kernel
def next_meeting(
    lo: FloatArray, hi: FloatArray, f: int, count: int, top: int, scratch: Scratch
) -> int:
    """Return the first rectangle that the piece in row ``top`` has still to be cut by.

    Changes nothing.
    """
    r = int(scratch.start[top])
    while r < count and not meets_piece(lo, hi, f, r, scratch.pieces, top):
        r += 1
    return r


@kernel
def is_box_covered(lo: FloatArray, hi: FloatArray, f: int, count: int, scratch: Scratch) -> bool:
    """Whether the union holds every point of the box in the scratch; exact, flat boxes too.

    Changes ``scratch``.
    """
    scratch.start[0] = 0
    top = 1
    while top > 0:
        top -= 1
        r = next_meeting(lo, hi, f, count, top, scratch)
        if r == count:
            return False
        top = carve_piece(lo, hi, f, r, top, scratch)
    return True


@kernel
def uncovered_measure(
    lo: FloatArray,
    hi: FloatArray,
    f: int,
    count: int,
    density: Density,
    scratch: Scratch,
    enough: float,
) -> float:
    """Measure of what the box in the scratch has outside the union of filter ``f``.

    That is what the union grows by when the box joins it, and when a rectangle inside the box is
    enlarged to it. Where the result would be above ``enough`` any number above it may be returned.
    Changes ``scratch``.
    """
    whole = piece_volume(scratch.pieces, 0)
    if whole == 0.0:
        return 0.0
    is_uniform = density.lo.shape[0] == 0
    first, meetings, shared = count, 0, 0.0
    for r in range(count):
        overlap = overlap_volume(lo, hi, f, r, scratch.pieces)
        if overlap > 0.0:
            if meetings == 0:
                first = r
            meetings += 1
            shared += overlap
    if is_uniform and (meetings <= 1 or whole - shared > enough):
        return max(whole - shared, 0.0)
    scratch.start[0] = first
    top = 1
    total = 0.0
    while top > 0:
        top -= 1
        r = next_meeting(lo, hi, f, count, top, scratch)
        if r < count:
            top = carve_piece(lo, hi, f, r, top, scratch)
        elif is_uniform:
            total += piece_volume(scratch.pieces, top)
        else:
            total += piece_mass(scratch.pieces, top, density)
    return total


@kernel
def union_measure(
    lo: FloatArray, hi: FloatArray, f: int, count: int, density: Density, scratch: Scratch
) -> float:
    """Measure of the union of a filter: each rectangle counts outside those before it.

    Changes ``scratch``.
    """
    total = 0.0
    for r in range(count):
        load_box(lo[f, r], hi[f, r], scratch)
        total += uncovered_measure(lo, hi, f, r, density, scratch, np.inf)
    return total


@kernel
def union_measures(
    lo: FloatArray, hi: FloatArray, counts: LongArray, density: Density, scratch: Scratch
) -> FloatArray:
    """Measure of the union of each filter. Changes ``scratch``."""
    measures = np.empty(lo.shape[0], dtype=np.float64)
    for f in range(lo.shape[0]):
        measures[f] = union_measure(lo, hi, f, counts[f], density, scratch)
    return measures


@kernel
def sum_volumes(lo: FloatArray, hi: FloatArray, f: int, count: int) -> float:
    """Volumes of the rectangles of a filter, one by one. Changes nothing."""
    total = 0.0
    for r in range(count):
        volume = 1.0
        for axis in range(lo.shape[2]):
            volume *= hi[f, r, axis] - lo[f, r, axis]
        total += volume
    return total


@kernel
def least_growth(
    lo: FloatArray,
    hi: FloatArray,
    f: int,
    count: int,
    slots: int,
    box_lo: FloatArray,
    box_hi: FloatArray,
    density: Density,
    scratch: Scratch,
    enough: float,
) -> tuple[float, int]:
    """Return the least growth of a filter that lets one rectangle hold the box, and the slot.

    Free where a rectangle holds it already. Otherwise the box becomes a rectangle of its own (slot
    ``count``) while fewer than ``slots`` are taken, or one of the old ones grows to the bounding
    box. Ties: the box of its own, then the lowest slot. Where every way costs more than ``enough``,
    the slot may be -1 and the growth anything above it: pass the best of other filters so far. Who
    wants nothing needs no filter: do not ask for the empty box. Changes ``scratch``.
    """
    inside = find_container(lo, hi, f, count, box_lo, box_hi)
    if inside >= 0:
        return 0.0, inside
    dims = box_lo.shape[0]
    best, best_slot = np.inf, -1
    if count < slots:
        load_box(box_lo, box_hi, scratch)
        best = uncovered_measure(lo, hi, f, count, density, scratch, enough)
        best_slot = count
    held = sum_volumes(lo, hi, f, count) if density.lo.shape[0] == 0 else np.inf
    for r in range(count):
        whole = 1.0
        for axis in range(dims):
            below = min(box_lo[axis], lo[f, r, axis])
            above = max(box_hi[axis], hi[f, r, axis])
            scratch.pieces[0, axis] = below
            scratch.pieces[0, dims + axis] = above
            whole *= above - below
        if whole - held > min(best, enough):  # even if all the filter lies inside
            continue
        growth = uncovered_measure(lo, hi, f, count, density, scratch, min(best, enough))
        if growth < best:
            best, best_slot = growth, r
    return best, best_slot
