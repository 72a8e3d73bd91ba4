"""How much work it is to price and to make moves: what searches are limited by.

Seconds differ from run to run, and the same seed must give the same plan. Work counts, roughly, the
steps of inner loops: see :mod:`fanwise.wire.move_costs` for what they depend on.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.jit import kernel
from fanwise.wire.arrays import WiringArrays
from fanwise.wire.state import State


@kernel
def pricing_work(arrays: WiringArrays, state: State, user: int) -> float:
    """Return the work to price the moves of a user to all brokers. Changes nothing."""
    count = len(state.load)
    broker = state.broker_of_user[user]
    work = float((arrays.indptr[user + 1] - arrays.indptr[user]) * count)
    for entry in range(arrays.indptr[user], arrays.indptr[user + 1]):
        if not arrays.wants[entry]:
            continue
        channel = arrays.channels[entry]
        if broker >= 0 and state.subscribers[channel, broker] == 1:
            work += (count - state.sizes[channel, 0] + 1) * joining_work(arrays, state, channel)
        else:
            # Joins that were priced since the channel last changed are remembered, and cost
            # nothing.
            unknown = 0
            for b in range(count):
                if np.isnan(state.join_costs[channel, b]) and not state.inside[channel, b]:
                    unknown += 1
            work += unknown * joining_work(arrays, state, channel)
    return work


@kernel
def joining_work(arrays: WiringArrays, state: State, channel: int) -> float:
    """Return the work to find what a channel costs with one more broker. Changes nothing."""
    count, size = len(state.load), state.sizes[channel, 0]
    if len(arrays.tree_order) > 0:
        return 4.0 * count
    return 2.0 * count + float((count - size + 1) * (size + 1))


@kernel
def moving_work(arrays: WiringArrays, state: State, user: int) -> float:
    """Return the work to move an attached user. Changes nothing.

    Trees change where it is the last subscriber of its broker.
    """
    count, broker = len(state.load), state.broker_of_user[user]
    work = float((arrays.indptr[user + 1] - arrays.indptr[user]) * count)
    for entry in range(arrays.indptr[user], arrays.indptr[user + 1]):
        channel = arrays.channels[entry]
        if arrays.wants[entry] and state.subscribers[channel, broker] == 1:
            size = state.sizes[channel, 0]
            work += 2 * size * (size + count)
    return work


@kernel
def round_work(arrays: WiringArrays, state: State) -> float:
    """Return the work to price the moves of all users to all brokers. Changes nothing."""
    work = 0.0
    for user in range(len(arrays.demand)):
        work += pricing_work(arrays, state, user)
    return work
