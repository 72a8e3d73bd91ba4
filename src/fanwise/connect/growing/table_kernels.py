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
from fanwise.connect.arrays import Network
from fanwise.connect.components import Components, count_join, relabel
from fanwise.connect.kernels import NOBODY, first_common, next_common

Table = npt.NDArray[np.uint16]
"""Contributions: two bytes each, or the table would not fit."""
MAX_TOPICS = 2**16 - 1
"""Most topics of one node that the table can count."""
ONE = np.uint16(1)
WORTH_WRITING = 8
"""Nodes from which on a component may be written out."""
WORTH_SORTING = 8
"""Nodes of the smaller component from which on pairs are gone through in the order of memory."""


class PairTable(NamedTuple):
    """The contributions of all pairs, and what keeps them true.

    Attributes
    ----------
    table, start
        Contributions of all pairs; where the row of each node would begin.
    bound
        Never below the largest contribution u has with any v > u.
    giant, members
        Label of the component of each topic that is written out, and its nodes side by side, from
        the first slot of the topic on: most joins are with the largest component, and a walk along
        an array is many times faster than one around a ring.
    aside
        Scratch to write two components out.
    """

    table: Table
    start: LongArray
    bound: IntArray
    giant: IntArray
    members: IntArray
    aside: IntArray


@kernel
def start_rows(num_nodes: int) -> LongArray:
    """Return where each row of the packed triangle would begin: its first entry is at u + 1.

    Changes no array.
    """
    start = np.empty(num_nodes, dtype=np.int64)
    filled = 0
    for u in range(num_nodes):
        start[u] = filled - (u + 1)
        filled += num_nodes - (u + 1)
    return start


@kernel
def count_pairs(network: Network, table: Table, start: LongArray, first: int, last: int) -> None:
    """Count the common topics of the pairs of some rows. Changes ``table``, there zeros before.

    Row by row, O(sum of C(|V_t|, 2)) for all of them.
    """
    for u in range(first, last):
        row = row_of(table, start, u)
        for i in range(network.indptr[u], network.indptr[u + 1]):
            end = network.topic_indptr[network.topics[i] + 1]
            for slot in range(network.slot_of[i] + 1, end):
                row[network.nodes[slot] - (u + 1)] += np.uint16(1)


@kernel
def row_of(table: Table, start: LongArray, u: int) -> Table:
    """Return the entries of u with all larger nodes, as a view. Changes no array."""
    first = start[u] + u + 1
    return table[first : first + len(start) - (u + 1)]


@kernel
def join_pair(network: Network, components: Components, pairs: PairTable, u: int, v: int) -> None:
    """Link u-v: join components of common topics, take the loss from all pairs between them.

    Changes ``components`` and ``pairs``.
    """
    indptr, topics, slot_of = network.indptr, network.topics, network.slot_of
    label, ring, size = components.label, components.ring, components.size
    i, j = first_common(indptr, topics, u, v)
    while i != NOBODY:
        small, large = label[slot_of[i]], label[slot_of[j]]
        if small != large:
            if size[small] > size[large]:
                small, large = large, small
            topic = topics[i]
            begin = network.topic_indptr[topic]
            middle, end = begin + size[large], begin + size[large] + size[small]
            nodes = pairs.aside[0, : size[small]]
            write_ring(network.nodes, ring, small, nodes)
            giant = pairs.giant[topic]
            if giant == large:
                others = pairs.members[begin:middle]
            else:
                others = pairs.aside[1, : size[large]]
                write_ring(network.nodes, ring, large, others)
            lose_pairs(pairs.table, pairs.start, nodes, others)
            # A component is written out only where none is, where it swallows the one that is, or
            # is twice as large: copying then costs a constant number of steps for each slot, over
            # all joins.
            is_free = giant == NOBODY
            is_outgrown = is_free or giant == small or size[large] > 2 * size[giant]
            if giant != large and is_outgrown and end - begin >= WORTH_WRITING:
                pairs.giant[topic] = giant = large
                pairs.members[begin:middle] = others
            if giant == large:
                pairs.members[middle:end] = nodes
            relabel(label, ring, size, small, large)
            count_join(components.num_components, components.worth, components.missing, topic)
        i, j = next_common(indptr, topics, u, v, i, j)


@kernel
def lose_pairs(table: Table, start: LongArray, nodes: IntArray, others: IntArray) -> None:
    """Take one from every pair of a node and another. Changes ``table``, and may sort ``nodes``."""
    if len(nodes) < WORTH_SORTING:
        lose_pairs_of(table, start, nodes, others)
    else:
        # Both lists ascending, the table is walked in the order of memory.
        nodes.sort()
        others = np.sort(others)
        lose_upper_pairs(table, start, nodes, others)
        lose_upper_pairs(table, start, others, nodes)


@kernel
def lose_pairs_of(table: Table, start: LongArray, nodes: IntArray, others: IntArray) -> None:
    """Take one from every pair of a node and another, in any order. Changes ``table``."""
    for i in range(len(nodes)):
        x = nodes[i]
        for j in range(len(others)):
            y = others[j]
            table[start[min(x, y)] + max(x, y)] -= ONE


@kernel
def lose_upper_pairs(table: Table, start: LongArray, nodes: IntArray, others: IntArray) -> None:
    """Take one from the pairs of a node and a larger other. Changes ``table``.

    Both lists ascend, and so the memory does.
    """
    first = 0
    for i in range(len(nodes)):
        x = nodes[i]
        while first < len(others) and others[first] < x:
            first += 1
        row = row_of(table, start, x)
        for j in range(first, len(others)):
            row[others[j] - (x + 1)] -= ONE


@kernel
def write_ring(node_of: IntArray, ring: IntArray, slot: int, nodes: IntArray) -> None:
    """Write the nodes of a component side by side. Changes ``nodes``."""
    for k in range(len(nodes)):
        nodes[k] = node_of[slot]
        slot = ring[slot]


@kernel
def largest_of(entries: npt.NDArray[np.uint16]) -> int:
    """Return the largest of some entries. Changes no array.

    Written so that the compiler takes many at a time.
    """
    largest = np.uint16(0)
    for i in range(len(entries)):
        entry = entries[i]
        if entry > largest:
            largest = entry
    return int(largest)


@kernel
def bound_rows(table: Table, start: LongArray) -> IntArray:
    """Return the largest entry of each row. Changes no array."""
    bound = np.zeros(len(start), dtype=np.int32)
    for u in range(len(start)):
        bound[u] = largest_of(row_of(table, start, u))
    return bound
