"""Spanning trees of topics, on whose links shares stand: a partition of its own for each topic.

Links S, in their order, give every topic a forest: each link that joins two of its components. What
stays apart is joined to the topic's largest component by joins that stand for no link. The joins of
a topic are numbered: links in the order of S, then components by their first nodes.

Nodes of a topic lie in preorder, at *positions*: a parent comes before its children, and a subtree
is a range. The share on the join above a node stands at its position.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.connect.arrays import Network
from fanwise.connect.kernels import NOBODY, first_common, next_common


class Trees(NamedTuple):
    """A spanning tree of every topic; positions of a topic are where its slots are.

    Attributes
    ----------
    position
        Where the node of each interest stands in the tree of its topic.
    node, parent
        The node at each position, and the position above it, ``NOBODY`` at a root.
    row
        Number of the join above each position among the joins of all topics; 0 at a root.
    link
        The link of S that is the join above each position, ``NOBODY`` where none is.
    """

    position: IntArray
    node: IntArray
    parent: IntArray
    row: LongArray
    link: IntArray


def plant_trees(network: Network, edges: IntArray) -> Trees:
    """Return the trees that links give in their order."""
    num_slots = network.num_slots
    trees = Trees(
        np.zeros(num_slots, dtype=np.int32),
        np.zeros(num_slots, dtype=np.int32),
        np.full(num_slots, NOBODY, dtype=np.int32),
        np.zeros(num_slots, dtype=np.int64),
        np.full(num_slots, NOBODY, dtype=np.int32),
    )
    halves = 2 * num_slots
    forest = Forest(
        np.arange(num_slots, dtype=np.int32),
        np.full(num_slots, NOBODY, dtype=np.int32),
        np.zeros(halves, dtype=np.int32),
        np.zeros(halves, dtype=np.int32),
        np.zeros(halves, dtype=np.int32),
        np.zeros(halves, dtype=np.int32),
    )
    joins = join_slots(network, forest, edges)
    order_trees(network, forest, joins, trees)
    return trees


class Forest(NamedTuple):
    """Slots joined by links: two half joins each, in lists by where they start.

    Attributes
    ----------
    root
        Another slot of the same component, that with the smallest number for itself.
    head, onward, to
        First half join of each slot, the next at the same slot, and where each leads.
    number, link
        Which join of its topic a half join is of, and which link.
    """

    root: IntArray
    head: IntArray
    onward: IntArray
    to: IntArray
    number: IntArray
    link: IntArray


@kernel
def find_root(root: IntArray, slot: int) -> int:
    """Return the smallest slot of a component. Changes ``root``: ways become shorter."""
    while root[slot] != slot:
        root[slot] = root[root[slot]]
        slot = root[slot]
    return slot


@kernel
def join_slots(network: Network, forest: Forest, edges: IntArray) -> LongArray:
    """Join the slots of common topics, link by link; count the joins of each topic.

    Changes ``forest``.
    """
    indptr, topics, slot_of = network.indptr, network.topics, network.slot_of
    joins, count = np.zeros(len(network.weight), dtype=np.int64), 0
    for k in range(len(edges)):
        u, v = edges[k, 0], edges[k, 1]
        i, j = first_common(indptr, topics, u, v)
        while i != NOBODY:
            one, other, topic = slot_of[i], slot_of[j], topics[i]
            a, b = find_root(forest.root, one), find_root(forest.root, other)
            if a != b:
                forest.root[max(a, b)] = min(a, b)
                for half in range(2):
                    start, end = (one, other) if half == 0 else (other, one)
                    forest.to[count], forest.onward[count] = end, forest.head[start]
                    forest.number[count], forest.link[count] = joins[topic], k
                    forest.head[start] = count
                    count += 1
                joins[topic] += 1
            i, j = next_common(indptr, topics, u, v, i, j)
    return joins


@kernel
def order_trees(network: Network, forest: Forest, joins: LongArray, trees: Trees) -> None:
    """Lay the trees out in preorder, the largest component first. Changes ``trees``."""
    indptr, nodes = network.topic_indptr, network.nodes
    num_slots = len(nodes)
    place = np.zeros(num_slots, dtype=np.int32)
    stack, above = np.zeros(num_slots, dtype=np.int32), np.zeros(num_slots, dtype=np.int32)
    number, link = np.zeros(num_slots, dtype=np.int32), np.zeros(num_slots, dtype=np.int32)
    size = np.zeros(num_slots, dtype=np.int32)
    first_row = 0
    for topic in range(len(indptr) - 1):
        start, end = indptr[topic], indptr[topic + 1]
        if start == end:
            continue
        centre = start
        for slot in range(start, end):
            size[find_root(forest.root, slot)] += 1
        for slot in range(start, end):
            if size[slot] > size[centre]:
                centre = slot
        position, star = start, joins[topic]
        for turn in range(start - 1, end):
            root = centre if turn < start else turn
            if turn >= start and (forest.root[root] != root or root == centre):
                continue
            stack[0], above[0], link[0] = root, start, NOBODY
            number[0] = NOBODY if turn < start else star
            star += 0 if turn < start else 1
            height = 1
            while height > 0:
                height -= 1
                slot, own = stack[height], number[height]
                place[slot] = position
                trees.node[position] = nodes[slot]
                if own != NOBODY:
                    trees.parent[position] = above[height]
                    trees.row[position] = first_row + own
                    trees.link[position] = link[height]
                came = link[height]
                half = forest.head[slot]
                while half != NOBODY:
                    # A join is listed at both ends: that which led here also leads back.
                    if came == NOBODY or forest.number[half] != own:
                        stack[height], above[height] = forest.to[half], position
                        number[height], link[height] = forest.number[half], forest.link[half]
                        height += 1
                    half = forest.onward[half]
                position += 1
        first_row += end - start - 1
    for i in range(num_slots):
        trees.position[i] = place[network.slot_of[i]]
