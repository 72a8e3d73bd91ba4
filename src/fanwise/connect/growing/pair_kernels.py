"""Contributions of all pairs in one packed triangle, kept true while components join.

The contribution of the pair u < v stands at ``start[u] + v`` of the table. It starts as the number
of common topics; every time two components of a topic join, each pair between them loses one. Until
every topic is connected the losses are as many as the counting was: sum of C(|V_t|, 2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.connect.kernels import find_root

Table = npt.NDArray[np.uint16]
MAX_TOPICS = 2**16 - 1
"""Most topics of one node that the table can count."""
ONE = np.uint16(1)
WORTH_WRITING = 8
"""Nodes from which on a component may be written out."""
WORTH_SORTING = 8
"""Nodes of the smaller component from which on pairs are gone through in the order of memory."""
NOBODY = -1


class Pairs(NamedTuple):
    """The table and the topic components behind it.

    Attributes
    ----------
    indptr, topics, node_of
        Topics of each node, ascending; the node of each slot.
    parent, ring, size
        Components of slots: a disjoint-set forest, a ring through each, their sizes at the roots.
    topic_indptr, giant, members
        Root of the component of each topic that is written out, and its nodes side by side: most
        joins are with the largest component, and a walk along an array is many times faster than
        one around a ring.
    aside
        Room to write two components out.
    table, start
        Contributions of all pairs; where the row of each node would begin.
    bound
        Never below the largest contribution u has with any v > u.
    """

    indptr: LongArray
    topics: IntArray
    node_of: IntArray
    parent: IntArray
    ring: IntArray
    size: IntArray
    topic_indptr: LongArray
    giant: IntArray
    members: IntArray
    aside: IntArray
    table: Table
    start: LongArray
    bound: IntArray


@kernel
def start_rows(num_nodes: int) -> LongArray:
    """Return where each row of the packed triangle would begin: its first entry is at u + 1."""
    start = np.empty(num_nodes, dtype=np.int64)
    place = 0
    for u in range(num_nodes):
        start[u] = place - (u + 1)
        place += num_nodes - (u + 1)
    return start


@kernel
def count_pairs(
    indptr: LongArray,
    topics: IntArray,
    topic_indptr: LongArray,
    nodes: IntArray,
    table: Table,
    start: LongArray,
) -> None:
    """Count the common topics of every pair in a table of zeros.

    Row by row, O(sum of C(|V_t|, 2)).
    """
    behind = topic_indptr[:-1].copy()
    for u in range(len(start)):
        row = row_of(table, start, u)
        for slot in range(indptr[u], indptr[u + 1]):
            topic = topics[slot]
            behind[topic] += 1  # nodes ascend: u is the first that was not passed yet
            for i in range(behind[topic], topic_indptr[topic + 1]):
                row[nodes[i] - (u + 1)] += np.uint16(1)


@kernel
def row_of(table: Table, start: LongArray, u: int) -> Table:
    """Return the entries of u with all larger nodes."""
    first = start[u] + u + 1
    return table[first : first + len(start) - (u + 1)]


@kernel
def join_pair(pairs: Pairs, u: int, v: int) -> int:
    """Link u-v: join components of common topics, take the loss from all pairs between them.

    Returns how many components were joined.
    """
    topics, parent, ring, size = pairs.topics, pairs.parent, pairs.ring, pairs.size
    i, i_end = pairs.indptr[u], pairs.indptr[u + 1]
    j, j_end = pairs.indptr[v], pairs.indptr[v + 1]
    joined = 0
    while i < i_end and j < j_end:
        if topics[i] < topics[j]:
            i += 1
        elif topics[i] > topics[j]:
            j += 1
        else:
            small, large = find_root(parent, i), find_root(parent, j)
            if small != large:
                if size[small] > size[large]:
                    small, large = large, small
                lose_pairs(pairs, topics[i], small, large)
                write_out(pairs, topics[i], small, large)
                parent[small] = large
                size[large] += size[small]
                ring[small], ring[large] = ring[large], ring[small]
                joined += 1
            i += 1
            j += 1
    return joined


@kernel
def lose_pairs(pairs: Pairs, topic: int, small: int, large: int) -> None:
    """Take one from every pair between two components."""
    begin, count = pairs.topic_indptr[topic], pairs.size[large]
    is_written = pairs.giant[topic] == large
    others = pairs.members[begin : begin + count] if is_written else pairs.aside[0, :count]
    if not is_written:
        write_ring(pairs, large, others)
    nodes = pairs.aside[1, : pairs.size[small]]
    write_ring(pairs, small, nodes)
    if len(nodes) < WORTH_SORTING:
        lose_pairs_of(pairs.table, pairs.start, nodes, others)
    else:
        nodes.sort()
        others = np.sort(others)
        lose_upper_pairs(pairs.table, pairs.start, nodes, others)
        lose_upper_pairs(pairs.table, pairs.start, others, nodes)


@kernel
def lose_pairs_of(table: Table, start: LongArray, nodes: IntArray, others: IntArray) -> None:
    """Take one from every pair of a node and another, in any order."""
    for i in range(len(nodes)):
        x = nodes[i]
        for j in range(len(others)):
            y = others[j]
            table[start[min(x, y)] + max(x, y)] -= ONE


@kernel
def lose_upper_pairs(table: Table, start: LongArray, nodes: IntArray, others: IntArray) -> None:
    """Take one from the pairs of a node and a larger other; both ascend, and so the memory does."""
    first = 0
    for i in range(len(nodes)):
        x = nodes[i]
        while first < len(others) and others[first] < x:
            first += 1
        row = row_of(table, start, x)
        for j in range(first, len(others)):
            row[others[j] - (x + 1)] -= ONE


@kernel
def write_out(pairs: Pairs, topic: int, small: int, large: int) -> None:
    """Keep the written-out component of a topic up to date with a join that is about to happen."""
    size, giant = pairs.size, pairs.giant[topic]
    begin = pairs.topic_indptr[topic]
    middle, end = begin + size[large], begin + size[large] + size[small]
    if giant == large:
        write_ring(pairs, small, pairs.members[middle:end])
    elif end - begin >= WORTH_WRITING and (
        giant in (NOBODY, small) or size[large] > 2 * size[giant]
    ):
        write_ring(pairs, large, pairs.members[begin:middle])
        write_ring(pairs, small, pairs.members[middle:end])
        pairs.giant[topic] = large


@kernel
def write_ring(pairs: Pairs, slot: int, nodes: IntArray) -> None:
    """Write the nodes of a component side by side."""
    for k in range(len(nodes)):
        nodes[k] = pairs.node_of[slot]
        slot = pairs.ring[slot]


@kernel
def largest_of(entries: npt.NDArray[np.uint16]) -> int:
    """Return the largest of some entries; written so that the compiler takes many at a time."""
    largest = np.uint16(0)
    for i in range(len(entries)):
        entry = entries[i]
        if entry > largest:
            largest = entry
    return int(largest)


@kernel
def bound_rows(table: Table, start: LongArray) -> IntArray:
    """Return the largest entry of each row."""
    bound = np.zeros(len(start), dtype=np.int32)
    for u in range(len(start)):
        bound[u] = largest_of(row_of(table, start, u))
    return bound
