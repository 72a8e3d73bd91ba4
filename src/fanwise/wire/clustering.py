"""Two-stage clustering (the paper's Alg. 2): users with much traffic between them go together.

Brokers come in the order of their ids. Each first gets the two users, of those left, with the
largest ratio of the traffic between them, both ways, to the cost of the two hops through this
broker; it stays empty where no two that fit have traffic. Then users come in the order of their
ids. Each goes to the broker with room that has the largest ratio of the traffic between the user
and all users there to the cost of its link; where none has room, to the one with most room left.
(Printed is the smallest ratio; the text says the largest.) Ties: the cheaper link, then the
smaller id; for pairs the smaller ids. The ratio of no traffic is 0, of traffic that is free
infinite.

Complexity: O(touches x brokers) for the second step. The first looks at pairs in the order of a
bound on their ratio and stops where that is below the best: O(users^2 x channels) at worst, a few
pairs per broker where link costs differ.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.arrays.jit import kernel
from fanwise.planning.problem import Outcome, Run
from fanwise.wire.ground import TOLERANCE, Ground
from fanwise.wire.packing import roomiest
from fanwise.wire.problem import Wiring, make_tables

LOOSE = 1 + 1e-9
"""Bounds are raised by this, so that rounding prunes no pair."""
PATIENCE = 64
"""Pairs looked at closely, per user, before bounds are worth making tight."""
BLOCK = 512


def solve(problem: Wiring, run: Run) -> Outcome:
    """Two-stage clustering: pairs with much traffic first, then everybody where its traffic is."""
    return Outcome(make_tables(problem.ground, attach(problem)))


def attach(problem: Wiring) -> IntArray:
    """Return the broker of each user by clustering."""
    ground = problem.ground
    chosen = np.full(ground.num_users, -1, dtype=np.int32)
    sent = sum_sent(ground)
    most = sent + sent.max(initial=0.0)
    done = seed_brokers(ground, 0, sent, most, chosen, PATIENCE * ground.num_users)
    if done < ground.num_brokers:
        most = np.minimum(most, largest_traffic(ground) * LOOSE)
        seed_brokers(ground, done, sent, most, chosen, np.iinfo(np.int64).max)
    join_clusters(ground, chosen)
    return chosen


def largest_traffic(ground: Ground) -> FloatArray:
    """Return the most traffic that each user has with any other, by products of matrices."""
    shape = ground.num_users, ground.num_channels
    rates, wants = np.zeros(shape), np.zeros(shape)
    user = np.repeat(np.arange(shape[0]), np.diff(ground.indptr))
    rates[user, ground.channels] = ground.rates
    wants[user, ground.channels] = ground.wants
    most = np.zeros(shape[0])
    for start in range(0, shape[0], BLOCK):
        rows = slice(start, min(start + BLOCK, shape[0]))
        traffic = rates[rows] @ wants.T + wants[rows] @ rates.T
        traffic[np.arange(len(traffic)), np.arange(rows.start, rows.stop)] = 0.0
        most[rows] = traffic.max(axis=1)
    return most


@kernel
def sum_sent(ground: Ground) -> FloatArray:
    """What each user publishes in all."""
    sent = np.zeros(len(ground.demand))
    for user in range(len(sent)):
        for place in range(ground.indptr[user], ground.indptr[user + 1]):
            sent[user] += ground.rates[place]
    return sent


@kernel
def ratio_of(traffic: float, cost: float) -> float:
    """Traffic for its cost: 0 for none, infinite where it is free."""
    if traffic <= 0:
        return 0.0
    return traffic / cost if cost > 0 else np.inf


@kernel
def traffic_between(ground: Ground, user: int, other: int) -> float:
    """What two users send to each other."""
    total = 0.0
    place, end = ground.indptr[user], ground.indptr[user + 1]
    for there in range(ground.indptr[other], ground.indptr[other + 1]):
        channel = ground.channels[there]
        while place < end and ground.channels[place] < channel:
            place += 1
        if place < end and ground.channels[place] == channel:
            if ground.wants[there]:
                total += ground.rates[place]
            if ground.wants[place]:
                total += ground.rates[there]
    return total


@kernel
def seed_brokers(
    ground: Ground,
    first: int,
    sent: FloatArray,
    most: FloatArray,
    chosen: IntArray,
    patience: int,
) -> int:
    """Give brokers from ``first`` on their best pair; return where patience ran out, or B.

    ``most`` bounds the traffic that each user has with any other.
    """
    for broker in range(first, len(ground.capacity)):
        low, high, looked = best_pair(ground, broker, sent, most, chosen)
        patience -= looked
        if low >= 0:
            chosen[low] = broker
            chosen[high] = broker
        if patience < 0:
            return broker + 1
    return len(ground.capacity)


@kernel
def best_pair(
    ground: Ground, broker: int, sent: FloatArray, most: FloatArray, chosen: IntArray
) -> tuple[int, int, int]:
    """Return the pair of users with the largest ratio through a broker, and how many were tried.

    (-1, -1) where no pair that fits has traffic.
    """
    left = np.flatnonzero(chosen < 0)
    cost = ground.access[:, broker]
    limit = ground.capacity[broker] * (1 + TOLERANCE)
    cheapest = np.inf
    for user in left:
        cheapest = min(cheapest, cost[user])
    reach = np.empty(len(left))
    for i in range(len(left)):
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
            if ground.demand[user] + ground.demand[other] > limit:
                continue
            price = cost[user] + cost[other]
            bound = min(min(most[user], most[other]), sent[user] + sent[other])
            if ratio_of(bound * LOOSE, price) < best:
                continue
            looked += 1
            one, two = min(user, other), max(user, other)
            ratio = ratio_of(traffic_between(ground, one, two), price)
            if ratio > best or (
                ratio > 0 and ratio == best and (one < low or (one == low and two < high))
            ):
                best, low, high = ratio, one, two
    return low, high, looked


@kernel
def join_clusters(ground: Ground, chosen: IntArray) -> None:
    """Attach everybody that is left where it has most traffic for its cost."""
    count = len(ground.capacity)
    load = np.zeros(count)
    subscribers = np.zeros((ground.num_channels, count))
    published = np.zeros((ground.num_channels, count))
    traffic = np.empty(count)
    for user in range(len(chosen)):
        if chosen[user] >= 0:
            enter_cluster(ground, user, chosen[user], load, subscribers, published)
    for user in range(len(chosen)):
        if chosen[user] >= 0:
            continue
        traffic[:] = 0.0
        for place in range(ground.indptr[user], ground.indptr[user + 1]):
            channel, rate = ground.channels[place], ground.rates[place]
            if rate > 0:
                for broker in range(count):
                    traffic[broker] += rate * subscribers[channel, broker]
            if ground.wants[place]:
                for broker in range(count):
                    traffic[broker] += published[channel, broker]
        chosen[user] = best_cluster(ground, user, traffic, load)
        enter_cluster(ground, user, chosen[user], load, subscribers, published)


@kernel
def best_cluster(ground: Ground, user: int, traffic: FloatArray, load: FloatArray) -> int:
    """The broker with room that a user has most traffic with for its cost."""
    best, best_ratio = -1, 0.0
    for broker in range(len(load)):
        if load[broker] + ground.demand[user] > ground.capacity[broker] * (1 + TOLERANCE):
            continue
        cost = ground.access[user, broker]
        ratio = ratio_of(traffic[broker], cost)
        if (
            best < 0
            or ratio > best_ratio
            or (ratio == best_ratio and cost < ground.access[user, best])
        ):
            best, best_ratio = broker, ratio
    return best if best >= 0 else roomiest(ground, load)


@kernel
def enter_cluster(
    ground: Ground,
    user: int,
    broker: int,
    load: FloatArray,
    subscribers: FloatArray,
    published: FloatArray,
) -> None:
    """Count a user at a broker."""
    load[broker] += ground.demand[user]
    for place in range(ground.indptr[user], ground.indptr[user + 1]):
        if ground.wants[place]:
            subscribers[ground.channels[place], broker] += 1
        published[ground.channels[place], broker] += ground.rates[place]
