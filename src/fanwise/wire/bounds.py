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
from fanwise.wire.tree_bounds import rooted_trees

if TYPE_CHECKING:
    from fanwise.wire.problem import Wiring

ROUNDING = 1e-12
"""Relative: sums in another order may differ by less."""

MOST_COSTS = 20_000_000
"""Users times brokers up to which users and trees are bounded together."""


class Parts(NamedTuple):
    """Lower bounds on C1, whatever C2 is; on C2, whatever C1 is; and on both together."""

    access: float
    core: float
    together: float


def lower_bound(problem: Wiring) -> float:
    """Return a proven lower bound on C1 + C2 of every feasible plan.

    What is small enough for ``exact`` is searched a little way as well.
    """
    from fanwise.wire.exact import searched_bound  # which needs this module

    return max(problem.bound_parts.together, searched_bound(problem.ground))


def bound_parts(ground: Ground) -> Parts:
    """Bound C1 and C2 apart and together."""
    if ground.num_users == 0 or ground.num_brokers == 0:
        return Parts(0.0, 0.0, 0.0)
    capacity = ground.capacity * (1 + TOLERANCE)
    access, _ = price_brokers(ground.demand, ground.access, capacity)
    needed = brokers_needed(ground)
    trees = rooted_trees(ground.core, ground.pairs, int(needed.max(initial=1)))
    of_channel = np.ascontiguousarray(trees[:, needed])
    rates = channel_rates(ground)
    core = float(np.dot(rates, of_channel.min(axis=0)))
    together = max(access + core, gathering_bound(ground, rates, of_channel, capacity))
    if ground.access.size <= MOST_COSTS and core > 0:
        costs = add_trees(ground, of_channel)
        together = max(together, price_brokers(ground.demand, costs, capacity)[0])
    return Parts(*(max(part, 0.0) * (1 - ROUNDING) for part in (access, core, together)))


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
