"""What a node does in a round of gossip: labels, views, proposals. Kernels over all nodes.

``Peers`` holds what each node knows. Everything a node decides by is its own, its view's or its
neighbours' state of the last round.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.connect.arrays import Budget, Network
from fanwise.connect.components import gain_of
from fanwise.connect.kernels import NOBODY, cost_of, first_common, next_common

MAX_HOPS = 24
"""How far a root is heard."""
NUM_LINKS, NUM_MADE, NUM_MESSAGES = range(3)
"""Entries of ``counters``."""
NUM_DRAWS = 16
"""Random numbers of a node in a round."""


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
        Per slot: the smallest node heard of over links inside the topic, how far it is and which
        neighbour told so.
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
def spread_labels(network: Network, peers: Peers) -> None:
    """Let every node tell its neighbours, topic by topic, the smallest node it has heard of.

    A node starts anew from itself each round and is told nothing that comes from itself (split
    horizon), so that a root dies out in what was cut off from it: at once in trees, after
    ``MAX_HOPS`` rounds around a ring. Changes ``peers``.
    """
    old_root, old_hops, old_parent = peers.root.copy(), peers.hops.copy(), peers.parent.copy()
    peers.root[:] = network.nodes
    peers.hops[:] = 0
    peers.parent[:] = NOBODY
    for node in range(len(peers.degree)):
        for k in range(peers.degree[node]):
            other = peers.neighbours[node, k]
            peers.counters[NUM_MESSAGES] += 1
            i, j = first_common(network.indptr, network.topics, node, other)
            while i != NOBODY:
                own, theirs = network.slot_of[i], network.slot_of[j]
                heard, far = old_root[theirs], old_hops[theirs] + 1
                is_nearer = heard == peers.root[own] and far < peers.hops[own]
                is_own = old_parent[theirs] == node
                if not is_own and far <= MAX_HOPS and (heard < peers.root[own] or is_nearer):
                    peers.root[own], peers.hops[own], peers.parent[own] = heard, far, other
                i, j = next_common(network.indptr, network.topics, node, other, i, j)


@kernel
def quote_prices(network: Network, peers: Peers, settled: int) -> None:
    """Let every node find out what a new link would cost it, for all to see in views.

    Changes the prices of ``peers``.
    """
    for node in range(len(peers.degree)):
        peers.price[node] = least_relied(network, peers, node, settled)[1]


@kernel
def act_in_turn(
    network: Network,
    budget: Budget,
    peers: Peers,
    order: IntArray,
    draws: FloatArray,
    settled: int,
) -> int:
    """Let every node exchange views and propose a link; return how many links changed.

    Links numbered below ``settled`` are old enough for their labels to have spread; only those may
    be given up. Changes ``peers``.
    """
    quote_prices(network, peers, settled)
    changed = 0
    for node in order:
        contact = shuffle_view(peers, node, draws[node])
        meet_friends(network, peers, node, contact)
        changed += propose(network, budget, peers, node, settled)
    return changed


@kernel
def shuffle_view(peers: Peers, node: int, draws: FloatArray) -> int:
    """Exchange strangers with the one not heard of for longest; return that one or ``NOBODY``.

    Changes ``peers``.
    """
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
    # Cyclon: the node gives itself, new, for a random acquaintance of the contact, who takes the
    # slot of the contact. That keeps the number of views that each node is in even.
    drawn = int(draws[0] * len(theirs))
    gift = theirs[drawn]
    if not stands_in(theirs, node):
        theirs[drawn], peers.age[contact, drawn] = node, 0
        if gift != NOBODY and gift != node and not stands_in(mine, gift):
            mine[oldest] = gift
    peers.age[node, oldest] = 0
    for k in range(1, len(mine) // 2):
        a = int(draws[(2 * k) % NUM_DRAWS] * len(mine))
        b = int(draws[(2 * k + 1) % NUM_DRAWS] * len(theirs))
        one, other = mine[a], theirs[b]
        is_new = other != node and not stands_in(mine, other)
        # Nobody is told of itself, nor of somebody already in view.
        if is_new and one != contact and not stands_in(theirs, one):
            mine[a], theirs[b] = other, one
            peers.age[node, a], peers.age[contact, b] = peers.age[contact, b], peers.age[node, a]
    return int(contact)


@kernel
def stands_in(view: IntArray, node: int) -> bool:
    """Whether a node is in a view. Changes no array."""
    is_there = False
    for k in range(len(view)):
        is_there |= view[k] == node
    return is_there


@kernel
def estimate(network: Network, peers: Peers, u: int, v: int) -> float:
    """Return what a link seems worth (per cost): common topics with different roots.

    Changes no array.
    """
    return gain_of(network, peers.root, u, v) / cost_of(network.positions, u, v)


@kernel
def reliance(network: Network, peers: Peers, u: int, v: int) -> float:
    """Return what giving up a link would lose (per cost): topics heard of over it.

    Changes no array.
    """
    parent, slot_of, loss = peers.parent, network.slot_of, 0.0
    i, j = first_common(network.indptr, network.topics, u, v)
    while i != NOBODY:
        if parent[slot_of[i]] == v or parent[slot_of[j]] == u:
            loss += network.weight[network.topics[i]]
        i, j = next_common(network.indptr, network.topics, u, v, i, j)
    return loss / cost_of(network.positions, u, v)


@kernel
def meet_friends(network: Network, peers: Peers, node: int, contact: int) -> None:
    """Keep those as friends, of all in view and of the contact's friends, who are worth most.

    Changes the friends of ``peers``.
    """
    mine = peers.friends[node]
    worth = np.empty(len(mine))
    for k in range(len(mine)):
        worth[k] = 0.0
        if mine[k] != NOBODY:
            worth[k] = estimate(network, peers, node, mine[k]) - peers.price[mine[k]]
    for k in range(len(peers.strangers[node])):
        befriend(network, peers, node, peers.strangers[node, k], mine, worth)
    if contact != NOBODY:
        befriend(network, peers, node, contact, mine, worth)
        for k in range(len(mine)):
            befriend(network, peers, node, peers.friends[contact, k], mine, worth)


@kernel
def befriend(
    network: Network, peers: Peers, node: int, other: int, mine: IntArray, worth: FloatArray
) -> None:
    """Let a node replace the friend worth least, if it is worth more.

    Changes ``mine`` and ``worth``.
    """
    if other == NOBODY or len(mine) == 0 or stands_in(mine, other):
        return
    if node == other or peers.price[other] == np.inf:
        return
    value = estimate(network, peers, node, other) - peers.price[other]
    least = 0
    for k in range(len(mine)):
        if worth[k] < worth[least]:
            least = k
    if value > worth[least]:
        mine[least], worth[least] = other, value


@kernel
def propose(network: Network, budget: Budget, peers: Peers, node: int, settled: int) -> int:
    """Propose a link to the one in view worth most, less its price; return how many links changed.

    Both ends give up the link that they rely on least if they have none to spare, and agree only
    if the new link is worth more than what they give up together. Changes ``peers``.
    """
    mine, my_loss = least_relied(network, peers, node, settled)
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
            gain = estimate(network, peers, node, other)
            if gain - peers.price[other] > top and not is_neighbour(peers, node, other):
                best, value, top = other, gain, gain - peers.price[other]
    if best == NOBODY:
        return 0
    peers.counters[NUM_MESSAGES] += 2
    # The price in view is of the last round: the partner looks again before it agrees.
    theirs, their_loss = least_relied(network, peers, best, settled)
    peers.price[best] = their_loss
    if theirs == NOBODY or value <= my_loss + their_loss:
        return 0
    return exchange(network, budget, peers, node, best, mine, theirs)


@kernel
def exchange(
    network: Network, budget: Budget, peers: Peers, node: int, other: int, mine: int, theirs: int
) -> int:
    """Give up links where a node has none to spare and make the new one, if budgets allow it.

    Returns how many links changed. Changes ``peers``.
    """
    gives = mine < peers.degree[node], theirs < peers.degree[other]
    links = peers.counters[NUM_LINKS] + 1 - gives[0] - gives[1]
    cost = peers.cost[0] + cost_of(network.positions, node, other)
    if gives[0]:
        cost -= cost_of(network.positions, node, peers.neighbours[node, mine])
    if gives[1]:
        cost -= cost_of(network.positions, other, peers.neighbours[other, theirs])
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
def least_relied(network: Network, peers: Peers, node: int, settled: int) -> tuple[int, float]:
    """Return the slot of a node for a new link, and what that costs: a free one, or an old link.

    ``NOBODY`` where every link is new. Changes no array.
    """
    if peers.degree[node] < network.degree_limit[node]:
        return peers.degree[node], 0.0
    best, least = NOBODY, np.inf
    for k in range(peers.degree[node]):
        if peers.serial[node, k] < settled:
            loss = reliance(network, peers, node, peers.neighbours[node, k])
            if loss < least:
                best, least = k, loss
    return best, least


@kernel
def is_neighbour(peers: Peers, node: int, other: int) -> bool:
    """Whether two nodes are linked. Changes no array."""
    if peers.degree[other] < peers.degree[node]:
        node, other = other, node
    return stands_in(peers.neighbours[node, : peers.degree[node]], other)


@kernel
def part(peers: Peers, u: int, v: int) -> None:
    """Take a link away at both ends. Changes ``peers``."""
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
