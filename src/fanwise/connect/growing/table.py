"""Growing overlays over the table of all pair contributions: for up to some ten thousand nodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.connect.arrays import Network
from fanwise.connect.growing import table_kernels, table_level_kernels, table_phase_kernels
from fanwise.connect.growing.cursor import LEVEL, NUM_ENTRIES
from fanwise.connect.kernels import NOBODY

MAX_TABLE_BYTES = 1 << 30
"""Some 32,000 nodes."""
ROWS_COUNTED = 1024
"""Rows between two looks at the clock: at most some tenths of a second."""


def suits(network: Network) -> bool:
    """Whether the table counts what is asked for, and fits the memory set aside for it."""
    is_plain = not network.has_costs and bool((network.weight == 1).all())
    fits = network.num_nodes**2 <= MAX_TABLE_BYTES  # two bytes for half the pairs
    return is_plain and fits and network.most_interests <= table_kernels.MAX_TOPICS


def count_pairs(
    network: Network, is_over: Callable[[], bool] = lambda: False
) -> table_kernels.PairTable:
    """Return the contributions of all pairs to the overlay without links.

    Where it is over before all are counted, nothing must be taken from the table.
    """
    num_nodes = network.num_nodes
    table = np.zeros(num_nodes * (num_nodes - 1) // 2, dtype=np.uint16)
    start = table_kernels.start_rows(num_nodes)
    for first in range(0, num_nodes, ROWS_COUNTED):
        if is_over():
            break
        last = min(first + ROWS_COUNTED, num_nodes)
        table_kernels.count_pairs(network, table, start, first, last)
    return table_kernels.PairTable(
        table,
        start,
        table_kernels.bound_rows(table, start),
        np.full(network.num_topics, NOBODY, dtype=np.int32),
        np.empty(network.num_slots, dtype=np.int32),
        np.empty((2, num_nodes), dtype=np.int32),
    )


class TableGreedy:
    """The greedy rule: largest contribution first, then the smallest pair."""

    def __init__(self, network: Network, is_over: Callable[[], bool] = lambda: False) -> None:
        self._network, self._components = network, network.components()
        self._pairs = count_pairs(network, is_over)
        self._spare = network.degree_limit.copy()
        self._cursor = np.zeros(NUM_ENTRIES, dtype=np.int64)
        self._cursor[LEVEL] = self._pairs.bound.max(initial=0)

    def more(self, num_edges: int) -> IntArray:
        """Return up to ``num_edges`` further links; fewer only when nothing is left."""
        edges = np.empty((num_edges, 2), dtype=np.int32)
        taken = table_level_kernels.take_by_level(
            self._network, self._components, self._pairs, self._spare, self._cursor, edges
        )
        return edges[:taken]


class TablePhases:
    """The greedy rule degree by degree: among pairs that keep the largest degree lowest."""

    def __init__(self, network: Network, is_over: Callable[[], bool] = lambda: False) -> None:
        self._network, self._components = network, network.components()
        self._pairs = count_pairs(network, is_over)
        num_nodes = network.num_nodes
        self._phase = table_phase_kernels.Phase(
            network.degree_limit,
            np.zeros(num_nodes, dtype=np.int32),
            np.zeros(num_nodes, dtype=np.uint16),
            np.zeros(num_nodes, dtype=np.int32),
            np.zeros((num_nodes, (num_nodes + 63) // 64), dtype=np.uint64),
        )
        self._cursor = np.zeros(NUM_ENTRIES, dtype=np.int64)

    def more(self, num_edges: int) -> IntArray:
        """Return up to ``num_edges`` further links; fewer only when nothing is left."""
        edges = np.empty((num_edges, 2), dtype=np.int32)
        taken = table_phase_kernels.take_by_phase(
            self._network, self._components, self._pairs, self._phase, self._cursor, edges
        )
        return edges[:taken]
