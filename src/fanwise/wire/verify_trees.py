"""Traffic between brokers for the independent check: plain NumPy and SciPy, link by link."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

TOLERANCE = 1e-9


def link_order(costs: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Number links from 1 by (cost, ids); 0 on the diagonal: no link."""
    count = len(costs)
    low, high = np.nonzero(np.arange(count)[:, None] < np.arange(count)[None, :])
    order = np.lexsort((high, low, costs[low, high]))
    numbers = np.zeros((count, count), dtype=np.int64)
    numbers[low[order], high[order]] = np.arange(1, len(order) + 1)
    return numbers + numbers.T


def least_costs(costs: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return costs, or those of the cheapest ways where one is cheaper than its link."""
    ways = costs.copy()
    for middle in range(len(costs)):
        np.minimum(ways, ways[:, middle, None] + ways[None, middle, :], out=ways)
    return ways if (ways < costs * (1 - TOLERANCE)).any() else costs


def spanning_links(low: Any, high: Any, numbers: Any, count: int) -> Any:
    """Return which of some links, told apart by their numbers, make the minimum spanning tree."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    weights = coo_array((numbers.astype(np.float64), (low, high)), shape=(count, count))
    return np.isin(numbers, minimum_spanning_tree(weights.tocsr()).data.astype(np.int64))


def tree_over(brokers: Any, numbers: Any) -> tuple[Any, Any]:
    """Return the ends of the minimum spanning tree of some brokers."""
    first, second = np.triu_indices(len(brokers), 1)
    low, high = brokers[first], brokers[second]
    chosen = spanning_links(low, high, numbers[low, high], len(numbers))
    return low[chosen], high[chosen]


def mesh_traffic(published: Any, is_member: Any, numbers: Any) -> Any:
    """Return the traffic of each link (upper triangle) with a tree per broker and channel.

    ``published`` and ``is_member`` have a row for each channel. A tree with one more broker uses
    only links of the tree without it, and links to it: the others are heaviest on some cycle.
    """
    traffic = np.zeros(numbers.shape)
    for sent, member in zip(published, is_member, strict=True):
        brokers = np.flatnonzero(member)
        low, high = tree_over(brokers, numbers)
        traffic[low, high] += sent[member].sum()
        for broker in np.flatnonzero((sent > 0) & ~member):
            ends = np.concatenate([low, np.minimum(brokers, broker)])
            others = np.concatenate([high, np.maximum(brokers, broker)])
            chosen = spanning_links(ends, others, numbers[ends, others], len(numbers))
            traffic[ends[chosen], others[chosen]] += sent[broker]
    return traffic


def tree_traffic(published: Any, is_member: Any, numbers: Any) -> tuple[Any, Any, Any]:
    """Return the links of the one tree of all brokers, and the traffic on each.

    Without a link the tree falls in two: what is sent on one side crosses it on every channel that
    is wanted on the other.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = len(numbers)
    low, high = tree_over(np.arange(count), numbers)
    traffic = np.zeros(len(low))
    for link in range(len(low)):
        rest = np.arange(len(low)) != link
        kept = coo_array((np.ones(len(low) - 1), (low[rest], high[rest])), shape=(count, count))
        _, side = connected_components(kept, directed=False)
        here = side == side[low[link]]
        for one, other in ((here, ~here), (~here, here)):
            traffic[link] += published[:, one].sum(axis=1)[is_member[:, other].any(axis=1)].sum()
    return low, high, traffic
