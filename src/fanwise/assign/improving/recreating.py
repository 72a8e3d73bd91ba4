"""Places for those without a broker: where they fit already, else where filters grow least."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.assign.ground import Ground
from fanwise.assign.improving.live import MOVED, WORK, Live, shift, touch
from fanwise.assign.improving.shrinking import is_elsewhere
from fanwise.assign.kernels import grow_path


class Evicted(NamedTuple):
    """Who waits for a broker: the place given up, the type, and how many."""

    places: LongArray
    types: IntArray
    amounts: LongArray


@kernel
def recreate(
    ground: Ground, live: Live, evicted: Evicted, count: int, budget: float, barred: int
) -> float:
    """Place everybody who waits, the largest wishes first; return by how much filters grow.

    Infinite where somebody finds no room, or as soon as it would be ``budget`` or more. The filter
    of broker ``barred`` may not grow.
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
            if counters[MOVED] == len(live.moved):
                return np.inf
            place = find_free_place(
                lo, hi, counts, indptr, brokers, limits, loads, boxes_lo, boxes_hi, t
            )
            counters[WORK] += indptr[t + 1] - indptr[t]
            if place < 0:
                growth, place = cheapest_place(ground, live, t, budget - cost, barred)
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
