"""Alg. 3, read as a shortest-path heuristic like Prim's: one tree over users and brokers.

As printed it stops after one link. Read instead: the tree starts at the source; again and again the
user that costs least to reach from the tree so far, through the broker that makes it so cheap, is
connected to that broker, which joins the tree. A connected user stands for its broker from then on.
The source connects together with the first user, by the cheapest way between the two. Ties: the
smaller user, then the smaller broker (for the source too).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.wire.ground import Ground


class Growth(NamedTuple):
    """Room for growing one tree.

    Attributes
    ----------
    away
        Cost from the tree to each broker.
    cost, through
        Least cost to reach each user of the list, and the broker by which.
    chosen
        The broker that each user of the list is connected to; -1: not yet.
    heap_cost, heap_user, heap_size
        A queue of users by cost, then place in the list; entries may be out of date.
    """

    away: FloatArray
    cost: FloatArray
    through: IntArray
    chosen: IntArray
    heap_cost: FloatArray
    heap_user: IntArray
    heap_size: LongArray


def make_growth(num_users: int, num_brokers: int) -> Growth:
    """Return room for trees of so many users and brokers."""
    entries = max(4 * num_users, 16)
    return Growth(
        np.zeros(num_brokers),
        np.zeros(num_users),
        np.zeros(num_users, dtype=np.int32),
        np.zeros(num_users, dtype=np.int32),
        np.zeros(entries),
        np.zeros(entries, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )


@kernel
def grow_from(ground: Ground, users: IntArray, source: int, growth: Growth) -> None:
    """Connect a list of ascending users by a tree from ``users[source]``; fills ``chosen``.

    O(users x brokers) to start, then O(users) for each broker that the tree comes nearer to.
    """
    count = len(ground.capacity)
    growth.chosen[: len(users)] = -1
    start = users[source]
    for b in range(count):
        growth.away[b] = np.inf
        for a in range(count):
            growth.away[b] = min(growth.away[b], ground.access[start, a] + ground.core[a, b])
    for i in range(len(users)):
        reach_user(ground, users, i, growth)
    first = -1
    for i in range(len(users)):
        if i != source and (first < 0 or growth.cost[i] < growth.cost[first]):
            first = i
    if first < 0:
        growth.chosen[source] = nearest_broker(ground, start, -1)
        return
    entry = growth.through[first]
    growth.chosen[first] = entry
    growth.chosen[source] = nearest_broker(ground, start, entry)
    growth.away[:] = np.inf
    take_broker(ground, users, growth, growth.chosen[source], False)
    take_broker(ground, users, growth, entry, False)
    for i in range(len(users)):
        reach_user(ground, users, i, growth)
    fill_heap(growth, len(users))
    while growth.heap_size[0] > 0:
        i = pop_user(growth)
        if i >= 0:
            growth.chosen[i] = growth.through[i]
            take_broker(ground, users, growth, growth.through[i], True)


@kernel
def nearest_broker(ground: Ground, user: int, to: int) -> int:
    """The broker by which a user comes to another broker (-1: to itself) at the least cost."""
    best, least = 0, np.inf
    for b in range(len(ground.capacity)):
        cost = ground.access[user, b] + (ground.core[b, to] if to >= 0 else 0.0)
        if cost < least:
            best, least = b, cost
    return best


@kernel
def reach_user(ground: Ground, users: IntArray, i: int, growth: Growth) -> None:
    """Find the least cost from the tree to a user, and the broker by which."""
    least, best = np.inf, 0
    for b in range(len(growth.away)):
        cost = growth.away[b] + ground.access[users[i], b]
        if cost < least:
            least, best = cost, b
    growth.cost[i] = least
    growth.through[i] = best


@kernel
def take_broker(
    ground: Ground, users: IntArray, growth: Growth, broker: int, is_queued: bool
) -> None:
    """Let a broker join the tree: others may be nearer now, and users by them."""
    if growth.away[broker] == 0 and is_queued:
        return  # it is there already, or at the same place as one that is
    for b in range(len(growth.away)):
        if ground.core[broker, b] < growth.away[b]:
            growth.away[b] = ground.core[broker, b]
            if is_queued:
                approach(ground, users, growth, b)


@kernel
def approach(ground: Ground, users: IntArray, growth: Growth, broker: int) -> None:
    """Let users that are not connected yet see that a broker came nearer."""
    for i in range(len(users)):
        if growth.chosen[i] >= 0:
            continue
        cost = growth.away[broker] + ground.access[users[i], broker]
        if cost < growth.cost[i]:
            growth.cost[i] = cost
            growth.through[i] = broker
            push_user(growth, len(users), i)
        elif cost == growth.cost[i] and broker < growth.through[i]:
            growth.through[i] = broker


@kernel
def fill_heap(growth: Growth, num_users: int) -> None:
    """Queue everybody that is not connected, once."""
    growth.heap_size[0] = 0
    for i in range(num_users):
        if growth.chosen[i] < 0:
            insert_entry(growth, i)


@kernel
def comes_before(growth: Growth, a: int, b: int) -> bool:
    """Whether one entry of the queue goes before another: by cost, then by user."""
    if growth.heap_cost[a] != growth.heap_cost[b]:
        return bool(growth.heap_cost[a] < growth.heap_cost[b])
    return bool(growth.heap_user[a] < growth.heap_user[b])


@kernel
def exchange(growth: Growth, a: int, b: int) -> None:
    """Exchange two entries of the queue."""
    growth.heap_cost[a], growth.heap_cost[b] = growth.heap_cost[b], growth.heap_cost[a]
    growth.heap_user[a], growth.heap_user[b] = growth.heap_user[b], growth.heap_user[a]


@kernel
def push_user(growth: Growth, num_users: int, i: int) -> None:
    """Queue a user at its present cost; a full queue is first cleared of what is out of date."""
    if growth.heap_size[0] == len(growth.heap_cost):
        fill_heap(growth, num_users)
    else:
        insert_entry(growth, i)


@kernel
def insert_entry(growth: Growth, i: int) -> None:
    """Put a user into the queue, which has room, at its present cost."""
    at = growth.heap_size[0]
    growth.heap_size[0] += 1
    growth.heap_cost[at] = growth.cost[i]
    growth.heap_user[at] = i
    while at > 0 and comes_before(growth, at, (at - 1) // 2):
        exchange(growth, at, (at - 1) // 2)
        at = (at - 1) // 2


@kernel
def pop_user(growth: Growth) -> int:
    """Take the first entry off the queue; return its user, or -1 if it is out of date."""
    i = growth.heap_user[0]
    growth.heap_size[0] -= 1
    size = growth.heap_size[0]
    exchange(growth, 0, size)
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and comes_before(growth, child + 1, child):
            child += 1
        if not comes_before(growth, child, at):
            break
        exchange(growth, at, child)
        at = child
    return -1 if growth.chosen[i] >= 0 else int(i)  # its cheapest entry came first
