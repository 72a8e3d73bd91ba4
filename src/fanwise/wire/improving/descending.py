"""Moves and swaps of single users as long as they lower the cost, within a limit of work."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.wire.ground import TOLERANCE, Ground
from fanwise.wire.improving.working import moving_work, pricing_work
from fanwise.wire.migration import LEAST_GAIN, cheapest_move
from fanwise.wire.state import State, apply_move, has_room, price_move, price_moves

CANDIDATES = 3
"""Users of a full broker that a swap is tried with."""


@kernel
def redirect_within(
    ground: Ground, state: State, order: LongArray, first: int, work: FloatArray, limit: float
) -> tuple[int, int]:
    """Redirect users from a place of the order on, as :func:`migration.redirect` does.

    Returns where it stopped, at the end or because the work has reached the limit, and how many
    users have moved.
    """
    moves = 0
    for place in range(first, len(order)):
        if work[0] >= limit:
            return place, moves
        user = order[place]
        work[0] += pricing_work(ground, state, user)
        enough = -LEAST_GAIN * max(state.totals[0] + state.totals[1], 0.0)
        best = cheapest_move(ground, state, user, enough)
        if best != state.broker_of_user[user]:
            work[0] += moving_work(ground, state, user)
            apply_move(ground, state, user, best)
            moves += 1
    return len(order), moves


@kernel
def swap_within(
    ground: Ground, state: State, order: LongArray, first: int, work: FloatArray, limit: float
) -> tuple[int, int]:
    """Let users into the full broker that they would like best, in exchange for one of its users.

    Returns as :func:`redirect_within` does.
    """
    swaps = 0
    for place in range(first, len(order)):
        if work[0] >= limit:
            return place, swaps
        user = order[place]
        work[0] += pricing_work(ground, state, user) + len(order)
        if swap_user(ground, state, user, work):
            swaps += 1
    return len(order), swaps


@kernel
def swap_user(ground: Ground, state: State, user: int, work: FloatArray) -> bool:
    """Swap a user with one of a full broker if that lowers the cost; say whether it did."""
    home = state.broker_of_user[user]
    enough = -LEAST_GAIN * max(state.totals[0] + state.totals[1], 0.0)
    price_moves(ground, state, user, 0, len(state.load))
    target, gain = -1, enough
    for b in range(len(state.load)):
        if b != home and state.changes[b] < gain and not has_room(ground, state, user, b):
            target, gain = b, state.changes[b]
    if target < 0:
        return False
    tried = np.full(CANDIDATES, -1, dtype=np.int64)
    for i in range(CANDIDATES):
        other = cheapest_exchange(ground, state, user, target, gain, tried[:i])
        if other < 0:
            return False
        tried[i] = other
        work[0] += 2 * moving_work(ground, state, user) + pricing_work(ground, state, other)
        apply_move(ground, state, user, target)
        if gain + price_move(ground, state, other, home) < enough:
            apply_move(ground, state, other, home)
            return True
        apply_move(ground, state, user, home)
    return False


@kernel
def cheapest_exchange(
    ground: Ground, state: State, user: int, target: int, gain: float, tried: LongArray
) -> int:
    """The user of a broker that goes to another's home for the least C1, both fitting; -1: none.

    Those whose C1 alone eats up the gain are left out: C2 seldom makes up for it.
    """
    home = state.broker_of_user[user]
    best, least = -1, -gain
    for other in range(len(state.broker_of_user)):
        if state.broker_of_user[other] != target:
            continue
        more = ground.demand[user] - ground.demand[other]
        if state.load[target] + more > ground.capacity[target] * (1 + TOLERANCE):
            continue
        if state.load[home] - more > ground.capacity[home] * (1 + TOLERANCE):
            continue
        cost = ground.demand[other] * (ground.access[other, home] - ground.access[other, target])
        if cost < least and not is_among(tried, other):
            best, least = other, cost
    return best


@kernel
def is_among(values: LongArray, value: int) -> bool:
    """Whether a value is among some."""
    return bool((values == value).any())
