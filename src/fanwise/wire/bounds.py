"""Proven lower bounds on the cost of any wiring that keeps the capacities.

Three bounds, of which the largest counts; the others are
:mod:`fanwise.wire.proving.gathering_bound` and :mod:`fanwise.wire.proving.pairs_bound`.

The subscribers of a channel have so much traffic that they fill at least k brokers, the largest
first. So every message of the channel crosses a tree over at least k brokers, one of them the
publisher's, and :mod:`fanwise.wire.proving.tree_bounds` tells what that costs at least. A user at a
broker costs its access and at least those trees for what it publishes; under capacities, prices on
brokers (:mod:`fanwise.wire.proving.access_prices`) bound the sum over all users.

Guarantee
    No attachment within the capacities costs less, whether C2 is by spanning trees, by Steiner
    trees or by the one tree of the brokers.

Complexity
    O(users x brokers) for each of a few sweeps of prices, O(brokers^3) for trees, and up to
    ``MOST_STEPS`` steps for each of the other bounds.

References
----------
    Our own. Y. Zhao, J. Wu (IEEE SECON 2011) prove no bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE, ROUNDING, most_within
from fanwise.planning.problem import Run
from fanwise.wire.arrays import WiringArrays
from fanwise.wire.proving.access_prices import price_brokers, priced_capacity
from fanwise.wire.proving.gathering_bound import gathering_bound, gathering_steps
from fanwise.wire.proving.pairs_bound import MOST_ROUNDS, Pairs, pairs_bound, pairs_steps
from fanwise.wire.proving.tree_bounds import cheapest_trees, rooted_trees

LEAST_RADII, RADII_PER_ID = 1_000, 3
"""Radii that a certificate may have anyway, and for each user, channel and broker."""

MOST_STEPS, STEPS_PER_SECOND = 3e9, 1e9
"""Elementary steps to spend on the gathering of subscribers, and how many take a second at most."""
MOST_PAIRED, PAIRED_PER_SECOND = 6e8, 2e8
"""The same for what pairs of users cost."""
SWEEPS = 6
"""Times that subscribers are gathered at most: by shares of prices and of the core."""
COSTS_PER_SECOND, LEAST_SECONDS = 2e7, 0.1
"""What everything else takes: users times brokers in a second, and a little anyway."""

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
    pairs
        What proves the bound on pairs of users, where that is the largest: then nothing else does.
    """

    prices: FloatArray
    radii: FloatArray
    parts: FloatArray | None
    pairs: Pairs | None = None


class BoundParts(NamedTuple):
    """Lower bounds on C1, whatever C2 is; on C2, whatever C1 is; on both, and why."""

    access: float
    core: float
    together: float
    duals: Duals


def proving_seconds(arrays: WiringArrays) -> float:
    """Return about how long a bound takes, generously."""
    gathering = min(MOST_STEPS, SWEEPS * gathering_steps(arrays)) / STEPS_PER_SECOND
    paired = pairs_steps(arrays)
    paired = min(MOST_ROUNDS * paired, MOST_PAIRED) if paired <= MOST_PAIRED else 0.0
    rest = paired / PAIRED_PER_SECOND + arrays.access.size / COSTS_PER_SECOND
    return LEAST_SECONDS + gathering + rest


def bound_parts(arrays: WiringArrays, run: Run) -> BoundParts:
    """Bound C1 and C2 apart and together, as far as the time limit of a run lets us."""
    if arrays.num_users == 0 or arrays.num_brokers == 0:
        nothing = Duals(np.zeros(arrays.num_brokers), np.zeros((arrays.num_brokers, 0)), None)
        return BoundParts(0.0, 0.0, 0.0, nothing)
    capacity = most_within(arrays.capacity)
    access, prices = price_brokers(arrays.demand, arrays.access, capacity, run.is_over)
    needed = brokers_needed(arrays)
    trees, radii = trees_within(arrays, needed)
    of_channel = np.ascontiguousarray(trees[:, needed])
    rates = channel_rates(arrays)
    core = rounded_down(float(np.dot(rates, of_channel.min(axis=0))), 0.0)
    access = rounded_down(access, priced_capacity(prices, capacity))
    together, duals = access + core, Duals(prices, radii, None)
    steps = min(run.time_left() * STEPS_PER_SECOND, MOST_STEPS)
    found = gathering_bound(arrays, rates, of_channel, capacity, steps)
    value = rounded_down(found.value, found.taken_off)
    if value > together:
        together, duals = value, Duals(found.prices, radii, found.parts)
    steps = min(run.time_left() * PAIRED_PER_SECOND, MOST_PAIRED)
    paired = pairs_bound(arrays, capacity, steps, run.is_over)
    value = rounded_down(paired.value, paired.taken_off)
    if value > together:
        together, duals = value, Duals(0 * prices, 0 * radii, None, paired)
    if arrays.access.size <= MOST_COSTS and core > 0 and not run.is_over():
        costs = add_trees(arrays, of_channel)
        value, prices = price_brokers(arrays.demand, costs, capacity, run.is_over)
        value = rounded_down(value, priced_capacity(prices, capacity))
        if value > together:
            together, duals = value, Duals(prices, radii, None)
    return BoundParts(access, core, together, duals)


def rounded_down(value: float, taken_off: float) -> float:
    """Return a bound that sums in another order reach as well; never below 0."""
    return max(0.0, value - ROUNDING * (abs(value) + 2 * taken_off))


def trees_within(arrays: WiringArrays, needed: LongArray) -> tuple[FloatArray, FloatArray]:
    """Return what trees cost at least, and radii that prove it, if there are not too many of them.

    A certificate has a row for each; it must stay small beside the plan.
    """
    most = int(needed.max(initial=1))
    trees, radii = rooted_trees(arrays.core, arrays.links, most)
    radii[:, np.setdiff1d(np.arange(radii.shape[1]), needed)] = 0.0
    size = arrays.num_users + arrays.num_channels + arrays.num_brokers
    if np.count_nonzero(radii) > LEAST_RADII + RADII_PER_ID * size:
        return np.tile(cheapest_trees(arrays.links, len(trees), most), (len(trees), 1)), 0 * radii
    return trees, radii


def channel_rates(arrays: WiringArrays) -> FloatArray:
    """Return what is published on each channel."""
    rates = np.bincount(arrays.channels, weights=arrays.rates, minlength=arrays.num_channels)
    return np.asarray(rates, dtype=np.float64)


def brokers_needed(arrays: WiringArrays) -> LongArray:
    """Return how many brokers the subscribers of each channel fill at least."""
    users = np.repeat(np.arange(arrays.num_users), np.diff(arrays.indptr))
    weights = np.where(arrays.wants, arrays.demand[users], 0.0)
    demand = np.bincount(arrays.channels, weights=weights, minlength=arrays.num_channels)
    # The largest brokers first; loads may pass capacities by the tolerance, and sums by rounding.
    holds = np.cumsum(np.sort(arrays.capacity)[::-1]) * (1 + 2 * RELATIVE_TOLERANCE)
    needed = np.searchsorted(holds, demand, side="left") + 1
    return np.minimum(needed, arrays.num_brokers)


@kernel
def add_trees(arrays: WiringArrays, trees: FloatArray) -> FloatArray:
    """Return what a unit of each user's traffic costs at each broker at least, trees included.

    ``trees`` has a row for each broker and a column for each channel. Changes nothing.
    """
    costs = arrays.access.copy()
    for user in range(len(arrays.demand)):
        if arrays.demand[user] <= 0:
            continue
        for entry in range(arrays.indptr[user], arrays.indptr[user + 1]):
            if arrays.rates[entry] > 0:
                part = arrays.rates[entry] / arrays.demand[user]
                channel = arrays.channels[entry]
                for b in range(costs.shape[1]):
                    costs[user, b] += part * trees[b, channel]
    return costs
