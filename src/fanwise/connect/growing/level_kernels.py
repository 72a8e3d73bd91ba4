"""Greedy choice over a table of contributions, level by level.

Contributions never grow. So the pairs that the greedy rule takes (largest contribution, then the
smallest pair) are met in this order: for each level from the largest contribution down, one pass
over the pairs in lexicographic order that takes each whose contribution equals the level at that
moment. No queue is needed; rows whose bound is below the level are passed over.
"""

from __future__ import annotations

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.connect.growing.pair_kernels import Pairs, join_pair, largest_of, row_of

STRETCH = 256
"""Entries of a row that are looked at together: their largest tells whether one by one pays."""
LEVEL, ROW, MISSING = 0, 1, 2
"""Places in ``state``: where the pass stands, and how many joins are missing to connect all."""


@kernel
def take_by_level(pairs: Pairs, room: IntArray, state: LongArray, edges: IntArray) -> int:
    """Take pairs until ``edges`` is full or nothing is left that adds anything; return how many.

    ``room`` says how many more links each node may have. Called again, it goes on where it stopped.
    """
    bound = pairs.bound
    taken = 0
    while state[LEVEL] > 0 and state[MISSING] > 0:
        while state[ROW] < len(bound):
            u = state[ROW]
            if bound[u] >= state[LEVEL] and room[u] > 0:
                if taken == len(edges):
                    return taken
                taken = take_from_row(pairs, room, state, edges, taken)
                if taken == len(edges):
                    return taken  # the row is looked at again: its bound stays
            state[ROW] += 1
        state[ROW] = 0
        state[LEVEL] = highest_bound(bound, room)
    return taken


@kernel
def take_from_row(
    pairs: Pairs, room: IntArray, state: LongArray, edges: IntArray, taken: int
) -> int:
    """Take the pairs of one row that reach the level; renew its bound if all were looked at."""
    u, level = state[ROW], state[LEVEL]
    row = row_of(pairs.table, pairs.start, u)
    best = 0
    for begin in range(0, len(row), STRETCH):
        end = min(begin + STRETCH, len(row))
        largest = largest_of(row[begin:end])
        if largest < level:
            best = max(best, largest)
            continue
        for i in range(begin, end):
            value = int(row[i])
            if value >= level:
                v = u + 1 + i
                value = 0
                if room[v] > 0:
                    edges[taken, 0] = u
                    edges[taken, 1] = v
                    taken += 1
                    state[MISSING] -= join_pair(pairs, u, v)
                    room[u] -= 1
                    room[v] -= 1
                    if taken == len(edges) or room[u] == 0:
                        return taken
            best = max(best, value)
    pairs.bound[u] = best
    return taken


@kernel
def highest_bound(bound: IntArray, room: IntArray) -> int:
    """Return the largest bound of a row whose node may still have links."""
    highest = 0
    for u in range(len(bound)):
        if room[u] > 0:
            highest = max(highest, bound[u])
    return highest
