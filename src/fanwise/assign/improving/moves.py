"""Ruin and recreate: pull in a side of a rectangle, and find places for whoever sticks out.

Kernels draw no random numbers: each move is given a row of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.assign.ground import Ground
from fanwise.assign.improving.live import (
    WORK,
    Live,
    change_in_measure,
    keep,
    move_amounts,
    touch,
    undo,
)
from fanwise.assign.improving.recreating import Evicted, recreate
from fanwise.assign.improving.shrinking import (
    empty_box,
    is_elsewhere,
    set_rectangle,
    shrink_above,
    shrink_leaf,
    stretch_box,
)

NUM_DRAWS = 8
WHICH_BROKER, WHICH_RECTANGLE, KIND, SIDE, DEPTH, FIRST_PICK, HEAT = 0, 1, 2, 3, 4, 5, 7
WHOLE, NEXT, LESSER = 0.1, 0.45, 0.7
"""Shares of moves, added up: take a rectangle away; pull a side in to the next member; to the
lesser of two random members. The others pull it in to a random one."""
BARRED, PUSHING = 0.25, 0.3
"""Shares of moves after which the ruined filter may not grow again; and in which members of full
brokers may be sent on."""
MOVE_WORK = 64
"""What a move costs beside what it looks at."""
ROUNDING = 1e-12
"""A change must save more than this share of what there is."""


class Room(NamedTuple):
    """Space for one move: those whom only one rectangle holds, and those who must go."""

    who: LongArray
    type: IntArray
    key: FloatArray
    evicted: Evicted
    leaving: LongArray


def make_room(live: Live) -> Room:
    """Return space for moves on any broker."""
    longest = int(np.diff(np.append(live.first, len(live.listed))).max(initial=0))
    return Room(
        np.empty(longest, np.int64),
        np.empty(longest, np.int32),
        np.empty(longest, np.float64),
        Evicted(
            np.empty(longest, np.int64), np.empty(longest, np.int32), np.empty(longest, np.int64)
        ),
        np.empty(longest, np.int64),
    )


@kernel
def shrink_all(ground: Ground, live: Live) -> None:
    """Shrink all filters to what they must hold."""
    for b in ground.leaves:
        touch(ground, live, b)
        shrink_leaf(ground, live, b)
        shrink_above(ground, live, b)
        change_in_measure(ground, live, True)
        keep(live)


@kernel
def try_moves(
    ground: Ground, live: Live, room: Room, leaves: IntArray, draws: FloatArray, heat: float
) -> int:
    """Try a move for each row of random numbers; return how many were kept.

    Parameters
    ----------
    leaves
        Where to look.
    heat
        By how much a move may make things worse, on average, and still be kept.
    """
    kept = 0
    for row in range(len(draws)):
        draw = draws[row]
        live.counters[WORK] += MOVE_WORK
        b = leaves[int(draw[WHICH_BROKER] * len(leaves))]
        if live.filters.counts[b] == 0:
            continue
        r = int(draw[WHICH_RECTANGLE] * live.filters.counts[b])
        loss = -heat * np.log(1.0 - draw[HEAT])
        if try_move(ground, live, room, b, r, draw, loss):
            kept += 1
    return kept


@kernel
def try_move(
    ground: Ground, live: Live, room: Room, b: int, r: int, draw: FloatArray, loss: float
) -> bool:
    """Ruin one rectangle and recreate; keep that if it costs no more than ``loss``."""
    touch(ground, live, b)
    count = ruin(ground, live, room, b, r, draw)
    if ground.parent[b] >= 0:
        shrink_above(ground, live, b)
    gain = -change_in_measure(ground, live, False)
    is_kept = False
    if gain > 0.0 or loss > 0.0:
        barred = b if draw[KIND] < BARRED else -1
        is_pushing = draw[KIND] > 1.0 - PUSHING
        cost = recreate(ground, live, room.evicted, count, gain + loss, barred, is_pushing)
        if cost < np.inf:
            change = change_in_measure(ground, live, False)
            is_kept = change < loss - ROUNDING * (gain + abs(change))
    if is_kept:
        change_in_measure(ground, live, True)
        keep(live)
    else:
        undo(ground, live)
    return is_kept


@kernel
def ruin(ground: Ground, live: Live, room: Room, b: int, r: int, draw: FloatArray) -> int:
    """Pull in a side of a rectangle, or take it away; return how many places were given up.

    Only those count whom no other rectangle of the broker holds. What is left of the rectangle
    shrinks to the others of them.
    """
    dims = ground.lo.shape[1]
    side = int(draw[SIDE] * 2 * dims)
    count = find_dependents(ground, live, room, b, r, side)
    key = room.key
    limit = choose_depth(key, count, draw)
    empty_box(live.box)
    num_evicted = 0
    places, types, amounts = room.evicted
    for k in range(count):
        place, t = room.who[k], room.type[k]
        if key[k] < limit:
            places[num_evicted] = place
            types[num_evicted] = t
            amounts[num_evicted] = live.amounts[place]
            room.leaving[num_evicted] = -live.amounts[place]
            num_evicted += 1
        else:
            stretch_box(live.box, ground.lo, ground.hi, t)
    move_amounts(ground, live, places, types, room.leaving, num_evicted)
    set_rectangle(live.filters, b, r, live.box)
    return num_evicted


@kernel
def find_dependents(ground: Ground, live: Live, room: Room, b: int, r: int, side: int) -> int:
    """List the places that only rectangle ``r`` holds, with how far in each reaches from a side."""
    dims = ground.lo.shape[1]
    count = 0
    first = live.first[b]
    lo, hi, counts = live.filters
    for at in range(first, first + live.size[b]):
        t = live.listed_type[at]
        if ground.lo[t, 0] > ground.hi[t, 0]:
            continue
        if is_elsewhere(lo, hi, b, counts[b], r, ground.lo, ground.hi, t):
            continue
        room.who[count] = live.listed[at]
        room.type[count] = t
        room.key[count] = ground.lo[t, side] if side < dims else -ground.hi[t, side - dims]
        count += 1
    live.counters[WORK] += live.size[b]
    return count


@kernel
def choose_depth(key: FloatArray, count: int, draw: FloatArray) -> float:
    """Return the key up to which to pull in: all, the next one, or that of random places."""
    if count == 0 or draw[DEPTH] < WHOLE:
        return np.inf
    if draw[DEPTH] < NEXT:
        least, second = np.inf, np.inf
        for k in range(count):
            if key[k] < least:
                least, second = key[k], least
            elif least < key[k] < second:
                second = key[k]
        return second
    limit = float(key[int(draw[FIRST_PICK] * count)])
    if draw[DEPTH] < LESSER:
        limit = min(limit, float(key[int(draw[FIRST_PICK + 1] * count)]))
    return limit
