"""Two-stage greedy packing (the paper's Alg. 1): everybody on the cheapest broker with room.

Users come in the order of their ids. Each takes the cheapest broker that has room for it. The
printed algorithm swaps the names of users and brokers, and attaches to no broker where none has
room: here the user goes to the one with most room left, and the plan says that it is overloaded.
Ties go to the smaller id. O(users x brokers).
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.arrays.jit import kernel
from fanwise.planning.problem import Outcome, Run
from fanwise.wire.ground import TOLERANCE, Ground
from fanwise.wire.problem import Wiring, make_tables


def solve(problem: Wiring, run: Run) -> Outcome:
    """Two-stage greedy packing: the cheapest broker with room."""
    return Outcome(make_tables(problem.ground, attach(problem)))


def attach(problem: Wiring) -> IntArray:
    """Return the broker of each user by greedy packing."""
    return pack(problem.ground)


@kernel
def pack(ground: Ground) -> IntArray:
    """Give each user the cheapest broker with room."""
    load = np.zeros(len(ground.capacity))
    chosen = np.full(len(ground.demand), -1, dtype=np.int32)
    for user in range(len(chosen)):
        chosen[user] = cheapest_with_room(ground, load, user)
        load[chosen[user]] += ground.demand[user]
    return chosen


@kernel
def cheapest_with_room(ground: Ground, load: FloatArray, user: int) -> int:
    """The cheapest broker of a user that has room for it, or the one with most room."""
    best = -1
    for broker in range(len(load)):
        limit = ground.capacity[broker] * (1 + TOLERANCE)
        if load[broker] + ground.demand[user] <= limit and (
            best < 0 or ground.access[user, broker] < ground.access[user, best]
        ):
            best = broker
    return best if best >= 0 else roomiest(ground, load)


@kernel
def roomiest(ground: Ground, load: FloatArray) -> int:
    """The broker with most room left."""
    best = 0
    for broker in range(1, len(load)):
        if ground.capacity[broker] - load[broker] > ground.capacity[best] - load[best]:
            best = broker
    return best
