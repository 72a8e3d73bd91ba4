"""Kernels on pairs of nodes: the topics that both want, how far apart they are, their degrees."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel

NOBODY = -1
"""Stands where no node, link or slot is."""
NO_COST = 1.0
"""What a link counts as where links cost nothing: gain per cost is then the gain."""
TINY_COST = 1e-200
"""What a link of no length counts as, so that gain per cost stays a number."""


@kernel
def first_common(indptr: LongArray, topics: IntArray, u: int, v: int) -> tuple[int, int]:
    """Return where the first topic that both nodes want stands among the interests of each.

    Both are ``NOBODY`` where there is none. With :func:`next_common` this is how kernels go through
    common topics, in ascending order. Changes no array.
    """
    return next_common(indptr, topics, u, v, indptr[u] - 1, indptr[v] - 1)


@kernel
def next_common(
    indptr: LongArray, topics: IntArray, u: int, v: int, i: int, j: int
) -> tuple[int, int]:
    """Return where the next common topic stands after the interests i of u and j of v.

    Takes the arrays that it needs and not the network: Numba counts references to every array that
    is handed on, which takes longer than a step. Changes no array.
    """
    i_end, j_end = indptr[u + 1], indptr[v + 1]
    i += 1
    j += 1
    while i < i_end and j < j_end:
        if topics[i] < topics[j]:
            i += 1
        elif topics[i] > topics[j]:
            j += 1
        else:
            return i, j
    return NOBODY, NOBODY


@kernel
def count_shared(indptr: LongArray, topics: IntArray, pairs: IntArray) -> LongArray:
    """Count the topics that both nodes of each pair want. Changes no array."""
    counts = np.zeros(len(pairs), dtype=np.int64)
    for k in range(len(pairs)):
        u, v = pairs[k, 0], pairs[k, 1]
        i, j = first_common(indptr, topics, u, v)
        while i != NOBODY:
            counts[k] += 1
            i, j = next_common(indptr, topics, u, v, i, j)
    return counts


@kernel
def number_slots(topics: IntArray, topic_indptr: LongArray) -> IntArray:
    """Return the slot of each interest; nodes ascend in both orders. Changes no array."""
    cursor = topic_indptr[:-1].copy()
    slot_of = np.empty(len(topics), dtype=np.int32)
    for i in range(len(topics)):
        slot_of[i] = cursor[topics[i]]
        cursor[topics[i]] += 1
    return slot_of


@kernel
def count_degrees(edges: IntArray, num_nodes: int) -> IntArray:
    """Count the links of each node. Changes no array."""
    degrees = np.zeros(num_nodes, dtype=np.int32)
    for k in range(len(edges)):
        degrees[edges[k, 0]] += 1
        degrees[edges[k, 1]] += 1
    return degrees


@kernel
def link_length(positions: FloatArray, u: int, v: int) -> float:
    """Return the distance between two nodes; 0 without coordinates. Changes no array."""
    total = 0.0
    for axis in range(positions.shape[1]):
        step = positions[u, axis] - positions[v, axis]
        total += step * step
    return float(np.sqrt(total))


@kernel
def link_costs(positions: FloatArray, edges: IntArray) -> FloatArray:
    """Return the Euclidean length of each link; 0 without coordinates. Changes no array."""
    costs = np.zeros(len(edges), dtype=np.float64)
    for k in range(len(edges)):
        costs[k] = link_length(positions, edges[k, 0], edges[k, 1])
    return costs


@kernel
def cost_of(positions: FloatArray, u: int, v: int) -> float:
    """Return what the gain of a link is divided by: its length, 1 where links cost nothing.

    Changes no array.
    """
    if positions.shape[1] == 0:
        return NO_COST
    return max(TINY_COST, link_length(positions, u, v))
