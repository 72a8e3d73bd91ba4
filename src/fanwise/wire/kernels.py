"""Spanning trees over brokers: grown whole, with one more broker, and what they cost.

A span is a set of brokers with its minimum spanning tree. What one more broker makes of it is found
in O(k): each link of the tree is the heaviest or not on the one cycle that the newcomer closes
through it (Chin and Houck). Where all flows follow one tree, a span is the least part of that tree
that holds its brokers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.wire.ground import Ground, Pairs

NOTHING = -1


class Span(NamedTuple):
    """A set of brokers and its minimum spanning tree.

    Attributes
    ----------
    inside
        Whether each broker is in the set.
    vertices, parents, links
        The set, a parent before its children; where each one's parent stands in it, and the rank
        of the link to it. The first has none.
    size
        How many brokers are in the set, as an array of one.
    """

    inside: npt.NDArray[np.bool_]
    vertices: IntArray
    parents: IntArray
    links: IntArray
    size: LongArray


class Room(NamedTuple):
    """Scratch for walks over the tree of one span: ``spare`` is a second span."""

    spare: Span
    least: IntArray
    chosen: IntArray
    head: IntArray
    onward: IntArray
    place: IntArray
    far: FloatArray


def make_span(count: int) -> Span:
    """Return an empty set out of so many brokers."""
    ids = [np.full(count, NOTHING, dtype=np.int32) for _ in range(3)]
    return Span._make([np.zeros(count, dtype=np.bool_), *ids, np.zeros(1, dtype=np.int64)])


def make_room(count: int) -> Room:
    """Return scratch for spans out of so many brokers."""
    lengths = (count, count, count, 2 * count, count)
    ids = [np.zeros(length, dtype=np.int32) for length in lengths]
    return Room._make([make_span(count), *ids, np.zeros(count)])


@kernel
def grow_tree(pairs: Pairs, span: Span, nearest: IntArray) -> None:
    """Put the first ``size`` of ``vertices`` in the order in which Prim's algorithm joins them.

    O(size^2). ``nearest`` is scratch.
    """
    size = span.size[0]
    if size == 0:
        return
    span.parents[0] = NOTHING
    span.links[0] = NOTHING
    for i in range(1, size):
        nearest[i] = pairs.rank[span.vertices[0], span.vertices[i]]
        span.parents[i] = 0
    for end in range(1, size):
        best = end
        for i in range(end + 1, size):
            if nearest[i] < nearest[best]:
                best = i
        link = nearest[best]
        joined, parent = span.vertices[best], span.parents[best]
        span.vertices[best], span.parents[best] = span.vertices[end], span.parents[end]
        nearest[best] = nearest[end]
        span.vertices[end], span.parents[end], span.links[end] = joined, parent, link
        for i in range(end + 1, size):
            rank = pairs.rank[joined, span.vertices[i]]
            if rank < nearest[i]:
                nearest[i] = rank
                span.parents[i] = end


@kernel
def choose_links(pairs: Pairs, span: Span, broker: int, least: IntArray, chosen: IntArray) -> int:
    """List the links of the spanning tree of a span and one more broker; return how many. O(k)."""
    size = span.size[0]
    rank = pairs.rank[broker]
    for i in range(size):
        least[i] = rank[span.vertices[i]]
    for i in range(size - 1, 0, -1):
        lighter = min(least[i], span.links[i])
        heavier = max(least[i], span.links[i])
        chosen[i] = lighter
        parent = span.parents[i]
        if heavier < least[parent]:
            least[parent] = heavier
    if size > 0:
        chosen[0] = least[0]
    return int(size)


@kernel
def add_broker(pairs: Pairs, span: Span, broker: int, to: Span, room: Room) -> None:
    """Make ``to`` the span with one more broker, its tree rooted at the newcomer. O(k)."""
    size = choose_links(pairs, span, broker, room.least, room.chosen)
    for b in range(len(to.inside)):
        to.inside[b] = span.inside[b]
    to.inside[broker] = True
    to.size[0] = size + 1
    room.head[broker] = NOTHING
    for i in range(size):
        room.head[span.vertices[i]] = NOTHING
    for i in range(size):
        low, high = pairs.low[room.chosen[i]], pairs.high[room.chosen[i]]
        room.onward[2 * i] = room.head[low]
        room.head[low] = 2 * i
        room.onward[2 * i + 1] = room.head[high]
        room.head[high] = 2 * i + 1
    to.vertices[0], to.parents[0], to.links[0] = broker, NOTHING, NOTHING
    end = 1
    for i in range(size + 1):
        half = room.head[to.vertices[i]]
        while half != NOTHING:
            link = room.chosen[half >> 1]
            if link != to.links[i]:
                other = pairs.high[link] if half % 2 == 0 else pairs.low[link]
                to.vertices[end], to.parents[end], to.links[end] = other, i, link
                end += 1
            half = room.onward[half]


@kernel
def tree_cost(pairs: Pairs, span: Span) -> float:
    """Cost of a span's own tree."""
    total = 0.0
    for i in range(1, span.size[0]):
        total += pairs.cost[span.links[i]]
    return total


@kernel
def cost_with(pairs: Pairs, span: Span, broker: int, room: Room) -> float:
    """Cost of the spanning tree of a span and one more broker. O(k)."""
    size = choose_links(pairs, span, broker, room.least, room.chosen)
    total = 0.0
    for i in range(size):
        total += pairs.cost[room.chosen[i]]
    return total


@kernel
def fill_costs(ground: Ground, span: Span, room: Room, costs: FloatArray) -> None:
    """Write what the tree of a span and each broker costs; of its own where it is inside."""
    if len(ground.tree_order) > 0:
        measure_one_tree(ground, span, room, costs)
        return
    own = tree_cost(ground.pairs, span)
    for b in range(len(costs)):
        costs[b] = own if span.inside[b] else cost_with(ground.pairs, span, b, room)


@kernel
def weighted_cost(ground: Ground, span: Span, room: Room, weights: FloatArray) -> float:
    """Sum over brokers of their weight times the cost of the tree of the span and them."""
    total = 0.0
    if len(ground.tree_order) > 0:
        measure_one_tree(ground, span, room, room.far)
        for b in range(len(weights)):
            total += weights[b] * room.far[b]
        return total
    own = tree_cost(ground.pairs, span)
    for b in range(len(weights)):
        if weights[b] > 0:
            cost = own if span.inside[b] else cost_with(ground.pairs, span, b, room)
            total += weights[b] * cost
    return total


@kernel
def count_below(ground: Ground, span: Span, below: IntArray) -> None:
    """Count the brokers of a span at and below each broker of the one tree."""
    for b in range(len(below)):
        below[b] = 1 if span.inside[b] else 0
    for i in range(len(below) - 1, 0, -1):
        b = ground.tree_order[i]
        below[ground.tree_parent[b]] += below[b]


@kernel
def measure_one_tree(ground: Ground, span: Span, room: Room, costs: FloatArray) -> None:
    """Like :func:`fill_costs` on the one tree: a span's own part of it, and the way to it. O(B)."""
    size = span.size[0]
    if size == 0:
        costs[:] = 0.0
        return
    below = room.least
    count_below(ground, span, below)
    own = 0.0
    for b in range(len(costs)):
        costs[b] = 0.0 if span.inside[b] else np.inf
    for b in range(len(costs)):
        if 0 < below[b] < size:
            parent = ground.tree_parent[b]
            own += ground.core[b, parent]
            costs[b] = 0.0
            costs[parent] = 0.0
    for i in range(len(costs) - 1, 0, -1):
        b = ground.tree_order[i]
        parent = ground.tree_parent[b]
        costs[parent] = min(costs[parent], costs[b] + ground.core[b, parent])
    for i in range(1, len(costs)):
        b = ground.tree_order[i]
        parent = ground.tree_parent[b]
        costs[b] = min(costs[b], costs[parent] + ground.core[b, parent])
    for b in range(len(costs)):
        costs[b] += own


@kernel
def add_traffic(
    ground: Ground, span: Span, room: Room, weights: FloatArray, traffic: FloatArray
) -> None:
    """Add to each link, by rank, what brokers send to a span; a message crosses a link once."""
    if len(ground.tree_order) > 0:
        add_traffic_on_one_tree(ground, span, room, weights, traffic)
        return
    own = 0.0
    for b in range(len(weights)):
        if weights[b] > 0:
            if span.inside[b]:
                own += weights[b]
            else:
                size = choose_links(ground.pairs, span, b, room.least, room.chosen)
                for i in range(size):
                    traffic[room.chosen[i]] += weights[b]
    for i in range(1, span.size[0]):
        traffic[span.links[i]] += own


@kernel
def add_traffic_on_one_tree(
    ground: Ground, span: Span, room: Room, weights: FloatArray, traffic: FloatArray
) -> None:
    """Like :func:`add_traffic`: a link carries what is sent on one side and wanted on the other."""
    below, sent = room.least, room.far
    count_below(ground, span, below)
    for b in range(len(weights)):
        sent[b] = weights[b]
    for i in range(len(weights) - 1, 0, -1):
        b = ground.tree_order[i]
        sent[ground.tree_parent[b]] += sent[b]
    everything = sent[ground.tree_order[0]]
    for i in range(1, len(weights)):
        b = ground.tree_order[i]
        link = ground.pairs.rank[b, ground.tree_parent[b]]
        if below[b] < span.size[0]:
            traffic[link] += sent[b]
        if below[b] > 0:
            traffic[link] += max(everything - sent[b], 0.0)
