"""Two-stage clustering (the paper's Alg. 2): users with much traffic between them go together.

Brokers come in the order of their ids. Each first gets the two users, of those left, with the
largest ratio of the traffic between them, both ways, to the cost of the two hops through this
broker; it stays empty where no two that fit have traffic. Then users come in the order of their
ids. Each goes to the broker with room that has the largest ratio of the traffic between the user
and all users there to the cost of its link; where none has room, to the one with most room left.
(Printed is the smallest ratio; the text says the largest.) Ties: the cheaper link, then the
smaller id; for pairs the smaller ids. The ratio of no traffic is 0, of traffic that is free
infinite.

Guarantee
    None on the cost: the paper proves no factor.

Complexity
    O(touches x brokers) for the second step. The first looks at pairs in the order of a bound on
    their ratio and stops where that is below the best: O(users^2 x channels) at worst, a few pairs
    per broker where link costs differ.

References
----------
    Y. Zhao, J. Wu: On the construction of the minimum cost content-based publish/subscribe
    overlays. IEEE SECON 2011, Algorithm 2.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE, fits, most_within
from fanwise.planning.problem import Outcome, Run
from fanwise.wire.arrays import WiringArrays, may_take
from fanwise.wire.packing import roomiest
from fanwise.wire.problem import Wiring, make_tables

LOOSE = 1 + RELATIVE_TOLERANCE
"""Bounds are raised by this, so that rounding prunes no pair."""
PATIENCE = 64
"""Pairs looked at closely, per user, before bounds are worth making tight."""
BLOCK = 512
"""Users whose traffic with all others is computed at once: 40 MB for 10,000 users."""


def solve(problem: Wiring, run: Run) -> Outcome:
    """Two-stage clustering: pairs with much traffic first, then everybody where its traffic is."""
    return Outcome(make_tables(problem.arrays, attach(problem)))


def attach(problem: Wiring) -> IntArray:
    """Return the broker of each user by clustering."""
    arrays = problem.arrays
    chosen = np.full(arrays.num_users, -1, dtype=np.int32)
    sent = sum_sent(arrays)
    most = sent + sent.max(initial=0.0)
    done = seed_brokers(arrays, 0, sent, most, chosen, PATIENCE * arrays.num_users)
    if done < arrays.num_brokers:
        most = np.minimum(most, largest_traffic(arrays) * LOOSE)
        seed_brokers(arrays, done, sent, most, chosen, np.iinfo(np.int64).max)
    join_clusters(arrays, chosen)
    return chosen


def largest_traffic(arrays: WiringArrays) -> FloatArray:
    """Return the most traffic that each user has with any other, by products of matrices."""
    shape = arrays.num_users, arrays.num_channels
    rates, wants = np.zeros(shape), np.zeros(shape)
    user = np.repeat(np.arange(shape[0]), np.diff(arrays.indptr))
    rates[user, arrays.channels] = arrays.rates
    wants[user, arrays.channels] = arrays.wants
    most = np.zeros(shape[0])
    for start in range(0, shape[0], BLOCK):
        rows = slice(start, min(start + BLOCK, shape[0]))
        traffic = rates[rows] @ wants.T + wants[rows] @ rates.T
        traffic[np.arange(len(traffic)), np.arange(rows.start, rows.stop)] = 0.0
        most[rows] = traffic.max(axis=1)
    return most


@kernel
def sum_sent(arrays: WiringArrays) -> FloatArray:
    """Return what each user publishes in all. Changes nothing."""
    sent = np.zeros(len(arrays.demand))
    for user in range(len(sent)):
        for entry in range(arrays.indptr[user], arrays.indptr[user + 1]):
            sent[user] += arrays.rates[entry]
    return sent


@kernel
def ratio_of(traffic: float, cost: float) -> float:
    """Return traffic over its cost: 0 for none, infinite where it is free. Changes nothing."""
    if traffic <= 0:
        return 0.0
    return traffic / cost if cost > 0 else np.inf


@kernel
def traffic_between(arrays: WiringArrays, user: int, other: int) -> float:
    """Return what two users send to each other. Changes nothing."""
    total = 0.0
    entry, end = arrays.indptr[user], arrays.indptr[user + 1]
    for there in range(arrays.indptr[other], arrays.indptr[other + 1]):
        channel = arrays.channels[there]
        while entry < end and arrays.channels[entry] < channel:
            entry += 1
        if entry < end and arrays.channels[entry] == channel:
            if arrays.wants[there]:
                total += arrays.rates[entry]
            if arrays.wants[entry]:
                total += arrays.rates[there]
    return total


@kernel
def seed_brokers(
    arrays: WiringArrays,
    first: int,
    sent: FloatArray,
    most: FloatArray,
    chosen: IntArray,
    patience: int,
) -> int:
    """Give brokers from ``first`` on their best pair; return where patience ran out, or B.

    ``most`` bounds the traffic that each user has with any other. Changes ``chosen``.
    """
    for broker in range(first, len(arrays.capacity)):
        low, high, looked = best_pair(arrays, broker, sent, most, chosen)
        patience -= looked
        if low >= 0:
            chosen[low] = broker
            chosen[high] = broker
        if patience < 0:
            return broker + 1
    return len(arrays.capacity)


@kernel
def best_pair(
    arrays: WiringArrays, broker: int, sent: FloatArray, most: FloatArray, chosen: IntArray
) -> tuple[int, int, int]:
    """Return the pair of users with the largest ratio through a broker, and how many were tried.

    (-1, -1) where no pair that fits has traffic. Changes nothing.
    """
    left = np.flatnonzero(chosen < 0)
    cost = arrays.access[:, broker]
    limit = most_within(arrays.capacity[broker])
    cheapest = np.inf
    for user in left:
        cheapest = min(cheapest, cost[user])
    reach = np.empty(len(left))
    for i in range(len(left)):
        # No pair of a user has a larger ratio than its most traffic over the cheapest two hops: by
        # falling bounds, both loops below can end at the first one under the best ratio.
        reach[i] = -ratio_of(most[left[i]] * LOOSE, cost[left[i]] + cheapest)
    order = np.argsort(reach)
    best, low, high, looked = 0.0, -1, -1, 0
    for i in range(len(order)):
        if -reach[order[i]] < best or reach[order[i]] == 0:
            break
        user = left[order[i]]
        for j in range(i + 1, len(order)):
            if -reach[order[j]] < best or reach[order[j]] == 0:
                break
            other = left[order[j]]
            if arrays.demand[user] + arrays.demand[other] > limit:
                continue
            if not (may_take(arrays, user, broker) and may_take(arrays, other, broker)):
                continue
            price = cost[user] + cost[other]
            bound = min(min(most[user], most[other]), sent[user] + sent[other])
            if ratio_of(bound * LOOSE, price) < best:
                continue
            looked += 1
            one, two = min(user, other), max(user, other)
            ratio = ratio_of(traffic_between(arrays, one, two), price)
            if ratio > best or (
                ratio > 0 and ratio == best and (one < low or (one == low and two < high))
            ):
                best, low, high = ratio, one, two
    return low, high, looked


@kernel
def join_clusters(arrays: WiringArrays, chosen: IntArray) -> None:
    """Attach everybody that is left where it has most traffic for its cost. Changes ``chosen``."""
    count = len(arrays.capacity)
    load = np.zeros(count)
    subscribers = np.zeros((arrays.num_channels, count))
    published = np.zeros((arrays.num_channels, count))
    traffic = np.empty(count)
    for user in range(len(chosen)):
        if chosen[user] >= 0:
            enter_cluster(arrays, user, chosen[user], load, subscribers, published)
    for user in range(len(chosen)):
        if chosen[user] >= 0:
            continue
        traffic[:] = 0.0
        for entry in range(arrays.indptr[user], arrays.indptr[user + 1]):
            channel, rate = arrays.channels[entry], arrays.rates[entry]
            if rate > 0:
                for broker in range(count):
                    traffic[broker] += rate * subscribers[channel, broker]
            if arrays.wants[entry]:
                for broker in range(count):
                    traffic[broker] += published[channel, broker]
        chosen[user] = best_cluster(arrays, user, traffic, load)
        enter_cluster(arrays, user, chosen[user], load, subscribers, published)


@kernel
def best_cluster(arrays: WiringArrays, user: int, traffic: FloatArray, load: FloatArray) -> int:
    """Return the broker with room that a user has most traffic with for its cost.

    Changes nothing.
    """
    best, best_ratio = -1, 0.0
    for broker in range(len(load)):
        if not fits(load[broker] + arrays.demand[user], arrays.capacity[broker]):
            continue
        if not may_take(arrays, user, broker):
            continue
        cost = arrays.access[user, broker]
        ratio = ratio_of(traffic[broker], cost)
        if (
            best < 0
            or ratio > best_ratio
            or (ratio == best_ratio and cost < arrays.access[user, best])
        ):
            best, best_ratio = broker, ratio
    return best if best >= 0 else roomiest(arrays, load, user)


@kernel
def enter_cluster(
    arrays: WiringArrays,
    user: int,
    broker: int,
    load: FloatArray,
    subscribers: FloatArray,
    published: FloatArray,
) -> None:
    """Count a user at a broker. Changes ``load``, ``subscribers`` and ``published``."""
    load[broker] += arrays.demand[user]
    for entry in range(arrays.indptr[user], arrays.indptr[user + 1]):
        if arrays.wants[entry]:
            subscribers[arrays.channels[entry], broker] += 1
        published[arrays.channels[entry], broker] += arrays.rates[entry]
