"""What keeps each user on its broker."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE
from fanwise.wire.arrays import WiringArrays
from fanwise.wire.move_costs import price_moves
from fanwise.wire.state import State, has_room

IDLE, ONLY, PAYS, NO_ROOM, CHEAPEST, SHARES = range(6)
REASONS = {
    IDLE: "no_traffic",
    ONLY: "only_broker",
    PAYS: "moving_pays",
    NO_ROOM: "no_room_elsewhere",
    CHEAPEST: "cheapest_access",
    SHARES: "saves_core",
}
WORDS = {
    IDLE: "has no traffic: any broker will do",
    ONLY: "there is no other broker",
    PAYS: "could move to a broker with room and lower the cost",
    NO_ROOM: "a broker that would lower the cost has no room",
    CHEAPEST: "on the broker with the cheapest link, and no other is cheaper in all",
    SHARES: "another broker has a cheaper link, but the core would cost more than that saves",
}


@kernel
def find_reasons(
    arrays: WiringArrays, state: State, users: LongArray, slack: float
) -> npt.NDArray[np.int8]:
    """Return what keeps users where they are, the first reason that applies.

    Moves that change the cost by no more than ``slack`` count as nothing. Changes
    ``state.changes``, which is scratch.
    """
    reasons = np.empty(len(users), dtype=np.int8)
    count = len(arrays.capacity)
    for i in range(len(users)):
        user = users[i]
        own = state.broker_of_user[user]
        if arrays.demand[user] == 0:
            reasons[i] = IDLE
        elif count == 1:
            reasons[i] = ONLY
        else:
            price_moves(arrays, state, user, 0, count)
            reasons[i] = weigh_moves(arrays, state, user, own, slack)
    return reasons


@kernel
def weigh_moves(arrays: WiringArrays, state: State, user: int, own: int, slack: float) -> int:
    """Return the reason of one user whose moves are priced. Changes nothing."""
    pays, no_room, is_cheapest = False, False, True
    for b in range(len(arrays.capacity)):
        if b == own:
            continue
        if arrays.access[user, b] < arrays.access[user, own] * (1 - RELATIVE_TOLERANCE):
            is_cheapest = False
        if state.changes[b] < -slack:
            if has_room(arrays, state, user, b):
                pays = True
            else:
                no_room = True
    if pays:
        return PAYS
    if no_room:
        return NO_ROOM
    return CHEAPEST if is_cheapest else SHARES


def slack_of(state: State) -> float:
    """Return the change of cost below which a move is no move at all."""
    return RELATIVE_TOLERANCE * state.cost
