"""Steiner-tree mixing (the paper's Section IV): a tree for each channel, then a draw by traffic.

Phase 1 grows trees over users and brokers by Alg. 3 (see :mod:`fanwise.wire.tree_growing`) and
weighs each link between a user and its broker by the traffic through it. By default there is one
tree for each channel, over everybody who publishes on or wants it, from the user that publishes
most (then the smaller id); its links carry what the user sends and receives on the channel. With
``per_publisher`` there is one for each publisher and channel, the literal |U| T trees, over the
publisher and those who want the channel; its links carry what the publisher sends.

Phase 2 lets each user, in the order of ids, draw one of its brokers that still have room, with its
weights as probabilities. Who has none of them left, or no traffic, gets the cheapest broker with
room, as in packing. Phase 3, the trees between brokers, is the cost that all wirings share.

Guarantee
    None is known: the paper proves no factor. The same seed gives the same draws.

Complexity
    O(B) for each touch of a user and a channel to start a tree, and again for each broker that the
    tree comes nearer to; memory O(touches), or O(users x brokers) with ``per_publisher``.

References
----------
    Y. Zhao, J. Wu, IEEE SECON 2011: Section IV.B and Algorithm 3.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import most_within
from fanwise.planning.problem import Outcome, Run
from fanwise.wire.arrays import WiringArrays, may_take
from fanwise.wire.packing import cheapest_with_room
from fanwise.wire.problem import Wiring, make_tables
from fanwise.wire.tree_growing import Growth, grow_from, make_growth


def solve(problem: Wiring, run: Run) -> Outcome:
    """Steiner-tree mixing: trees by channel, then a draw by traffic."""
    per_publisher = run.settings.get("per_publisher", False)
    chosen = attach(problem, run.random(), per_publisher=per_publisher)
    return Outcome(make_tables(problem.arrays, chosen))


def attach(
    problem: Wiring, random: np.random.Generator, *, per_publisher: bool = False
) -> IntArray:
    """Return the broker of each user by Steiner-tree mixing."""
    arrays = problem.arrays
    indptr, brokers, weights = weigh_links(arrays, per_publisher=per_publisher)
    return draw_brokers(arrays, indptr, brokers, weights, random.random(arrays.num_users))


def weigh_links(
    arrays: WiringArrays, *, per_publisher: bool
) -> tuple[LongArray, IntArray, FloatArray]:
    """Return the brokers of each user in the trees, as rows, and the traffic on each link."""
    order = np.argsort(arrays.channels, kind="stable")
    starts = np.searchsorted(arrays.channels[order], np.arange(arrays.num_channels + 1))
    user_of_touch = np.repeat(np.arange(arrays.num_users, dtype=np.int32), np.diff(arrays.indptr))
    growth = make_growth(int(np.diff(starts).max(initial=0)), arrays.num_brokers)
    if not per_publisher:
        found = grow_by_channel(arrays, order, starts, user_of_touch, growth)
        return arrays.indptr, *found
    weight = grow_by_publisher(arrays, order, starts, user_of_touch, growth)
    shape = weight.shape
    indptr = np.arange(shape[0] + 1, dtype=np.int64) * shape[1]
    brokers = np.tile(np.arange(shape[1], dtype=np.int32), shape[0])
    return indptr, brokers, weight.reshape(-1)


def steps_per_publisher(arrays: WiringArrays) -> float:
    """Return about how many steps trees for each publisher and channel take."""
    channels = arrays.num_channels
    publishers = np.bincount(arrays.channels[arrays.rates > 0], minlength=channels)
    members = np.bincount(arrays.channels[arrays.wants], minlength=channels) + 1
    return float(np.dot(publishers, members)) * arrays.num_brokers


@kernel
def grow_by_channel(
    arrays: WiringArrays,
    order: LongArray,
    starts: LongArray,
    user_of_touch: IntArray,
    growth: Growth,
) -> tuple[IntArray, FloatArray]:
    """Grow one tree per channel; return the broker of each touch, and the traffic on its link.

    ``order`` lists touches by channel, then user; those of a channel begin at ``starts``. Changes
    the growth, which is scratch.
    """
    brokers = np.zeros(len(order), dtype=np.int32)
    weights = np.zeros(len(order))
    for channel in range(len(starts) - 1):
        touches = order[starts[channel] : starts[channel + 1]]
        total, source = 0.0, 0
        for i in range(len(touches)):
            total += arrays.rates[touches[i]]
            if arrays.rates[touches[i]] > arrays.rates[touches[source]]:
                source = i
        if total <= 0:
            continue
        grow_from(arrays, user_of_touch[touches], source, growth)
        for i in range(len(touches)):
            rate = arrays.rates[touches[i]]
            brokers[touches[i]] = growth.chosen[i]
            weights[touches[i]] = rate
            if arrays.wants[touches[i]]:
                # What the user receives: all that is published but its own; the maximum guards
                # against rounding.
                weights[touches[i]] += max(total - rate, 0.0)
    return brokers, weights


@kernel
def grow_by_publisher(
    arrays: WiringArrays,
    order: LongArray,
    starts: LongArray,
    user_of_touch: IntArray,
    growth: Growth,
) -> FloatArray:
    """Grow one tree per publisher and channel; return the traffic of each user and broker.

    Changes the growth, which is scratch.
    """
    weight = np.zeros((len(arrays.demand), len(arrays.capacity)))
    for channel in range(len(starts) - 1):
        touches = order[starts[channel] : starts[channel + 1]]
        for publisher in range(len(touches)):
            rate = arrays.rates[touches[publisher]]
            if rate <= 0:
                continue
            is_member = arrays.wants[touches]
            is_member[publisher] = True
            users = user_of_touch[touches[is_member]]
            grow_from(arrays, users, count_true(is_member[:publisher]), growth)
            for i in range(len(users)):
                weight[users[i], growth.chosen[i]] += rate
    return weight


@kernel
def count_true(flags: npt.NDArray[np.bool_]) -> int:
    """Return how many flags are set. Changes nothing."""
    total = 0
    for flag in flags:
        if flag:
            total += 1
    return total


@kernel
def draw_brokers(
    arrays: WiringArrays,
    indptr: LongArray,
    brokers: IntArray,
    weights: FloatArray,
    draws: FloatArray,
) -> IntArray:
    """Let users draw, one after the other, among their brokers with room; return their brokers.

    ``draws`` are random numbers from 0 to below 1. Changes nothing.
    """
    load = np.zeros(len(arrays.capacity))
    share = np.zeros(len(arrays.capacity))
    chosen = np.full(len(arrays.demand), -1, dtype=np.int32)
    for user in range(len(chosen)):
        for entry in range(indptr[user], indptr[user + 1]):
            share[brokers[entry]] += weights[entry]
        total = 0.0
        for broker in range(len(share)):
            limit = most_within(arrays.capacity[broker])
            # Phase 2 of the paper draws without a look at capacities, which would overload brokers.
            if load[broker] + arrays.demand[user] > limit or not may_take(arrays, user, broker):
                share[broker] = 0.0
            total += share[broker]
        if total > 0:
            chosen[user] = draw_one(share, draws[user] * total)
        else:
            chosen[user] = cheapest_with_room(arrays, load, user)
        load[chosen[user]] += arrays.demand[user]
        share[:] = 0.0
    return chosen


@kernel
def draw_one(share: FloatArray, mark: float) -> int:
    """Return the first broker up to which shares add up to more than a mark. Changes nothing.

    Where rounding keeps all of them below it, the last one.
    """
    total, last = 0.0, -1
    for broker in range(len(share)):
        if share[broker] > 0:
            total += share[broker]
            last = broker
            if total > mark:
                break
    return last
