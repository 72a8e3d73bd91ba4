"""How much work it is to price and to make moves: what searches are limited by.

Seconds differ from run to run, and the same seed must give the same plan. Work counts, roughly, the
steps of inner loops: see :mod:`fanwise.wire.state` for what they depend on.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.jit import kernel
from fanwise.wire.ground import Ground
from fanwise.wire.state import State


@kernel
def pricing_work(ground: Ground, state: State, user: int) -> float:
    """Work to price the moves of a user to all brokers."""
    count = len(state.load)
    broker = state.broker_of_user[user]
    work = float((ground.indptr[user + 1] - ground.indptr[user]) * count)
    for place in range(ground.indptr[user], ground.indptr[user + 1]):
        if not ground.wants[place]:
            continue
        channel = ground.channels[place]
        if broker >= 0 and state.subscribers[channel, broker] == 1:
            work += (count - state.sizes[channel, 0] + 1) * joining_work(ground, state, channel)
        else:
            unknown = 0
            for b in range(count):
                if np.isnan(state.join_costs[channel, b]) and not state.inside[channel, b]:
                    unknown += 1
            work += unknown * joining_work(ground, state, channel)
    return work


@kernel
def joining_work(ground: Ground, state: State, channel: int) -> float:
    """Work to find what a channel costs with one more broker."""
    count, size = len(state.load), state.sizes[channel, 0]
    if len(ground.tree_order) > 0:
        return 4.0 * count
    return 2.0 * count + float((count - size + 1) * (size + 1))


@kernel
def moving_work(ground: Ground, state: State, user: int) -> float:
    """Work to make a move of an attached user: trees change where it is the last subscriber."""
    count, broker = len(state.load), state.broker_of_user[user]
    work = float((ground.indptr[user + 1] - ground.indptr[user]) * count)
    for place in range(ground.indptr[user], ground.indptr[user + 1]):
        channel = ground.channels[place]
        if ground.wants[place] and state.subscribers[channel, broker] == 1:
            size = state.sizes[channel, 0]
            work += 2 * size * (size + count)
    return work
