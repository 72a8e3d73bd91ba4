"""Places for those without a broker: where they fit already, else where filters grow least.

Where brokers are full, somebody else may make room and go to a broker that has some: for nothing,
where its filter holds what they want, or where it grows little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.assign.ground import Ground
from fanwise.assign.improving.live import MOVED, WORK, Live, shift, touch
from fanwise.assign.improving.shrinking import is_elsewhere, shrink_above, shrink_leaf
from fanwise.assign.kernels import grow_path

MOST_ASKED, MOST_WEIGHED = 24, 6
"""Members of a full broker who are asked to make room; and who may let another filter grow."""


class Evicted(NamedTuple):
    """Who waits for a broker: the place given up, the type, and how many."""

    places: LongArray
    types: IntArray
    amounts: LongArray


@kernel
def recreate(
    ground: Ground,
    live: Live,
    evicted: Evicted,
    count: int,
    budget: float,
    barred: int,
    is_pushing: bool,
) -> float:
    """Place everybody who waits, the largest wishes first; return by how much filters grow.

    Infinite where somebody finds no room, or as soon as it would be ``budget`` or more. The filter
    of broker ``barred`` may not grow. ``is_pushing``: members of full brokers may be sent on.
    """
    cost = 0.0
    lo, hi, counts = live.filters
    indptr, brokers, boxes_lo, boxes_hi = ground.indptr, ground.brokers, ground.lo, ground.hi
    limits, loads, counters = live.limits, live.loads, live.counters
    amounts, first, size, listed = live.amounts, live.first, live.size, live.listed
    listed_type, spot = live.listed_type, live.spot
    for k in np.argsort(evicted.types[:count]):
        t, left = evicted.types[k], evicted.amounts[k]
        while left > 0:
            if counters[MOVED] + 3 > len(live.moved):
                return np.inf
            place = find_free_place(
                lo, hi, counts, indptr, brokers, limits, loads, boxes_lo, boxes_hi, t
            )
            counters[WORK] += indptr[t + 1] - indptr[t]
            if place < 0:
                growth, place = cheapest_place(ground, live, t, budget - cost, barred)
                if is_pushing and (place < 0 or growth > 0.0):
                    pushed, full_place = push_someone(ground, live, t, left, growth, barred)
                    if full_place >= 0:
                        growth, place = pushed, full_place
                if place < 0 or cost + growth >= budget:
                    return np.inf
                touch(ground, live, brokers[place])
                grow_path(ground, live, brokers[place], t, np.inf, True)
                cost += growth
            b = brokers[place]
            some = min(left, limits[b] - loads[b])
            left -= some
            row = counters[MOVED]
            live.moved[row] = place
            live.moved_type[row] = t
            live.moved_by[row] = some
            counters[MOVED] = row + 1
            shift(amounts, loads, first, size, listed, listed_type, spot, b, place, t, some)
    return cost


@kernel
def push_someone(
    ground: Ground, live: Live, t: int, left: int, enough: float, barred: int
) -> tuple[float, int]:
    """Make room for a type at a full broker, where filters grow by less than ``enough`` for that.

    Somebody of that broker moves on. Returns by how much filters grow for both of them, and the
    place that has room now; -1: there is none.
    """
    lo, hi, counts = live.filters
    best, chosen, sent, target = enough, -1, -1, -1
    for place in range(ground.indptr[t], ground.indptr[t + 1]):
        b = ground.brokers[place]
        if live.loads[b] < live.limits[b] or live.size[b] == 0 or b == barred:
            continue
        growth = 0.0
        if not is_elsewhere(lo, hi, b, counts[b], -1, ground.lo, ground.hi, t):
            growth = grow_path(ground, live, b, t, best, False)
        live.counters[WORK] += 8
        if growth >= best:
            continue
        more, at, free = find_pushed(ground, live, b, t, best - growth, barred)
        if at >= 0 and growth + more < best:
            best, chosen, sent, target = growth + more, place, at, free
            if best == 0.0:
                break
    if chosen < 0:
        return best, -1
    b, d = ground.brokers[chosen], ground.brokers[target]
    u, place = live.listed_type[sent], live.listed[sent]
    some = min(left, live.amounts[place], live.limits[d] - live.loads[d])
    live.counters[WORK] += 2 * live.size[b]
    touch(ground, live, b)
    touch(ground, live, d)
    note_shift(ground, live, place, u, -some)
    note_shift(ground, live, target, u, some)
    grow_path(ground, live, d, u, np.inf, True)
    shrink_leaf(ground, live, b)
    shrink_above(ground, live, b)
    return best, chosen


@kernel
def find_pushed(
    ground: Ground, live: Live, b: int, t: int, enough: float, barred: int
) -> tuple[float, int, int]:
    """Return where the list of a broker has somebody who can go elsewhere, and to which place.

    Few are asked, beginning somewhere else each time: the first who costs nothing, or whoever lets
    filters grow least, and by less than ``enough``. The growth comes first; -1: there is nobody.
    """
    lo, hi, counts = live.filters
    size = live.size[b]
    start = live.counters[WORK] % size
    best, chosen, target = enough, -1, -1
    for k in range(min(size, MOST_ASKED)):
        at = live.first[b] + (start + k) % size
        u = live.listed_type[at]
        if u == t:
            continue
        live.counters[WORK] += ground.indptr[u + 1] - ground.indptr[u]
        place = find_free_place(
            lo, hi, counts, ground.indptr, ground.brokers, live.limits, live.loads, ground.lo,
            ground.hi, u,
        )  # fmt: skip
        if place >= 0:
            return 0.0, at, place
        if k < MOST_WEIGHED:
            growth, place = cheapest_place(ground, live, u, best, barred)
            if place >= 0 and growth < best:
                best, chosen, target = growth, at, place
    return best, chosen, target


@kernel
def note_shift(ground: Ground, live: Live, place: int, t: int, by: int) -> None:
    """Add to the amount of a place in a way that can be undone."""
    row = live.counters[MOVED]
    live.moved[row] = place
    live.moved_type[row] = t
    live.moved_by[row] = by
    live.counters[MOVED] = row + 1
    shift(
        live.amounts, live.loads, live.first, live.size, live.listed, live.listed_type, live.spot,
        ground.brokers[place], place, t, by,
    )  # fmt: skip


@kernel
def find_free_place(
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
    """Return the place with most room where a filter holds a type already, or -1."""
    wants_nothing = boxes_lo[t, 0] > boxes_hi[t, 0]
    best, room = -1, 0
    for place in range(indptr[t], indptr[t + 1]):
        b = brokers[place]
        free = limits[b] - loads[b]
        if free > room and (
            wants_nothing or is_elsewhere(lo, hi, b, counts[b], -1, boxes_lo, boxes_hi, t)
        ):
            best, room = place, free
    return best


@kernel
def cheapest_place(
    ground: Ground, live: Live, t: int, enough: float, barred: int
) -> tuple[float, int]:
    """Return the place with room whose filters grow least, and by how much; -1 for none."""
    best, chosen, room = enough, -1, 0
    for place in range(ground.indptr[t], ground.indptr[t + 1]):
        b = ground.brokers[place]
        free = live.limits[b] - live.loads[b]
        if free <= 0 or b == barred:
            continue
        growth = grow_path(ground, live, b, t, best, False)
        if growth < best or (growth == best and free > room):
            best, chosen, room = growth, place, free
    live.counters[WORK] += 8 * (ground.indptr[t + 1] - ground.indptr[t])
    return best, chosen
