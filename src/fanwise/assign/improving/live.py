"""An assignment that changes and can be changed back: who is where, filters, journal.

A change is tried, then kept or undone. Filters are copied when they are first touched; amounts that
moved are written down in a journal. Kernels here keep loads, lists and amounts in step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.rectangle_kernels import Scratch, union_measure
from fanwise.assign.ground import Filters, Ground
from fanwise.assign.improving.crowd import Crowd

MOVED, TOUCHED, WORK = 0, 1, 2
"""Rows of the journal in use; filters copied; what the search has looked at so far."""


class Live(NamedTuple):
    """An assignment under way.

    Attributes
    ----------
    amounts
        Members of a type on a broker, for each place in the rows of the types' brokers.
    spot
        Where a place stands in the list of its broker; -1: it does not.
    first, size
        The list of each broker: ``listed[first[b]:][:size[b]]``.
    listed, listed_type
        Places with members, and their types.
    loads, limits
        Members of each broker now, and at most.
    filters
        What the brokers let through; each box below lies in one rectangle.
    measures
        Of the filters when the present change began.
    saved
        Filters as they were when the present change began, where ``is_touched``.
    touched
        Brokers in the order they were touched.
    moved, moved_type, moved_by
        The journal: places and what was added to their amounts.
    children_indptr, children
        The brokers below each inner broker.
    counters
        See ``MOVED``, ``TOUCHED``, ``WORK``.
    """

    amounts: IntArray
    spot: IntArray
    first: LongArray
    size: LongArray
    listed: LongArray
    listed_type: IntArray
    loads: LongArray
    limits: LongArray
    filters: Filters
    measures: FloatArray
    saved: Filters
    is_touched: np.ndarray
    touched: IntArray
    moved: LongArray
    moved_type: IntArray
    moved_by: LongArray
    children_indptr: LongArray
    children: IntArray
    counters: LongArray
    box: FloatArray
    scratch: Scratch


def make_live(crowd: Crowd, amounts: IntArray, filters: Filters, limits: LongArray) -> Live:
    """Return an assignment ready for changes.

    Parameters
    ----------
    limits
        Nowhere below the present load.
    """
    ground = crowd.ground
    num_brokers = ground.num_brokers
    loads = np.zeros(num_brokers, dtype=np.int64)
    np.add.at(loads, ground.brokers, amounts)
    rows = np.bincount(ground.brokers, minlength=num_brokers)
    room = np.minimum(rows, np.maximum(limits, loads))
    first = np.concatenate([[0], np.cumsum(room)]).astype(np.int64)
    order = np.argsort(ground.parent, kind="stable").astype(np.int32)
    below = np.searchsorted(ground.parent[order], np.arange(num_brokers + 1))
    journal = 4 * int(room.max(initial=0)) + 1024
    live = Live(
        amounts=np.zeros(len(ground.brokers), dtype=np.int32),
        spot=np.full(len(ground.brokers), -1, dtype=np.int32),
        first=first[:-1],
        size=np.zeros(num_brokers, dtype=np.int64),
        listed=np.empty(first[-1], dtype=np.int64),
        listed_type=np.empty(first[-1], dtype=np.int32),
        loads=np.zeros(num_brokers, dtype=np.int64),
        limits=np.maximum(limits, loads),
        filters=filters.copy(),
        measures=ground.measures(filters),
        saved=filters.copy(),
        is_touched=np.zeros(num_brokers, dtype=np.bool_),
        touched=np.empty(num_brokers, dtype=np.int32),
        moved=np.empty(journal, dtype=np.int64),
        moved_type=np.empty(journal, dtype=np.int32),
        moved_by=np.empty(journal, dtype=np.int64),
        children_indptr=below.astype(np.int64),
        children=order,
        counters=np.zeros(3, dtype=np.int64),
        box=np.empty((2, ground.event_dims)),
        scratch=ground.scratch(),
    )
    fill_lists(ground, live, amounts)
    return live


@kernel
def fill_lists(ground: Ground, live: Live, amounts: IntArray) -> None:
    """Put everybody in the lists."""
    for t in range(len(ground.indptr) - 1):
        for place in range(ground.indptr[t], ground.indptr[t + 1]):
            if amounts[place] > 0:
                shift(
                    live.amounts,
                    live.loads,
                    live.first,
                    live.size,
                    live.listed,
                    live.listed_type,
                    live.spot,
                    ground.brokers[place],
                    place,
                    t,
                    amounts[place],
                )


@kernel
def shift(
    amounts: IntArray,
    loads: LongArray,
    first: LongArray,
    size: LongArray,
    listed: LongArray,
    listed_type: IntArray,
    spot: IntArray,
    b: int,
    place: int,
    t: int,
    by: int,
) -> None:
    """Add to the amount of a place, not zero; it enters or leaves the list of its broker.

    Arrays one by one, not as tuples: this is called so often that handing over a tuple shows.
    """
    was = amounts[place]
    amounts[place] = was + by
    loads[b] += by
    if was == 0:
        at = first[b] + size[b]
        listed[at] = place
        listed_type[at] = t
        spot[place] = size[b]
        size[b] += 1
    elif was + by == 0:
        size[b] -= 1
        last, at = first[b] + size[b], first[b] + spot[place]
        listed[at] = listed[last]
        listed_type[at] = listed_type[last]
        spot[listed[at]] = spot[place]
        spot[place] = -1


@kernel
def move_amounts(
    ground: Ground, live: Live, places: LongArray, types: IntArray, by: LongArray, count: int
) -> None:
    """Add to the amounts of places in a way that can be undone."""
    amounts, loads, first, size = live.amounts, live.loads, live.first, live.size
    listed, listed_type, spot = live.listed, live.listed_type, live.spot
    brokers, moved, moved_type = ground.brokers, live.moved, live.moved_type
    moved_by = live.moved_by
    row = live.counters[MOVED]
    for k in range(count):
        place, t = places[k], types[k]
        moved[row] = place
        moved_type[row] = t
        moved_by[row] = by[k]
        row += 1
        shift(
            amounts, loads, first, size, listed, listed_type, spot, brokers[place], place, t, by[k]
        )
    live.counters[MOVED] = row


@kernel
def touch(ground: Ground, live: Live, broker: int) -> None:
    """Copy the filters of a broker and all above it, before they change."""
    b = broker
    while b >= 0 and not live.is_touched[b]:
        copy_filter(live.filters, live.saved, b)
        live.is_touched[b] = True
        live.touched[live.counters[TOUCHED]] = b
        live.counters[TOUCHED] += 1
        b = ground.parent[b]


@kernel
def copy_filter(source: Filters, target: Filters, b: int) -> None:
    """Copy the filter of one broker."""
    target.counts[b] = source.counts[b]
    for r in range(source.counts[b]):
        for axis in range(source.lo.shape[2]):
            target.lo[b, r, axis] = source.lo[b, r, axis]
            target.hi[b, r, axis] = source.hi[b, r, axis]


@kernel
def undo(ground: Ground, live: Live) -> None:
    """Put everything back to where it was before the change."""
    amounts, loads, first, size = live.amounts, live.loads, live.first, live.size
    listed, listed_type, spot = live.listed, live.listed_type, live.spot
    brokers, moved, moved_type = ground.brokers, live.moved, live.moved_type
    moved_by = live.moved_by
    for row in range(live.counters[MOVED] - 1, -1, -1):
        place, t, by = moved[row], moved_type[row], -moved_by[row]
        shift(amounts, loads, first, size, listed, listed_type, spot, brokers[place], place, t, by)
    for k in range(live.counters[TOUCHED]):
        copy_filter(live.saved, live.filters, live.touched[k])
        live.is_touched[live.touched[k]] = False
    live.counters[MOVED] = 0
    live.counters[TOUCHED] = 0


@kernel
def keep(live: Live) -> None:
    """Let a change stand; measures are up to date already."""
    for k in range(live.counters[TOUCHED]):
        live.is_touched[live.touched[k]] = False
    live.counters[MOVED] = 0
    live.counters[TOUCHED] = 0


@kernel
def change_in_measure(ground: Ground, live: Live, is_final: bool) -> float:
    """Return by how much the filters touched measure more than before; ``is_final`` books it."""
    change = 0.0
    filters = live.filters
    for k in range(live.counters[TOUCHED]):
        b = live.touched[k]
        measure = union_measure(
            filters.lo, filters.hi, b, filters.counts[b], ground.density, live.scratch
        )
        change += measure - live.measures[b]
        if is_final:
            live.measures[b] = measure
    return change
