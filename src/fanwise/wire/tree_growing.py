"""Alg. 3, read as a shortest-path heuristic like Prim's: one tree over users and brokers.

As printed it stops after one link. Read instead: the tree starts at the source; again and again the
user that costs least to reach from the tree so far, through the broker that makes it so cheap, is
connected to that broker, which joins the tree. A connected user stands for its broker from then on.
The source connects together with the first user, by the cheapest way between the two. Ties: the
smaller user, then the smaller broker (for the source too).

Guarantee
    None: a user has one link, so that this is no Steiner tree problem for which the heuristic would
    be within a factor of 2.

Complexity
    O(users x brokers) to start, then O(users) for each broker that the tree comes nearer to.

References
----------
    Y. Zhao, J. Wu: On the construction of the minimum cost content-based publish/subscribe
    overlays. IEEE SECON 2011, Algorithm 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tournament import first_largest, mend_tree, set_leaf
from fanwise.wire.arrays import WiringArrays


class Growth(NamedTuple):
    """Scratch for growing one tree, and what comes out of it.

    Attributes
    ----------
    away
        Cost from the tree to each broker.
    cost, through
        Least cost to reach each user of the list, and the broker by which.
    chosen
        The broker that each user of the list is connected to; -1: not yet.
    queue
        A tournament of users by minus their cost: who is first costs least, of several the first
        in the list; minus infinity for those that are connected.
    """

    away: FloatArray
    cost: FloatArray
    through: IntArray
    chosen: IntArray
    queue: FloatArray


def make_growth(num_users: int, num_brokers: int) -> Growth:
    """Return scratch for trees of so many users and brokers."""
    return Growth(
        np.zeros(num_brokers),
        np.zeros(num_users),
        np.zeros(num_users, dtype=np.int32),
        np.zeros(num_users, dtype=np.int32),
        np.zeros(4 * max(num_users, 1)),
    )


@kernel
def grow_from(arrays: WiringArrays, users: IntArray, source: int, growth: Growth) -> None:
    """Connect a list of ascending users by a tree from ``users[source]``.

    Changes the growth: ``chosen`` has the broker of each user of the list.
    """
    count = len(arrays.capacity)
    growth.chosen[: len(users)] = -1
    start = users[source]
    # The source has no broker yet: ways begin at whichever makes them cheapest.
    for b in range(count):
        growth.away[b] = np.inf
        for a in range(count):
            growth.away[b] = min(growth.away[b], arrays.access[start, a] + arrays.core[a, b])
    for i in range(len(users)):
        reach_user(arrays, users, i, growth)
    first = -1
    for i in range(len(users)):
        if i != source and (first < 0 or growth.cost[i] < growth.cost[first]):
            first = i
    if first < 0:
        growth.chosen[source] = nearest_broker(arrays, start, -1)
        return
    entry = growth.through[first]
    growth.chosen[first] = entry
    growth.chosen[source] = nearest_broker(arrays, start, entry)
    for b in range(count):
        growth.away[b] = min(arrays.core[growth.chosen[source], b], arrays.core[entry, b])
    for i in range(len(users)):
        reach_user(arrays, users, i, growth)
    queue = queue_users(growth, len(users))
    while queue[1] > -np.inf:
        i = first_largest(queue)
        growth.chosen[i] = growth.through[i]
        set_leaf(queue, i, -np.inf)
        take_broker(arrays, users, growth, queue, growth.through[i])


@kernel
def nearest_broker(arrays: WiringArrays, user: int, to: int) -> int:
    """Return the broker by which a user comes to another one (-1: to none) at the least cost.

    Changes nothing.
    """
    best, least = 0, np.inf
    for b in range(len(arrays.capacity)):
        cost = arrays.access[user, b] + (arrays.core[b, to] if to >= 0 else 0.0)
        if cost < least:
            best, least = b, cost
    return best


@kernel
def reach_user(arrays: WiringArrays, users: IntArray, i: int, growth: Growth) -> None:
    """Find the least cost from the tree to a user, and the broker by which.

    Changes ``cost`` and ``through``.
    """
    least, best = np.inf, 0
    for b in range(len(growth.away)):
        cost = growth.away[b] + arrays.access[users[i], b]
        if cost < least:
            least, best = cost, b
    growth.cost[i] = least
    growth.through[i] = best


@kernel
def queue_users(growth: Growth, num_users: int) -> FloatArray:
    """Return the queue of users that are not connected. Changes ``queue``, where it is kept."""
    num_leaves = 1
    while num_leaves < num_users:
        num_leaves *= 2
    queue = growth.queue[: 2 * num_leaves]
    queue[:] = -np.inf
    for i in range(num_users):
        if growth.chosen[i] < 0:
            queue[num_leaves + i] = -growth.cost[i]
    mend_tree(queue)
    return queue


@kernel
def take_broker(
    arrays: WiringArrays, users: IntArray, growth: Growth, queue: FloatArray, broker: int
) -> None:
    """Let a broker join the tree: others may be nearer now, and users by them.

    Changes ``away``, ``cost``, ``through`` and the queue.
    """
    if growth.away[broker] == 0:
        return  # it is there already, or costs nothing to reach from one that is
    for b in range(len(growth.away)):
        if arrays.core[broker, b] < growth.away[b]:
            growth.away[b] = arrays.core[broker, b]
            approach(arrays, users, growth, queue, b)


@kernel
def approach(
    arrays: WiringArrays, users: IntArray, growth: Growth, queue: FloatArray, broker: int
) -> None:
    """Let users that are not connected yet see that a broker came nearer.

    Changes ``cost``, ``through`` and the queue.
    """
    for i in range(len(users)):
        if growth.chosen[i] >= 0:
            continue
        cost = growth.away[broker] + arrays.access[users[i], broker]
        if cost < growth.cost[i]:
            growth.cost[i] = cost
            growth.through[i] = broker
            set_leaf(queue, i, -cost)
        # Brokers approach in the order in which the tree grows, not by id: ties are mended here.
        elif cost == growth.cost[i] and broker < growth.through[i]:
            growth.through[i] = broker
