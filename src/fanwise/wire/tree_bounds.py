"""What a tree over some k brokers costs at least, when one of them is known.

A tree has k - 1 links without a cycle: never cheaper than the first that Kruskal's algorithm takes.
A tree from broker b that costs at most U has no link whose nearer end is so far from b that the way
there and the link together cost more than U. So every tree from b costs at least min(U, L), L being
the cost of the first k - 1 links of Kruskal's algorithm without those, for every U: the best of
some U is taken. All of this holds for spanning trees and for Steiner trees, which hold k brokers
and maybe others.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.arrays.jit import kernel
from fanwise.wire.ground import Pairs

MOST_BROKERS = 200
"""With more, what a tree costs at least is told without regard to where it starts."""
NUM_RADII = 48


def rooted_trees(core: FloatArray, pairs: Pairs, most: int) -> tuple[FloatArray, FloatArray]:
    """Return by broker, and by k from 0 to ``most``, what a tree over it and others costs at least.

    Also return the U that proves it; 0 where the cheapest links anywhere prove as much.
    O(brokers^3) times a factor, up to ``MOST_BROKERS`` brokers; else O(brokers^2).
    """
    count = len(core)
    everywhere = cheapest_trees(pairs, count, most)
    parent = np.empty(count, dtype=np.int32)
    if count > MOST_BROKERS or most < 2:
        return np.tile(everywhere, (count, 1)), np.zeros((count, len(everywhere)))
    largest = everywhere[-1] if count else 0.0
    radii = np.linspace(0.0, 1.0, NUM_RADII + 1)[1:] * max(largest, float(core.max(initial=0.0)))
    least = np.empty((count, len(everywhere)))
    chosen = np.zeros(least.shape)
    for b in range(count):
        to_low, to_high = core[b][pairs.low], core[b][pairs.high]
        reach = np.minimum(to_low, to_high) + pairs.cost
        raise_by_radii(pairs, reach, radii, everywhere, parent, least[b], chosen[b])
    return least, chosen


def cheapest_trees(pairs: Pairs, count: int, most: int) -> FloatArray:
    """Return by k from 0 to ``most`` what a tree over k of the brokers costs at least."""
    everywhere = np.zeros(max(most, 1) + 1)
    parent = np.empty(count, dtype=np.int32)
    first_links(pairs, np.zeros(len(pairs.cost)), 0.0, parent, everywhere)
    return everywhere


@kernel
def raise_by_radii(
    pairs: Pairs,
    reach: FloatArray,
    radii: FloatArray,
    everywhere: FloatArray,
    parent: IntArray,
    least: FloatArray,
    chosen: FloatArray,
) -> None:
    """Fill in the best of min(U, L) over radii U, by the number of brokers, and that U."""
    least[:] = everywhere
    links = np.empty(len(least))
    for radius in radii:
        first_links(pairs, reach, radius, parent, links)
        for k in range(2, len(least)):
            found = min(radius, links[k])
            if found > least[k]:
                least[k], chosen[k] = found, radius


@kernel
def first_links(
    pairs: Pairs, reach: FloatArray, radius: float, parent: IntArray, links: FloatArray
) -> None:
    """Fill in what the first k - 1 links within reach cost that make no cycle, by k.

    Infinite where there are not so many.
    """
    for b in range(len(parent)):
        parent[b] = b
    links[:] = np.inf
    links[0] = 0.0
    links[1] = 0.0
    end = 1
    for link in range(len(pairs.cost)):
        if end + 1 >= len(links):
            break
        if reach[link] > radius:
            continue
        one, two = find_root(parent, pairs.low[link]), find_root(parent, pairs.high[link])
        if one != two:
            parent[one] = two
            links[end + 1] = links[end] + pairs.cost[link]
            end += 1


@kernel
def find_root(parent: IntArray, broker: int) -> int:
    """Return what stands for a broker's component, halving the way there."""
    while parent[broker] != broker:
        parent[broker] = parent[parent[broker]]
        broker = parent[broker]
    return broker
