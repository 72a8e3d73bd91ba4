"""Proven lower bounds on the cost of any wiring that keeps the capacities.

Two bounds, of which the larger counts; the other is :mod:`fanwise.wire.star_bounds`.

The subscribers of a channel have so much traffic that they fill at least k brokers, the largest
first. So every message of the channel crosses a tree over at least k brokers, one of them the
publisher's, and :mod:`fanwise.wire.tree_bounds` tells what that costs at least. A user at a broker
costs its access and at least those trees for what it publishes; under capacities, prices on brokers
(:mod:`fanwise.wire.access_prices`) bound the sum over all users. Bounds hold for spanning trees,
for the one tree of the brokers and for Steiner trees alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.wire.access_prices import price_brokers
from fanwise.wire.ground import TOLERANCE, Ground
from fanwise.wire.star_bounds import gathering_bound
from fanwise.wire.tree_bounds import cheapest_trees, rooted_trees

if TYPE_CHECKING:
    from fanwise.wire.problem import Wiring

ROUNDING = 1e-12
"""Relative: sums in another order may differ by less."""

LEAST_RADII, RADII_PER_ID = 1_000, 3
"""Radii that a certificate may have anyway, and for each user, channel and broker."""

MOST_COSTS = 20_000_000
"""Users times brokers up to which users and trees are bounded together."""


class Duals(NamedTuple):
    """What a bound follows from.

    Attributes
    ----------
    prices
        Of a unit of load at each broker.
    radii
        By broker and number of brokers: the radius that tells what a tree costs; 0: none does.
    parts
        Of the core, by which each channel's subscribers gather; None: the bound is on users at
        brokers.
    """

    prices: FloatArray
    radii: FloatArray
    parts: FloatArray | None


class Parts(NamedTuple):
    """Lower bounds on C1, whatever C2 is; on C2, whatever C1 is; on both, and why."""

    access: float
    core: float
    together: float
    duals: Duals


def lower_bound(problem: Wiring) -> float:
    """Return a proven lower bound on C1 + C2 of every feasible plan.

    What is small enough for ``exact`` is searched a little way as well.
    """
    return problem.bound()


def bound_parts(ground: Ground) -> Parts:
    """Bound C1 and C2 apart and together."""
    if ground.num_users == 0 or ground.num_brokers == 0:
        nothing = Duals(np.zeros(ground.num_brokers), np.zeros((ground.num_brokers, 0)), None)
        return Parts(0.0, 0.0, 0.0, nothing)
    capacity = ground.capacity * (1 + TOLERANCE)
    access, prices = price_brokers(ground.demand, ground.access, capacity)
    needed = brokers_needed(ground)
    trees, radii = trees_within(ground, needed)
    of_channel = np.ascontiguousarray(trees[:, needed])
    rates = channel_rates(ground)
    core = rounded_down(float(np.dot(rates, of_channel.min(axis=0))), 0.0)
    access = rounded_down(access, priced_capacity(prices, capacity))
    together, duals = access + core, Duals(prices, radii, None)
    found = gathering_bound(ground, rates, of_channel, capacity)
    value = rounded_down(found.value, found.taken_off)
    if value > together:
        together, duals = value, Duals(found.prices, radii, found.parts)
    if ground.access.size <= MOST_COSTS and core > 0:
        costs = add_trees(ground, of_channel)
        value, prices = price_brokers(ground.demand, costs, capacity)
        value = rounded_down(value, priced_capacity(prices, capacity))
        if value > together:
            together, duals = value, Duals(prices, radii, None)
    return Parts(access, core, together, duals)


def priced_capacity(prices: FloatArray, capacity: FloatArray) -> float:
    """Return what prices times capacities come to; unlimited brokers are free."""
    return float(np.dot(prices[prices > 0], capacity[prices > 0]))


def rounded_down(value: float, taken_off: float) -> float:
    """Return a bound that sums in another order reach as well; never below 0."""
    return max(0.0, value - ROUNDING * (abs(value) + 2 * taken_off))


def trees_within(ground: Ground, needed: LongArray) -> tuple[FloatArray, FloatArray]:
    """Return what trees cost at least, and radii that prove it, if there are not too many of them.

    A certificate has a row for each; it must stay small beside the plan.
    """
    most = int(needed.max(initial=1))
    trees, radii = rooted_trees(ground.core, ground.pairs, most)
    radii[:, np.setdiff1d(np.arange(radii.shape[1]), needed)] = 0.0
    size = ground.num_users + ground.num_channels + ground.num_brokers
    if np.count_nonzero(radii) > LEAST_RADII + RADII_PER_ID * size:
        return np.tile(cheapest_trees(ground.pairs, len(trees), most), (len(trees), 1)), 0 * radii
    return trees, radii


def channel_rates(ground: Ground) -> FloatArray:
    """Return what is published on each channel."""
    rates = np.bincount(ground.channels, weights=ground.rates, minlength=ground.num_channels)
    return np.asarray(rates, dtype=np.float64)


def brokers_needed(ground: Ground) -> LongArray:
    """Return how many brokers the subscribers of each channel fill at least."""
    users = np.repeat(np.arange(ground.num_users), np.diff(ground.indptr))
    weights = np.where(ground.wants, ground.demand[users], 0.0)
    demand = np.bincount(ground.channels, weights=weights, minlength=ground.num_channels)
    holds = np.cumsum(np.sort(ground.capacity)[::-1]) * (1 + 2 * TOLERANCE)
    needed = np.searchsorted(holds, demand, side="left") + 1
    return np.minimum(needed, ground.num_brokers)


@kernel
def add_trees(ground: Ground, trees: FloatArray) -> FloatArray:
    """Return what a unit of each user's traffic costs at each broker at least, trees included.

    ``trees`` has a row for each broker and a column for each channel.
    """
    costs = ground.access.copy()
    for user in range(len(ground.demand)):
        if ground.demand[user] <= 0:
            continue
        for place in range(ground.indptr[user], ground.indptr[user + 1]):
            if ground.rates[place] > 0:
                part = ground.rates[place] / ground.demand[user]
                channel = ground.channels[place]
                for b in range(costs.shape[1]):
                    costs[user, b] += part * trees[b, channel]
    return costs
