"""Starts for a cheap core: everybody near, where prices say how much room is worth.

Greedy packing gives room to whoever comes first. With the prices that bound C1 under capacities
(:mod:`fanwise.wire.proving.access_prices`), room goes to those who have no good second choice.

Complexity
    O(users x brokers) for each of a few sweeps of prices.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import most_within
from fanwise.wire.arrays import WiringArrays, may_take
from fanwise.wire.packing import roomiest
from fanwise.wire.proving.access_prices import Choices, choose_brokers, price_brokers


def pack_by_prices(arrays: WiringArrays, is_over: Callable[[], bool] = lambda: False) -> IntArray:
    """Give each user the broker that is cheapest with its price, those who would lose most first.

    Sweeps of prices end once ``is_over`` says so.
    """
    n = arrays.num_users
    if arrays.num_brokers < 2:
        return np.zeros(n, dtype=np.int32)
    _, prices = price_brokers(arrays.demand, arrays.access, arrays.capacity, is_over)
    choices = Choices(np.zeros(n, dtype=np.int32), np.full(n, np.inf), np.full(n, np.inf))
    choose_brokers(arrays.access, prices, choices)
    # Regret: who would lose most by the second choice comes first.
    loss = arrays.demand * (choices.second - choices.first)
    return pack_in_order(arrays, np.argsort(-loss, kind="stable"), prices)


def pack_largest_first(arrays: WiringArrays) -> IntArray:
    """Greedy packing, most traffic first: what fits when little room is left over."""
    order = np.argsort(-arrays.demand, kind="stable")
    return pack_in_order(arrays, order, np.zeros(arrays.num_brokers))


@kernel
def pack_in_order(arrays: WiringArrays, order: LongArray, prices: FloatArray) -> IntArray:
    """Return for users, in an order, the broker with room that is cheapest with its price.

    Changes nothing.
    """
    load = np.zeros(len(prices))
    chosen = np.full(len(order), -1, dtype=np.int32)
    for user in order:
        best, least = -1, np.inf
        for b in range(len(load)):
            price = arrays.access[user, b] + prices[b]
            limit = most_within(arrays.capacity[b])
            fits_in = load[b] + arrays.demand[user] <= limit
            if price < least and fits_in and may_take(arrays, user, b):
                best, least = b, price
        chosen[user] = best if best >= 0 else roomiest(arrays, load, user)
        load[chosen[user]] += arrays.demand[user]
    return chosen
