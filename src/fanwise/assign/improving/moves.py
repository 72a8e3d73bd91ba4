"""Ruin and recreate: pull in a side of a rectangle, and find brokers for whoever sticks out.

A move ruins one rectangle of one leaf: those whom no other rectangle of the leaf holds, up to some
depth from one side, lose their broker, and the rectangle shrinks to the others. Then filters above
shrink as well, and that is what the move gains. Recreating puts everybody back where filters grow
least (see :mod:`fanwise.assign.improving.recreating`). The move stays if that costs less than was
gained, or little more while there is heat; else all is undone.

Kernels draw no random numbers: each move is given a row of them.

Guarantee
    A move that is kept costs no more than the heat allows; one that is not leaves everything as it
    was.

Complexity
    A move looks at the members of one broker once for each of its rectangles, and at the brokers of
    whoever it drives out.

References
----------
    G. Schrimpf, J. Schneider, H. Stamm-Wilbrandt, G. Dueck: Record breaking optimization results
    using the ruin and recreate principle. Journal of Computational Physics 159(2), 2000.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import ROUNDING
from fanwise.assign.arrays import AssignmentArrays
from fanwise.assign.improving.move_state import (
    WORK,
    MoveState,
    change_in_measure,
    keep,
    move_amounts,
    touch,
    undo,
)
from fanwise.assign.improving.recreating import Evicted, recreate
from fanwise.assign.improving.shrinking import (
    empty_box,
    is_held_by_another,
    set_rectangle,
    shrink_above,
    shrink_leaf,
    stretch_box,
)

# Columns of the random numbers of a move; from FIRST_PICK on there are two.
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


class Workspace(NamedTuple):
    """Space for one move: those whom only one rectangle holds, and those who must go."""

    who: LongArray
    type: IntArray
    key: FloatArray
    evicted: Evicted
    leaving: LongArray


def make_workspace(state: MoveState) -> Workspace:
    """Return space for moves on any broker."""
    longest = int(np.diff(np.append(state.first, len(state.listed))).max(initial=0))
    return Workspace(
        np.empty(longest, np.int64),
        np.empty(longest, np.int32),
        np.empty(longest, np.float64),
        Evicted(
            np.empty(longest, np.int64), np.empty(longest, np.int32), np.empty(longest, np.int64)
        ),
        np.empty(longest, np.int64),
    )


@kernel
def shrink_all(arrays: AssignmentArrays, state: MoveState) -> None:
    """Shrink all filters to what they must hold. Changes the filters and measures of ``state``."""
    for b in arrays.leaves:
        touch(arrays, state, b)
        shrink_leaf(arrays, state, b)
        shrink_above(arrays, state, b)
        change_in_measure(arrays, state, True)
        keep(state)


@kernel
def try_moves(
    arrays: AssignmentArrays,
    state: MoveState,
    workspace: Workspace,
    leaves: IntArray,
    draws: FloatArray,
    heat: float,
) -> int:
    """Try a move for each row of random numbers; return how many were kept.

    Changes ``state`` and ``workspace``.

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
        state.counters[WORK] += MOVE_WORK
        b = leaves[int(draw[WHICH_BROKER] * len(leaves))]
        if state.filters.counts[b] == 0:
            continue
        r = int(draw[WHICH_RECTANGLE] * state.filters.counts[b])
        # Metropolis with the die cast first: a loss below -heat ln(u) has the probability exp(-loss
        # / heat). Known in advance, it lets the recreation give up early.
        loss = -heat * np.log(1.0 - draw[HEAT])
        if try_move(arrays, state, workspace, b, r, draw, loss):
            kept += 1
    return kept


@kernel
def try_move(
    arrays: AssignmentArrays,
    state: MoveState,
    workspace: Workspace,
    b: int,
    r: int,
    draw: FloatArray,
    loss: float,
) -> bool:
    """Ruin one rectangle and recreate; keep that if it costs no more than ``loss``.

    Changes ``state`` and ``workspace``.
    """
    touch(arrays, state, b)
    count = ruin(arrays, state, workspace, b, r, draw)
    if arrays.parent[b] >= 0:
        shrink_above(arrays, state, b)
    gain = -change_in_measure(arrays, state, False)
    is_kept = False
    if gain > 0.0 or loss > 0.0:
        barred = b if draw[KIND] < BARRED else -1
        is_pushing = draw[KIND] > 1.0 - PUSHING
        # ``cost`` leaves out what filters shrink by where somebody is sent on: it is an upper limit
        # that ends hopeless moves. What counts is the change that is measured afterwards.
        cost = recreate(arrays, state, workspace.evicted, count, gain + loss, barred, is_pushing)
        if cost < np.inf:
            change = change_in_measure(arrays, state, False)
            # Without the margin, moves that change nothing but the last digits could be kept for
            # ever.
            is_kept = change < loss - ROUNDING * (gain + abs(change))
    if is_kept:
        change_in_measure(arrays, state, True)
        keep(state)
    else:
        undo(arrays, state)
    return is_kept


@kernel
def ruin(
    arrays: AssignmentArrays,
    state: MoveState,
    workspace: Workspace,
    b: int,
    r: int,
    draw: FloatArray,
) -> int:
    """Pull in a side of a rectangle, or take it away; return how many pairs were given up.

    Only those count whom no other rectangle of the broker holds. What is left of the rectangle
    shrinks to the others of them. Changes ``state`` and ``workspace``.
    """
    dims = arrays.lo.shape[1]
    side = int(draw[SIDE] * 2 * dims)
    count = find_dependents(arrays, state, workspace, b, r, side)
    key = workspace.key
    limit = choose_depth(key, count, draw)
    empty_box(state.box)
    num_evicted = 0
    pairs, types, amounts = workspace.evicted
    for k in range(count):
        pair, t = workspace.who[k], workspace.type[k]
        if key[k] < limit:
            pairs[num_evicted] = pair
            types[num_evicted] = t
            amounts[num_evicted] = state.amounts[pair]
            workspace.leaving[num_evicted] = -state.amounts[pair]
            num_evicted += 1
        else:
            stretch_box(state.box, arrays.lo, arrays.hi, t)
    move_amounts(arrays, state, pairs, types, workspace.leaving, num_evicted)
    set_rectangle(state.filters, b, r, state.box)
    return num_evicted


@kernel
def find_dependents(
    arrays: AssignmentArrays, state: MoveState, workspace: Workspace, b: int, r: int, side: int
) -> int:
    """List the pairs that only rectangle ``r`` holds, with how far in each reaches from a side.

    Changes ``workspace``, and counts work in ``state``.
    """
    dims = arrays.lo.shape[1]
    count = 0
    first = state.first[b]
    lo, hi, counts = state.filters
    for at in range(first, first + state.size[b]):
        t = state.listed_type[at]
        # Who wants nothing depends on no rectangle, and stays.
        if arrays.lo[t, 0] > arrays.hi[t, 0]:
            continue
        if is_held_by_another(lo, hi, b, counts[b], r, arrays.lo, arrays.hi, t):
            continue
        workspace.who[count] = state.listed[at]
        workspace.type[count] = t
        # Upper sides are negated: the smaller the key, the nearer to the side that is pulled in.
        workspace.key[count] = arrays.lo[t, side] if side < dims else -arrays.hi[t, side - dims]
        count += 1
    state.counters[WORK] += state.size[b]
    return count


@kernel
def choose_depth(key: FloatArray, count: int, draw: FloatArray) -> float:
    """Return the key up to which to pull in: all, the next one, or that of random pairs.

    Changes nothing.
    """
    if count == 0 or draw[DEPTH] < WHOLE:
        return np.inf
    if draw[DEPTH] < NEXT:
        # Pairs strictly below the limit go, so that the second-least key lets those go that touch
        # the side.
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
