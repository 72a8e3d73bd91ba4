"""What it costs at least to carry traffic between pairs of users, who all choose brokers at once.

Give the ends of a tree weights that add up to 1. A link of the tree that splits them W to 1 - W has
4 W (1 - W) <= 1, so the tree costs at least 4 times the sum over pairs of ends of both weights and
the way between them: the way in the tree is no shorter than the direct link. Here the publisher
weighs 1/2 and the subscribers share the rest: a message costs at least the mean way from the
publisher to a subscriber, and a part of the ways between subscribers. Summed over messages that is
a cost for each pair of users and the way between their brokers (:func:`pair_ways`).

What is left is to attach users so that access and ways of pairs cost least, a quadratic assignment
with capacities. Prices for pairs account for these: at most the capacity of b' less a user's own
load is there beside it, whatever its own broker b; that has a price by b and b', in proportion to
what the user's pairs pay. Then users pass on, in turn, what they cost at each broker to the pairs
that they share with others (:func:`pass_forth_and_back`). What users pay at their cheapest brokers
is a bound after every round, and rises from round to round.

Guarantee
    A lower bound on C1 + C2 under capacities, by spanning trees, Steiner trees or the one tree.

Complexity
    O(users^2 x brokers^2) a round; O(users^2 x (channels + brokers)) space.

References
----------
    Our own. Prices for products of choices: W. P. Adams, H. D. Sherali, A tight linearization and
    an algorithm for zero-one quadratic programming problems, Management Science 32, 1986. Passing
    on in turn: V. Kolmogorov, Convergent tree-reweighted message passing for energy minimization,
    IEEE Transactions on Pattern Analysis and Machine Intelligence 28, 2006.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE
from fanwise.wire.arrays import WiringArrays
from fanwise.wire.proving.access_prices import price_brokers

MOST_MESSAGES = 2e7
"""Pairs of users times brokers, and of users and channels, up to which they fit into memory."""
MOST_ROUNDS = 40
"""After so many rounds the bound rises no more."""


class Pairs(NamedTuple):
    """A lower bound on C1 + C2, and what proves it.

    Attributes
    ----------
    value
        The bound; 0 where the problem is too large for it.
    ways
        By the broker of a user (row): prices of a unit of others' load at each broker.
    rounds
        How often users pass on what they cost.
    taken_off
        What prices times capacities take off the sum that the bound is.
    """

    value: float
    ways: FloatArray
    rounds: int
    taken_off: float


class PairCosts(NamedTuple):
    """What pairs of users cost: by their ways, and by the prices of others' load.

    Attributes
    ----------
    ways
        What a pair pays for a unit of cost between its brokers.
    core
        Cost between brokers.
    prices
        Of others' load, by the broker of a user and theirs.
    shares
        The part of the prices that each user pays.
    loads
        Of users.
    """

    ways: FloatArray
    core: FloatArray
    prices: FloatArray
    shares: FloatArray
    loads: FloatArray


def pairs_steps(arrays: WiringArrays) -> float:
    """Return how many elementary steps a round takes; infinite where there are too many pairs."""
    users, brokers = float(arrays.num_users), float(arrays.num_brokers)
    if max(users * users * brokers, users * arrays.num_channels) > MOST_MESSAGES:
        return np.inf
    return 2.0 * (users * brokers) ** 2


def pairs_bound(
    arrays: WiringArrays, capacity: FloatArray, most_steps: float, is_over: Callable[[], bool]
) -> Pairs:
    """Return a lower bound on C1 + C2, after as many rounds as steps and time allow."""
    count = arrays.num_brokers
    steps = pairs_steps(arrays)
    nothing = Pairs(0.0, np.zeros((count, count)), 0, 0.0)
    if steps > most_steps or not arrays.demand.any():
        return nothing
    ways, owed = pair_ways(arrays)
    paid = owed.sum(axis=1)
    if paid.sum() <= 0:
        return nothing
    shares = paid / paid.sum()
    core = arrays.core * (1 - RELATIVE_TOLERANCE)  # direct links, by the triangle inequality
    prices = price_companions(arrays, owed.sum(axis=0), core, capacity, is_over)
    held = np.where(np.isfinite(capacity), capacity, 0.0)
    alone = arrays.demand[:, None] * arrays.access
    alone -= shares[:, None] * (prices @ held - arrays.demand[:, None] * np.diag(prices))
    costs = PairCosts(ways, core, prices, shares, arrays.demand)
    told = np.zeros((arrays.num_users, arrays.num_users, count))
    value, rounds = 0.0, 0
    while rounds < MOST_ROUNDS and (rounds + 1) * steps <= most_steps:
        if rounds and is_over():
            break
        value = pass_forth_and_back(alone, costs, told)
        rounds += 1
    return Pairs(value, prices, rounds, float((prices @ held).max()))


def pair_ways(arrays: WiringArrays) -> tuple[FloatArray, FloatArray]:
    """Return what pairs pay for a unit of cost between their brokers; and of it, each user's part.

    A user's part (row): all of the ways to those who want what it publishes, and half of those to
    others who want the same as it does.
    """
    rates, wants = _dense_touches(arrays)
    # A publisher that wants the channel needs no way to itself: the others share it.
    others = wants.sum(axis=0) - wants
    parts = np.divide(rates, others, out=np.zeros(rates.shape), where=rates > 0)
    owed = parts @ wants.T
    # By channel: rate over the square of how many share it, summed over all publishers but the two
    # of the pair.
    parts = np.divide(parts, others, out=parts, where=rates > 0)
    own = wants * parts
    common = (wants * parts.sum(axis=0)) @ wants.T - own @ wants.T - wants @ own.T
    owed += common / 2
    np.fill_diagonal(owed, 0.0)
    return np.ascontiguousarray(owed + owed.T), owed


def _dense_touches(arrays: WiringArrays) -> tuple[FloatArray, FloatArray]:
    """Return by user and channel what is published, and 1 for what is wanted."""
    rates, wants = np.zeros((2, arrays.num_users, arrays.num_channels))
    users = np.repeat(np.arange(arrays.num_users), np.diff(arrays.indptr))
    rates[users, arrays.channels] = arrays.rates
    wants[users, arrays.channels] = arrays.wants
    return rates, wants


def price_companions(
    arrays: WiringArrays,
    owed: FloatArray,
    core: FloatArray,
    capacity: FloatArray,
    is_over: Callable[[], bool],
) -> FloatArray:
    """Return prices of load by the broker of a user, as if all users but one stood there together.

    That one is small: everybody chooses a broker for access to what all publish, and for its way
    from there.
    """
    count = len(core)
    senders = np.repeat(np.arange(arrays.num_users), np.diff(arrays.indptr))
    sent = np.bincount(senders, weights=arrays.rates, minlength=arrays.num_users)
    has_load = arrays.demand > 0
    load = arrays.demand[has_load]
    served = (arrays.demand - sent)[has_load, None] * arrays.access[has_load]
    prices = np.zeros((count, count))
    for root in range(count):
        costs = (served + owed[has_load, None] * core[root]) / load[:, None]
        prices[root] = price_brokers(load, costs, capacity, is_over)[1]
    return prices


@kernel
def pass_forth_and_back(alone: FloatArray, costs: PairCosts, told: FloatArray) -> float:
    """Let users pass on what they cost, in the order of ids and back; return what they still pay.

    ``told[i, j]`` is what the pair of i and j adds to the costs of i, by broker; on the other side
    of the pair it is taken off. A user takes in all that its pairs cost at each of its brokers, and
    hands even parts of its sum out to those that come after it in the order. Changes ``told``.
    """
    users, brokers = alone.shape
    core, prices, shares, loads = costs.core, costs.prices, costs.shares, costs.loads
    least, paid = np.empty((users, brokers)), np.empty(brokers)
    total = 0.0
    for turn in range(2):
        total = 0.0
        for at in range(users):
            i = at if turn == 0 else users - 1 - at
            paid[:] = alone[i]
            for j in range(users):
                if j == i:
                    continue
                mine, theirs = shares[i] * loads[j], shares[j] * loads[i]
                for b in range(brokers):
                    cheapest = np.inf
                    for other in range(brokers):
                        cost = costs.ways[i, j] * core[b, other] - told[j, i, other]
                        cost += mine * prices[b, other] + theirs * prices[other, b]
                        cheapest = min(cheapest, cost)
                    least[j, b] = cheapest
                    paid[b] += cheapest
            left = users - 1 - at
            part = 1.0 / max(at, left, 1)
            for j in range(users):
                if j != i:
                    told[i, j] = least[j]
                    if (j > i) == (turn == 0):
                        told[i, j] -= part * paid
            total += (1.0 - part * left) * paid.min()
    return total
