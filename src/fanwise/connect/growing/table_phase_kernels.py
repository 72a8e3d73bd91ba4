"""Greedy choice degree by degree over a table of contributions; see :mod:`.table_level_kernels`.

Phase k adds links between nodes that have fewer than k, until no two of them lack a link. Within a
phase contributions shrink and nodes drop out, never the other way round, so one descent over the
levels meets the links in the order of the greedy rule; level 0 is the filling with links that
add nothing, which the literal rule asks for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.connect.arrays import Network
from fanwise.connect.components import Components
from fanwise.connect.growing.cursor import DESCENDING, FILLING, LEVEL, OVER, PHASE, ROW, STAGE
from fanwise.connect.growing.table_kernels import PairTable, Table, join_pair, row_of
from fanwise.connect.growing.table_level_kernels import STRETCH

FREE = np.uint16(2**16 - 1)
"""Mask of a node that the phase may still give links; 0 for others."""
Bits = npt.NDArray[np.uint64]


class Phase(NamedTuple):
    """Who may get links, now and in all.

    Attributes
    ----------
    limit, degree
        Most links of each node, and how many it has.
    mask
        FREE for nodes that the phase may still give links.
    bound
        Never below the largest contribution u has with any free v > u.
    linked
        A bit for every pair u < v that is linked.
    """

    limit: IntArray
    degree: IntArray
    mask: Table
    bound: IntArray
    linked: Bits


@kernel
def take_by_phase(
    network: Network,
    components: Components,
    pairs: PairTable,
    phase: Phase,
    cursor: LongArray,
    edges: IntArray,
) -> int:
    """Take pairs until ``edges`` is full, every topic is connected or no phase is left.

    Returns how many pairs were taken; called again, it goes on where it stopped. Changes all arrays
    but those of the network and the degree limits.
    """
    num_nodes = len(phase.limit)
    last_phase = min(phase.limit.max(), num_nodes - 1) if num_nodes else 0
    taken = 0
    while components.missing[0] > 0 and taken < len(edges):
        if cursor[STAGE] == OVER:
            if cursor[PHASE] >= last_phase:
                return taken
            cursor[PHASE] += 1
            cursor[ROW] = 0
            cursor[LEVEL] = open_phase(pairs.bound, phase, cursor[PHASE])
            cursor[STAGE] = DESCENDING
        if cursor[STAGE] == DESCENDING:
            taken = descend(network, components, pairs, phase, cursor, edges, taken)
            if cursor[LEVEL] == 0:
                cursor[STAGE] = FILLING
        elif components.missing[0] > 0:
            taken = fill_up(phase, cursor, edges, taken)
    return taken


@kernel
def open_phase(bound: IntArray, phase: Phase, degree: int) -> int:
    """Free the nodes below the phase's degree; return the level to begin with.

    Changes ``phase``.
    """
    highest = 0
    for u in range(len(bound)):
        is_free = phase.degree[u] < min(degree, phase.limit[u])
        phase.mask[u] = FREE if is_free else 0
        phase.bound[u] = bound[u] if is_free else 0
        highest = max(highest, phase.bound[u])
    return highest


@kernel
def descend(
    network: Network,
    components: Components,
    pairs: PairTable,
    phase: Phase,
    cursor: LongArray,
    edges: IntArray,
    taken: int,
) -> int:
    """Take the pairs of a phase that add something, level by level down to 0.

    Returns how many pairs were taken in all. Changes all arrays but those of the network.
    """
    mask, bound, missing = phase.mask, phase.bound, components.missing
    while cursor[LEVEL] > 0:
        while cursor[ROW] < len(mask):
            u, level = cursor[ROW], cursor[LEVEL]
            if bound[u] >= level and mask[u] != 0:
                if taken == len(edges):
                    return taken
                row = row_of(pairs.table, pairs.start, u)
                i, best, best_free = next_free_in_row(row, mask[u + 1 :], level, 0, 0, 0)
                while i < len(row):
                    v = u + 1 + i
                    edges[taken, 0] = u
                    edges[taken, 1] = v
                    taken += 1
                    join_pair(network, components, pairs, u, v)
                    mark_link(phase, cursor[PHASE], u, v)
                    if taken == len(edges) or missing[0] == 0:
                        return taken  # the row is looked at again: its bounds stay
                    if mask[u] == 0:
                        break
                    i, best, best_free = next_free_in_row(
                        row, mask[u + 1 :], level, i + 1, best, best_free
                    )
                if i == len(row):
                    # Two bounds: one for all phases, over every node, as those out of this phase
                    # come back in the next; and one for this phase, over free nodes.
                    pairs.bound[u] = min(pairs.bound[u], best)
                    bound[u] = best_free
            cursor[ROW] += 1
        cursor[ROW] = 0
        cursor[LEVEL] = highest_free(bound, mask)
    return taken


@kernel
def next_free_in_row(
    row: Table, mask: Table, level: int, i: int, best: int, best_free: int
) -> tuple[int, int, int]:
    """Return the next entry, from i on, that reaches the level at a free node.

    The length of the row if there is none; and the largest entries met, at any node and, passed
    over, at free ones, or those given if they are larger. Changes no array.
    """
    while i < len(row):
        end = min((i // STRETCH + 1) * STRETCH, len(row))
        largest, largest_free = largest_masked(row[i:end], mask[i:end])
        best = max(best, largest)
        if largest_free < level:
            best_free = max(best_free, largest_free)
            i = end
            continue
        while i < end:
            value = int(row[i] & mask[i])
            if value >= level:
                return i, best, best_free
            best_free = max(best_free, value)
            i += 1
    return len(row), best, best_free


@kernel
def largest_masked(entries: Table, mask: Table) -> tuple[int, int]:
    """Return the largest entry and the largest at free nodes. Changes no array."""
    largest, largest_free = np.uint16(0), np.uint16(0)
    for i in range(min(len(entries), len(mask))):
        entry = entries[i]
        free = entry & mask[i]
        if entry > largest:
            largest = entry
        if free > largest_free:
            largest_free = free
    return int(largest), int(largest_free)


@kernel
def highest_free(phase_bound: IntArray, mask: Table) -> int:
    """Return the largest bound of a row whose node is free. Changes no array."""
    highest = 0
    for u in range(len(mask)):
        if mask[u] != 0:
            highest = max(highest, phase_bound[u])
    return highest


@kernel
def mark_link(phase: Phase, degree: int, u: int, v: int) -> None:
    """Note a link u < v, and which ends the phase gives no further one. Changes ``phase``."""
    phase.linked[u, v >> 6] |= np.uint64(1) << np.uint64(v & 63)
    use_up(phase, degree, u)
    use_up(phase, degree, v)


@kernel
def use_up(phase: Phase, degree: int, node: int) -> None:
    """Count a link at one end; a node that has enough is no longer free. Changes ``phase``."""
    phase.degree[node] += 1
    if phase.degree[node] >= min(degree, phase.limit[node]):
        phase.mask[node] = 0


@kernel
def fill_up(phase: Phase, cursor: LongArray, edges: IntArray, taken: int) -> int:
    """Take absent pairs of free nodes in lexicographic order: links that add nothing.

    Changes ``phase``, ``cursor`` and ``edges``.
    """
    mask, linked = phase.mask, phase.linked
    num_nodes = len(mask)
    free = np.zeros(linked.shape[1], dtype=np.uint64)
    for v in range(num_nodes):
        if mask[v] != 0:
            free[v >> 6] |= np.uint64(1) << np.uint64(v & 63)
    while cursor[ROW] < num_nodes:
        u = cursor[ROW]
        if mask[u] != 0:
            for word in range((u + 1) >> 6, len(free)):
                # Sixty-four candidates at a time, the lowest bit first: lexicographic order.
                open_bits = free[word] & ~linked[u, word]
                if word == (u + 1) >> 6:
                    open_bits &= ~np.uint64(0) << np.uint64((u + 1) & 63)
                while open_bits != 0 and mask[u] != 0:
                    v = (word << 6) + lowest_bit(open_bits)
                    open_bits &= open_bits - np.uint64(1)
                    if taken == len(edges):
                        return taken
                    edges[taken, 0] = u
                    edges[taken, 1] = v
                    taken += 1
                    mark_link(phase, cursor[PHASE], u, v)
                    if mask[v] == 0:
                        free[word] &= ~(np.uint64(1) << np.uint64(v & 63))
                if mask[u] == 0:
                    break
        cursor[ROW] += 1
    cursor[STAGE] = OVER
    return taken


@kernel
def lowest_bit(bits: np.uint64) -> int:
    """Return which is the lowest bit that is set, from 0. Changes no array."""
    bit = 0
    while bits & np.uint64(1) == 0:
        bits >>= np.uint64(1)
        bit += 1
    return bit
