"""Greedy choice degree by degree over a table of contributions; see :mod:`.level_kernels`.

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
from fanwise.connect.growing.level_kernels import STRETCH
from fanwise.connect.growing.pair_kernels import Pairs, join_pair, row_of

LEVEL, ROW, MISSING, PHASE = 0, 1, 2, 3
"""Places in ``state``: where the pass stands, the joins that are missing, and the phase."""
OVER = -1
"""The level of a phase that has ended."""
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
    mask: npt.NDArray[np.uint16]
    bound: IntArray
    linked: Bits


@kernel
def take_by_phase(pairs: Pairs, phase: Phase, state: LongArray, edges: IntArray) -> int:
    """Take pairs until ``edges`` is full, every topic is connected or no phase is left.

    Returns how many pairs were taken; called again, it goes on where it stopped.
    """
    num_nodes = len(phase.limit)
    last_phase = min(phase.limit.max(), num_nodes - 1) if num_nodes else 0
    taken = 0
    while state[MISSING] > 0 and taken < len(edges):
        if state[LEVEL] == OVER:
            if state[PHASE] >= last_phase:
                return taken
            state[PHASE] += 1
            state[ROW] = 0
            state[LEVEL] = open_phase(pairs.bound, phase, state[PHASE])
        if state[LEVEL] > 0:
            taken = descend(pairs, phase, state, edges, taken)
        if taken < len(edges) and state[LEVEL] == 0 and state[MISSING] > 0:
            taken = fill_up(phase, state, edges, taken)
    return taken


@kernel
def open_phase(bound: IntArray, phase: Phase, degree: int) -> int:
    """Free the nodes below the phase's degree; return the level to begin with."""
    highest = 0
    for u in range(len(bound)):
        is_free = phase.degree[u] < min(degree, phase.limit[u])
        phase.mask[u] = FREE if is_free else 0
        phase.bound[u] = bound[u] if is_free else 0
        highest = max(highest, phase.bound[u])
    return highest


@kernel
def descend(pairs: Pairs, phase: Phase, state: LongArray, edges: IntArray, taken: int) -> int:
    """Take the pairs of a phase that add something, level by level down to 0."""
    while state[LEVEL] > 0:
        while state[ROW] < len(phase.mask):
            u = state[ROW]
            if phase.bound[u] >= state[LEVEL] and phase.mask[u] != 0:
                if taken == len(edges):
                    return taken
                taken = take_from_free_row(pairs, phase, state, edges, taken)
                if taken == len(edges) or state[MISSING] == 0:
                    return taken  # the row is looked at again: its bounds stay
            state[ROW] += 1
        state[ROW] = 0
        state[LEVEL] = highest_free(phase.bound, phase.mask)
    return taken


@kernel
def take_from_free_row(
    pairs: Pairs, phase: Phase, state: LongArray, edges: IntArray, taken: int
) -> int:
    """Take the pairs of one row that reach the level; renew its bounds if all were looked at."""
    u, level = state[ROW], state[LEVEL]
    row, mask = row_of(pairs.table, pairs.start, u), phase.mask[u + 1 :]
    best, best_free = 0, 0
    for begin in range(0, len(row), STRETCH):
        end = min(begin + STRETCH, len(row))
        largest, largest_free = largest_masked(row[begin:end], mask[begin:end])
        best = max(best, largest)
        if largest_free < level:
            best_free = max(best_free, largest_free)
            continue
        for i in range(begin, end):
            value = int(row[i] & mask[i])
            if value >= level:
                v = u + 1 + i
                value = 0
                edges[taken, 0] = u
                edges[taken, 1] = v
                taken += 1
                state[MISSING] -= join_pair(pairs, u, v)
                mark_link(phase, state[PHASE], u, v)
                if taken == len(edges) or phase.mask[u] == 0 or state[MISSING] == 0:
                    return taken
            best_free = max(best_free, value)
    pairs.bound[u] = min(pairs.bound[u], best)
    phase.bound[u] = best_free
    return taken


@kernel
def largest_masked(
    entries: npt.NDArray[np.uint16], mask: npt.NDArray[np.uint16]
) -> tuple[int, int]:
    """Return the largest entry and the largest at free nodes, many at a time."""
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
def highest_free(phase_bound: IntArray, mask: npt.NDArray[np.uint16]) -> int:
    """Return the largest bound of a row whose node is free."""
    highest = 0
    for u in range(len(mask)):
        if mask[u] != 0:
            highest = max(highest, phase_bound[u])
    return highest


@kernel
def mark_link(phase: Phase, degree: int, u: int, v: int) -> None:
    """Note a link u < v, and which ends the phase gives no further one."""
    phase.linked[u, v >> 6] |= np.uint64(1) << np.uint64(v & 63)
    use_up(phase, degree, u)
    use_up(phase, degree, v)


@kernel
def use_up(phase: Phase, degree: int, node: int) -> None:
    """Count a link at one end; a node that has enough is no longer free."""
    phase.degree[node] += 1
    if phase.degree[node] >= min(degree, phase.limit[node]):
        phase.mask[node] = 0


@kernel
def fill_up(phase: Phase, state: LongArray, edges: IntArray, taken: int) -> int:
    """Take absent pairs of free nodes in lexicographic order: links that add nothing."""
    mask, linked = phase.mask, phase.linked
    num_nodes = len(mask)
    free = np.zeros(linked.shape[1], dtype=np.uint64)
    for v in range(num_nodes):
        if mask[v] != 0:
            free[v >> 6] |= np.uint64(1) << np.uint64(v & 63)
    while state[ROW] < num_nodes:
        u = state[ROW]
        if mask[u] != 0:
            for word in range((u + 1) >> 6, len(free)):
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
                    mark_link(phase, state[PHASE], u, v)
                    if mask[v] == 0:
                        free[word] &= ~(np.uint64(1) << np.uint64(v & 63))
                if mask[u] == 0:
                    break
        state[ROW] += 1
    state[LEVEL] = OVER
    return taken


@kernel
def lowest_bit(bits: np.uint64) -> int:
    """Return the place of the lowest bit that is set."""
    place = 0
    while bits & np.uint64(1) == 0:
        bits >>= np.uint64(1)
        place += 1
    return place
