"""Starts that overload brokers, brought within the capacities as far as moves and swaps can."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.wire.ground import TOLERANCE, Ground
from fanwise.wire.migration import redirect
from fanwise.wire.state import State, apply_move, is_overloaded


def excess_of(ground: Ground, load: FloatArray) -> float:
    """Return the load above the capacities; 0 where all hold."""
    over = load > ground.capacity * (1 + TOLERANCE)
    return float((load[over] - ground.capacity[over]).sum())


def repair(ground: Ground, state: State, order: LongArray) -> None:
    """Redirect users of overloaded brokers, then swap them with smaller ones elsewhere."""
    if excess_of(ground, state.load) > 0:
        redirect(ground, state, order, True)
    for _ in range(ground.num_users):
        if not swap_out(ground, state):
            break
        redirect(ground, state, order, True)


@kernel
def swap_out(ground: Ground, state: State) -> bool:
    """Swap a user of an overloaded broker with a smaller one elsewhere; say whether any could.

    The swap takes most of the excess away, and no more than it needs to. O(users^2) at worst.
    """
    user, other, most, spare = -1, -1, 0.0, np.inf
    for one in range(len(state.broker_of_user)):
        home = state.broker_of_user[one]
        if not is_overloaded(ground, state, home):
            continue
        excess = state.load[home] - ground.capacity[home]
        for two in range(len(state.broker_of_user)):
            target = state.broker_of_user[two]
            less = ground.demand[one] - ground.demand[two]
            if target == home or less <= TOLERANCE * excess:
                continue
            if state.load[target] + less > ground.capacity[target] * (1 + TOLERANCE):
                continue
            taken = min(less, excess)
            if taken > most or (taken == most and less < spare):
                user, other, most, spare = one, two, taken, less
    if user < 0:
        return False
    home, target = state.broker_of_user[user], state.broker_of_user[other]
    apply_move(ground, state, user, target)
    apply_move(ground, state, other, home)
    return True
