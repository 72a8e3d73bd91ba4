"""Kernels of the search for covers: pieces, rectangles that hold the first one, what is left."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import ROUNDING
from fanwise.assign.covers.cell_kernels import BoolArray, box_mass, fill_table, hold_cells, new_mass

Bits = npt.NDArray[np.uint64]
WORD = 64


@kernel
def pieces_of(
    sizes: LongArray, lo: LongArray, hi: LongArray, needed: BoolArray
) -> tuple[LongArray, LongArray]:
    """Return the pieces of boxes, each between lines of the grid that are one apart or the same.

    First all cells, then flat pieces of those boxes that are flat: a flat piece of another box is
    a side of one of its cells. Changes nothing.
    """
    dims = len(sizes)
    count = 0
    for cell in range(len(needed)):
        count += needed[cell]
    for row in range(len(lo)):
        size, is_flat = 1, False
        for axis in range(dims):
            size *= max(hi[row, axis] - lo[row, axis], 1)
            is_flat = is_flat or lo[row, axis] == hi[row, axis]
        if is_flat:
            count += size
    out_lo, out_hi = np.empty((count, dims), np.int64), np.empty((count, dims), np.int64)
    count = 0
    for cell in range(len(needed)):
        if needed[cell]:
            # Cells are numbered in C order, the last axis fastest.
            left = cell
            for axis in range(dims - 1, -1, -1):
                out_lo[count, axis] = left % sizes[axis]
                out_hi[count, axis] = out_lo[count, axis] + 1
                left //= sizes[axis]
            count += 1
    for row in range(len(lo)):
        size, is_flat = 1, False
        for axis in range(dims):
            size *= max(hi[row, axis] - lo[row, axis], 1)
            is_flat = is_flat or lo[row, axis] == hi[row, axis]
        if not is_flat:
            continue
        for number in range(size):
            left = number
            for axis in range(dims - 1, -1, -1):
                # A flat axis counts as one piece, whose two sides are the same line.
                length = max(hi[row, axis] - lo[row, axis], 1)
                out_lo[count, axis] = lo[row, axis] + left % length
                wide = 1 if hi[row, axis] > lo[row, axis] else 0
                out_hi[count, axis] = out_lo[count, axis] + wide
                left //= length
            count += 1
    return out_lo, out_hi


class Marks(NamedTuple):
    """Sets of pieces as bits, by axis and line of the grid.

    Attributes
    ----------
    lo_from, hi_to
        Those whose lower side is at the line or above; whose upper side is there or below.
    lo_at, hi_at
        Those with a side at the line.
    """

    lo_from: Bits
    hi_to: Bits
    lo_at: Bits
    hi_at: Bits


@kernel
def mark_pieces(sizes: LongArray, piece_lo: LongArray, piece_hi: LongArray) -> Marks:
    """Return pieces as bits. Changes nothing."""
    dims, num_lines, words = len(sizes), sizes.max() + 1, (len(piece_lo) + WORD - 1) // WORD
    shape = dims, num_lines, words
    lo_from, hi_to = np.zeros(shape, np.uint64), np.zeros(shape, np.uint64)
    lo_at, hi_at = np.zeros(shape, np.uint64), np.zeros(shape, np.uint64)
    for piece in range(len(piece_lo)):
        word, bit = piece // WORD, np.uint64(1) << np.uint64(piece % WORD)
        for axis in range(dims):
            lo_at[axis, piece_lo[piece, axis], word] |= bit
            hi_at[axis, piece_hi[piece, axis], word] |= bit
            for line in range(piece_lo[piece, axis] + 1):
                lo_from[axis, line, word] |= bit
            for line in range(piece_hi[piece, axis], num_lines):
                hi_to[axis, line, word] |= bit
    return Marks(lo_from, hi_to, lo_at, hi_at)


@kernel
def search_covers(
    cells: FloatArray,
    sizes: LongArray,
    piece_lo: LongArray,
    piece_hi: LongArray,
    needed: BoolArray,
    alpha: int,
    most: float,
    most_steps: int,
    is_listing: bool,
    out_lo: LongArray,
    out_hi: LongArray,
    out_counts: LongArray,
    out_mass: FloatArray,
) -> tuple[int, int]:
    """Write covers to ``out``; return how many there are, and the steps it took.

    Where ``is_listing``, all of them up to ``most``, as far as there are slots. Otherwise only the
    best, if it measures less than ``most``.
    Changes ``out_lo``, ``out_hi``, ``out_counts`` and ``out_mass``.
    """
    dims, num_pieces = len(sizes), len(piece_lo)
    marks = mark_pieces(sizes, piece_lo, piece_hi)
    words = marks.lo_at.shape[2]
    strides = np.ones(dims, dtype=np.int64)
    for axis in range(dims - 2, -1, -1):
        strides[axis] = strides[axis + 1] * (sizes[axis + 1] + 1)
    # For each level: pieces left, cells held, measure, a table of what is not held yet, and the
    # rectangle that is tried, between the least and the largest.
    left = np.zeros((alpha + 1, words), dtype=np.uint64)
    held = np.zeros((alpha + 1, len(needed)), dtype=np.bool_)
    mass = np.zeros(alpha + 1)
    table = np.zeros((alpha, strides[0] * (sizes[0] + 1)))
    lo, hi = np.zeros((alpha, dims), np.int64), np.zeros((alpha, dims), np.int64)
    start_lo, start_hi = np.zeros((alpha, dims), np.int64), np.zeros((alpha, dims), np.int64)
    end_lo, end_hi = np.zeros((alpha, dims), np.int64), np.zeros((alpha, dims), np.int64)
    at = np.empty(dims, dtype=np.int64)
    for piece in range(num_pieces):
        left[0, piece // WORD] |= np.uint64(1) << np.uint64(piece % WORD)
    everything = 0.0
    for cell in range(len(needed)):
        held[0, cell] = needed[cell]
        everything += cells[cell]
        if needed[cell]:
            mass[0] += cells[cell]
    margin = ROUNDING * everything  # sums and differences of a table may be off by that
    found, steps = 0, 0
    level, is_new = 0, True
    # Depth first without recursion: rectangles below ``level`` stand, the one at ``level`` is being
    # tried. ``is_new`` says that the level was just entered and has no range of rectangles yet.
    # ``mass[level]`` measures what must be held together with the rectangles that stand: it only
    # grows on the way down, so that it bounds every cover of the branch.
    while level >= 0 and steps <= most_steps:
        if is_new and is_empty(left[level]):
            if not is_listing:
                most, found = mass[level], 0
            # Counting goes on without slots, so that the caller can offer enough of them next time.
            if found < len(out_mass):
                write_cover(lo, hi, level, mass[level], found, out_lo, out_hi, out_counts, out_mass)
            found += 1
            level -= 1
            is_new = False
            continue
        if is_new:
            set_ends(
                marks, piece_lo, piece_hi, left[level], start_lo[level], start_hi[level],
                end_lo[level], end_hi[level],
            )  # fmt: skip
            steps += words * len(marks.lo_at[0])
            # The last rectangle has no choice: the bounding box of everything that is left.
            if level == alpha - 1:
                start_lo[level], start_hi[level] = end_lo[level], end_hi[level]
            else:
                fill_table(cells, sizes, strides, held[level], table[level], at)
                steps += len(needed)
            lo[level], hi[level] = start_lo[level], start_hi[level]
        elif not next_rectangle(
            lo[level], hi[level], start_lo[level], start_hi[level], end_lo[level], end_hi[level]
        ):
            level -= 1
            continue
        is_new = False
        steps += 1 + words
        if level < alpha - 1:
            # The table's sums are quick but rounded: they only decide what to skip, with a margin.
            # Rectangles around one that is too large are too large as well.
            about = mass[level] + box_mass(table[level], strides, lo[level], hi[level])
            if about - margin > most:
                skip_larger(
                    lo[level], hi[level], start_lo[level], start_hi[level], end_lo[level],
                    end_hi[level],
                )  # fmt: skip
                continue
        if not take_pieces(marks, left[level], lo[level], hi[level], left[level + 1]):
            continue
        total = mass[level] + new_mass(cells, sizes, lo[level], hi[level], held[level], at)
        steps += len(needed)
        # A list takes what measures as much as ``most``; the best one must beat it by more than
        # rounding, or equal covers would replace each other.
        is_above = total > most if is_listing else total >= most * (1 - ROUNDING)
        if is_above:
            continue
        mass[level + 1] = total
        held[level + 1] = held[level]
        hold_cells(sizes, lo[level], hi[level], held[level + 1], at)
        level += 1
        is_new = True
    return found, steps


@kernel
def is_empty(some: Bits) -> bool:
    """Whether a set of bits is empty. Changes nothing."""
    total = np.uint64(0)
    for word in range(len(some)):
        total |= some[word]
    return bool(total == 0)


@kernel
def write_cover(
    lo: LongArray,
    hi: LongArray,
    count: int,
    mass: float,
    row: int,
    out_lo: LongArray,
    out_hi: LongArray,
    out_counts: LongArray,
    out_mass: FloatArray,
) -> None:
    """Write the first rectangles down as a cover. Changes row ``row`` of the arrays ``out``."""
    out_counts[row] = count
    out_mass[row] = mass
    for slot in range(count):
        for axis in range(lo.shape[1]):
            out_lo[row, slot, axis] = lo[slot, axis]
            out_hi[row, slot, axis] = hi[slot, axis]


@kernel
def set_ends(
    marks: Marks,
    piece_lo: LongArray,
    piece_hi: LongArray,
    left: Bits,
    start_lo: LongArray,
    start_hi: LongArray,
    end_lo: LongArray,
    end_hi: LongArray,
) -> None:
    """Set the least rectangle that holds the first piece left, and the largest worth trying.

    Changes ``start_lo``, ``start_hi``, ``end_lo`` and ``end_hi``.
    """
    dims, num_lines, words = marks.lo_at.shape
    for axis in range(dims):
        end_lo[axis] = end_hi[axis] = -1
        for line in range(num_lines):
            if end_lo[axis] < 0 and meets(left, marks.lo_at[axis, line]):
                end_lo[axis] = line
            if meets(left, marks.hi_at[axis, line]):
                end_hi[axis] = line
    # Branch on a piece on the lowest line of the first axis: no rectangle has to begin below it, so
    # that ``start_lo[0]`` and ``end_lo[0]`` agree and one side less has to be tried.
    first = -1
    for word in range(words):
        some = left[word] & marks.lo_at[0, end_lo[0], word]
        if some != 0:
            bit = 0
            while (some >> np.uint64(bit)) & np.uint64(1) == 0:
                bit += 1
            first = word * WORD + bit
            break
    for axis in range(dims):
        start_lo[axis], start_hi[axis] = piece_lo[first, axis], piece_hi[first, axis]


@kernel
def meets(some: Bits, other: Bits) -> bool:
    """Whether two sets of bits have one in common. Changes nothing."""
    total = np.uint64(0)
    for word in range(len(some)):
        total |= some[word] & other[word]
    return bool(total != 0)


@kernel
def next_rectangle(
    lo: LongArray,
    hi: LongArray,
    start_lo: LongArray,
    start_hi: LongArray,
    end_lo: LongArray,
    end_hi: LongArray,
) -> bool:
    """Go on to the next rectangle between the least and the largest; False after the last.

    Changes ``lo`` and ``hi``.
    """
    # An odometer whose digits are the upper and lower side of each axis, the first axis fastest.
    # Each digit starts tight around the piece and moves outwards.
    for axis in range(len(lo)):
        if hi[axis] < end_hi[axis]:
            hi[axis] += 1
            return True
        hi[axis] = start_hi[axis]
        if lo[axis] > end_lo[axis]:
            lo[axis] -= 1
            return True
        lo[axis] = start_lo[axis]
    return False


@kernel
def skip_larger(
    lo: LongArray,
    hi: LongArray,
    start_lo: LongArray,
    start_hi: LongArray,
    end_lo: LongArray,
    end_hi: LongArray,
) -> None:
    """Skip rectangles that come next and hold the present one.

    As long as sides are where they start, those further on only move outwards.
    Changes ``lo`` and ``hi``.
    """
    # Digits at their start can only move outwards from here, and the first one that is not still
    # moves outwards until it is reset. Put at their ends, all of these are left behind by the next
    # step of the odometer.
    for axis in range(len(lo)):
        is_least = hi[axis] == start_hi[axis]
        hi[axis] = end_hi[axis]
        if not is_least:
            return
        is_least = lo[axis] == start_lo[axis]
        lo[axis] = end_lo[axis]
        if not is_least:
            return


@kernel
def take_pieces(marks: Marks, left: Bits, lo: LongArray, hi: LongArray, rest: Bits) -> bool:
    """List what a rectangle leaves over; False where it is larger than what it holds.

    Changes ``rest``.
    """
    dims, words = len(lo), len(left)
    for word in range(words):
        inside = left[word]
        for axis in range(dims):
            inside &= marks.lo_from[axis, lo[axis], word] & marks.hi_to[axis, hi[axis], word]
        rest[word] = left[word] & ~inside
    # A side that touches nothing inside could move inwards and hold the same pieces: that smaller
    # rectangle is tried by itself.
    for axis in range(dims):
        is_low = is_high = False
        for word in range(words):
            inside = left[word] & ~rest[word]
            is_low = is_low or (inside & marks.lo_at[axis, lo[axis], word]) != 0
            is_high = is_high or (inside & marks.hi_at[axis, hi[axis], word]) != 0
        if not (is_low and is_high):
            return False
    return True
