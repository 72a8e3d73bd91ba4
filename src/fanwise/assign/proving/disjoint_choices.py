"""How many brokers an event must pass because nobody is near all who want it.

Subscribers who have no broker in common need one each. So for each cell of the event space, taking
subscribers who want it as long as their allowed brokers meet none of those before, those with the
fewest brokers first, counts brokers that cannot be done without. On a level above the leaves the
ancestors of the allowed brokers take their place.

Guarantee
    Those taken in a cell share no broker, so that the count is valid in whatever order they are
    taken; the order only makes it large.

Complexity
    O(cells of each subscriber's rectangle x brokers / 64), MOST_STEPS cells at most.

References
----------
    Our own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.assign.arrays import AssignmentArrays, depths

MOST_STEPS = 100_000_000
"""Cells visited at most, over all subscribers; who comes later is left out, which is valid."""

WORD = 64
Bits = npt.NDArray[np.uint64]


def take_disjoint(
    arrays: AssignmentArrays, subscribers: LongArray, grid: list[FloatArray], level: int | None
) -> tuple[LongArray, LongArray]:
    """Return how many brokers of a level each cell needs, and who was taken anywhere, in order.

    Taking those alone gives the same counts.

    Parameters
    ----------
    level
        Brokers between the publisher and the level, which no leaf is above; None for the leaves.
    """
    group = ancestors(arrays, level)
    masks = allowed_masks(arrays, group)[subscribers]
    sizes = np.bitwise_count(masks).sum(axis=1)
    # Those with few brokers block few others: a greedy packing of sets.
    order = np.argsort(sizes, kind="stable")
    order = order[sizes[order] > 0]
    lo, hi = arrays.lo[subscribers[order]], arrays.hi[subscribers[order]]
    first = [np.searchsorted(some, lo[:, axis], "left") for axis, some in enumerate(grid)]
    last = [np.searchsorted(some, hi[:, axis], "right") - 1 for axis, some in enumerate(grid)]
    shape = np.array([len(some) - 1 for some in grid], dtype=np.int64)
    starts, ends = (np.column_stack(some).astype(np.int64) for some in (first, last))
    is_taken = np.zeros(len(order), dtype=np.bool_)
    counts = pack_cells(starts, ends, masks[order], shape, MOST_STEPS, is_taken)
    return counts, subscribers[order[is_taken]]


def ancestors(arrays: AssignmentArrays, level: int | None) -> IntArray:
    """Return the broker of a level that each leaf is below; itself for the leaves."""
    above = np.arange(arrays.num_brokers, dtype=np.int32)
    if level is not None:
        depth = depths(arrays.parent)
        while (depth[above] > level).any():
            above = np.where(depth[above] > level, arrays.parent[above], above).astype(np.int32)
    return above


def allowed_masks(arrays: AssignmentArrays, group: IntArray) -> Bits:
    """Return the groups of allowed brokers with a share as bits, a row for each subscriber."""
    words = (arrays.num_brokers + WORD - 1) // WORD
    masks = np.zeros((arrays.num_subscribers, words), dtype=np.uint64)
    set_bits(arrays.indptr, arrays.brokers, arrays.share, group, masks)
    return masks


@kernel
def set_bits(
    indptr: LongArray, brokers: IntArray, share: FloatArray, group: IntArray, masks: Bits
) -> None:
    """Set the bits of allowed brokers. Changes ``masks``."""
    for j in range(len(indptr) - 1):
        for pair in range(indptr[j], indptr[j + 1]):
            if share[brokers[pair]] > 0:
                bit = group[brokers[pair]]
                masks[j, bit // WORD] |= np.uint64(1) << np.uint64(bit % WORD)


@kernel
def pack_cells(
    first: LongArray,
    last: LongArray,
    masks: Bits,
    shape: LongArray,
    most_steps: int,
    is_taken: npt.NDArray[np.bool_],
) -> LongArray:
    """Take, in every cell, each box that holds it and whose mask meets none before; count them.

    ``is_taken`` is set for boxes that are taken in any cell. Changes ``is_taken``.
    """
    dims, words = len(shape), masks.shape[1]
    num_cells = 1
    for axis in range(dims):
        num_cells *= shape[axis]
    counts = np.zeros(num_cells, dtype=np.int64)
    used = np.zeros((num_cells, words), dtype=np.uint64)
    at = np.empty(dims, dtype=np.int64)
    steps = 0
    for row in range(len(first)):
        size = 1
        for axis in range(dims):
            size *= max(last[row, axis] - first[row, axis], 0)
            at[axis] = first[row, axis]
        steps += size
        if steps > most_steps:
            break
        for _ in range(size):
            cell = 0
            for axis in range(dims):
                cell = cell * shape[axis] + at[axis]
            meets = False
            for k in range(words):
                meets = meets or (used[cell, k] & masks[row, k]) != 0
            if not meets:
                counts[cell] += 1
                is_taken[row] = True
                for k in range(words):
                    used[cell, k] |= masks[row, k]
            axis = dims - 1
            at[axis] += 1
            while axis > 0 and at[axis] == last[row, axis]:
                at[axis] = first[row, axis]
                axis -= 1
                at[axis] += 1
    return counts
