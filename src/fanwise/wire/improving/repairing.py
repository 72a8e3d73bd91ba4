"""Starts that overload brokers, brought within the capacities as far as moves and swaps can."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE, fits, most_within
from fanwise.wire.arrays import WiringArrays, may_take
from fanwise.wire.migration import redirect
from fanwise.wire.state import State, apply_move, is_overloaded


def excess_of(arrays: WiringArrays, load: FloatArray) -> float:
    """Return the load above the capacities; 0 where all hold."""
    over = load > most_within(arrays.capacity)
    return float((load[over] - arrays.capacity[over]).sum())


def repair(
    arrays: WiringArrays,
    state: State,
    order: LongArray,
    is_over: Callable[[], bool] = lambda: False,
) -> None:
    """Redirect users of overloaded brokers, then swap them with smaller ones elsewhere.

    ``is_over`` says whether to give up; it is asked before each swap.
    """
    if excess_of(arrays, state.load) > 0:
        redirect(arrays, state, order, True)
    for _ in range(arrays.num_users):
        if is_over() or not swap_out(arrays, state):
            break
        redirect(arrays, state, order, True)


@kernel
def swap_out(arrays: WiringArrays, state: State) -> bool:
    """Swap a user of an overloaded broker with a smaller one elsewhere; say whether any could.

    Of all swaps the one that takes most of the excess away, and no more than it needs to.
    O(users^2) at worst. Changes the state.
    """
    user, other, most, spare = -1, -1, 0.0, np.inf
    for one in range(len(state.broker_of_user)):
        home = state.broker_of_user[one]
        if not is_overloaded(arrays, state, home):
            continue
        excess = state.load[home] - arrays.capacity[home]
        for two in range(len(state.broker_of_user)):
            target = state.broker_of_user[two]
            less = arrays.demand[one] - arrays.demand[two]
            if target == home or less <= RELATIVE_TOLERANCE * excess:
                continue
            if not fits(state.load[target] + less, arrays.capacity[target]):
                continue
            if not (may_take(arrays, one, target) and may_take(arrays, two, home)):
                continue
            taken = min(less, excess)
            # Of swaps that take away as much, the one that fills the other broker least.
            if taken > most or (taken == most and less < spare):
                user, other, most, spare = one, two, taken, less
    if user < 0:
        return False
    home, target = state.broker_of_user[user], state.broker_of_user[other]
    apply_move(arrays, state, user, target)
    apply_move(arrays, state, other, home)
    return True
