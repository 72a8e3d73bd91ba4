"""Branch and bound over links: every overlay of a few dozen pairs, without looking at most.

A node of the tree has links decided to be in, links decided to be out, and the rest. The link that
adds most is decided next, first in, then out. The tree is cut where mu so far and the best that
gains could add (gains only fall, mu being submodular) do not beat the best overlay known: the
largest as many as there are links to spare, half of the largest at each node as many as it has to
spare, and the best gains per cost, the last one in part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel

UNDECIDED, IN, OUT = range(3)
DEPTH, NUM_BRANCHED = range(2)
ROUNDING = 1e-12


class Pairs(NamedTuple):
    """Pairs that may be linked: their ends, cost, and the slots they join (CSR by pair)."""

    ends: IntArray
    cost: FloatArray
    indptr: LongArray
    one: IntArray
    other: IntArray
    weight: FloatArray


class Tree(NamedTuple):
    """The path from the root to where the search stands, and the best overlay so far."""

    decided: IntArray
    label: IntArray
    value: FloatArray
    pair: IntArray
    phase: IntArray
    counters: LongArray
    best: IntArray
    best_value: FloatArray


def plant_tree(num_pairs: int, num_slots: int, best_value: float) -> Tree:
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
    )
    tree.label[0] = np.arange(num_slots)
    return tree


@kernel
def search_tree(
    pairs: Pairs, tree: Tree, limits: IntArray, max_edges: int, max_cost: float, patience: int
) -> bool:
    """Go on with a search for so many nodes of the tree; say whether it is complete."""
    num_pairs = len(pairs.cost)
    gains = np.empty(num_pairs)
    spare = np.empty(len(limits), dtype=np.int64)
    counters = tree.counters
    while counters[DEPTH] >= 0:
        depth = counters[DEPTH]
        if tree.phase[depth] == 0:
            if patience <= 0:
                return False
            patience -= 1
            counters[NUM_BRANCHED] += 1
            if tree.value[depth] > tree.best_value[0] + ROUNDING * (1.0 + tree.value[depth]):
                tree.best_value[0], tree.best_value[1] = tree.value[depth], 1.0
                tree.best[:] = tree.decided[depth]
            edges, money = measure_spare(
                pairs, tree.decided[depth], limits, max_edges, max_cost, spare
            )
            best = weigh_pairs(pairs, tree, depth, spare, edges, money, gains)
            most = tree.value[depth] + most_gain(pairs, gains, spare, edges, money)
            if best < 0 or most <= tree.best_value[0] + ROUNDING * (1.0 + most):
                counters[DEPTH] -= 1
                continue
            tree.pair[depth], tree.phase[depth] = best, 1
            descend(tree, depth, best, IN)
            tree.value[depth + 1] += join_pair(pairs, tree.label[depth + 1], best)
        elif tree.phase[depth] == 1:
            tree.phase[depth] = 2
            descend(tree, depth, tree.pair[depth], OUT)
        else:
            counters[DEPTH] -= 1
    return True


@kernel
def descend(tree: Tree, depth: int, pair: int, decision: int) -> None:
    """Copy the state one level down and decide a pair there."""
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
    """Return the links and the cost that are left, and fill in the links left at each node."""
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
) -> int:
    """Fill in what each pair would add, 0 if it does not fit; return the best or -1."""
    best = -1
    label = tree.label[depth]
    for pair in range(len(gains)):
        gains[pair] = 0.0
        u, v = pairs.ends[pair, 0], pairs.ends[pair, 1]
        is_open = tree.decided[depth, pair] == UNDECIDED and edges > 0
        if is_open and spare[u] > 0 and spare[v] > 0 and pairs.cost[pair] <= money:
            for k in range(pairs.indptr[pair], pairs.indptr[pair + 1]):
                if label[pairs.one[k]] != label[pairs.other[k]]:
                    gains[pair] += pairs.weight[k]
            if gains[pair] > 0.0 and (best < 0 or gains[pair] > gains[best]):
                best = pair
    return best


@kernel
def join_pair(pairs: Pairs, label: IntArray, pair: int) -> float:
    """Join the components at the ends of a pair; return what that adds."""
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
def most_gain(pairs: Pairs, gains: FloatArray, spare: LongArray, edges: int, money: float) -> float:
    """Return at most what undecided pairs can add together."""
    order = np.argsort(-gains)
    most, taken = 0.0, 0
    half, left = 0.0, spare.copy()
    for pair in order:
        if gains[pair] <= 0.0:
            break
        if taken < edges:
            most += gains[pair]
            taken += 1
        for side in range(2):
            node = pairs.ends[pair, side]
            if left[node] > 0:
                left[node] -= 1
                half += gains[pair] / 2.0
    return min(min(most, half), most_for_money(pairs, gains, money))


@kernel
def most_for_money(pairs: Pairs, gains: FloatArray, money: float) -> float:
    """Return what the best gains per cost add, the last one in part."""
    most = 0.0
    for pair in np.argsort(-gains / np.maximum(pairs.cost, 1e-200)):
        if pairs.cost[pair] > money:
            return float(most + gains[pair] * max(0.0, money) / pairs.cost[pair])
        most += gains[pair]
        money -= pairs.cost[pair]
    return most
