"""Branch and bound over attachments: one user after another, without looking at most of them.

With few brokers, what a tree over any set of them costs is a table by bit masks. What it costs at
least once others join, a Steiner tree in effect, is another: the least over all larger sets. So the
core cost of users attached so far bounds that of all, and users to come add at least their cheapest
access, or what prices on brokers say where capacities bind. The search goes down by the child with
the least bound first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel

DEPTH, NUM_BRANCHED = range(2)
VALUE, PRUNED = range(2)
ROUNDING = 1e-12


class Question(NamedTuple):
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
    room
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
    room: FloatArray
    trees: FloatArray
    least: FloatArray
    needed: LongArray
    prices: FloatArray


class Search(NamedTuple):
    """The way from the root to where the search stands, and the best attachment so far.

    By depth: brokers in the order they are tried, their bounds, which is next, load, what is
    published by channel and broker, the brokers of each channel as a mask, core cost at least by
    channel, and access cost without and with prices.
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


def begin_search(question: Question, best: IntArray, value: float) -> Search:
    """Return a search at the root; attachments must cost less than ``value``."""
    users, brokers = question.cost.shape
    channels = len(question.needed)
    search = Search(
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
        least = question.least[question.needed[channel], 0]
        search.core[0, channel] = question.rest_rates[0, channel] * least
    return search


@kernel
def search_on(question: Question, search: Search, gap: float, patience: int) -> bool:
    """Go on for so many nodes of the tree; say whether it is complete.

    Branches that cannot be better than the best by more than the gap are left out; the least bound
    of those is kept.
    """
    users = len(question.demand)
    counters, values = search.counters, search.values
    while counters[DEPTH] >= 0:
        depth = counters[DEPTH]
        if depth == users:
            take_leaf(question, search)
            counters[DEPTH] -= 1
            continue
        if search.following[depth] < 0:
            if patience <= 0:
                return False
            patience -= 1
            counters[NUM_BRANCHED] += 1
            bound_children(question, search, depth)
            search.following[depth] = 0
        place = search.following[depth]
        is_left = place < search.tried.shape[1] and search.bounds[depth, place] < np.inf
        if is_left and search.bounds[depth, place] < cut_off(values[VALUE], gap):
            search.following[depth] += 1
            attach_user(question, search, depth, search.tried[depth, place])
            search.following[depth + 1] = -1
            counters[DEPTH] = depth + 1
            continue
        if is_left and search.bounds[depth, place] < values[PRUNED]:
            values[PRUNED] = search.bounds[depth, place]
        search.following[depth] = -1
        counters[DEPTH] -= 1
    return True


@kernel
def cut_off(value: float, gap: float) -> float:
    """Return the bound from which on a branch is not worth a look."""
    if value == np.inf:
        return np.inf
    return (1 - gap) * value - ROUNDING * abs(value)


@kernel
def bound_children(question: Question, search: Search, depth: int) -> None:
    """Bound the cost with the next user at each broker, and sort brokers by that."""
    brokers = search.tried.shape[1]
    core = search.core[depth].sum()
    tried, bounds = search.tried[depth], search.bounds[depth]
    for b in range(brokers):
        bound = np.inf
        if search.load[depth, b] + question.demand[depth] <= question.room[b]:
            plain = search.cost[depth] + question.cost[depth, b] + question.rest_cost[depth + 1]
            priced = search.priced[depth] + question.priced[depth, b]
            bound = core + max(plain, priced + question.rest_priced[depth + 1])
            for place in range(question.indptr[depth], question.indptr[depth + 1]):
                channel = question.channels[place]
                bound += core_with(question, search, depth, place, b) - search.core[depth, channel]
        at = b
        while at > 0 and bounds[at - 1] > bound:
            bounds[at], tried[at] = bounds[at - 1], tried[at - 1]
            at -= 1
        bounds[at], tried[at] = bound, b


@kernel
def core_with(question: Question, search: Search, depth: int, place: int, broker: int) -> float:
    """Return what a channel costs at least with the next user at a broker."""
    channel = question.channels[place]
    mask = search.masks[depth, channel]
    if question.wants[place]:
        mask |= 1 << broker
    least = question.least[question.needed[channel]]
    total: float = question.rest_rates[depth + 1, channel] * least[mask]
    total += question.rates[place] * least[mask | (1 << broker)]
    for b in range(search.tried.shape[1]):
        if search.published[depth, channel, b] > 0:
            total += search.published[depth, channel, b] * least[mask | (1 << b)]
    return total


@kernel
def attach_user(question: Question, search: Search, depth: int, broker: int) -> None:
    """Fill in the next depth, with one more user attached."""
    below = depth + 1
    search.load[below] = search.load[depth]
    search.load[below, broker] += question.demand[depth]
    search.cost[below] = search.cost[depth] + question.cost[depth, broker]
    search.priced[below] = search.priced[depth] + question.priced[depth, broker]
    search.published[below] = search.published[depth]
    search.masks[below] = search.masks[depth]
    search.core[below] = search.core[depth]
    for place in range(question.indptr[depth], question.indptr[depth + 1]):
        channel = question.channels[place]
        search.core[below, channel] = core_with(question, search, depth, place, broker)
        search.published[below, channel, broker] += question.rates[place]
        if question.wants[place]:
            search.masks[below, channel] |= 1 << broker


@kernel
def take_leaf(question: Question, search: Search) -> None:
    """Keep the attachment that the search has arrived at, if it is the best."""
    users = len(question.demand)
    cost = search.cost[users]
    for channel in range(len(question.needed)):
        for b in range(search.tried.shape[1]):
            sent = search.published[users, channel, b]
            if sent > 0:
                cost += sent * question.trees[search.masks[users, channel] | (1 << b)]
    if cost < search.values[VALUE]:
        search.values[VALUE] = cost
        for user in range(users):
            search.best[user] = search.tried[user, search.following[user] - 1]


@kernel
def open_bound(search: Search) -> float:
    """Return what everything costs at least that the search has not looked at."""
    least = search.values[PRUNED]
    for depth in range(search.counters[DEPTH] + 1):
        if depth < search.tried.shape[0]:
            place = search.following[depth]
            if place < 0:  # not looked at yet: what its parent knew of it
                if depth > 0:
                    least = min(least, search.bounds[depth - 1, search.following[depth - 1] - 1])
                else:
                    least = -np.inf
            elif place < search.tried.shape[1]:
                least = min(least, search.bounds[depth, place])
    return float(least)
