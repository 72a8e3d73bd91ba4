"""Two-stage greedy packing (the paper's Alg. 1): everybody on the cheapest broker with room.

Users come in the order of their ids. Each takes the cheapest broker that has room for it. The
printed algorithm swaps the names of users and brokers, and attaches to no broker where none has
room: here the user goes to the one with most room left, and the plan says that it is overloaded.
Ties go to the smaller id.

Guarantee
    None on the cost: it may be as far from the optimum as the core is dear. Where every user finds
    room at its cheapest broker, C1 is least.

Complexity
    O(users x brokers).

References
----------
    Y. Zhao, J. Wu: On the construction of the minimum cost content-based publish/subscribe
    overlays. IEEE SECON 2011, Algorithm 1.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import most_within
from fanwise.planning.problem import Outcome, Run
from fanwise.wire.arrays import WiringArrays, may_take
from fanwise.wire.problem import Wiring, make_tables


def solve(problem: Wiring, run: Run) -> Outcome:
    """Two-stage greedy packing: the cheapest broker with room."""
    return Outcome(make_tables(problem.arrays, attach(problem)))


def attach(problem: Wiring) -> IntArray:
    """Return the broker of each user by greedy packing."""
    return pack(problem.arrays)


@kernel
def pack(arrays: WiringArrays) -> IntArray:
    """Return the cheapest broker with room for each user, in the order of ids. Changes nothing."""
    load = np.zeros(len(arrays.capacity))
    chosen = np.full(len(arrays.demand), -1, dtype=np.int32)
    for user in range(len(chosen)):
        chosen[user] = cheapest_with_room(arrays, load, user)
        load[chosen[user]] += arrays.demand[user]
    return chosen


@kernel
def cheapest_with_room(arrays: WiringArrays, load: FloatArray, user: int) -> int:
    """Return the cheapest broker that has room for a user, or the one with most room.

    Changes nothing.
    """
    best = -1
    for broker in range(len(load)):
        limit = most_within(arrays.capacity[broker])
        if not may_take(arrays, user, broker) or load[broker] + arrays.demand[user] > limit:
            continue
        if best < 0 or arrays.access[user, broker] < arrays.access[user, best]:
            best = broker
    return best if best >= 0 else roomiest(arrays, load, user)


@kernel
def roomiest(arrays: WiringArrays, load: FloatArray, user: int) -> int:
    """Return the broker with most room left of those that a user may take.

    The smaller id where several have as much. Changes nothing.
    """
    best = -1
    for broker in range(len(load)):
        if not may_take(arrays, user, broker):
            continue
        # Infinite room minus a load is infinite: the first unlimited broker stays.
        room = arrays.capacity[broker] - load[broker]
        if best < 0 or room > arrays.capacity[best] - load[best]:
            best = broker
    return max(best, 0)
