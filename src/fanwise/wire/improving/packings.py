"""Starts for a cheap core: everybody near, where prices say how much room is worth.

Greedy packing gives room to whoever comes first. With the prices that bound C1 under capacities
(:mod:`fanwise.wire.access_prices`), room goes to those who have no good second choice.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.wire.access_prices import Choices, choose_brokers, price_brokers
from fanwise.wire.ground import TOLERANCE, Ground
from fanwise.wire.packing import cheapest_with_room, roomiest


def pack_by_prices(ground: Ground) -> IntArray:
    """Give each user the broker that is cheapest with its price, those who would lose most first.

    O(users x brokers) for each of a few sweeps of prices.
    """
    n = ground.num_users
    if ground.num_brokers < 2:
        return np.zeros(n, dtype=np.int32)
    _, prices = price_brokers(ground.demand, ground.access, ground.capacity)
    choices = Choices(np.zeros(n, dtype=np.int32), np.full(n, np.inf), np.full(n, np.inf))
    choose_brokers(ground.access, prices, choices)
    loss = ground.demand * (choices.second - choices.first)
    return pack_in_order(ground, np.argsort(-loss, kind="stable"), prices)


def pack_largest_first(ground: Ground) -> IntArray:
    """Greedy packing, most traffic first: what fits when little room is left over."""
    order = np.argsort(-ground.demand, kind="stable")
    return pack_in_order(ground, order, np.zeros(ground.num_brokers))


@kernel
def pack_in_order(ground: Ground, order: LongArray, prices: FloatArray) -> IntArray:
    """Give users, in an order, the broker with room that is cheapest with its price."""
    load = np.zeros(len(prices))
    chosen = np.full(len(order), -1, dtype=np.int32)
    for user in order:
        best, least = -1, np.inf
        for b in range(len(load)):
            price = ground.access[user, b] + prices[b]
            limit = ground.capacity[b] * (1 + TOLERANCE)
            if price < least and load[b] + ground.demand[user] <= limit:
                best, least = b, price
        chosen[user] = best if best >= 0 else roomiest(ground, load)
        load[chosen[user]] += ground.demand[user]
    return chosen


@kernel
def fill_row(ground: Ground, users: LongArray, brokers: IntArray, room: FloatArray) -> IntArray:
    """Fill brokers with users, both in their order, each up to so much traffic.

    Whoever is left over takes the cheapest broker with room, as in packing.
    """
    load = np.zeros(len(ground.capacity))
    chosen = np.full(len(users), -1, dtype=np.int32)
    at = 0
    for user in users:
        while at < len(brokers):
            if load[brokers[at]] + ground.demand[user] <= room[brokers[at]] * (1 + TOLERANCE):
                break
            at += 1
        if at == len(brokers):
            break
        chosen[user] = brokers[at]
        load[brokers[at]] += ground.demand[user]
    for user in users:
        if chosen[user] < 0:
            chosen[user] = cheapest_with_room(ground, load, user)
            load[chosen[user]] += ground.demand[user]
    return chosen
