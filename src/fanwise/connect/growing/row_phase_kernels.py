"""Greedy choice degree by degree without a table of pairs; see :mod:`.row_kernels`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.connect.growing.label_kernels import Interests, Labels
from fanwise.connect.growing.row_kernels import (
    DESCENDING,
    FILLING,
    MISSING,
    NOBODY,
    OVER,
    PHASE,
    ROW,
    STAGE,
    Limits,
    Rows,
    is_affordable,
    open_rows,
    take_by_row,
    use_up,
)


class Neighbours(NamedTuple):
    """Who is linked to whom, as chained lists; ``used`` says how many entries are in use."""

    first: IntArray
    then: IntArray
    node: IntArray
    used: LongArray


@kernel
def note_links(neighbours: Neighbours, edges: IntArray, start: int, stop: int) -> None:
    """Add links to the lists of both ends."""
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
    interests: Interests,
    labels: Labels,
    rows: Rows,
    limits: Limits,
    neighbours: Neighbours,
    state: LongArray,
    edges: IntArray,
) -> int:
    """Take pairs phase by phase, links that add nothing included; return how many.

    Stops when ``edges`` is full, every topic is connected or no phase is left; called again, it
    goes on where it stopped.
    """
    num_nodes = len(limits.limit)
    last_phase = min(limits.limit.max(), num_nodes - 1) if num_nodes else 0
    taken = 0
    while state[MISSING] > 0 and taken < len(edges):
        if state[STAGE] == OVER:
            if state[PHASE] >= last_phase:
                break
            state[PHASE] += 1
            open_rows(rows, limits, state[PHASE])
            state[STAGE] = DESCENDING
        start = taken
        if state[STAGE] == DESCENDING:
            taken = take_by_row(interests, labels, rows, limits, state, edges, taken)
            if taken < len(edges):
                state[STAGE] = FILLING
                state[ROW] = 0
        else:
            taken = fill_rows(limits, neighbours, state, edges, taken)
        note_links(neighbours, edges, start, taken)
    return taken


@kernel
def fill_rows(
    limits: Limits, neighbours: Neighbours, state: LongArray, edges: IntArray, taken: int
) -> int:
    """Take absent pairs of free nodes in lexicographic order: links that add nothing."""
    free = np.flatnonzero(limits.is_free)
    marked_by = np.full(len(limits.limit), NOBODY, dtype=np.int32)
    count = len(free)
    for k in range(count):
        u = free[k]
        if u < state[ROW] or not limits.is_free[u]:
            continue
        state[ROW] = u
        entry = neighbours.first[u]
        while entry != NOBODY:
            marked_by[neighbours.node[entry]] = u
            entry = neighbours.then[entry]
        for other in range(k + 1, count):
            v = free[other]
            if not limits.is_free[v] or marked_by[v] == u or not is_affordable(limits, u, v):
                continue
            if taken == len(edges):
                return taken
            edges[taken, 0] = u
            edges[taken, 1] = v
            taken += 1
            use_up(limits, state[PHASE], u, v)
            if not limits.is_free[u]:
                break
    state[STAGE] = OVER
    return taken
