"""Where each user stands: what keeps it on its broker."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.wire.ground import TOLERANCE, Ground
from fanwise.wire.state import State, has_room, price_moves

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
    ground: Ground, state: State, users: LongArray, slack: float
) -> npt.NDArray[np.int8]:
    """Return what keeps users where they are, the first reason that applies.

    Moves that change the cost by no more than ``slack`` count as nothing.
    """
    reasons = np.empty(len(users), dtype=np.int8)
    count = len(ground.capacity)
    for place in range(len(users)):
        user = users[place]
        own = state.broker_of_user[user]
        if ground.demand[user] == 0:
            reasons[place] = IDLE
        elif count == 1:
            reasons[place] = ONLY
        else:
            price_moves(ground, state, user, 0, count)
            reasons[place] = weigh_moves(ground, state, user, own, slack)
    return reasons


@kernel
def weigh_moves(ground: Ground, state: State, user: int, own: int, slack: float) -> int:
    """Return the reason of one user whose moves are priced."""
    pays, no_room, is_cheapest = False, False, True
    for b in range(len(ground.capacity)):
        if b == own:
            continue
        if ground.access[user, b] < ground.access[user, own] * (1 - TOLERANCE):
            is_cheapest = False
        if state.changes[b] < -slack:
            if has_room(ground, state, user, b):
                pays = True
            else:
                no_room = True
    if pays:
        return PAYS
    if no_room:
        return NO_ROOM
    return CHEAPEST if is_cheapest else SHARES


def changes_of(ground: Ground, state: State, user: int) -> FloatArray:
    """Return how the cost changes if a user moves to each broker."""
    price_moves(ground, state, user, 0, ground.num_brokers)
    return state.changes.copy()
