"""Put the links of an overlay into greedy order, so that its beginnings are good overlays too."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tournament import first_largest, mend_tree, set_leaf
from fanwise.connect.arrays import Network
from fanwise.connect.components import Components, gain_of, link_nodes
from fanwise.connect.kernels import cost_of


def order_greedily(network: Network, edges: IntArray) -> IntArray:
    """Return the links in the order in which greedy would choose among them, by gain (per cost).

    Links that add nothing in that order are left out: mu needs none of them.
    """
    in_order = np.ascontiguousarray(edges[np.lexsort((edges[:, 1], edges[:, 0]))])
    leaves = 1 << max(len(edges) - 1, 0).bit_length()
    tree = np.zeros(2 * leaves)
    tree[leaves : leaves + len(edges)] = np.inf
    mend_tree(tree)
    order = rank_links(network, network.components(), in_order, tree)
    return np.ascontiguousarray(in_order[order])


@kernel
def rank_links(
    network: Network, components: Components, edges: IntArray, tree: FloatArray
) -> LongArray:
    """Return where the links stand in greedy order; old gains are upper bounds of new ones.

    Changes ``components`` and ``tree``.
    """
    order, count = np.empty(len(edges), dtype=np.int64), 0
    while tree[1] > 0.0:
        link = first_largest(tree)
        u, v = edges[link, 0], edges[link, 1]
        key = gain_of(network, components.label, u, v) / cost_of(network.positions, u, v)
        set_leaf(tree, link, key)
        # Renewed, it still beats every bound: no other link adds more now.
        if key > 0.0 and key >= tree[1]:
            link_nodes(network, components, u, v)
            order[count] = link
            count += 1
            set_leaf(tree, link, 0.0)
    return order[:count]
