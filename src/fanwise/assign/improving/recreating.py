"""Brokers for those without a broker: where they fit already, else where filters grow least.

Where brokers are full, somebody else may make room and go to a broker that has some: for nothing,
where its filter holds what they want, or where it grows little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.assign.arrays import AssignmentArrays
from fanwise.assign.greedy_kernels import grow_path
from fanwise.assign.improving.move_state import MOVED, WORK, MoveState, shift, touch
from fanwise.assign.improving.shrinking import is_held_by_another, shrink_above, shrink_leaf

MOST_ASKED, MOST_WEIGHED = 24, 6
"""Members of a full broker who are asked to make room; and who may let another filter grow."""


class Evicted(NamedTuple):
    """Who waits for a broker: the pair given up, the type, and how many."""

    pairs: LongArray
    types: IntArray
    amounts: LongArray


@kernel
def recreate(
    arrays: AssignmentArrays,
    state: MoveState,
    evicted: Evicted,
    count: int,
    budget: float,
    barred: int,
    is_pushing: bool,
) -> float:
    """Find brokers for all who wait, the largest wishes first; return by how much filters grow.

    Infinite where somebody finds no room, or as soon as it would be ``budget`` or more. The filter
    of broker ``barred`` may not grow. ``is_pushing``: members of full brokers may be sent on.
    Changes ``state``.
    """
    cost = 0.0
    lo, hi, counts = state.filters
    indptr, brokers, boxes_lo, boxes_hi = arrays.indptr, arrays.brokers, arrays.lo, arrays.hi
    limits, loads, counters = state.limits, state.loads, state.counters
    amounts, first, size, listed = state.amounts, state.first, state.size, state.listed
    listed_type, spot = state.listed_type, state.spot
    for k in np.argsort(evicted.types[:count]):  # types descend by volume
        t, left = evicted.types[k], evicted.amounts[k]
        while left > 0:
            if counters[MOVED] + 3 > len(state.moved):  # two rows for a push, one for who waits
                return np.inf
            # In the order of their prices: a filter that holds the type already; the least growth;
            # and, only where that is not free, sending on somebody who is cheaper to move.
            pair = find_free_pair(
                lo, hi, counts, indptr, brokers, limits, loads, boxes_lo, boxes_hi, t
            )
            counters[WORK] += indptr[t + 1] - indptr[t]
            if pair < 0:
                growth, pair = cheapest_pair(arrays, state, t, budget - cost, barred)
                if is_pushing and (pair < 0 or growth > 0.0):
                    pushed, full_pair = push_someone(arrays, state, t, left, growth, barred)
                    if full_pair >= 0:
                        growth, pair = pushed, full_pair
                if pair < 0 or cost + growth >= budget:
                    return np.inf
                touch(arrays, state, brokers[pair])
                grow_path(arrays, state, brokers[pair], t, np.inf, True)
                cost += growth
            b = brokers[pair]
            # Members of a type that do not all fit are split: the rest looks for another broker.
            some = min(left, limits[b] - loads[b])
            left -= some
            row = counters[MOVED]
            state.moved[row] = pair
            state.moved_type[row] = t
            state.moved_by[row] = some
            counters[MOVED] = row + 1
            shift(amounts, loads, first, size, listed, listed_type, spot, b, pair, t, some)
    return cost


@kernel
def push_someone(
    arrays: AssignmentArrays, state: MoveState, t: int, left: int, enough: float, barred: int
) -> tuple[float, int]:
    """Make room for a type at a full broker, where filters grow by less than ``enough`` for that.

    Somebody of that broker moves on. Returns by how much filters grow for both of them, and the
    pair that has room now; -1: there is none. Changes ``state``.
    """
    lo, hi, counts = state.filters
    best, chosen, sent, target = enough, -1, -1, -1
    for pair in range(arrays.indptr[t], arrays.indptr[t + 1]):
        b = arrays.brokers[pair]
        if state.loads[b] < state.limits[b] or state.size[b] == 0 or b == barred:
            continue
        growth = 0.0
        if not is_held_by_another(lo, hi, b, counts[b], -1, arrays.lo, arrays.hi, t):
            growth = grow_path(arrays, state, b, t, best, False)
        # Working out a growth counts as eight looks at a pair.
        state.counters[WORK] += 8
        if growth >= best:
            continue
        more, at, free = find_pushed(arrays, state, b, t, best - growth, barred)
        if at >= 0 and growth + more < best:
            best, chosen, sent, target = growth + more, pair, at, free
            if best == 0.0:
                break
    if chosen < 0:
        return best, -1
    b, d = arrays.brokers[chosen], arrays.brokers[target]
    u, pair = state.listed_type[sent], state.listed[sent]
    some = min(left, state.amounts[pair], state.limits[d] - state.loads[d])
    state.counters[WORK] += 2 * state.size[b]
    touch(arrays, state, b)
    touch(arrays, state, d)
    note_shift(arrays, state, pair, u, -some)
    note_shift(arrays, state, target, u, some)
    # Growing comes before shrinking: brokers above both never let go of what only moves from one
    # child to another.
    grow_path(arrays, state, d, u, np.inf, True)
    shrink_leaf(arrays, state, b)
    shrink_above(arrays, state, b)
    return best, chosen


@kernel
def find_pushed(
    arrays: AssignmentArrays, state: MoveState, b: int, t: int, enough: float, barred: int
) -> tuple[float, int, int]:
    """Return where the list of a broker has somebody who can go elsewhere, and to which pair.

    Few are asked, beginning somewhere else each time: the first who costs nothing, or whoever lets
    filters grow least, and by less than ``enough``. The growth comes first; -1: there is nobody.
    Changes nothing but the count of work, and scratch space, of ``state``.
    """
    lo, hi, counts = state.filters
    size = state.size[b]
    start = state.counters[WORK] % size  # as good as random, and the same for the same seed
    best, chosen, target = enough, -1, -1
    for k in range(min(size, MOST_ASKED)):
        at = state.first[b] + (start + k) % size
        u = state.listed_type[at]
        if u == t:
            continue
        state.counters[WORK] += arrays.indptr[u + 1] - arrays.indptr[u]
        pair = find_free_pair(
            lo, hi, counts, arrays.indptr, arrays.brokers, state.limits, state.loads, arrays.lo,
            arrays.hi, u,
        )  # fmt: skip
        if pair >= 0:
            return 0.0, at, pair
        if k < MOST_WEIGHED:
            growth, pair = cheapest_pair(arrays, state, u, best, barred)
            if pair >= 0 and growth < best:
                best, chosen, target = growth, at, pair
    return best, chosen, target


@kernel
def note_shift(arrays: AssignmentArrays, state: MoveState, pair: int, t: int, by: int) -> None:
    """Add to the amount of a pair in a way that can be undone.

    Changes the amounts, loads, lists and journal of ``state``.
    """
    row = state.counters[MOVED]
    state.moved[row] = pair
    state.moved_type[row] = t
    state.moved_by[row] = by
    state.counters[MOVED] = row + 1
    shift(
        state.amounts, state.loads, state.first, state.size, state.listed, state.listed_type,
        state.spot, arrays.brokers[pair], pair, t, by,
    )  # fmt: skip


@kernel
def find_free_pair(
    lo: FloatArray,
    hi: FloatArray,
    counts: LongArray,
    indptr: LongArray,
    brokers: IntArray,
    limits: LongArray,
    loads: LongArray,
    boxes_lo: FloatArray,
    boxes_hi: FloatArray,
    t: int,
) -> int:
    """Return the pair with most room where a filter holds a type already, or -1.

    Changes nothing.
    """
    wants_nothing = boxes_lo[t, 0] > boxes_hi[t, 0]
    best, room = -1, 0
    for pair in range(indptr[t], indptr[t + 1]):
        b = brokers[pair]
        free = limits[b] - loads[b]
        # Most room first, the lowest pair of equals: emptier brokers keep more choices open.
        if free > room and (
            wants_nothing or is_held_by_another(lo, hi, b, counts[b], -1, boxes_lo, boxes_hi, t)
        ):
            best, room = pair, free
    return best


@kernel
def cheapest_pair(
    arrays: AssignmentArrays, state: MoveState, t: int, enough: float, barred: int
) -> tuple[float, int]:
    """Return the pair with room whose filters grow least, and by how much; -1 for none.

    Changes nothing but the count of work, and scratch space, of ``state``.
    """
    best, chosen, room = enough, -1, 0
    for pair in range(arrays.indptr[t], arrays.indptr[t + 1]):
        b = arrays.brokers[pair]
        free = state.limits[b] - state.loads[b]
        if free <= 0 or b == barred:
            continue
        growth = grow_path(arrays, state, b, t, best, False)
        if growth < best or (growth == best and free > room):
            best, chosen, room = growth, pair, free
    state.counters[WORK] += 8 * (arrays.indptr[t + 1] - arrays.indptr[t])
    return best, chosen
