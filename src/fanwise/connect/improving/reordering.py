"""Put the links of an overlay into greedy order, so that its beginnings are good overlays too."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.connect.improving.completion import largest_leaf, set_leaf
from fanwise.connect.improving.ground import Ground, cost_of, join_slots, root_of


def order_greedily(ground: Ground, edges: IntArray) -> IntArray:
    """Return the links in the order in which greedy would choose among them, by gain (per cost).

    Links that add nothing in that order are left out: mu needs none of them.
    """
    in_order = np.ascontiguousarray(edges[np.lexsort((edges[:, 1], edges[:, 0]))])
    leaves = 1
    while leaves < max(1, len(edges)):
        leaves *= 2
    tree = np.zeros(2 * leaves)
    tree[leaves : leaves + len(edges)] = np.inf
    for i in range(leaves - 1, 0, -1):
        tree[i] = max(tree[2 * i], tree[2 * i + 1])
    return np.ascontiguousarray(in_order[rank_links(ground, in_order, tree)])


@kernel
def rank_links(ground: Ground, edges: IntArray, tree: FloatArray) -> LongArray:
    """Return positions of links in greedy order; old gains are upper bounds of new ones."""
    parent = np.arange(len(ground.nodes)).astype(np.int32)
    leaves, count = len(tree) // 2, 0
    order = np.empty(len(edges), dtype=np.int64)
    while tree[1] > 0.0:
        leaf = largest_leaf(tree)
        u, v = edges[leaf - leaves, 0], edges[leaf - leaves, 1]
        key = walk_common(ground, parent, u, v, False) / cost_of(ground, u, v)
        set_leaf(tree, leaf, key)
        if key > 0.0 and key >= tree[1]:
            walk_common(ground, parent, u, v, True)
            order[count] = leaf - leaves
            count += 1
            set_leaf(tree, leaf, 0.0)
    return order[:count]


@kernel
def walk_common(ground: Ground, parent: IntArray, u: int, v: int, joins: bool) -> float:
    """Return what a link adds, and join the components where asked to."""
    i, i_end, j, j_end = (
        ground.indptr[u],
        ground.indptr[u + 1],
        ground.indptr[v],
        ground.indptr[v + 1],
    )
    topics, gain = ground.topics, 0.0
    while i < i_end and j < j_end:
        if topics[i] < topics[j]:
            i += 1
        elif topics[i] > topics[j]:
            j += 1
        else:
            one, other = ground.slot_of[i], ground.slot_of[j]
            if root_of(parent, one) != root_of(parent, other):
                gain += ground.weight[topics[i]]
                if joins:
                    join_slots(parent, one, other)
            i += 1
            j += 1
    return gain
