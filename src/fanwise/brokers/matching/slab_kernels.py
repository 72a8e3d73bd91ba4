"""Kernels of the rectangle index: slabs along each axis, and who touches or covers each.

Along an axis, cuts divide the line into slabs: slab i holds what is at or above cut i - 1 and below
cut i. For each slab one bit per slot tells whether the slot's rectangle has a point in it
(*touches*), another whether it has all of it (*covers*). A point is in one slab of each axis:
rectangles that touch all of these are candidates, and of them those that cover all of these hold
the point for certain; the sides of the others are compared.

Rectangles of like size and place stand in neighbouring slots, so that most words of bits are 0. One
more bit for each slab and word tells which are not: words that are 0 in some axis are never read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel

Bits = npt.NDArray[np.uint64]

TOUCHES, COVERS = range(2)
BIT_OF_REST = np.full(67, -1, dtype=np.int64)
"""By what a power of 2 leaves over when divided by 67: its logarithm. They are all different."""
for _bit in range(64):
    BIT_OF_REST[2**_bit % 67] = _bit


class Slabs(NamedTuple):
    """Rectangles in slots, and the bits of their slabs.

    Attributes
    ----------
    lo, hi
        Sides by axis and slot; (+inf, -inf) in slots that are free.
    cuts
        By axis, ascending; padded by +inf.
    bits
        By axis, slab, touches or covers, and word of 64 slots.
    words
        By axis, slab and 64 words: in which words somebody touches the slab.
    key_of_slot
        Under what each rectangle is held.
    """

    lo: FloatArray
    hi: FloatArray
    cuts: FloatArray
    bits: Bits
    words: Bits
    key_of_slot: LongArray


@kernel
def count_up_to(cuts: FloatArray, value: float) -> int:
    """Return how many cuts are at or below a value: the slab that it is in. Changes nothing."""
    low, high = 0, len(cuts)
    while low < high:
        middle = (low + high) >> 1
        if cuts[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def count_below(cuts: FloatArray, value: float) -> int:
    """Return how many cuts are below a value. Changes nothing."""
    low, high = 0, len(cuts)
    while low < high:
        middle = (low + high) >> 1
        if cuts[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def slab_ranges(cuts: FloatArray, lo: float, hi: float) -> tuple[int, int, int, int]:
    """Return the slabs that an interval touches, and those that it covers.

    Each as the first and the one after the last; none where these are equal. Changes nothing.
    """
    first, last = count_up_to(cuts, lo), count_up_to(cuts, hi) + 1
    # Slab i begins at cut i - 1, the first one at -inf.
    covered_first = 0 if lo == -np.inf else count_below(cuts, lo) + 1
    covered_last = last if hi == np.inf else last - 1
    return first, last, covered_first, max(covered_first, covered_last)


@kernel
def write_slot(slabs: Slabs, slot: int, is_held: bool) -> None:
    """Set the bits of a slot's rectangle, or clear them. O(slabs). Changes ``bits``, ``words``."""
    word, bit = slot >> 6, np.uint64(1) << np.uint64(slot & 63)
    word_bit = np.uint64(1) << np.uint64(word & 63)
    for axis in range(slabs.lo.shape[0]):
        lo, hi = slabs.lo[axis, slot], slabs.hi[axis, slot]
        first, last, covered_first, covered_last = slab_ranges(slabs.cuts[axis], lo, hi)
        for slab in range(first, last):
            if is_held:
                slabs.bits[axis, slab, TOUCHES, word] |= bit
                slabs.words[axis, slab, word >> 6] |= word_bit
            else:
                slabs.bits[axis, slab, TOUCHES, word] &= ~bit
                if slabs.bits[axis, slab, TOUCHES, word] == 0:
                    slabs.words[axis, slab, word >> 6] &= ~word_bit
        for slab in range(covered_first, covered_last):
            if is_held:
                slabs.bits[axis, slab, COVERS, word] |= bit
            else:
                slabs.bits[axis, slab, COVERS, word] &= ~bit


@kernel
def fill_bits(slabs: Slabs, num_slots: int) -> None:
    """Set the bits of the first slots, all clear before. Changes ``bits`` and ``words``.

    Each slab begins as a copy of the one before, with the bits flipped of those that begin or end
    there: O(slabs x words + slots) for each axis, and memory is walked in order.
    """
    num_axes, num_slabs = slabs.bits.shape[0], slabs.bits.shape[1]
    for axis in range(num_axes):
        for kind in range(2):
            starts = np.zeros(num_slabs + 2, dtype=np.int64)
            edges = np.empty((num_slots, 2), dtype=np.int64)
            for slot in range(num_slots):
                lo, hi = slabs.lo[axis, slot], slabs.hi[axis, slot]
                touch_first, touch_last, cover_first, cover_last = slab_ranges(
                    slabs.cuts[axis], lo, hi
                )
                edges[slot, 0] = touch_first if kind == TOUCHES else cover_first
                edges[slot, 1] = touch_last if kind == TOUCHES else cover_last
                if lo > hi:
                    edges[slot, 1] = edges[slot, 0]
                for end in range(2):
                    starts[edges[slot, end] + 1] += 1
            for slab in range(num_slabs + 1):
                starts[slab + 1] += starts[slab]
            flips = np.empty(2 * num_slots, dtype=np.int64)
            at = starts[:-1].copy()
            for slot in range(num_slots):
                for end in range(2):
                    slab = edges[slot, end]
                    flips[at[slab]] = slot
                    at[slab] += 1
            for slab in range(num_slabs):
                row = slabs.bits[axis, slab, kind]
                if slab > 0:
                    row[:] = slabs.bits[axis, slab - 1, kind]
                for i in range(starts[slab], starts[slab + 1]):
                    row[flips[i] >> 6] ^= np.uint64(1) << np.uint64(flips[i] & 63)
                if kind == TOUCHES:
                    for word in range(len(row)):
                        if row[word] != 0:
                            bit = np.uint64(1) << np.uint64(word & 63)
                            slabs.words[axis, slab, word >> 6] |= bit


@kernel
def is_inside(slabs: Slabs, slot: int, point: FloatArray) -> bool:
    """Whether a slot's closed rectangle holds a point. Changes nothing."""
    for axis in range(len(point)):
        if not slabs.lo[axis, slot] <= point[axis] <= slabs.hi[axis, slot]:
            return False
    return True


@kernel
def stab(slabs: Slabs, point: FloatArray, found: LongArray) -> int:
    """Write the keys of the rectangles that hold a point; return how many.

    O(axes x words / 64 + axes x words not 0 + candidates). Changes ``found``.
    """
    num_axes = len(point)
    rows = np.empty(num_axes, dtype=np.int64)
    for axis in range(num_axes):
        if np.isnan(point[axis]):
            return 0
        rows[axis] = count_up_to(slabs.cuts[axis], point[axis])
    count = 0
    for block in range(slabs.words.shape[2]):
        words = slabs.words[0, rows[0], block]
        for axis in range(1, num_axes):
            words &= slabs.words[axis, rows[axis], block]
        while words != 0:
            lowest_word = words & (~words + np.uint64(1))
            words ^= lowest_word
            word = (block << 6) + BIT_OF_REST[lowest_word % np.uint64(67)]
            touched = slabs.bits[0, rows[0], TOUCHES, word]
            for axis in range(1, num_axes):
                touched &= slabs.bits[axis, rows[axis], TOUCHES, word]
            if touched == 0:
                continue
            covered = touched
            for axis in range(num_axes):
                covered &= slabs.bits[axis, rows[axis], COVERS, word]
            while touched != 0:
                lowest = touched & (~touched + np.uint64(1))
                touched ^= lowest
                slot = (word << 6) + BIT_OF_REST[lowest % np.uint64(67)]
                if covered & lowest != 0 or is_inside(slabs, slot, point):
                    found[count] = slabs.key_of_slot[slot]
                    count += 1
    return count


@kernel
def stab_many(slabs: Slabs, points: FloatArray, found: LongArray) -> LongArray:
    """Return how many rectangles hold each point; keys are not kept. Changes ``found``."""
    counts = np.empty(len(points), dtype=np.int64)
    for i in range(len(points)):
        counts[i] = stab(slabs, points[i], found)
    return counts
