"""Greedy choice over a table of contributions, level by level.

Contributions never grow. So the pairs that the greedy rule takes (largest contribution, then the
smallest pair) are met in this order: for each level from the largest contribution down, one pass
over the pairs in lexicographic order that takes each whose contribution equals the level at that
moment. No queue is needed; rows whose bound is below the level are passed over.
"""

from __future__ import annotations

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.connect.arrays import Network
from fanwise.connect.components import Components
from fanwise.connect.growing.cursor import LEVEL, ROW
from fanwise.connect.growing.table_kernels import (
    PairTable,
    Table,
    join_pair,
    largest_of,
    row_of,
)

STRETCH = 256
"""Entries of a row that are looked at together: their largest tells whether one by one pays."""


@kernel
def take_by_level(
    network: Network,
    components: Components,
    pairs: PairTable,
    spare: IntArray,
    cursor: LongArray,
    edges: IntArray,
) -> int:
    """Take pairs until ``edges`` is full or nothing is left that adds anything; return how many.

    ``spare`` says how many more links each node may have. Called again, it goes on where it
    stopped. Changes all arrays but those of the network.
    """
    bound, missing = pairs.bound, components.missing
    taken = 0
    while cursor[LEVEL] > 0 and missing[0] > 0:
        while cursor[ROW] < len(bound):
            u, level = cursor[ROW], cursor[LEVEL]
            if bound[u] >= level and spare[u] > 0:
                if taken == len(edges):
                    return taken
                row = row_of(pairs.table, pairs.start, u)
                i, best = next_in_row(row, spare[u + 1 :], level, 0, 0)
                while i < len(row):
                    v = u + 1 + i
                    edges[taken, 0] = u
                    edges[taken, 1] = v
                    taken += 1
                    join_pair(network, components, pairs, u, v)
                    spare[u] -= 1
                    spare[v] -= 1
                    if taken == len(edges):
                        return taken  # the row is looked at again: its bound stays
                    if spare[u] == 0:
                        break
                    i, best = next_in_row(row, spare[u + 1 :], level, i + 1, best)
                # A row left early, because its node has all its links, needs no bound any more.
                if i == len(row):
                    bound[u] = best
            cursor[ROW] += 1
        cursor[ROW] = 0
        cursor[LEVEL] = highest_bound(bound, spare)
    return taken


@kernel
def next_in_row(row: Table, spare: IntArray, level: int, i: int, best: int) -> tuple[int, int]:
    """Return the next entry, from i on, that reaches the level at a node with links to spare.

    The length of the row if there is none; and the largest entry that was passed over, or ``best``
    if that is larger. Changes no array.
    """
    while i < len(row):
        end = min((i // STRETCH + 1) * STRETCH, len(row))
        largest = largest_of(row[i:end])
        if largest < level:
            best = max(best, largest)
            i = end
            continue
        while i < end:
            value = int(row[i])
            if value >= level:
                # Nodes without links to spare never get any back: their entries count for no bound.
                if spare[i] > 0:
                    return i, best
            else:
                best = max(best, value)
            i += 1
    return len(row), best


@kernel
def highest_bound(bound: IntArray, spare: IntArray) -> int:
    """Return the largest bound of a row whose node may still have links. Changes no array."""
    highest = 0
    for u in range(len(bound)):
        if spare[u] > 0:
            highest = max(highest, bound[u])
    return highest
