"""An assignment that moves change and can change back: who is where, filters, journal.

A change is tried, then kept or undone. Filters are copied when they are first touched; amounts that
moved are written down in a journal. Kernels here keep loads, lists and amounts in step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.rectangle_kernels import Scratch, union_measure
from fanwise.assign.arrays import AssignmentArrays, Filters
from fanwise.assign.subscriber_types import SubscriberTypes

MOVED, TOUCHED, WORK = 0, 1, 2
"""Rows of the journal in use; filters copied; what the search has looked at so far."""


class MoveState(NamedTuple):
    """An assignment under way.

    Attributes
    ----------
    amounts
        Members of a type on a broker, for each pair in the rows of the types' brokers.
    spot
        Where a pair stands in the list of its broker; -1: it does not.
    first, size
        The list of each broker: ``listed[first[b]:][:size[b]]``.
    listed, listed_type
        Pairs with members, and their types.
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
        The journal: pairs and what was added to their amounts.
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


def make_state(
    types: SubscriberTypes, amounts: IntArray, filters: Filters, limits: LongArray
) -> MoveState:
    """Return an assignment ready for changes.

    Parameters
    ----------
    limits
        Nowhere below the present load.
    """
    arrays = types.arrays
    num_brokers = arrays.num_brokers
    loads = np.zeros(num_brokers, dtype=np.int64)
    np.add.at(loads, arrays.brokers, amounts)
    rows = np.bincount(arrays.brokers, minlength=num_brokers)
    # A listed pair has a member at least, so that lists are no longer than loads may be.
    longest = np.minimum(rows, np.maximum(limits, loads))
    first = np.concatenate([[0], np.cumsum(longest)]).astype(np.int64)
    order = np.argsort(arrays.parent, kind="stable").astype(np.int32)
    below = np.searchsorted(arrays.parent[order], np.arange(num_brokers + 1))
    # A move that would need more is given up (see recreate): it is one that pays off hardly ever.
    journal = 4 * int(longest.max(initial=0)) + 1024
    state = MoveState(
        amounts=np.zeros(len(arrays.brokers), dtype=np.int32),
        spot=np.full(len(arrays.brokers), -1, dtype=np.int32),
        first=first[:-1],
        size=np.zeros(num_brokers, dtype=np.int64),
        listed=np.empty(first[-1], dtype=np.int64),
        listed_type=np.empty(first[-1], dtype=np.int32),
        loads=np.zeros(num_brokers, dtype=np.int64),
        limits=np.maximum(limits, loads),
        filters=filters.copy(),
        measures=arrays.measures(filters),
        saved=filters.copy(),
        is_touched=np.zeros(num_brokers, dtype=np.bool_),
        touched=np.empty(num_brokers, dtype=np.int32),
        moved=np.empty(journal, dtype=np.int64),
        moved_type=np.empty(journal, dtype=np.int32),
        moved_by=np.empty(journal, dtype=np.int64),
        children_indptr=below.astype(np.int64),
        children=order,
        counters=np.zeros(3, dtype=np.int64),
        box=np.empty((2, arrays.event_dims)),
        scratch=arrays.scratch(),
    )
    fill_lists(arrays, state, amounts)
    return state


@kernel
def fill_lists(arrays: AssignmentArrays, state: MoveState, amounts: IntArray) -> None:
    """Put everybody in the lists. Changes the amounts, loads and lists of ``state``."""
    for t in range(len(arrays.indptr) - 1):
        for pair in range(arrays.indptr[t], arrays.indptr[t + 1]):
            if amounts[pair] > 0:
                shift(
                    state.amounts,
                    state.loads,
                    state.first,
                    state.size,
                    state.listed,
                    state.listed_type,
                    state.spot,
                    arrays.brokers[pair],
                    pair,
                    t,
                    amounts[pair],
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
    pair: int,
    t: int,
    by: int,
) -> None:
    """Add to the amount of a pair, not zero; it enters or leaves the list of its broker.

    Arrays one by one, not as tuples: this is called so often that handing over a tuple shows.
    Changes all arrays but the numbers at the end.
    """
    was = amounts[pair]
    amounts[pair] = was + by
    loads[b] += by
    if was == 0:
        at = first[b] + size[b]
        listed[at] = pair
        listed_type[at] = t
        spot[pair] = size[b]
        size[b] += 1
    elif was + by == 0:
        # The last entry fills the gap: the order of a list carries no meaning.
        size[b] -= 1
        last, at = first[b] + size[b], first[b] + spot[pair]
        listed[at] = listed[last]
        listed_type[at] = listed_type[last]
        spot[listed[at]] = spot[pair]
        spot[pair] = -1


@kernel
def move_amounts(
    arrays: AssignmentArrays,
    state: MoveState,
    pairs: LongArray,
    types: IntArray,
    by: LongArray,
    count: int,
) -> None:
    """Add to the amounts of pairs in a way that can be undone.

    Changes the amounts, loads, lists and journal of ``state``.
    """
    amounts, loads, first, size = state.amounts, state.loads, state.first, state.size
    listed, listed_type, spot = state.listed, state.listed_type, state.spot
    brokers, moved, moved_type = arrays.brokers, state.moved, state.moved_type
    moved_by = state.moved_by
    row = state.counters[MOVED]
    for k in range(count):
        pair, t = pairs[k], types[k]
        moved[row] = pair
        moved_type[row] = t
        moved_by[row] = by[k]
        row += 1
        shift(amounts, loads, first, size, listed, listed_type, spot, brokers[pair], pair, t, by[k])
    state.counters[MOVED] = row


@kernel
def touch(arrays: AssignmentArrays, state: MoveState, broker: int) -> None:
    """Copy the filters of a broker and all above it, before they change.

    Changes what ``state`` keeps of filters before the change.
    """
    b = broker
    # A touched broker has all above it touched as well: the first one ends the walk.
    while b >= 0 and not state.is_touched[b]:
        copy_filter(state.filters, state.saved, b)
        state.is_touched[b] = True
        state.touched[state.counters[TOUCHED]] = b
        state.counters[TOUCHED] += 1
        b = arrays.parent[b]


@kernel
def copy_filter(source: Filters, target: Filters, b: int) -> None:
    """Copy the filter of one broker. Changes ``target``."""
    target.counts[b] = source.counts[b]
    for r in range(source.counts[b]):
        for axis in range(source.lo.shape[2]):
            target.lo[b, r, axis] = source.lo[b, r, axis]
            target.hi[b, r, axis] = source.hi[b, r, axis]


@kernel
def undo(arrays: AssignmentArrays, state: MoveState) -> None:
    """Put everything back to where it was before the change. Changes ``state``."""
    amounts, loads, first, size = state.amounts, state.loads, state.first, state.size
    listed, listed_type, spot = state.listed, state.listed_type, state.spot
    brokers, moved, moved_type = arrays.brokers, state.moved, state.moved_type
    moved_by = state.moved_by
    # Backwards, so that amounts only pass through values they have had: a pair may be in the
    # journal more than once, and below zero its list would be wrong. Lists may end up in another
    # order.
    for row in range(state.counters[MOVED] - 1, -1, -1):
        pair, t, by = moved[row], moved_type[row], -moved_by[row]
        shift(amounts, loads, first, size, listed, listed_type, spot, brokers[pair], pair, t, by)
    for k in range(state.counters[TOUCHED]):
        copy_filter(state.saved, state.filters, state.touched[k])
        state.is_touched[state.touched[k]] = False
    state.counters[MOVED] = 0
    state.counters[TOUCHED] = 0


@kernel
def keep(state: MoveState) -> None:
    """Let a change stand; measures are up to date already.

    Changes what ``state`` keeps of the change.
    """
    for k in range(state.counters[TOUCHED]):
        state.is_touched[state.touched[k]] = False
    state.counters[MOVED] = 0
    state.counters[TOUCHED] = 0


@kernel
def change_in_measure(arrays: AssignmentArrays, state: MoveState, is_final: bool) -> float:
    """Return by how much the filters touched measure more than before; ``is_final`` books it.

    Changes ``state.measures`` where ``is_final``.
    """
    change = 0.0
    filters = state.filters
    for k in range(state.counters[TOUCHED]):
        b = state.touched[k]
        measure = union_measure(
            filters.lo, filters.hi, b, filters.counts[b], arrays.density, state.scratch
        )
        change += measure - state.measures[b]
        if is_final:
            state.measures[b] = measure
    return change
