"""Trees over named brokers, and the branches that destinations are in.

A publication goes along a tree, so it crosses a link at most once. Every broker on the way asks
again, with the destinations behind itself alone, and must find the same tree there. It does: links
are in a strict order (by cost, then by ids, as in :mod:`fanwise.wire.arrays`), so that there is one
minimum spanning tree, and what is left of it after brokers are taken away is part of the minimum
spanning tree of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.errors import ParameterError

Tree = Mapping[str, Sequence[str]]
"""The neighbours of each broker."""


class LinkOrder:
    """Links between all brokers in a strict order.

    Parameters
    ----------
    names
        Of the brokers, in the order of their ids.
    costs
        Between them, symmetric.
    """

    def __init__(self, names: Sequence[str], costs: FloatArray) -> None:
        count = len(names)
        if costs.shape != (count, count):
            raise ParameterError("costs", f"of the shape ({count}, {count})", costs.shape)
        self._id_of_name = {name: broker for broker, name in enumerate(names)}
        low, high = np.triu_indices(count, 1)
        order = np.argsort(costs[low, high], kind="stable")
        rank = np.zeros((count, count), dtype=np.int64)
        rank[low[order], high[order]] = rank[high[order], low[order]] = np.arange(len(order))
        self._rank: list[list[int]] = rank.tolist()

    def __contains__(self, name: str) -> bool:
        return name in self._id_of_name

    def spanning_tree(self, brokers: Iterable[str]) -> Tree:
        """Return the minimum spanning tree over known brokers, by Prim's algorithm. O(k^2)."""
        waiting = sorted(set(brokers), key=self._id_of_name.__getitem__)
        tree: dict[str, list[str]] = {name: [] for name in waiting}
        if not waiting:
            return tree
        joined = waiting.pop(0)
        best: dict[str, tuple[int, str]] = {}
        while waiting:
            row = self._rank[self._id_of_name[joined]]
            for name in waiting:
                rank = row[self._id_of_name[name]]
                if name not in best or rank < best[name][0]:
                    best[name] = rank, joined
            joined = min(waiting, key=lambda name: best[name][0])
            waiting.remove(joined)
            parent = best[joined][1]
            tree[parent].append(joined)
            tree[joined].append(parent)
        return tree


def tree_of_links(links: Iterable[tuple[str, str]]) -> Tree:
    """Return a tree by its links."""
    tree: dict[str, list[str]] = {}
    for one, other in links:
        tree.setdefault(one, []).append(other)
        tree.setdefault(other, []).append(one)
    return tree


def branches(
    tree: Tree, here: str, destinations: frozenset[str], alive: frozenset[str]
) -> dict[str, frozenset[str]]:
    """Return the destinations behind each live neighbour, and in place of dead ones behind theirs.

    Every hop brings a publication nearer, counted in links of the tree, to each destination: it
    never comes back, whoever else is taken for dead.
    """
    found: dict[str, frozenset[str]] = {}
    reached: list[tuple[str, str]] = [(here, name) for name in tree.get(here, ())]
    while reached:
        before, name = reached.pop()
        if name not in alive:
            reached += [(name, after) for after in tree[name] if after != before]
            continue
        behind = destinations.intersection(_branch(tree, before, name))
        if behind:
            found[name] = behind
    return dict(sorted(found.items()))


def _branch(tree: Tree, before: str, first: str) -> list[str]:
    """Return all that is reached through a broker without going back."""
    names, stack = [first], [(before, first)]
    while stack:
        came_from, name = stack.pop()
        for after in tree[name]:
            if after != came_from:
                names.append(after)
                stack.append((name, after))
    return names
