"""Disjoint sets as a forest: ``parent[i]`` leads from item i towards the root of its set.

The smallest item of a set is its root, so that which one it is does not depend on the order of
joins.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.arrays.jit import kernel


@kernel
def single_sets(num_items: int) -> IntArray:
    """Return the forest in which each item is a set of its own. Changes nothing."""
    return np.arange(num_items).astype(np.int32)


@kernel
def find_root(parent: IntArray, item: int) -> int:
    """Return the root of an item's set. Changes ``parent``: the way there is halved."""
    while parent[item] != item:
        parent[item] = parent[parent[item]]
        item = parent[item]
    return item


@kernel
def join_sets(parent: IntArray, one: int, other: int) -> bool:
    """Join the sets of two items; return whether they were two. Changes ``parent``."""
    one, other = find_root(parent, one), find_root(parent, other)
    if one == other:
        return False
    parent[max(one, other)] = min(one, other)
    return True
