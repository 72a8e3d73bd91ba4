"""Steiner-tree mixing (the paper's Section IV): a tree for each channel, then a draw by traffic.

Phase 1 grows trees over users and brokers by Alg. 3 (see :mod:`fanwise.wire.growing`) and weighs
each link between a user and its broker by the traffic through it. By default there is one tree for
each channel, over everybody who publishes on or wants it, from the user that publishes most (then
the smaller id); its links carry what the user sends and receives on the channel. With
``per_publisher`` there is one for each publisher and channel, the literal |U| T trees, over the
publisher and those who want the channel; its links carry what the publisher sends.

Phase 2 lets each user, in the order of ids, draw one of its brokers that still have room, with its
weights as probabilities. Who has none of them left, or no traffic, gets the cheapest broker with
room, as in packing. Phase 3, the trees between brokers, is the cost that all wirings share.

Complexity: O(B) for each touch of a user and a channel to start a tree, and again for each broker
that the tree comes nearer to; memory O(touches), or O(users x brokers) with ``per_publisher``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.planning.problem import Outcome, Run
from fanwise.wire.ground import TOLERANCE, Ground
from fanwise.wire.growing import Growth, grow_from, make_growth
from fanwise.wire.packing import cheapest_with_room
from fanwise.wire.problem import Wiring, make_tables


def solve(problem: Wiring, run: Run) -> Outcome:
    """Steiner-tree mixing: trees by channel, then a draw by traffic."""
    per_publisher = run.settings.get("per_publisher", False)
    chosen = attach(problem, run.random(), per_publisher=per_publisher)
    return Outcome(make_tables(problem.ground, chosen))


def attach(
    problem: Wiring, random: np.random.Generator, *, per_publisher: bool = False
) -> IntArray:
    """Return the broker of each user by Steiner-tree mixing."""
    ground = problem.ground
    indptr, brokers, weights = weigh_links(ground, per_publisher=per_publisher)
    return draw_brokers(ground, indptr, brokers, weights, random.random(ground.num_users))


def weigh_links(ground: Ground, *, per_publisher: bool) -> tuple[LongArray, IntArray, FloatArray]:
    """Return the brokers of each user in the trees, as rows, and the traffic through each link."""
    order = np.argsort(ground.channels, kind="stable")
    starts = np.searchsorted(ground.channels[order], np.arange(ground.num_channels + 1))
    user_of_touch = np.repeat(np.arange(ground.num_users, dtype=np.int32), np.diff(ground.indptr))
    growth = make_growth(int(np.diff(starts).max(initial=0)), ground.num_brokers)
    if not per_publisher:
        found = grow_by_channel(ground, order, starts, user_of_touch, growth)
        return ground.indptr, *found
    weight = grow_by_publisher(ground, order, starts, user_of_touch, growth)
    shape = weight.shape
    indptr = np.arange(shape[0] + 1, dtype=np.int64) * shape[1]
    brokers = np.tile(np.arange(shape[1], dtype=np.int32), shape[0])
    return indptr, brokers, weight.reshape(-1)


@kernel
def grow_by_channel(
    ground: Ground,
    order: LongArray,
    starts: LongArray,
    user_of_touch: IntArray,
    growth: Growth,
) -> tuple[IntArray, FloatArray]:
    """Grow one tree per channel; return the broker of each touch, and the traffic on its link.

    ``order`` lists touches by channel, then user; those of a channel begin at ``starts``.
    """
    brokers = np.zeros(len(order), dtype=np.int32)
    weights = np.zeros(len(order))
    for channel in range(len(starts) - 1):
        touches = order[starts[channel] : starts[channel + 1]]
        total, source = 0.0, 0
        for i in range(len(touches)):
            total += ground.rates[touches[i]]
            if ground.rates[touches[i]] > ground.rates[touches[source]]:
                source = i
        if total <= 0:
            continue
        grow_from(ground, user_of_touch[touches], source, growth)
        for i in range(len(touches)):
            rate = ground.rates[touches[i]]
            brokers[touches[i]] = growth.chosen[i]
            weights[touches[i]] = rate
            if ground.wants[touches[i]]:
                weights[touches[i]] += max(total - rate, 0.0)
    return brokers, weights


@kernel
def grow_by_publisher(
    ground: Ground,
    order: LongArray,
    starts: LongArray,
    user_of_touch: IntArray,
    growth: Growth,
) -> FloatArray:
    """Grow one tree per publisher and channel; return the traffic of each user and broker."""
    weight = np.zeros((len(ground.demand), len(ground.capacity)))
    for channel in range(len(starts) - 1):
        touches = order[starts[channel] : starts[channel + 1]]
        for publisher in range(len(touches)):
            rate = ground.rates[touches[publisher]]
            if rate <= 0:
                continue
            is_member = ground.wants[touches]
            is_member[publisher] = True
            users = user_of_touch[touches[is_member]]
            grow_from(ground, users, count_true(is_member[:publisher]), growth)
            for i in range(len(users)):
                weight[users[i], growth.chosen[i]] += rate
    return weight


@kernel
def count_true(flags: npt.NDArray[np.bool_]) -> int:
    """How many flags are set."""
    total = 0
    for flag in flags:
        if flag:
            total += 1
    return total


@kernel
def draw_brokers(
    ground: Ground, indptr: LongArray, brokers: IntArray, weights: FloatArray, draws: FloatArray
) -> IntArray:
    """Let users draw, one after the other, among their brokers with room; ``draws`` in [0, 1)."""
    load = np.zeros(len(ground.capacity))
    share = np.zeros(len(ground.capacity))
    chosen = np.full(len(ground.demand), -1, dtype=np.int32)
    for user in range(len(chosen)):
        for place in range(indptr[user], indptr[user + 1]):
            share[brokers[place]] += weights[place]
        total = 0.0
        for broker in range(len(share)):
            limit = ground.capacity[broker] * (1 + TOLERANCE)
            if load[broker] + ground.demand[user] > limit:
                share[broker] = 0.0
            total += share[broker]
        if total > 0:
            chosen[user] = draw_one(share, draws[user] * total)
        else:
            chosen[user] = cheapest_with_room(ground, load, user)
        load[chosen[user]] += ground.demand[user]
        share[:] = 0.0
    return chosen


@kernel
def draw_one(share: FloatArray, mark: float) -> int:
    """The first broker up to which shares add up to more than a mark; the last one if rounded."""
    total, last = 0.0, -1
    for broker in range(len(share)):
        if share[broker] > 0:
            total += share[broker]
            last = broker
            if total > mark:
                break
    return last
