"""Greedy choice degree by degree without a table of pairs; see :mod:`.lazy_kernels`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.connect.arrays import Network
from fanwise.connect.components import Components
from fanwise.connect.growing.cursor import DESCENDING, FILLING, OVER, PHASE, ROW, STAGE
from fanwise.connect.growing.lazy_kernels import (
    Candidates,
    Limits,
    is_affordable,
    open_rows,
    take_by_row,
    use_up,
)
from fanwise.connect.kernels import NOBODY


class Neighbours(NamedTuple):
    """Who is linked to whom, as chained lists; ``used`` says how many entries are in use."""

    first: IntArray
    then: IntArray
    node: IntArray
    used: LongArray


@kernel
def note_links(neighbours: Neighbours, edges: IntArray, start: int, stop: int) -> None:
    """Add links to the lists of both ends. Changes ``neighbours``."""
    for k in range(start, stop):
        for side in range(2):
            here, there = edges[k, side], edges[k, 1 - side]
            entry = neighbours.used[0]
            neighbours.node[entry] = there
            neighbours.then[entry] = neighbours.first[here]
            neighbours.first[here] = entry
            neighbours.used[0] += 1


@kernel
def take_by_row_phase(
    network: Network,
    components: Components,
    candidates: Candidates,
    limits: Limits,
    neighbours: Neighbours,
    cursor: LongArray,
    edges: IntArray,
) -> int:
    """Take pairs phase by phase, links that add nothing included; return how many.

    Stops when ``edges`` is full, every topic is connected or no phase is left; called again, it
    goes on where it stopped. Changes all arrays but those of the network.
    """
    num_nodes = len(limits.limit)
    last_phase = min(limits.limit.max(), num_nodes - 1) if num_nodes else 0
    taken = 0
    while components.missing[0] > 0 and taken < len(edges):
        if cursor[STAGE] == OVER:
            if cursor[PHASE] >= last_phase:
                break
            cursor[PHASE] += 1
            open_rows(candidates, limits, cursor[PHASE])
            cursor[STAGE] = DESCENDING
        start = taken
        if cursor[STAGE] == DESCENDING:
            taken = take_by_row(network, components, candidates, limits, cursor, edges, taken)
            # Fewer than asked for: nothing that adds anything is left in this phase.
            if taken < len(edges):
                cursor[STAGE] = FILLING
                cursor[ROW] = 0
        else:
            taken = fill_rows(limits, neighbours, cursor, edges, taken)
        note_links(neighbours, edges, start, taken)
    return taken


@kernel
def fill_rows(
    limits: Limits, neighbours: Neighbours, cursor: LongArray, edges: IntArray, taken: int
) -> int:
    """Take absent pairs of free nodes in lexicographic order: links that add nothing.

    Changes ``limits``, ``cursor`` and ``edges``; returns how many were taken in all.
    """
    free = np.flatnonzero(limits.is_free)
    marked_by = np.full(len(limits.limit), NOBODY, dtype=np.int32)
    count = len(free)
    for k in range(count):
        u = free[k]
        if u < cursor[ROW] or not limits.is_free[u]:
            continue
        cursor[ROW] = u
        entry = neighbours.first[u]
        while entry != NOBODY:
            # Marks carry the node that set them, so that none has to be cleared.
            marked_by[neighbours.node[entry]] = u
            entry = neighbours.then[entry]
        for other in range(k + 1, count):
            v = free[other]
            if not limits.is_free[v] or marked_by[v] == u:
                continue
            if not is_affordable(limits.money, limits.positions, u, v):
                continue
            if taken == len(edges):
                return taken
            edges[taken, 0] = u
            edges[taken, 1] = v
            taken += 1
            use_up(limits, cursor[PHASE], u, v)
            if not limits.is_free[u]:
                break
    cursor[STAGE] = OVER
    return taken
