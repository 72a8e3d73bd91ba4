"""Branch and bound over links: every overlay of a few dozen pairs, without looking at most.

A node of the tree has links decided to be in, links decided to be out, and the rest. The link that
adds most is decided next, first in, then out. The tree is cut where mu so far and the most that
links can still add do not beat the best overlay known: at most the largest gains, as many as there
are links to spare (gains only fall, mu being submodular), and at most what prices prove for the
budgets that are left (see :mod:`fanwise.connect.bounds`). Both can be checked by anybody who has
the prices, so the leaves of a finished tree are a certificate of its optimum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import ROUNDING

UNDECIDED, IN, OUT = range(3)
"""What is decided of a pair."""
DEPTH, NUM_BRANCHED = range(2)
"""Entries of ``counters``."""
LEAF = -1
"""Stands in the record where the tree is cut."""


class Pairs(NamedTuple):
    """Pairs that may be linked: their ends, cost, and the slots they join (CSR by pair).

    Slots of one group of topics lie side by side, from ``group_start`` on.
    """

    ends: IntArray
    cost: FloatArray
    indptr: LongArray
    one: IntArray
    other: IntArray
    weight: FloatArray
    priced: FloatArray
    group_start: LongArray
    node_of: IntArray


class Charges(NamedTuple):
    """Prices of nodes, links and cost, and what a join of each group is worth unpriced."""

    rest: FloatArray
    node: FloatArray
    link: float
    cost: float


class Tree(NamedTuple):
    """The path from the root to where the search stands, and the best overlay so far.

    ``record`` takes down every decision in preorder, ``LEAF`` where the tree is cut, as far as
    it is long enough: ``counters[NUM_BRANCHED]`` says how many there were.
    """

    decided: IntArray
    label: IntArray
    value: FloatArray
    pair: IntArray
    phase: IntArray
    counters: LongArray
    best: IntArray
    best_value: FloatArray
    record: IntArray


def plant_tree(num_pairs: int, num_slots: int, best_value: float, max_record: int = 0) -> Tree:
    """Return a search at the root; overlays must beat ``best_value``."""
    tree = Tree(
        np.zeros((num_pairs + 2, num_pairs), dtype=np.int32),
        np.zeros((num_pairs + 2, num_slots), dtype=np.int32),
        np.zeros(num_pairs + 2),
        np.zeros(num_pairs + 2, dtype=np.int32),
        np.zeros(num_pairs + 2, dtype=np.int32),
        np.zeros(2, dtype=np.int64),
        np.zeros(num_pairs, dtype=np.int32),
        np.array([best_value, 0.0]),
        np.zeros(max_record, dtype=np.int32),
    )
    tree.label[0] = np.arange(num_slots)
    return tree


@kernel
def search_tree(
    pairs: Pairs,
    charges: Charges,
    tree: Tree,
    limits: IntArray,
    max_edges: int,
    max_cost: float,
    step: float,
    patience: int,
) -> bool:
    """Go on with a search for so many nodes of the tree; say whether it is complete.

    ``step`` is less than what a better overlay is worth more, where mu is whole; otherwise 0.
    Changes ``tree``.
    """
    num_pairs = len(pairs.cost)
    gains, priced = np.empty(num_pairs), np.empty(num_pairs)
    spare = np.empty(len(limits), dtype=np.int64)
    counters = tree.counters
    while counters[DEPTH] >= 0:
        depth = counters[DEPTH]
        if tree.phase[depth] == 0:
            if patience <= 0:
                return False
            patience -= 1
            if tree.value[depth] > tree.best_value[0] + ROUNDING * (1.0 + tree.value[depth]):
                tree.best_value[0], tree.best_value[1] = tree.value[depth], 1.0
                tree.best[:] = tree.decided[depth]
            edges, money = measure_spare(
                pairs, tree.decided[depth], limits, max_edges, max_cost, spare
            )
            best = weigh_pairs(pairs, tree, depth, spare, edges, money, gains, priced)
            most = tree.value[depth] + largest_gains(gains, edges)
            # Where mu is whole, a better overlay is better by 1: bounds short of that cut the
            # branch.
            limit = tree.best_value[0] + max(step, ROUNDING * (1.0 + most))
            # Prices take a pass over all pairs: only where the cheaper bound does not cut.
            if best >= 0 and most > limit:
                proven = bound_by_prices(
                    pairs, charges, tree.label[depth], spare, edges, money, gains, priced
                )
                most = min(most, tree.value[depth] + proven)
            is_leaf = best < 0 or most <= limit
            if counters[NUM_BRANCHED] < len(tree.record):
                tree.record[counters[NUM_BRANCHED]] = LEAF if is_leaf else best
            counters[NUM_BRANCHED] += 1
            if is_leaf:
                counters[DEPTH] -= 1
                continue
            tree.pair[depth], tree.phase[depth] = best, 1
            descend(tree, depth, best, IN)
            tree.value[depth + 1] += relabel_pair(pairs, tree.label[depth + 1], best)
        elif tree.phase[depth] == 1:
            tree.phase[depth] = 2
            descend(tree, depth, tree.pair[depth], OUT)
        else:
            counters[DEPTH] -= 1
    return True


@kernel
def descend(tree: Tree, depth: int, pair: int, decision: int) -> None:
    """Copy the state one level down and decide a pair there. Changes ``tree``."""
    tree.decided[depth + 1] = tree.decided[depth]
    tree.decided[depth + 1, pair] = decision
    tree.label[depth + 1] = tree.label[depth]
    tree.value[depth + 1] = tree.value[depth]
    tree.phase[depth + 1] = 0
    tree.counters[DEPTH] = depth + 1


@kernel
def measure_spare(
    pairs: Pairs,
    decided: IntArray,
    limits: IntArray,
    max_edges: int,
    max_cost: float,
    spare: LongArray,
) -> tuple[int, float]:
    """Return the links and the cost that are left, and write down the links left at each node.

    Changes ``spare``.
    """
    spare[:] = limits
    for pair in range(len(decided)):
        if decided[pair] == IN:
            spare[pairs.ends[pair, 0]] -= 1
            spare[pairs.ends[pair, 1]] -= 1
            max_edges -= 1
            max_cost -= pairs.cost[pair]
    return max_edges, max_cost


@kernel
def weigh_pairs(
    pairs: Pairs,
    tree: Tree,
    depth: int,
    spare: LongArray,
    edges: int,
    money: float,
    gains: FloatArray,
    priced: FloatArray,
) -> int:
    """Write down what each pair would add, 0 if it does not fit; return the best or -1.

    Changes ``gains`` and ``priced``.
    """
    best = -1
    label = tree.label[depth]
    for pair in range(len(gains)):
        gains[pair] = priced[pair] = 0.0
        u, v = pairs.ends[pair, 0], pairs.ends[pair, 1]
        is_open = tree.decided[depth, pair] == UNDECIDED and edges > 0
        if is_open and spare[u] > 0 and spare[v] > 0 and pairs.cost[pair] <= money:
            for k in range(pairs.indptr[pair], pairs.indptr[pair + 1]):
                if label[pairs.one[k]] != label[pairs.other[k]]:
                    gains[pair] += pairs.weight[k]
                    priced[pair] += pairs.priced[k]
            if gains[pair] > 0.0 and (best < 0 or gains[pair] > gains[best]):
                best = pair
    return best


@kernel
def relabel_pair(pairs: Pairs, label: IntArray, pair: int) -> float:
    """Join the components at the ends of a pair; return what that adds. Changes ``label``."""
    gain = 0.0
    for k in range(pairs.indptr[pair], pairs.indptr[pair + 1]):
        old, new = label[pairs.one[k]], label[pairs.other[k]]
        if old != new:
            gain += pairs.weight[k]
            for slot in range(len(label)):
                if label[slot] == old:
                    label[slot] = new
    return gain


@kernel
def largest_gains(gains: FloatArray, edges: int) -> float:
    """Return the sum of the largest gains, so many of them. Changes no array."""
    ranked = np.sort(gains)[::-1]
    most = 0.0
    for k in range(min(edges, len(ranked))):
        most += ranked[k]
    return most


@kernel
def bound_by_prices(
    pairs: Pairs,
    charges: Charges,
    label: IntArray,
    spare: LongArray,
    edges: int,
    money: float,
    gains: FloatArray,
    priced: FloatArray,
) -> float:
    """Return what prices prove that pairs can add, given the links that are in.

    Changes no array.
    """
    total = charges.link * edges
    if charges.cost > 0.0:
        total += charges.cost * money
    for node in range(len(spare)):
        total += charges.node[node] * spare[node]
    for pair in range(len(gains)):
        if gains[pair] > 0.0:
            charge = charges.node[pairs.ends[pair, 0]] + charges.node[pairs.ends[pair, 1]]
            charge += charges.link + charges.cost * pairs.cost[pair]
            total += max(0.0, priced[pair] - charge)
    is_counted = np.zeros(len(label), dtype=np.bool_)
    for group in range(len(charges.rest)):
        free, degrees = 0, 0
        for slot in range(pairs.group_start[group], pairs.group_start[group + 1]):
            left = spare[pairs.node_of[slot]]
            if left > 0:
                degrees += left
                if not is_counted[label[slot]]:
                    is_counted[label[slot]] = True
                    free += 1
        total += charges.rest[group] * min(max(free - 1, 0), degrees // 2, edges)
    return total
