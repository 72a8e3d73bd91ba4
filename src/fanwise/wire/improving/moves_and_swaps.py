"""Moves and swaps of single users as long as they lower the cost, within a limit of work."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import fits
from fanwise.wire.arrays import WiringArrays, may_take
from fanwise.wire.improving.work_counts import moving_work, pricing_work
from fanwise.wire.migration import LEAST_GAIN, cheapest_move
from fanwise.wire.move_costs import price_move, price_moves
from fanwise.wire.state import State, apply_move, has_room

CANDIDATES = 3
"""Users of a full broker that a swap is tried with."""


@kernel
def move_users(
    arrays: WiringArrays, state: State, order: LongArray, first: int, work: FloatArray, limit: float
) -> tuple[int, int]:
    """Redirect users from a position of the order on, as :func:`migration.redirect` does.

    Returns the position where it stopped, at the end or because the work has reached the limit, and
    how many users have moved. Changes the state, and adds to ``work``.
    """
    moves = 0
    for position in range(first, len(order)):
        if work[0] >= limit:
            return position, moves
        user = order[position]
        work[0] += pricing_work(arrays, state, user)
        enough = -LEAST_GAIN * max(state.totals[0] + state.totals[1], 0.0)
        best = cheapest_move(arrays, state, user, enough)
        if best != state.broker_of_user[user]:
            work[0] += moving_work(arrays, state, user)
            apply_move(arrays, state, user, best)
            moves += 1
    return len(order), moves


@kernel
def swap_users(
    arrays: WiringArrays, state: State, order: LongArray, first: int, work: FloatArray, limit: float
) -> tuple[int, int]:
    """Let users into the full broker that they would like best, in exchange for one of its users.

    Returns what :func:`move_users` does. Changes the state, and adds to ``work``.
    """
    swaps = 0
    for position in range(first, len(order)):
        if work[0] >= limit:
            return position, swaps
        user = order[position]
        work[0] += pricing_work(arrays, state, user) + len(order)
        if swap_user(arrays, state, user, work):
            swaps += 1
    return len(order), swaps


@kernel
def swap_user(arrays: WiringArrays, state: State, user: int, work: FloatArray) -> bool:
    """Swap a user with one of a full broker if that lowers the cost; say whether it did.

    Changes the state, and adds to ``work``.
    """
    home = state.broker_of_user[user]
    enough = -LEAST_GAIN * max(state.totals[0] + state.totals[1], 0.0)
    price_moves(arrays, state, user, 0, len(state.load))
    target, gain = -1, enough
    for b in range(len(state.load)):
        is_full = may_take(arrays, user, b) and not has_room(arrays, state, user, b)
        if b != home and state.changes[b] < gain and is_full:
            target, gain = b, state.changes[b]
    if target < 0:
        return False
    tried = np.full(CANDIDATES, -1, dtype=np.int64)
    for i in range(CANDIDATES):
        other = cheapest_exchange(arrays, state, user, target, gain, tried[:i])
        if other < 0:
            return False
        tried[i] = other
        work[0] += 2 * moving_work(arrays, state, user) + pricing_work(arrays, state, other)
        # Made before the other one is priced: what the second move costs depends on the first.
        apply_move(arrays, state, user, target)
        if gain + price_move(arrays, state, other, home) < enough:
            apply_move(arrays, state, other, home)
            return True
        apply_move(arrays, state, user, home)
    return False


@kernel
def cheapest_exchange(
    arrays: WiringArrays, state: State, user: int, target: int, gain: float, tried: LongArray
) -> int:
    """Return the user of a broker that goes to another's home for the least C1; -1: none fits.

    Those whose C1 alone eats up the gain are left out: C2 seldom makes up for it. Changes nothing.
    """
    home = state.broker_of_user[user]
    best, least = -1, -gain
    for other in range(len(state.broker_of_user)):
        if state.broker_of_user[other] != target:
            continue
        more = arrays.demand[user] - arrays.demand[other]
        if not fits(state.load[target] + more, arrays.capacity[target]):
            continue
        if not fits(state.load[home] - more, arrays.capacity[home]):
            continue
        if not may_take(arrays, other, home):
            continue
        cost = arrays.demand[other] * (arrays.access[other, home] - arrays.access[other, target])
        if cost < least and not is_among(tried, other):
            best, least = other, cost
    return best


@kernel
def is_among(values: LongArray, value: int) -> bool:
    """Whether a value is among some. Changes nothing."""
    return bool((values == value).any())
