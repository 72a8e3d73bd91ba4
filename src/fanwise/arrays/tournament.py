"""Tournaments: which of many numbers is the largest, kept up as they change.

``tree[1]`` is the largest; the children of node i are 2i and 2i + 1; the numbers themselves are the
leaves ``tree[len(tree) // 2:]``, as many as a power of two. A change costs O(log leaves), and less
where it does not reach the top.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.jit import kernel


@kernel
def mend_tree(tree: FloatArray) -> None:
    """Compute all inner nodes from the leaves. Changes ``tree``."""
    for node in range(len(tree) // 2 - 1, 0, -1):
        tree[node] = max(tree[2 * node], tree[2 * node + 1])


@kernel
def set_leaf(tree: FloatArray, leaf: int, value: float) -> None:
    """Set a leaf and mend the nodes above it. Changes ``tree``."""
    node = len(tree) // 2 + leaf
    tree[node] = value
    while node > 1:
        node //= 2
        largest = max(tree[2 * node], tree[2 * node + 1])
        if tree[node] == largest:
            break
        tree[node] = largest


@kernel
def first_at_least(tree: FloatArray, value: float) -> int:
    """Return the first leaf with at least ``value``; the root must have it. Changes nothing."""
    num_leaves = len(tree) // 2
    node = 1
    while node < num_leaves:
        node *= 2
        if tree[node] < value:
            node += 1
    return node - num_leaves


@kernel
def first_largest(tree: FloatArray) -> int:
    """Return the first leaf that has as much as any. Changes nothing."""
    return first_at_least(tree, tree[1])


@kernel
def largest_among(tree: FloatArray, many: int) -> int:
    """Return a leaf with the largest number among the first so many; -1 where all are -inf.

    Changes nothing.
    """
    num_leaves = len(tree) // 2
    largest, winner = -np.inf, 0
    first, last = num_leaves, num_leaves + many
    while first < last:
        if first & 1:
            if tree[first] > largest:
                largest, winner = tree[first], first
            first += 1
        if last & 1:
            last -= 1
            if tree[last] > largest:
                largest, winner = tree[last], last
        first >>= 1
        last >>= 1
    if winner == 0:
        return -1
    while winner < num_leaves:
        winner *= 2
        if tree[winner] != largest:
            winner += 1
    return winner - num_leaves


def empty_tree(leaves: int) -> FloatArray:
    """Return a tournament for so many numbers, all -inf."""
    size = 1
    while size < leaves:
        size *= 2
    return np.full(2 * size, -np.inf)
