"""What branch and bound looks up: users in the order of branching, and costs of sets of brokers.

With few brokers, what a tree over any set of them costs is a table by bit masks: bit b is set where
broker b is in the set. What it costs at least once others join, a Steiner tree in effect, is
another: the least over all larger sets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.tolerance import most_within
from fanwise.wire.arrays import WiringArrays
from fanwise.wire.bounds import brokers_needed
from fanwise.wire.proving.access_prices import price_brokers, priced_capacity
from fanwise.wire.spanning_trees import fill_costs, grow_tree, make_scratch, make_span


class BranchingTables(NamedTuple):
    """Users in the order in which they are attached, and tables over sets of brokers.

    Attributes
    ----------
    indptr, channels, wants, rates
        The channels that each user touches.
    demand
        Traffic of each user.
    cost, priced
        What access costs each user at each broker; the same with prices.
    rest_cost, rest_priced
        What users from here on cost at least, the last of all 0 or what prices take off.
    rest_rates
        What users from here on publish on each channel.
    capacity
        Most load of each broker.
    trees
        Cost of the tree over each set of brokers.
    least
        The least of any set that holds it, and at least so many brokers (row).
    needed
        Brokers that the subscribers of each channel fill at least.
    prices
        Of a unit of load at each broker.
    """

    indptr: LongArray
    channels: IntArray
    wants: npt.NDArray[np.bool_]
    rates: FloatArray
    demand: FloatArray
    cost: FloatArray
    priced: FloatArray
    rest_cost: FloatArray
    rest_priced: FloatArray
    rest_rates: FloatArray
    capacity: FloatArray
    trees: FloatArray
    least: FloatArray
    needed: LongArray
    prices: FloatArray


def build_tables(arrays: WiringArrays, order: LongArray) -> BranchingTables:
    """Return the tables of a problem with users in an order. O(channels + 2^brokers) memory."""
    lengths = np.diff(arrays.indptr)[order]
    indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    entries = np.concatenate(
        [np.arange(arrays.indptr[user], arrays.indptr[user + 1]) for user in order]
        or [np.empty(0, dtype=np.int64)]
    )
    demand = arrays.demand[order]
    capacity = most_within(arrays.capacity)
    _, prices = price_brokers(arrays.demand, arrays.access, capacity)
    cost = demand[:, None] * arrays.access[order]
    if len(arrays.allowed):
        cost[~arrays.allowed[order]] = np.inf
    priced = cost + demand[:, None] * prices
    taken_off = priced_capacity(prices, capacity)
    rates = np.zeros((len(order) + 1, arrays.num_channels))
    for position, user in enumerate(order):
        mine = slice(arrays.indptr[user], arrays.indptr[user + 1])
        rates[position, arrays.channels[mine]] = arrays.rates[mine]
    needed = brokers_needed(arrays)
    trees = tree_table(arrays)
    return BranchingTables(
        indptr,
        arrays.channels[entries],
        arrays.wants[entries],
        arrays.rates[entries],
        demand,
        cost,
        priced,
        sums_from(cost.min(axis=1, initial=np.inf)),
        sums_from(priced.min(axis=1, initial=np.inf)) - taken_off,
        np.cumsum(rates[::-1], axis=0)[::-1].copy(),
        capacity,
        trees,
        least_table(trees, arrays.num_brokers, int(needed.max(initial=0))),
        needed,
        prices,
    )


def sums_from(values: FloatArray) -> FloatArray:
    """Return the sum from each position on, and 0 at the end."""
    return np.concatenate([np.cumsum(values[::-1])[::-1], np.zeros(1)])


def tree_table(arrays: WiringArrays) -> FloatArray:
    """Return the cost of the tree over each set of brokers, by bit mask."""
    count = arrays.num_brokers
    trees = np.zeros(1 << count)
    span, scratch, costs = make_span(count), make_scratch(count), np.zeros(count)
    for mask in range(1, len(trees)):
        members = [b for b in range(count) if mask >> b & 1]
        span.inside[:] = False
        span.inside[members] = True
        span.vertices[: len(members)] = members
        span.size[0] = len(members)
        grow_tree(arrays.links, span, scratch.least)
        fill_costs(arrays, span, scratch, costs)
        trees[mask] = costs[members[0]]
    return trees


def least_table(trees: FloatArray, num_brokers: int, most: int) -> FloatArray:
    """Return the least over all larger sets of at least k brokers, by k and bit mask."""
    masks = np.arange(len(trees))
    sizes = sum(((masks >> b) & 1 for b in range(num_brokers)), np.zeros(len(trees), dtype=int))
    least = np.where(sizes >= np.arange(most + 1)[:, None], trees, np.inf)
    # Minimum over all supersets: one broker at a time, each set takes over from the one with it.
    for b in range(num_brokers):
        without = masks[(masks >> b) & 1 == 0]
        least[:, without] = np.minimum(least[:, without], least[:, without | (1 << b)])
    return least
