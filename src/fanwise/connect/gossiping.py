"""What a node does in a round of gossip: labels, views, proposals. Kernels over all nodes.

``Peers`` holds what each node knows. Everything a node decides by is its own, its view's or its
neighbours' state of the last round.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.connect.improving.ground import Budget, Ground, cost_of

NOBODY = -1
MAX_HOPS = 24
"""How far a root is heard."""
NUM_LINKS, NUM_MADE, NUM_MESSAGES = range(3)
NUM_DRAWS = 16


class Peers(NamedTuple):
    """What nodes know and whom they are linked to.

    Attributes
    ----------
    strangers, age
        Nodes in view by chance, and rounds since each was heard of (Cyclon).
    friends
        Nodes in view because a link to them would be worth most.
    neighbours, serial, degree
        Links of each node, numbered as they were made.
    root, hops, parent
        Per (node, topic), in the order of the interests: the smallest node heard of over links
        inside the topic, how far it is and which neighbour told so.
    price
        What each node would have to give up for a new link when last asked: 0 with links to spare,
        infinite where every link is new.
    counters, cost
        Links there are, were ever made, and messages; what links cost together.
    """

    strangers: IntArray
    age: IntArray
    friends: IntArray
    neighbours: IntArray
    serial: LongArray
    degree: IntArray
    root: IntArray
    hops: IntArray
    parent: IntArray
    price: FloatArray
    counters: LongArray
    cost: FloatArray


@kernel
def spread_labels(ground: Ground, peers: Peers) -> None:
    """Let every node tell its neighbours, topic by topic, the smallest node it has heard of.

    A node starts anew from itself each round and is told nothing that comes from itself (split
    horizon), so that a root dies out in what was cut off from it: at once in trees, after
    ``MAX_HOPS`` rounds around a ring.
    """
    old_root, old_hops, old_parent = peers.root.copy(), peers.hops.copy(), peers.parent.copy()
    for node in range(len(peers.degree)):
        for i in range(ground.indptr[node], ground.indptr[node + 1]):
            peers.root[i], peers.hops[i], peers.parent[i] = node, 0, NOBODY
        for k in range(peers.degree[node]):
            other = peers.neighbours[node, k]
            peers.counters[NUM_MESSAGES] += 1
            i, j = ground.indptr[node], ground.indptr[other]
            i_end, j_end = ground.indptr[node + 1], ground.indptr[other + 1]
            while i < i_end and j < j_end:
                if ground.topics[i] < ground.topics[j]:
                    i += 1
                elif ground.topics[i] > ground.topics[j]:
                    j += 1
                else:
                    heard, far = old_root[j], old_hops[j] + 1
                    is_nearer = heard == peers.root[i] and far < peers.hops[i]
                    is_own = old_parent[j] == node
                    if not is_own and far <= MAX_HOPS and (heard < peers.root[i] or is_nearer):
                        peers.root[i], peers.hops[i], peers.parent[i] = heard, far, other
                    i += 1
                    j += 1


@kernel
def quote_prices(ground: Ground, peers: Peers, settled: int) -> None:
    """Let every node find out what a new link would cost it, for all to see in views."""
    for node in range(len(peers.degree)):
        peers.price[node] = least_relied(ground, peers, node, settled)[1]


@kernel
def act_in_turn(
    ground: Ground,
    budget: Budget,
    peers: Peers,
    order: IntArray,
    draws: FloatArray,
    settled: int,
) -> int:
    """Let every node exchange views and propose a link; return how many links changed.

    Links numbered below ``settled`` are old enough for their labels to have spread; only those may
    be given up.
    """
    quote_prices(ground, peers, settled)
    changed = 0
    for node in order:
        contact = shuffle_view(peers, node, draws[node])
        meet_friends(ground, peers, node, contact)
        changed += propose(ground, budget, peers, node, settled)
    return changed


@kernel
def shuffle_view(peers: Peers, node: int, draws: FloatArray) -> int:
    """Exchange strangers with the one not heard of for longest; return that one or -1."""
    mine = peers.strangers[node]
    oldest = NOBODY
    for k in range(len(mine)):
        peers.age[node, k] += 1
        if mine[k] != NOBODY and (oldest == NOBODY or peers.age[node, k] > peers.age[node, oldest]):
            oldest = k
    if oldest == NOBODY:
        return NOBODY
    contact = mine[oldest]
    theirs = peers.strangers[contact]
    peers.counters[NUM_MESSAGES] += 2
    place = int(draws[0] * len(theirs))
    gift = theirs[place]
    if not stands_in(theirs, node):
        theirs[place], peers.age[contact, place] = node, 0
        if gift != NOBODY and gift != node and not stands_in(mine, gift):
            mine[oldest] = gift
    peers.age[node, oldest] = 0
    for k in range(1, len(mine) // 2):
        a = int(draws[(2 * k) % NUM_DRAWS] * len(mine))
        b = int(draws[(2 * k + 1) % NUM_DRAWS] * len(theirs))
        one, other = mine[a], theirs[b]
        is_new = other != node and not stands_in(mine, other)
        if is_new and one != contact and not stands_in(theirs, one):
            mine[a], theirs[b] = other, one
            peers.age[node, a], peers.age[contact, b] = peers.age[contact, b], peers.age[node, a]
    return int(contact)


@kernel
def stands_in(view: IntArray, node: int) -> bool:
    """Whether a node is in a view."""
    is_there = False
    for k in range(len(view)):
        is_there |= view[k] == node
    return is_there


@kernel
def estimate(ground: Ground, peers: Peers, u: int, v: int) -> float:
    """Return what a link seems worth (per cost): common topics with different roots."""
    gain, topics = 0.0, ground.topics
    i, i_end, j, j_end = (
        ground.indptr[u],
        ground.indptr[u + 1],
        ground.indptr[v],
        ground.indptr[v + 1],
    )
    while i < i_end and j < j_end:
        if topics[i] < topics[j]:
            i += 1
        elif topics[i] > topics[j]:
            j += 1
        else:
            if peers.root[i] != peers.root[j]:
                gain += ground.weight[topics[i]]
            i += 1
            j += 1
    return gain / cost_of(ground, u, v)


@kernel
def reliance(ground: Ground, peers: Peers, u: int, v: int) -> float:
    """Return what giving up a link would lose (per cost): topics heard of over it."""
    loss, topics = 0.0, ground.topics
    i, i_end, j, j_end = (
        ground.indptr[u],
        ground.indptr[u + 1],
        ground.indptr[v],
        ground.indptr[v + 1],
    )
    while i < i_end and j < j_end:
        if topics[i] < topics[j]:
            i += 1
        elif topics[i] > topics[j]:
            j += 1
        else:
            if peers.parent[i] == v or peers.parent[j] == u:
                loss += ground.weight[topics[i]]
            i += 1
            j += 1
    return loss / cost_of(ground, u, v)


@kernel
def meet_friends(ground: Ground, peers: Peers, node: int, contact: int) -> None:
    """Keep those as friends, of all in view and of the contact's friends, who are worth most."""
    mine = peers.friends[node]
    worth = np.empty(len(mine))
    for k in range(len(mine)):
        worth[k] = 0.0
        if mine[k] != NOBODY:
            worth[k] = estimate(ground, peers, node, mine[k]) - peers.price[mine[k]]
    for k in range(len(peers.strangers[node])):
        befriend(ground, peers, node, peers.strangers[node, k], mine, worth)
    if contact != NOBODY:
        befriend(ground, peers, node, contact, mine, worth)
        for k in range(len(mine)):
            befriend(ground, peers, node, peers.friends[contact, k], mine, worth)


@kernel
def befriend(
    ground: Ground, peers: Peers, node: int, other: int, mine: IntArray, worth: FloatArray
) -> None:
    """Put a node in the place of the friend worth least, if it is worth more."""
    if other == NOBODY or len(mine) == 0 or stands_in(mine, other):
        return
    if node == other or peers.price[other] == np.inf:
        return
    value = estimate(ground, peers, node, other) - peers.price[other]
    least = 0
    for k in range(len(mine)):
        if worth[k] < worth[least]:
            least = k
    if value > worth[least]:
        mine[least], worth[least] = other, value


@kernel
def propose(ground: Ground, budget: Budget, peers: Peers, node: int, settled: int) -> int:
    """Propose a link to the one in view worth most, less its price; return how many links changed.

    Both ends give up the link that they rely on least if they have none to spare, and agree only
    if the new link is worth more than what they give up together.
    """
    mine, my_loss = least_relied(ground, peers, node, settled)
    if mine == NOBODY:
        return 0
    best, value, top = NOBODY, 0.0, my_loss
    num_strangers = len(peers.strangers[node])
    for k in range(num_strangers + len(peers.friends[node])):
        if k < num_strangers:
            other = peers.strangers[node, k]
        else:
            other = peers.friends[node, k - num_strangers]
        if other != NOBODY and other != node and peers.price[other] < np.inf:
            gain = estimate(ground, peers, node, other)
            if gain - peers.price[other] > top and not is_neighbour(peers, node, other):
                best, value, top = other, gain, gain - peers.price[other]
    if best == NOBODY:
        return 0
    peers.counters[NUM_MESSAGES] += 2
    theirs, their_loss = least_relied(ground, peers, best, settled)
    peers.price[best] = their_loss
    if theirs == NOBODY or value <= my_loss + their_loss:
        return 0
    return exchange(ground, budget, peers, node, best, mine, theirs)


@kernel
def exchange(
    ground: Ground, budget: Budget, peers: Peers, node: int, other: int, mine: int, theirs: int
) -> int:
    """Give up links where a node has none to spare and make the new one, if budgets allow it."""
    gives = mine < peers.degree[node], theirs < peers.degree[other]
    links = peers.counters[NUM_LINKS] + 1 - gives[0] - gives[1]
    cost = peers.cost[0] + cost_of(ground, node, other)
    if gives[0]:
        cost -= cost_of(ground, node, peers.neighbours[node, mine])
    if gives[1]:
        cost -= cost_of(ground, other, peers.neighbours[other, theirs])
    if links > budget.max_edges or cost > budget.max_cost:
        return 0
    changed = 1
    if gives[0]:
        part(peers, node, peers.neighbours[node, mine])
        changed += 1
    if gives[1]:
        part(peers, other, peers.neighbours[other, theirs])
        changed += 1
    for side in range(2):
        here = node if side == 0 else other
        there = other if side == 0 else node
        peers.neighbours[here, peers.degree[here]] = there
        peers.serial[here, peers.degree[here]] = peers.counters[NUM_MADE]
        peers.degree[here] += 1
    peers.counters[NUM_MADE] += 1
    peers.counters[NUM_LINKS] = links
    peers.cost[0] = cost
    return changed


@kernel
def least_relied(ground: Ground, peers: Peers, node: int, settled: int) -> tuple[int, float]:
    """Return the place for a new link and what it costs: a free one, or that of an old link.

    Without either, -1.
    """
    if peers.degree[node] < ground.degree_limit[node]:
        return peers.degree[node], 0.0
    best, least = NOBODY, np.inf
    for k in range(peers.degree[node]):
        if peers.serial[node, k] < settled:
            loss = reliance(ground, peers, node, peers.neighbours[node, k])
            if loss < least:
                best, least = k, loss
    return best, least


@kernel
def is_neighbour(peers: Peers, node: int, other: int) -> bool:
    """Whether two nodes are linked."""
    if peers.degree[other] < peers.degree[node]:
        node, other = other, node
    return stands_in(peers.neighbours[node, : peers.degree[node]], other)


@kernel
def part(peers: Peers, u: int, v: int) -> None:
    """Take a link away at both ends."""
    peers.counters[NUM_MESSAGES] += 1
    for side in range(2):
        here = u if side == 0 else v
        there = v if side == 0 else u
        last = peers.degree[here] - 1
        for k in range(last + 1):
            if peers.neighbours[here, k] == there:
                peers.neighbours[here, k] = peers.neighbours[here, last]
                peers.serial[here, k] = peers.serial[here, last]
                break
        peers.degree[here] = last
