"""What access costs at least under capacities, by prices on brokers.

Let every user pay lambda_b for each unit of traffic at broker b. Whoever keeps the capacities pays
at least sum_i d_i min_b (a_ib + lambda_b) - sum_b lambda_b C_b for access alone: the Lagrangian
dual of the transportation problem, a bound for every lambda >= 0. Prices are raised one broker at a
time, each to the best value given the others, which never lowers the bound. With many users per
broker that comes close to the optimum of the dual.

Guarantee
    A lower bound on C1 under capacities, whatever the prices.

Complexity
    O(users x brokers) for a sweep over all prices, of which there are ``MAX_SWEEPS`` at most.

References
----------
    A. M. Geoffrion: Lagrangean relaxation for integer programming. Mathematical Programming Study
    2, 1974.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel

MAX_SWEEPS = 60
LEAST_RISE = 1e-6
"""Relative: sweeps that raise the bound by less are the last."""


class Choices(NamedTuple):
    """Of each user the cheapest broker and its price, and the second-cheapest price."""

    broker: IntArray
    first: FloatArray
    second: FloatArray


def price_brokers(
    demand: FloatArray,
    access: FloatArray,
    capacity: FloatArray,
    is_over: Callable[[], bool] = lambda: False,
) -> tuple[float, FloatArray]:
    """Return a lower bound on the cost of access, and the prices that prove it.

    There are no more sweeps once ``is_over`` says so.
    """
    num_users, num_brokers = access.shape
    prices = np.zeros(num_brokers)
    choices = Choices(
        np.zeros(num_users, dtype=np.int32), np.full(num_users, np.inf), np.full(num_users, np.inf)
    )
    if num_users == 0 or num_brokers == 0:
        return 0.0, prices
    choose_brokers(access, prices, choices)
    bound = weigh_choices(demand, capacity, prices, choices)
    for _ in range(MAX_SWEEPS):
        if is_over() or not sweep_prices(demand, access, capacity, prices, choices):
            break
        raised = weigh_choices(demand, capacity, prices, choices)
        is_done = raised <= bound * (1 + LEAST_RISE)
        bound = max(bound, raised)
        if is_done:
            break
    return priced_access(demand, access, capacity, prices), prices


def priced_access(
    demand: FloatArray, access: FloatArray, capacity: FloatArray, prices: FloatArray
) -> float:
    """Return the bound that any prices >= 0 prove; unlimited brokers must be free."""
    paid = float(np.dot(demand, cheapest_prices(access, prices)))
    return paid - priced_capacity(prices, capacity)


def priced_capacity(prices: FloatArray, capacity: FloatArray) -> float:
    """Return what prices times capacities come to; unlimited brokers must be free."""
    return float(np.dot(prices[prices > 0], capacity[prices > 0]))


@kernel
def cheapest_prices(access: FloatArray, prices: FloatArray) -> FloatArray:
    """Return what a unit of traffic costs each user at least, with prices. Changes nothing."""
    least = np.full(access.shape[0], np.inf)
    for user in range(access.shape[0]):
        for b in range(access.shape[1]):
            least[user] = min(least[user], access[user, b] + prices[b])
    return least


@kernel
def choose_brokers(access: FloatArray, prices: FloatArray, choices: Choices) -> None:
    """Fill in the choices of all users. Changes ``choices``."""
    for user in range(access.shape[0]):
        choose_broker(access, prices, choices, user)


@kernel
def choose_broker(access: FloatArray, prices: FloatArray, choices: Choices, user: int) -> None:
    """Find the two cheapest brokers of a user. Changes its row of ``choices``."""
    first, second, broker = np.inf, np.inf, 0
    for b in range(len(prices)):
        price = access[user, b] + prices[b]
        if price < first:
            first, second, broker = price, first, b
        elif price < second:
            second = price
    choices.broker[user] = broker
    choices.first[user] = first
    choices.second[user] = second


@kernel
def weigh_choices(
    demand: FloatArray, capacity: FloatArray, prices: FloatArray, choices: Choices
) -> float:
    """Return the bound that prices prove, given the choices under them. Changes nothing."""
    total = 0.0
    for user in range(len(demand)):
        total += demand[user] * choices.first[user]
    for b in range(len(prices)):
        if prices[b] > 0:
            total -= prices[b] * capacity[b]
    return total


@kernel
def sweep_prices(
    demand: FloatArray,
    access: FloatArray,
    capacity: FloatArray,
    prices: FloatArray,
    choices: Choices,
) -> bool:
    """Set the price of each broker in turn to the best one; say whether any has changed.

    Changes ``prices`` and ``choices``.
    """
    num_users = len(demand)
    load = np.zeros(len(prices))
    for user in range(num_users):
        load[choices.broker[user]] += demand[user]
    worth, who = np.empty(num_users), np.empty(num_users, dtype=np.int64)
    is_changed = False
    for b in range(len(prices)):
        # A free broker that holds its load has its best price already.
        if prices[b] == 0 and load[b] <= capacity[b]:
            continue
        count = 0
        for user in range(num_users):
            is_here = choices.broker[user] == b
            elsewhere = choices.second[user] if is_here else choices.first[user]
            if elsewhere > access[user, b] and demand[user] > 0:
                worth[count], who[count] = elsewhere - access[user, b], user
                count += 1
        price = clearing_price(worth[:count], who[:count], demand, capacity[b])
        if price != prices[b]:
            is_changed = True
            change_price(demand, access, prices, choices, load, b, price)
    return is_changed


@kernel
def clearing_price(worth: FloatArray, who: LongArray, demand: FloatArray, capacity: float) -> float:
    """Return the least price at which users who find more than it worth coming do not overload.

    ``worth`` is the price above which a user goes elsewhere; infinite if there is no other broker,
    and then no price helps. Changes nothing.
    """
    total = 0.0
    for i in who:
        total += demand[i]
    if total <= capacity:
        return 0.0
    total = 0.0
    # The dual is concave and piecewise linear in one price: it rises while those who stay overload
    # the broker, so that its top is where the first who does not fit leaves.
    for at in np.argsort(-worth):
        total += demand[who[at]]
        if total > capacity:
            return float(worth[at]) if worth[at] < np.inf else 0.0
    return 0.0


@kernel
def change_price(
    demand: FloatArray,
    access: FloatArray,
    prices: FloatArray,
    choices: Choices,
    load: FloatArray,
    broker: int,
    price: float,
) -> None:
    """Give a broker another price, and let users choose anew where that matters.

    Changes ``prices``, ``choices`` and ``load``.
    """
    old = prices[broker]
    prices[broker] = price
    for user in range(len(demand)):
        offered = access[user, broker] + price
        # Whoever has this broker as first or second choice, before or after; all others keep
        # theirs.
        is_concerned = (
            choices.broker[user] == broker
            or offered < choices.second[user]
            or access[user, broker] + old <= choices.second[user]
        )
        if is_concerned:
            load[choices.broker[user]] -= demand[user]
            choose_broker(access, prices, choices, user)
            load[choices.broker[user]] += demand[user]
