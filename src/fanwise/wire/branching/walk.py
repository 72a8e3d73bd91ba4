"""The walk over the tree of branch and bound: one user after another, most of them never looked at.

The core cost of users attached so far bounds that of all, and users to come add at least their
cheapest access, or what prices on brokers say where capacities bind. The walk goes down by the
child with the least bound first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import ROUNDING
from fanwise.wire.branching.tables import BranchingTables

DEPTH, NUM_BRANCHED = range(2)
VALUE, PRUNED = range(2)
"""Indices of counters: depth, and nodes branched; of values: the cost of the best attachment, and
the least bound of what was left out."""


class Branching(NamedTuple):
    """The way from the root to where the walk stands, and the best attachment so far.

    Users are numbered in the order of branching. The first nine are by depth, which is how many
    users are attached.

    Attributes
    ----------
    tried, bounds, following
        Brokers in the order in which they are tried for the next user, their bounds, and which of
        them is next; -1: not looked at yet.
    load
        Of each broker.
    published, masks, core
        What is published by channel and broker; the brokers of each channel, as a bit mask; what
        the core costs at least, by channel.
    cost, priced
        What access costs so far, without and with prices.
    counters, values
        See ``DEPTH`` and ``VALUE``.
    best
        The broker of each user in the best attachment.
    """

    tried: IntArray
    bounds: FloatArray
    following: IntArray
    load: FloatArray
    published: FloatArray
    masks: LongArray
    core: FloatArray
    cost: FloatArray
    priced: FloatArray
    counters: LongArray
    best: IntArray
    values: FloatArray


def begin_branching(tables: BranchingTables, best: IntArray, value: float) -> Branching:
    """Return a walk at the root; attachments must cost less than ``value``, as ``best`` does."""
    users, brokers = tables.cost.shape
    channels = len(tables.needed)
    walk = Branching(
        np.zeros((users, brokers), dtype=np.int32),
        np.zeros((users, brokers)),
        np.full(users + 1, -1, dtype=np.int32),
        np.zeros((users + 1, brokers)),
        np.zeros((users + 1, channels, brokers)),
        np.zeros((users + 1, channels), dtype=np.int64),
        np.zeros((users + 1, channels)),
        np.zeros(users + 1),
        np.zeros(users + 1),
        np.zeros(2, dtype=np.int64),
        best.astype(np.int32),
        np.array([value, np.inf]),
    )
    for channel in range(channels):
        least = tables.least[tables.needed[channel], 0]
        walk.core[0, channel] = tables.rest_rates[0, channel] * least
    return walk


@kernel
def branch_on(tables: BranchingTables, walk: Branching, gap: float, patience: int) -> bool:
    """Go on for so many nodes of the tree; say whether it is complete.

    Branches that cannot be better than the best by more than the gap are left out; the least bound
    of those is kept. Changes the walk.
    """
    users = len(tables.demand)
    counters, values = walk.counters, walk.values
    while counters[DEPTH] >= 0:
        depth = counters[DEPTH]
        if depth == users:
            take_leaf(tables, walk)
            counters[DEPTH] -= 1
            continue
        if walk.following[depth] < 0:
            if patience <= 0:
                return False
            patience -= 1
            counters[NUM_BRANCHED] += 1
            bound_children(tables, walk, depth)
            walk.following[depth] = 0
        child = walk.following[depth]
        is_left = child < walk.tried.shape[1] and walk.bounds[depth, child] < np.inf
        if is_left and walk.bounds[depth, child] < cut_off(values[VALUE], gap):
            walk.following[depth] += 1
            attach_user(tables, walk, depth, walk.tried[depth, child])
            walk.following[depth + 1] = -1
            counters[DEPTH] = depth + 1
            continue
        # Children are sorted: all that are left are bounded by the first of them.
        if is_left and walk.bounds[depth, child] < values[PRUNED]:
            values[PRUNED] = walk.bounds[depth, child]
        walk.following[depth] = -1
        counters[DEPTH] -= 1
    return True


@kernel
def cut_off(value: float, gap: float) -> float:
    """Return the bound from which on a branch is left out. Changes nothing."""
    if value == np.inf:
        return np.inf
    return (1 - gap) * value - ROUNDING * abs(value)


@kernel
def bound_children(tables: BranchingTables, walk: Branching, depth: int) -> None:
    """Bound the cost with the next user at each broker, and sort brokers by that.

    Changes ``tried`` and ``bounds`` at the depth.
    """
    brokers = walk.tried.shape[1]
    core = walk.core[depth].sum()
    tried, bounds = walk.tried[depth], walk.bounds[depth]
    for b in range(brokers):
        bound = np.inf
        if walk.load[depth, b] + tables.demand[depth] <= tables.capacity[b]:
            plain = walk.cost[depth] + tables.cost[depth, b] + tables.rest_cost[depth + 1]
            priced = walk.priced[depth] + tables.priced[depth, b]
            bound = core + max(plain, priced + tables.rest_priced[depth + 1])
            for entry in range(tables.indptr[depth], tables.indptr[depth + 1]):
                channel = tables.channels[entry]
                bound += core_with(tables, walk, depth, entry, b) - walk.core[depth, channel]
        # Insertion sort: equal bounds keep the order of ids, so that the walk is the same
        # everywhere.
        at = b
        while at > 0 and bounds[at - 1] > bound:
            bounds[at], tried[at] = bounds[at - 1], tried[at - 1]
            at -= 1
        bounds[at], tried[at] = bound, b


@kernel
def core_with(
    tables: BranchingTables, walk: Branching, depth: int, entry: int, broker: int
) -> float:
    """Return what a channel costs at least with the next user at a broker. Changes nothing."""
    channel = tables.channels[entry]
    mask = walk.masks[depth, channel]
    if tables.wants[entry]:
        mask |= 1 << broker
    least = tables.least[tables.needed[channel]]
    # Users to come may be attached anywhere: their messages cross at least the cheapest tree that
    # holds the brokers so far, and as many as the subscribers fill.
    total: float = tables.rest_rates[depth + 1, channel] * least[mask]
    total += tables.rates[entry] * least[mask | (1 << broker)]
    for b in range(walk.tried.shape[1]):
        if walk.published[depth, channel, b] > 0:
            total += walk.published[depth, channel, b] * least[mask | (1 << b)]
    return total


@kernel
def attach_user(tables: BranchingTables, walk: Branching, depth: int, broker: int) -> None:
    """Fill in the next depth, with one more user attached. Changes that depth of the walk."""
    below = depth + 1
    walk.load[below] = walk.load[depth]
    walk.load[below, broker] += tables.demand[depth]
    walk.cost[below] = walk.cost[depth] + tables.cost[depth, broker]
    walk.priced[below] = walk.priced[depth] + tables.priced[depth, broker]
    walk.published[below] = walk.published[depth]
    walk.masks[below] = walk.masks[depth]
    walk.core[below] = walk.core[depth]
    for entry in range(tables.indptr[depth], tables.indptr[depth + 1]):
        channel = tables.channels[entry]
        walk.core[below, channel] = core_with(tables, walk, depth, entry, broker)
        walk.published[below, channel, broker] += tables.rates[entry]
        if tables.wants[entry]:
            walk.masks[below, channel] |= 1 << broker


@kernel
def take_leaf(tables: BranchingTables, walk: Branching) -> None:
    """Keep the attachment that the walk has arrived at, if it is the best. Changes ``best``."""
    users = len(tables.demand)
    cost = walk.cost[users]
    for channel in range(len(tables.needed)):
        for b in range(walk.tried.shape[1]):
            sent = walk.published[users, channel, b]
            if sent > 0:
                cost += sent * tables.trees[walk.masks[users, channel] | (1 << b)]
    if cost < walk.values[VALUE]:
        walk.values[VALUE] = cost
        for user in range(users):
            walk.best[user] = walk.tried[user, walk.following[user] - 1]


@kernel
def open_bound(walk: Branching) -> float:
    """Return what everything costs at least that the walk has not looked at. Changes nothing."""
    least = walk.values[PRUNED]
    for depth in range(walk.counters[DEPTH] + 1):
        if depth < walk.tried.shape[0]:
            child = walk.following[depth]
            if child < 0:  # not looked at yet: what its parent knew of it
                if depth > 0:
                    least = min(least, walk.bounds[depth - 1, walk.following[depth - 1] - 1])
                else:
                    least = -np.inf
            elif child < walk.tried.shape[1]:
                least = min(least, walk.bounds[depth, child])
    return float(least)
