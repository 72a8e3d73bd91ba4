"""Where rectangles stand in the index, and where its axes are cut."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.brokers.matching.slab_kernels import Slabs, fill_bits

LEAST_SLOTS = 64
LEAST_SLABS, MOST_SLABS = 4, 512
SIDES_PER_SLAB = 128
"""Sides that a slab should have: so many comparisons, at most, for a point on one axis."""
MOST_WORDS = 2**24
"""Words of bits in all (128 MiB): beyond, slabs get wider."""


def lay_out(lo: FloatArray, hi: FloatArray, keys: LongArray) -> Slabs:
    """Return slabs for rectangles, given by axis and in any order, and room for half as many more.

    They take the first slots: by size, largest first, and by place where they are of like size.
    """
    dims, count = lo.shape
    num_slots = -(-max(count + count // 2, LEAST_SLOTS) // 64) * 64
    num_words = num_slots // 64
    num_cuts = min(max(2 * count // SIDES_PER_SLAB, LEAST_SLABS), MOST_SLABS) - 1
    num_cuts = max(1, min(num_cuts, MOST_WORDS // (2 * dims * num_words) - 1))
    cuts = np.full((dims, num_cuts), np.inf)
    for axis in range(dims):
        chosen = choose_cuts(lo[axis], hi[axis], num_cuts)
        cuts[axis, : len(chosen)] = chosen
    order = order_by_place(lo, hi, cuts)
    sides_lo = np.full((dims, num_slots), np.inf)
    sides_hi = np.full((dims, num_slots), -np.inf)
    key_of_slot = np.zeros(num_slots, dtype=np.int64)
    # Of one that is empty along some axis, no axis may have a bit.
    is_full = np.asarray((lo <= hi).all(axis=0))[order]
    sides_lo[:, :count] = np.where(is_full, lo[:, order], np.inf)
    sides_hi[:, :count] = np.where(is_full, hi[:, order], -np.inf)
    key_of_slot[:count] = keys[order]
    bits = np.zeros((dims, num_cuts + 1, 2, num_words), dtype=np.uint64)
    words = np.zeros((dims, num_cuts + 1, -(-num_words // 64)), dtype=np.uint64)
    slabs = Slabs(sides_lo, sides_hi, cuts, bits, words, key_of_slot)
    fill_bits(slabs, count)
    return slabs


def choose_cuts(lo: FloatArray, hi: FloatArray, most: int) -> FloatArray:
    """Return different values, as many as may be, with equally many sides between them."""
    sides = np.concatenate([lo, hi])
    sides = np.sort(sides[np.isfinite(sides)])
    if not len(sides):
        return sides
    places = (np.arange(1, most + 1) * len(sides)) // (most + 1)
    return np.unique(sides[places])


def order_by_place(lo: FloatArray, hi: FloatArray, cuts: FloatArray) -> LongArray:
    """Return the order by size, as a power of 2 of slabs, and along a Z-curve through the slabs.

    On the curve of G. M. Morton (1966) the bits of all axes take turns.
    """
    dims, count = lo.shape
    size = np.zeros(count)
    place = np.zeros(count, dtype=np.int64)
    bits_each = min(9, 62 // dims)
    for axis in range(dims):
        first = np.searchsorted(cuts[axis], lo[axis], side="right")
        last = np.searchsorted(cuts[axis], hi[axis], side="right")
        size = np.maximum(size, np.log2(np.maximum(last - first, 0) + 1.0))
        middle = ((first + last) // 2).astype(np.int64) >> (9 - bits_each)
        for bit in range(bits_each):
            place |= ((middle >> bit) & 1) << (bit * dims + axis)
    return np.lexsort((place, -np.floor(size)))
