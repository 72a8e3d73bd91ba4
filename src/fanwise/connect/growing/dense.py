"""Growing overlays over the table of all pair contributions: for up to some ten thousand nodes."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.connect import kernels
from fanwise.connect.growing import level_kernels, pair_kernels, phase_kernels
from fanwise.connect.network import Network

MAX_TABLE_BYTES = 1 << 30
"""Some 32,000 nodes."""


def suits(network: Network) -> bool:
    """Whether the table counts what is asked for, and fits the memory set aside for it."""
    is_plain = not network.has_costs and bool((network.weight == 1).all())
    most_topics = int(np.diff(network.indptr).max(initial=0))
    fits = network.num_nodes**2 <= MAX_TABLE_BYTES  # two bytes for half the pairs
    return is_plain and fits and most_topics <= pair_kernels.MAX_TOPICS


def count_pairs(network: Network) -> pair_kernels.Pairs:
    """Return the contributions of all pairs to the overlay without links."""
    num_nodes, num_slots = network.num_nodes, network.num_slots
    table = np.zeros(num_nodes * (num_nodes - 1) // 2, dtype=np.uint16)
    start = pair_kernels.start_rows(num_nodes)
    pair_kernels.count_pairs(
        network.indptr, network.topics, network.topic_indptr, network.nodes, table, start
    )
    return pair_kernels.Pairs(
        network.indptr,
        network.topics,
        np.repeat(np.arange(num_nodes, dtype=np.int32), np.diff(network.indptr)),
        kernels.single_slots(num_slots),
        kernels.single_slots(num_slots),
        np.ones(num_slots, dtype=np.int32),
        network.topic_indptr,
        np.full(network.num_topics, pair_kernels.NOBODY, dtype=np.int32),
        np.empty(num_slots, dtype=np.int32),
        np.empty((2, num_nodes), dtype=np.int32),
        table,
        start,
        pair_kernels.bound_rows(table, start),
    )


class DenseGreedy:
    """The greedy rule: largest contribution first, then the smallest pair."""

    def __init__(self, network: Network) -> None:
        self._pairs = count_pairs(network)
        self._room = network.degree_limit.copy()
        highest = int(self._pairs.bound.max(initial=0))
        self._state = np.array([highest, 0, network.complete_value], dtype=np.int64)

    def more(self, num_edges: int) -> IntArray:
        """Return up to ``num_edges`` further links; fewer only when nothing is left."""
        edges = np.empty((num_edges, 2), dtype=np.int32)
        taken = level_kernels.take_by_level(self._pairs, self._room, self._state, edges)
        return edges[:taken]


class DensePhases:
    """The greedy rule degree by degree: among pairs that keep the largest degree lowest."""

    def __init__(self, network: Network) -> None:
        self._pairs = count_pairs(network)
        num_nodes = network.num_nodes
        self._phase = phase_kernels.Phase(
            network.degree_limit,
            np.zeros(num_nodes, dtype=np.int32),
            np.zeros(num_nodes, dtype=np.uint16),
            np.zeros(num_nodes, dtype=np.int32),
            np.zeros((num_nodes, (num_nodes + 63) // 64), dtype=np.uint64),
        )
        over = phase_kernels.OVER
        self._state = np.array([over, 0, network.complete_value, 0], dtype=np.int64)

    def more(self, num_edges: int) -> IntArray:
        """Return up to ``num_edges`` further links; fewer only when nothing is left."""
        edges = np.empty((num_edges, 2), dtype=np.int32)
        taken = phase_kernels.take_by_phase(self._pairs, self._phase, self._state, edges)
        return edges[:taken]
