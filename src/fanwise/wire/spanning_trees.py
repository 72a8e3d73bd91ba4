"""Spanning trees over brokers: grown whole, with one more broker, and what they cost.

A span is a set of brokers with its minimum spanning tree. Where all flows follow one tree, a span
is the least part of that tree that holds its brokers.

Complexity
    For k of B brokers: O(k^2) to grow a tree by Prim's algorithm. O(k) to find the tree with one
    more broker: each link of the old tree is the heaviest or not on the one cycle that the newcomer
    closes through it. O(B) for any cost on the one tree.

References
----------
    F. Chin, D. Houck: Algorithms for updating minimal spanning trees. Journal of Computer and
    System Sciences 16, 1978.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.wire.arrays import RankedLinks, WiringArrays

NOTHING = -1


class Span(NamedTuple):
    """A set of brokers and its minimum spanning tree.

    Attributes
    ----------
    inside
        Whether each broker is in the set.
    vertices, parents, links
        The set, a parent before its children; the index in it of each one's parent, and the rank
        of the link to it. The first has none.
    size
        How many brokers are in the set, as an array of one.
    """

    inside: npt.NDArray[np.bool_]
    vertices: IntArray
    parents: IntArray
    links: IntArray
    size: LongArray


class TreeScratch(NamedTuple):
    """Memory that kernels write to on the way; it means nothing between calls.

    Attributes
    ----------
    spare
        A second span.
    least, chosen
        By vertex of a span: the best link to a newcomer so far, and the links of its tree.
    first_half, next_half
        The halves of links at each broker, as linked lists: half 2i is link i at its lower end.
    amounts
        By broker: costs or traffic.
    """

    spare: Span
    least: IntArray
    chosen: IntArray
    first_half: IntArray
    next_half: IntArray
    amounts: FloatArray


def make_span(count: int) -> Span:
    """Return an empty set out of so many brokers."""
    ids = [np.full(count, NOTHING, dtype=np.int32) for _ in range(3)]
    return Span._make([np.zeros(count, dtype=np.bool_), *ids, np.zeros(1, dtype=np.int64)])


def make_scratch(count: int) -> TreeScratch:
    """Return scratch for spans out of so many brokers."""
    lengths = (count, count, count, 2 * count)
    ids = [np.zeros(length, dtype=np.int32) for length in lengths]
    return TreeScratch._make([make_span(count), *ids, np.zeros(count)])


@kernel
def grow_tree(links: RankedLinks, span: Span, nearest: IntArray) -> None:
    """Put the first ``size`` of ``vertices`` in the order in which Prim's algorithm joins them.

    O(size^2). Changes all of the span but ``inside``, and ``nearest``.
    """
    size = span.size[0]
    if size == 0:
        return
    span.parents[0] = NOTHING
    span.links[0] = NOTHING
    for i in range(1, size):
        nearest[i] = links.rank[span.vertices[0], span.vertices[i]]
        span.parents[i] = 0
    # Positions before ``end`` are in the tree, in the order in which they joined; those from it on
    # wait, with the rank of their best link into the tree in ``nearest``. Ranks are compared, not
    # costs: they are strict, so that there is one tree only, whoever grows it.
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
            rank = links.rank[joined, span.vertices[i]]
            if rank < nearest[i]:
                nearest[i] = rank
                span.parents[i] = end


@kernel
def choose_links(
    links: RankedLinks, span: Span, broker: int, least: IntArray, chosen: IntArray
) -> int:
    """List the links of the spanning tree of a span and one more broker; return how many. O(k).

    From the last vertex back to the first: of the link to its parent and the best link to the
    newcomer from it or from below it, the lighter is in the tree. The heavier may still serve the
    parent, being the heaviest on no cycle so far. Changes ``least`` and ``chosen``.
    """
    size = span.size[0]
    rank = links.rank[broker]
    for i in range(size):
        least[i] = rank[span.vertices[i]]
    # A parent stands before its children: backwards, all below a vertex is settled before it.
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
def add_broker(links: RankedLinks, span: Span, broker: int, to: Span, scratch: TreeScratch) -> None:
    """Make ``to`` the span with one more broker, its tree rooted at the newcomer. O(k).

    Changes ``to`` and the scratch. Brokers are listed breadth first, so a parent comes before its
    children.
    """
    size = choose_links(links, span, broker, scratch.least, scratch.chosen)
    for b in range(len(to.inside)):
        to.inside[b] = span.inside[b]
    to.inside[broker] = True
    to.size[0] = size + 1
    scratch.first_half[broker] = NOTHING
    for i in range(size):
        scratch.first_half[span.vertices[i]] = NOTHING
    for i in range(size):
        low, high = links.low[scratch.chosen[i]], links.high[scratch.chosen[i]]
        scratch.next_half[2 * i] = scratch.first_half[low]
        scratch.first_half[low] = 2 * i
        scratch.next_half[2 * i + 1] = scratch.first_half[high]
        scratch.first_half[high] = 2 * i + 1
    to.vertices[0], to.parents[0], to.links[0] = broker, NOTHING, NOTHING
    end = 1
    for i in range(size + 1):
        half = scratch.first_half[to.vertices[i]]
        while half != NOTHING:
            link = scratch.chosen[half >> 1]
            # Not back along the link by which the walk came.
            if link != to.links[i]:
                other = links.high[link] if half % 2 == 0 else links.low[link]
                to.vertices[end], to.parents[end], to.links[end] = other, i, link
                end += 1
            half = scratch.next_half[half]


@kernel
def tree_cost(links: RankedLinks, span: Span) -> float:
    """Return what a span's own tree costs. Changes nothing."""
    total = 0.0
    for i in range(1, span.size[0]):
        total += links.cost[span.links[i]]
    return total


@kernel
def cost_with_broker(links: RankedLinks, span: Span, broker: int, scratch: TreeScratch) -> float:
    """Return what the tree of a span and one more broker costs. O(k). Changes the scratch."""
    size = choose_links(links, span, broker, scratch.least, scratch.chosen)
    total = 0.0
    for i in range(size):
        total += links.cost[scratch.chosen[i]]
    return total


@kernel
def fill_costs(arrays: WiringArrays, span: Span, scratch: TreeScratch, costs: FloatArray) -> None:
    """Write what the tree of a span and each broker costs; of its own where it is inside.

    Changes ``costs`` and the scratch.
    """
    if len(arrays.tree_order) > 0:
        measure_one_tree(arrays, span, scratch, costs)
        return
    own = tree_cost(arrays.links, span)
    for b in range(len(costs)):
        costs[b] = own if span.inside[b] else cost_with_broker(arrays.links, span, b, scratch)


@kernel
def weighted_cost(
    arrays: WiringArrays, span: Span, scratch: TreeScratch, weights: FloatArray
) -> float:
    """Return the sum over brokers of their weight times the cost of the tree of the span and them.

    Changes the scratch.
    """
    total = 0.0
    if len(arrays.tree_order) > 0:
        measure_one_tree(arrays, span, scratch, scratch.amounts)
        for b in range(len(weights)):
            total += weights[b] * scratch.amounts[b]
        return total
    own = tree_cost(arrays.links, span)
    for b in range(len(weights)):
        if weights[b] > 0:
            cost = own if span.inside[b] else cost_with_broker(arrays.links, span, b, scratch)
            total += weights[b] * cost
    return total


@kernel
def count_below(arrays: WiringArrays, span: Span, below: IntArray) -> None:
    """Count the brokers of a span at and below each broker of the one tree. Changes ``below``."""
    for b in range(len(below)):
        below[b] = 1 if span.inside[b] else 0
    for i in range(len(below) - 1, 0, -1):
        b = arrays.tree_order[i]
        below[arrays.tree_parent[b]] += below[b]


@kernel
def measure_one_tree(
    arrays: WiringArrays, span: Span, scratch: TreeScratch, costs: FloatArray
) -> None:
    """Like :func:`fill_costs` on the one tree: a span's own part of it, and the way to it. O(B).

    A link is in that part if the span has brokers on both sides of it. Then costs are distances to
    the part, up the tree and down again. Changes ``costs`` and the scratch.
    """
    size = span.size[0]
    if size == 0:
        costs[:] = 0.0
        return
    below = scratch.least
    count_below(arrays, span, below)
    own = 0.0
    for b in range(len(costs)):
        costs[b] = 0.0 if span.inside[b] else np.inf
    for b in range(len(costs)):
        # Brokers of the span on both sides: the link is in its part of the tree.
        if 0 < below[b] < size:
            parent = arrays.tree_parent[b]
            own += arrays.core[b, parent]
            costs[b] = 0.0
            costs[parent] = 0.0
    # The nearest broker of the part is either below, found on the way up, or over the parent, found
    # on the way down.
    for i in range(len(costs) - 1, 0, -1):
        b = arrays.tree_order[i]
        parent = arrays.tree_parent[b]
        costs[parent] = min(costs[parent], costs[b] + arrays.core[b, parent])
    for i in range(1, len(costs)):
        b = arrays.tree_order[i]
        parent = arrays.tree_parent[b]
        costs[b] = min(costs[b], costs[parent] + arrays.core[b, parent])
    for b in range(len(costs)):
        costs[b] += own


@kernel
def add_traffic(
    arrays: WiringArrays, span: Span, scratch: TreeScratch, weights: FloatArray, traffic: FloatArray
) -> None:
    """Add to each link, by rank, what brokers send to a span; a message crosses a link once.

    ``weights`` is what each broker sends. Changes ``traffic`` and the scratch.
    """
    if len(arrays.tree_order) > 0:
        add_traffic_on_one_tree(arrays, span, scratch, weights, traffic)
        return
    own = 0.0
    for b in range(len(weights)):
        if weights[b] > 0:
            if span.inside[b]:
                own += weights[b]
            else:
                size = choose_links(arrays.links, span, b, scratch.least, scratch.chosen)
                for i in range(size):
                    traffic[scratch.chosen[i]] += weights[b]
    for i in range(1, span.size[0]):
        traffic[span.links[i]] += own


@kernel
def add_traffic_on_one_tree(
    arrays: WiringArrays, span: Span, scratch: TreeScratch, weights: FloatArray, traffic: FloatArray
) -> None:
    """Like :func:`add_traffic`: a link carries what is sent on one side and wanted on the other.

    Changes ``traffic`` and the scratch.
    """
    below, sent = scratch.least, scratch.amounts
    count_below(arrays, span, below)
    for b in range(len(weights)):
        sent[b] = weights[b]
    for i in range(len(weights) - 1, 0, -1):
        b = arrays.tree_order[i]
        sent[arrays.tree_parent[b]] += sent[b]
    everything = sent[arrays.tree_order[0]]
    for i in range(1, len(weights)):
        b = arrays.tree_order[i]
        link = arrays.links.rank[b, arrays.tree_parent[b]]
        # Up the link goes what is sent below and wanted above, down it what is sent above and
        # wanted below; the maximum guards against rounding.
        if below[b] < span.size[0]:
            traffic[link] += sent[b]
        if below[b] > 0:
            traffic[link] += max(everything - sent[b], 0.0)
