"""Whole brokers exchanged: all users of one go to another, whose users come in return.

What belongs together stays together, so no move of single users finds this. The other broker may be
empty: then its users move there together.

Complexity
    O(users x brokers) to sum up access, then for two brokers O(T B k) at most, with T channels, B
    brokers and k of them on a channel. Most pairs end earlier, where what is left of C2 cannot pay
    for the access.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import fits
from fanwise.wire.arrays import WiringArrays, may_take
from fanwise.wire.migration import LEAST_GAIN
from fanwise.wire.spanning_trees import grow_tree, weighted_cost
from fanwise.wire.state import ACCESS, CORE, State


@kernel
def sum_access(arrays: WiringArrays, state: State) -> FloatArray:
    """Return C1 of the users of each broker (row) if they were at each broker (column).

    Changes nothing.
    """
    count = len(state.load)
    sums = np.zeros((count, count))
    for user in range(len(state.broker_of_user)):
        broker = state.broker_of_user[user]
        if broker >= 0:
            for b in range(count):
                sums[broker, b] += arrays.demand[user] * arrays.access[user, b]
                if not may_take(arrays, user, b):
                    sums[broker, b] = np.inf
    return sums


@kernel
def find_exchange(
    arrays: WiringArrays,
    state: State,
    access: FloatArray,
    first: int,
    work: FloatArray,
    limit: float,
) -> tuple[int, int, int]:
    """Search for two brokers to exchange, from a pair on; return the pair after, and the two.

    (-1, -1): none before the work reached its limit, or at all. Pairs are numbered row by row.
    Changes ``work``, which it adds to, and the scratch of the state.
    """
    count = len(state.load)
    enough = -LEAST_GAIN * max(state.totals[ACCESS] + state.totals[CORE], 0.0)
    for pair in range(first, count * count):
        if work[0] >= limit:
            return pair, -1, -1
        one, two = pair // count, pair % count
        work[0] += 1
        # Two brokers with users come up once, as the smaller id and the larger; an empty one only
        # as the second.
        if one == two or state.load[one] <= 0 or (state.load[two] > 0 and two < one):
            continue
        if not fits(state.load[one], arrays.capacity[two]):
            continue
        if not fits(state.load[two], arrays.capacity[one]):
            continue
        change = access[one, two] - access[one, one] + access[two, one] - access[two, two]
        # All of C2 saved could not pay for the access.
        if change >= state.totals[CORE]:
            continue
        change += core_change(arrays, state, one, two, enough - change, work)
        if change < enough:
            return pair + 1, one, two
    return count * count, -1, -1


@kernel
def core_change(
    arrays: WiringArrays, state: State, one: int, two: int, most: float, work: FloatArray
) -> float:
    """Return the change of C2 if two brokers exchange all users; infinite if not below ``most``.

    Changes ``work``, which it adds to, and the scratch of the state.
    """
    count = len(state.load)
    left = state.totals[CORE]
    weights = np.empty(count)
    change = 0.0
    for channel in range(len(state.core_costs)):
        # ``left`` is C2 of the channels to come, and all that they could save.
        if change - left >= most:
            return np.inf
        left -= state.core_costs[channel]
        is_same = state.inside[channel, one] == state.inside[channel, two]
        if is_same and state.published[channel, one] == state.published[channel, two]:
            continue
        size = state.sizes[channel, 0]
        work[0] += size * size + count * (size + 1)
        exchange_span(arrays, state, channel, one, two)
        weights[:] = state.published[channel]
        weights[one], weights[two] = weights[two], weights[one]
        cost = weighted_cost(arrays, state.without, state.scratch, weights)
        change += cost - state.core_costs[channel]
    return change


@kernel
def exchange_span(arrays: WiringArrays, state: State, channel: int, one: int, two: int) -> None:
    """Fill ``state.without`` with the brokers of a channel after an exchange of two.

    Changes the scratch of the state as well.
    """
    span = state.without
    span.inside[:] = state.inside[channel]
    span.inside[one], span.inside[two] = state.inside[channel, two], state.inside[channel, one]
    size = 0
    for b in range(len(state.load)):
        if span.inside[b]:
            span.vertices[size] = b
            size += 1
    span.size[0] = size
    if len(arrays.tree_order) == 0:
        grow_tree(arrays.links, span, state.scratch.least)
