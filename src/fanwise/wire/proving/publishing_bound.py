"""What it costs at least to publish, each publisher with all others placed anew for its messages.

A message from broker b must reach every subscriber of its channel: its tree costs at least what
the way to any of them does, so at least any mean of them. With fixed weights of subscribers that
mean is a sum over subscribers: each owes a share of the way from b to its own broker. Then all that
one publisher sends, access and core together, is a sum over users who each look for the broker that
is best for them, under capacities: a transportation problem for each publisher and each broker it
may have, bounded by prices. Not everybody can be near the publisher: that is what other bounds do
not see where interests are sparse and few brokers would hold each channel's subscribers.

The weights are such that what users owe is even by their load; uneven shares would let those who
owe most be near. Prices are common to all publishers at a broker, in proportion to what they send.
Pairs of a publisher and a broker that decide the bound get prices of their own.

Guarantee
    A lower bound on C1 + C2 under capacities, by spanning trees, Steiner trees or the one tree.

Complexity
    O(users^2 x brokers^2), and a sweep of prices for each pair that decides.

References
----------
    Our own. That a product of choices is bounded by choosing anew for each factor: P. C. Gilmore,
    Optimal and suboptimal algorithms for the quadratic assignment problem, SIAM Journal 10, 1962.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE
from fanwise.wire.arrays import WiringArrays
from fanwise.wire.proving.access_prices import price_brokers, priced_capacity
from fanwise.wire.proving.gathering_bound import subscribers_of_channels

EVEN_ROUNDS = 60
"""Rounds of making what users owe even by their load."""
MOST_UNEVEN = 1e4
"""The largest weight over the least: beyond it sums would lose digits."""
LEAST_PRICES, PRICES_PER_USER = 1_000, 1
"""Own prices that a certificate may have anyway, and for each user."""
SWEEP_STEPS = 60.0
"""What it takes to find the own prices of a pair, for each user and broker."""


class Publishing(NamedTuple):
    """A lower bound on C1 + C2, and what proves it.

    Attributes
    ----------
    value
        The bound; 0 where the problem is too large for it.
    prices
        Of a unit of load at each broker, of publishers.
    weights
        Of users, by which subscribers share what a message costs on its way.
    ways
        By the publisher's broker (row): prices of a unit of load at each broker, of subscribers.
    own_of, own
        Publishers and their brokers that have prices of their own, and those (rows).
    taken_off
        What prices times capacities take off the sum that the bound is.
    """

    value: float
    prices: FloatArray
    weights: FloatArray
    ways: FloatArray
    own_of: IntArray
    own: FloatArray
    taken_off: float


class Shares(NamedTuple):
    """Subscribers of channels as compressed rows, weights of users, their sums by channel."""

    indptr: LongArray
    users: IntArray
    weights: FloatArray
    sums: FloatArray


def publishing_steps(arrays: WiringArrays) -> float:
    """Return how many elementary steps it takes to look at all publishers once."""
    senders = float(np.count_nonzero(arrays.demand > 0))
    return senders * arrays.num_users * float(arrays.num_brokers) ** 2


def publishing_bound(
    arrays: WiringArrays, capacity: FloatArray, most_steps: float, is_over: Callable[[], bool]
) -> Publishing:
    """Return a lower bound on C1 + C2; own prices are found as far as time lets us."""
    users, brokers = arrays.access.shape
    none = np.empty((0, 2), dtype=np.int32), np.empty((0, brokers))
    ways = np.zeros((brokers, brokers))
    steps = publishing_steps(arrays)
    if steps > most_steps or not arrays.demand.any():
        return Publishing(0.0, np.zeros(brokers), np.ones(users), ways, *none, 0.0)
    shares = even_shares(arrays)
    core = arrays.core * (1 - RELATIVE_TOLERANCE)  # direct links, by the triangle inequality
    received, owed = np.empty(users), np.empty(users)
    everything, total = _all_messages(arrays, shares)
    has_load = arrays.demand > 0
    load = arrays.demand[has_load]
    for root in range(brokers):
        costs = priced_ways(arrays.access, core[root], *everything)[has_load] / load[:, None]
        ways[root] = price_brokers(load, costs, capacity, is_over)[1]
    paid = np.zeros((users, brokers))
    publish(arrays, shares, core, ways / total, capacity, paid)
    most_pairs = int((LEAST_PRICES + PRICES_PER_USER * users) // max(1, brokers))
    own_of: list[tuple[int, int]] = []
    own: list[FloatArray] = []
    left = most_steps - steps
    sent = np.bincount(_senders(arrays), weights=arrays.rates, minlength=users)
    for user in np.argsort(-sent, kind="stable"):
        send(arrays, shares, user, received, owed)
        is_refined = np.zeros(brokers, dtype=np.bool_)
        is_other = has_load.copy()
        is_other[user] = False
        while sent[user] > 0 and len(own) < most_pairs and left > 0 and not is_over():
            root = int(np.argmin(paid[user]))
            if is_refined[root]:
                break
            is_refined[root] = True
            left -= SWEEP_STEPS * users * brokers
            load = arrays.demand[is_other]
            costs = priced_ways(arrays.access, core[root], received, owed)[is_other]
            room = capacity.copy()
            room[root] = max(0.0, room[root] - arrays.demand[user])
            prices = price_brokers(load, costs / load[:, None], room, is_over)[1]
            value = pay(arrays, core[root], prices, user, root, received, owed)
            value -= priced_capacity(prices, capacity)
            if value > paid[user, root]:
                paid[user, root] = value
                own_of.append((int(user), root))
                own.append(prices)
    value, prices = price_publishers(arrays, paid, capacity, is_over)
    if own:
        none = np.array(own_of, dtype=np.int32), np.array(own)
    taken_off = priced_capacity(prices, capacity)
    taken_off += max(priced_capacity(of_root, capacity) for of_root in ways)
    taken_off += sum(priced_capacity(of_pair, capacity) for of_pair in own)
    return Publishing(value, prices, shares.weights, ways / total, *none, taken_off)


def price_publishers(
    arrays: WiringArrays, paid: FloatArray, capacity: FloatArray, is_over: Callable[[], bool]
) -> tuple[float, FloatArray]:
    """Return what all publishers pay at least under capacities, and the prices that prove it."""
    has_load = arrays.demand > 0
    load = arrays.demand[has_load]
    prices = price_brokers(load, paid[has_load] / load[:, None], capacity, is_over)[1]
    least = (paid + arrays.demand[:, None] * prices).min(axis=1)
    priced = float(least.sum()) - priced_capacity(prices, capacity)
    unpriced = float(paid.min(axis=1).sum())
    return (priced, prices) if priced > unpriced else (unpriced, np.zeros(len(prices)))


def even_shares(arrays: WiringArrays) -> Shares:
    """Return weights under which what users owe of all messages goes with their load."""
    indptr, users = subscribers_of_channels(arrays)
    rates = np.bincount(arrays.channels, weights=arrays.rates, minlength=arrays.num_channels)
    channels = np.repeat(np.arange(arrays.num_channels), np.diff(indptr))
    weights, count = np.ones(arrays.num_users), arrays.num_users
    asked = arrays.demand * (rates.sum() / max(float(arrays.demand.sum()), 1e-300))
    for _ in range(EVEN_ROUNDS):
        sums = np.bincount(channels, weights=weights[users], minlength=arrays.num_channels)
        parts = np.divide(rates, sums, out=np.zeros(len(sums)), where=sums > 0)
        owed = weights * np.bincount(users, weights=parts[channels], minlength=count)
        weights *= np.sqrt(np.divide(asked, owed, out=np.ones(count), where=owed > 0))
        weights /= max(float(weights.max()), 1e-300)
        np.maximum(weights, 1 / MOST_UNEVEN, out=weights)
    sums = np.bincount(channels, weights=weights[users], minlength=arrays.num_channels)
    return Shares(indptr, users, weights, np.asarray(sums, dtype=np.float64))


def _senders(arrays: WiringArrays) -> LongArray:
    return np.repeat(np.arange(arrays.num_users), np.diff(arrays.indptr))


def _all_messages(
    arrays: WiringArrays, shares: Shares
) -> tuple[tuple[FloatArray, FloatArray], float]:
    """Return what users receive of all messages, and owe for them; and what is sent at all."""
    received, owed = np.zeros((2, arrays.num_users))
    of_one = np.empty((2, arrays.num_users))
    for user in range(arrays.num_users):
        send(arrays, shares, user, of_one[0], of_one[1])
        received += of_one[0]
        owed += of_one[1]
    return (received, owed), float(arrays.rates.sum())


@kernel
def send(
    arrays: WiringArrays, shares: Shares, user: int, received: FloatArray, owed: FloatArray
) -> None:
    """Fill in what others receive of a user's messages, and owe for them of the way.

    Changes ``received`` and ``owed``.
    """
    received[:] = 0.0
    owed[:] = 0.0
    for entry in range(arrays.indptr[user], arrays.indptr[user + 1]):
        rate = arrays.rates[entry]
        if rate <= 0:
            continue
        channel = arrays.channels[entry]
        # A publisher that wants the channel needs no way to itself: the others share it.
        weights = shares.sums[channel]
        if arrays.wants[entry]:
            weights -= shares.weights[user]
        for at in range(shares.indptr[channel], shares.indptr[channel + 1]):
            other = shares.users[at]
            if other != user:
                received[other] += rate
                owed[other] += rate * shares.weights[other] / weights


@kernel
def priced_ways(
    access: FloatArray, way: FloatArray, received: FloatArray, owed: FloatArray
) -> FloatArray:
    """Return what each user costs at each broker, ``way`` being from the publisher's broker.

    Changes nothing.
    """
    costs = np.empty(access.shape)
    for user in range(len(access)):
        for b in range(len(way)):
            costs[user, b] = received[user] * access[user, b] + owed[user] * way[b]
    return costs


@kernel
def pay(
    arrays: WiringArrays,
    way: FloatArray,
    prices: FloatArray,
    user: int,
    root: int,
    received: FloatArray,
    owed: FloatArray,
) -> float:
    """Return what a user's messages cost at least from a broker, with prices on load.

    Changes nothing.
    """
    sent = 0.0
    for entry in range(arrays.indptr[user], arrays.indptr[user + 1]):
        sent += arrays.rates[entry]
    total = sent * arrays.access[user, root] + prices[root] * arrays.demand[user]
    for other in range(len(received)):
        if other == user:
            continue
        least = np.inf
        for b in range(len(way)):
            cost = received[other] * arrays.access[other, b] + owed[other] * way[b]
            least = min(least, cost + arrays.demand[other] * prices[b])
        total += least
    return float(total)


@kernel
def publish(
    arrays: WiringArrays,
    shares: Shares,
    core: FloatArray,
    ways: FloatArray,
    capacity: FloatArray,
    paid: FloatArray,
) -> None:
    """Fill in what each user's messages cost at least from each broker, with common prices.

    ``ways`` are prices for a message sent, by the publisher's broker. Changes ``paid``.
    """
    received, owed = np.empty(len(paid)), np.empty(len(paid))
    for user in range(len(paid)):
        sent = 0.0
        for entry in range(arrays.indptr[user], arrays.indptr[user + 1]):
            sent += arrays.rates[entry]
        paid[user] = 0.0
        if sent <= 0:
            continue
        send(arrays, shares, user, received, owed)
        for root in range(len(core)):
            prices = sent * ways[root]
            taken_off = 0.0
            for b in range(len(prices)):
                if prices[b] > 0:
                    taken_off += prices[b] * capacity[b]
            found = pay(arrays, core[root], prices, user, root, received, owed)
            paid[user, root] = found - taken_off
