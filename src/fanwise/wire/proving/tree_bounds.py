"""What a tree over some k brokers costs at least, when one of them is known.

A tree has k - 1 links without a cycle: never cheaper than the first that Kruskal's algorithm takes.
A tree from broker b that costs at most U has no link whose nearer end is so far from b that the way
there and the link together cost more than U. So every tree from b costs at least min(U, L), L being
the cost of the first k - 1 links of Kruskal's algorithm without those, for every U: the best of
some U is taken.

Guarantee
    A lower bound on spanning trees, and on Steiner trees, which hold k brokers and maybe others.

Complexity
    O(brokers^3) times the number of radii; O(brokers^2) above ``MOST_BROKERS`` brokers.

References
----------
    J. B. Kruskal: On the shortest spanning subtree of a graph and the traveling salesman problem.
    Proceedings of the American Mathematical Society 7, 1956.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.arrays.disjoint_sets import join_sets
from fanwise.arrays.jit import kernel
from fanwise.wire.arrays import RankedLinks

MOST_BROKERS = 200
"""With more, what a tree costs at least is told without regard to where it starts."""
NUM_RADII = 48
"""Values of U that are tried, evenly spaced."""


def rooted_trees(core: FloatArray, links: RankedLinks, most: int) -> tuple[FloatArray, FloatArray]:
    """Return by broker, and by k from 0 to ``most``, what a tree over it and others costs at least.

    Also return the U that proves it; 0 where the cheapest links anywhere prove as much.
    """
    count = len(core)
    everywhere = cheapest_trees(links, count, most)
    parent = np.empty(count, dtype=np.int32)
    if count > MOST_BROKERS or most < 2:
        return np.tile(everywhere, (count, 1)), np.zeros((count, len(everywhere)))
    largest = everywhere[-1] if count else 0.0
    radii = np.linspace(0.0, 1.0, NUM_RADII + 1)[1:] * max(largest, float(core.max(initial=0.0)))
    least = np.empty((count, len(everywhere)))
    chosen = np.zeros(least.shape)
    for b in range(count):
        to_low, to_high = core[b][links.low], core[b][links.high]
        reach = np.minimum(to_low, to_high) + links.cost
        raise_by_radii(links, reach, radii, everywhere, parent, least[b], chosen[b])
    return least, chosen


def cheapest_trees(links: RankedLinks, count: int, most: int) -> FloatArray:
    """Return by k from 0 to ``most`` what a tree over k of the brokers costs at least."""
    everywhere = np.zeros(max(most, 1) + 1)
    parent = np.empty(count, dtype=np.int32)
    first_links(links, np.zeros(len(links.cost)), 0.0, parent, everywhere)
    return everywhere


@kernel
def raise_by_radii(
    links: RankedLinks,
    reach: FloatArray,
    radii: FloatArray,
    everywhere: FloatArray,
    parent: IntArray,
    least: FloatArray,
    chosen: FloatArray,
) -> None:
    """Fill in the best of min(U, L) over radii U, by the number of brokers, and that U.

    Changes ``least`` and ``chosen``; ``parent`` is scratch.
    """
    least[:] = everywhere
    totals = np.empty(len(least))
    for radius in radii:
        first_links(links, reach, radius, parent, totals)
        for k in range(2, len(least)):
            found = min(radius, totals[k])
            if found > least[k]:
                least[k], chosen[k] = found, radius


@kernel
def first_links(
    links: RankedLinks, reach: FloatArray, radius: float, parent: IntArray, totals: FloatArray
) -> None:
    """Fill in what the first k - 1 links within reach cost that make no cycle, by k.

    Infinite where there are not so many. Changes ``totals``; ``parent`` is scratch.
    """
    for b in range(len(parent)):
        parent[b] = b
    totals[:] = np.inf
    totals[0] = 0.0
    totals[1] = 0.0
    end = 1
    for link in range(len(links.cost)):
        if end + 1 >= len(totals):
            break
        # Links come by rising cost, as Kruskal's algorithm takes them.
        if reach[link] > radius:
            continue
        if join_sets(parent, links.low[link], links.high[link]):
            totals[end + 1] = totals[end] + links.cost[link]
            end += 1
