"""Which brokers' filters hold which types, and enlarging filters until somebody is held."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import Csr, FloatArray, IntArray, LongArray
from fanwise.arrays.flow_kernels import BoolArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.rectangle_kernels import Density, Scratch, find_container
from fanwise.arrays.rectangle_moves import enlarge
from fanwise.arrays.rectangles import make_scratch
from fanwise.assign.arrays import Filters
from fanwise.assign.filters import find_growth
from fanwise.assign.slp_steps.level import Level


def lay_out(
    broker: LongArray, lo: FloatArray, hi: FloatArray, num_brokers: int, alpha: int
) -> Filters:
    """Lay rectangles out, given by ascending broker, with slots for alpha in each at least."""
    counts = np.bincount(broker, minlength=num_brokers).astype(np.int64)
    slots = max(int(counts.max(initial=0)), alpha)
    shape = num_brokers, slots, lo.shape[1]
    filters = Filters(np.zeros(shape), np.zeros(shape), counts)
    # Brokers ascend, so that a rectangle's slot is how far it is from its broker's first.
    slot = np.arange(len(broker)) - (np.cumsum(counts) - counts)[broker]
    filters.lo[broker, slot] = lo
    filters.hi[broker, slot] = hi
    return filters


def expanded(filters: Filters, epsilon: float) -> Filters:
    """Return filters whose rectangles are longer by a fraction along each axis."""
    # The epsilon-expansion of Sec. IV-A.2: half of the fraction on either side.
    margin = epsilon * (filters.hi - filters.lo) / 2
    return Filters(filters.lo - margin, filters.hi + margin, filters.counts.copy())


def covering_brokers(level: Level, filters: Filters) -> Csr:
    """Return the allowed brokers of each type of which one rectangle holds it."""
    keep = find_covering(*level.allowed, level.lo, level.hi, filters)
    indptr = np.concatenate([[0], np.cumsum(keep)])[level.allowed.indptr].astype(np.int64)
    return Csr(indptr, np.ascontiguousarray(level.allowed.indices[keep]))


def cover_rest(level: Level, filters: Filters, types: LongArray) -> None:
    """Enlarge filters, each time where they grow least, until they hold these types as well.

    Heavy types first. Complexity: O(types x allowed brokers x rectangles).
    """
    order = types[np.argsort(-level.weight[types], kind="stable")]
    scratch = make_scratch(filters.lo.shape[1], level.lo.shape[1])
    grow_for_types(
        *level.allowed, level.lo, level.hi, filters, order, level.alpha, level.density, scratch
    )


@kernel
def find_covering(
    indptr: LongArray, brokers: IntArray, lo: FloatArray, hi: FloatArray, filters: Filters
) -> BoolArray:
    """Whether one rectangle of the broker holds the type of each pair; the empty one is held.

    Changes nothing.
    """
    held = np.zeros(len(brokers), dtype=np.bool_)
    for row in range(len(indptr) - 1):
        for at in range(indptr[row], indptr[row + 1]):
            b = brokers[at]
            held[at] = lo[row, 0] > hi[row, 0] or (
                find_container(filters.lo, filters.hi, b, filters.counts[b], lo[row], hi[row]) >= 0
            )
    return held


@kernel
def grow_for_types(
    indptr: LongArray,
    brokers: IntArray,
    lo: FloatArray,
    hi: FloatArray,
    filters: Filters,
    order: LongArray,
    alpha: int,
    density: Density,
    scratch: Scratch,
) -> None:
    """Let the filter that grows least hold each type. Changes ``filters`` and ``scratch``."""
    for row in order:
        best, best_broker, best_slot = np.inf, -1, -1
        for at in range(indptr[row], indptr[row + 1]):
            b = brokers[at]
            growth, slot = find_growth(filters, b, alpha, lo[row], hi[row], density, scratch, best)
            if slot >= 0 and growth < best:
                best, best_broker, best_slot = growth, b, slot
        if best_broker >= 0:
            enlarge(
                filters.lo, filters.hi, filters.counts, best_broker, best_slot, lo[row], hi[row]
            )


@kernel
def growth_of_pairs(
    rows: LongArray,
    pair_brokers: LongArray,
    lo: FloatArray,
    hi: FloatArray,
    filters: Filters,
    alpha: int,
    density: Density,
    scratch: Scratch,
) -> FloatArray:
    """Return by how much the broker's filter would grow to hold the type, for each pair.

    Changes ``scratch``.
    """
    growth = np.empty(len(rows))
    for i in range(len(rows)):
        b, row = pair_brokers[i], rows[i]
        growth[i], _ = find_growth(filters, b, alpha, lo[row], hi[row], density, scratch, np.inf)
    return growth


@kernel
def grow_pairs(
    rows: LongArray,
    pair_brokers: LongArray,
    lo: FloatArray,
    hi: FloatArray,
    filters: Filters,
    alpha: int,
    density: Density,
    scratch: Scratch,
) -> None:
    """Let the broker's filter hold the type, pair by pair. Changes ``filters`` and ``scratch``."""
    for i in range(len(rows)):
        b, row = pair_brokers[i], rows[i]
        _, slot = find_growth(filters, b, alpha, lo[row], hi[row], density, scratch, np.inf)
        enlarge(filters.lo, filters.hi, filters.counts, b, slot, lo[row], hi[row])
