"""Kernels that every algorithm of connect shares: topic components and what a link adds to them.

A slot is a (node, topic) pair, numbered as it stands in the subscriber-major CSR. ``parent`` is a
disjoint-set forest over slots: two slots of one topic have one root when links between nodes that
want the topic join them. Roots are the smallest slot of their component, so the node a root belongs
to is the smallest of its component.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel


@kernel
def single_slots(num_slots: int) -> IntArray:
    """Return the forest without links: each slot its own root."""
    return np.arange(num_slots).astype(np.int32)


@kernel
def find_root(parent: IntArray, slot: int) -> int:
    """Return a slot's root, halving the path to it."""
    while parent[slot] != slot:
        parent[slot] = parent[parent[slot]]
        slot = parent[slot]
    return slot


@kernel
def join_roots(parent: IntArray, one: int, other: int) -> None:
    """Put two roots together; the smaller one stays a root."""
    if one < other:
        parent[other] = one
    else:
        parent[one] = other


@kernel
def pair_gain(indptr: LongArray, topics: IntArray, parent: IntArray, u: int, v: int) -> int:
    """Count the topics whose components a link u-v would join: its contribution, mu'(uv | E)."""
    i, i_end, j, j_end = indptr[u], indptr[u + 1], indptr[v], indptr[v + 1]
    gain = 0
    while i < i_end and j < j_end:
        if topics[i] < topics[j]:
            i += 1
        elif topics[i] > topics[j]:
            j += 1
        else:
            gain += find_root(parent, i) != find_root(parent, j)
            i += 1
            j += 1
    return gain


@kernel
def pair_worth(
    indptr: LongArray, topics: IntArray, parent: IntArray, weight: FloatArray, u: int, v: int
) -> float:
    """Add up the weight of the topics whose components a link u-v would join."""
    i, i_end, j, j_end = indptr[u], indptr[u + 1], indptr[v], indptr[v + 1]
    worth = 0.0
    while i < i_end and j < j_end:
        if topics[i] < topics[j]:
            i += 1
        elif topics[i] > topics[j]:
            j += 1
        else:
            if find_root(parent, i) != find_root(parent, j):
                worth += weight[topics[i]]
            i += 1
            j += 1
    return worth


@kernel
def link_pair(
    indptr: LongArray, topics: IntArray, parent: IntArray, weight: FloatArray, u: int, v: int
) -> float:
    """Link u-v: join the components of every common topic; return the weight of those joined."""
    i, i_end, j, j_end = indptr[u], indptr[u + 1], indptr[v], indptr[v + 1]
    worth = 0.0
    while i < i_end and j < j_end:
        if topics[i] < topics[j]:
            i += 1
        elif topics[i] > topics[j]:
            j += 1
        else:
            one, other = find_root(parent, i), find_root(parent, j)
            if one != other:
                join_roots(parent, one, other)
                worth += weight[topics[i]]
            i += 1
            j += 1
    return worth


@kernel
def link_edges(
    indptr: LongArray, topics: IntArray, parent: IntArray, weight: FloatArray, edges: IntArray
) -> FloatArray:
    """Link pairs one after another; return what each adds to mu. Their sum is mu(E).

    O((interests of both ends + log) per edge). ``edges`` has a row (u, v) per link.
    """
    gains = np.empty(len(edges), dtype=np.float64)
    for k in range(len(edges)):
        gains[k] = link_pair(indptr, topics, parent, weight, edges[k, 0], edges[k, 1])
    return gains


@kernel
def label_components(parent: IntArray) -> IntArray:
    """Return the root of every slot: equal for slots of one topic component."""
    labels = np.empty_like(parent)
    for slot in range(len(parent)):
        labels[slot] = find_root(parent, slot)
    return labels


@kernel
def count_components(parent: IntArray, topics: IntArray, num_topics: int) -> LongArray:
    """Count the components of each topic; 0 for a topic that nobody wants."""
    components = np.zeros(num_topics, dtype=np.int64)
    for slot in range(len(parent)):
        components[topics[slot]] += parent[slot] == slot
    return components


@kernel
def count_degrees(edges: IntArray, num_nodes: int) -> IntArray:
    """Count the links of each node."""
    degrees = np.zeros(num_nodes, dtype=np.int32)
    for k in range(len(edges)):
        degrees[edges[k, 0]] += 1
        degrees[edges[k, 1]] += 1
    return degrees


@kernel
def link_costs(positions: FloatArray, edges: IntArray) -> FloatArray:
    """Return the Euclidean length of each link; 0 where nodes have no coordinates."""
    costs = np.zeros(len(edges), dtype=np.float64)
    for k in range(len(edges)):
        costs[k] = link_length(positions, edges[k, 0], edges[k, 1])
    return costs


@kernel
def link_length(positions: FloatArray, u: int, v: int) -> float:
    """Return the distance between two nodes."""
    total = 0.0
    for axis in range(positions.shape[1]):
        step = positions[u, axis] - positions[v, axis]
        total += step * step
    return float(np.sqrt(total))
