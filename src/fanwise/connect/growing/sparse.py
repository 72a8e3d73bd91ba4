"""Growing overlays row by row: weighted topics, links with a cost, very many nodes."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.connect.growing import label_kernels, row_kernels, row_phase_kernels
from fanwise.connect.network import NO_LIMIT, Network
from fanwise.workload.topic import RELATIVE_TOLERANCE

LISTED = 16
"""Pairs of a row that are remembered with their values."""
HALF_TOLERANCE = RELATIVE_TOLERANCE / 2
"""What the cost budget is stretched by for rounding, so that no check with the whole one fails."""


class RowState:
    """Components, bounds of rows and limits, ready for kernels."""

    def __init__(self, network: Network, max_cost: float | None) -> None:
        num_nodes = network.num_nodes
        sides = network.indptr, network.topics
        others = network.topic_indptr, network.nodes
        position = label_kernels.find_positions(*sides, *others)
        self.interests = label_kernels.Interests(*sides, position, *others, network.weight)
        places = np.arange(network.num_slots, dtype=np.int32)
        followers = np.diff(network.topic_indptr)
        self.labels = label_kernels.Labels(
            places,
            places.copy(),
            np.ones(network.num_slots, dtype=np.int32),
            followers.astype(np.int32),
        )
        leaves = 1 << max(num_nodes - 1, 1).bit_length()
        self.rows = row_kernels.Rows(
            np.full(num_nodes, np.inf),
            np.full(num_nodes, row_kernels.NOBODY, dtype=np.int32),
            np.zeros((num_nodes, LISTED), dtype=np.int32),
            np.zeros((num_nodes, LISTED)),
            np.full(num_nodes, np.inf),
            np.zeros(2 * leaves),
            np.zeros(num_nodes),
            np.empty(num_nodes, dtype=np.int32),
        )
        most = np.inf if max_cost is None else max_cost * (1 + HALF_TOLERANCE)
        self.limits = row_kernels.Limits(
            network.degree_limit,
            np.zeros(num_nodes, dtype=np.int32),
            np.zeros(num_nodes, dtype=bool),
            network.positions,
            np.array([0.0, most]),
        )
        missing = int(np.maximum(followers - 1, 0).sum())
        self.state = np.array([missing, 0, row_kernels.OVER, 0], dtype=np.int64)


class SparseGreedy:
    """The greedy rule: largest gain (per cost) first, then the smallest pair."""

    def __init__(self, network: Network, max_cost: float | None = None) -> None:
        self._rows = RowState(network, max_cost)
        self._rows.state[row_kernels.PHASE] = NO_LIMIT
        row_kernels.open_rows(self._rows.rows, self._rows.limits, NO_LIMIT)

    def more(self, num_edges: int) -> IntArray:
        """Return up to ``num_edges`` further links; fewer only when nothing is left."""
        edges = np.empty((num_edges, 2), dtype=np.int32)
        rows = self._rows
        taken = row_kernels.take_by_row(
            rows.interests, rows.labels, rows.rows, rows.limits, rows.state, edges, 0
        )
        return edges[:taken]


class SparsePhases:
    """The greedy rule degree by degree: among pairs that keep the largest degree lowest."""

    def __init__(self, network: Network, max_cost: float | None = None) -> None:
        self._rows = RowState(network, max_cost)
        self._first = np.full(network.num_nodes, row_kernels.NOBODY, dtype=np.int32)
        self._then = np.empty(0, dtype=np.int32)
        self._node = np.empty(0, dtype=np.int32)
        self._count = np.zeros(1, dtype=np.int64)

    def more(self, num_edges: int) -> IntArray:
        """Return up to ``num_edges`` further links; fewer only when nothing is left."""
        edges = np.empty((num_edges, 2), dtype=np.int32)
        rows = self._rows
        taken = row_phase_kernels.take_by_row_phase(
            rows.interests,
            rows.labels,
            rows.rows,
            rows.limits,
            self._neighbours(2 * num_edges),
            rows.state,
            edges,
        )
        return edges[:taken]

    def _neighbours(self, further: int) -> row_phase_kernels.Neighbours:
        """Return the lists of neighbours with room for further entries."""
        needed = int(self._count[0]) + further
        if needed > len(self._then):
            size = max(needed, 2 * len(self._then))
            self._then, self._node = (_lengthen(array, size) for array in (self._then, self._node))
        return row_phase_kernels.Neighbours(self._first, self._then, self._node, self._count)


def _lengthen(array: IntArray, size: int) -> IntArray:
    longer = np.empty(size, dtype=array.dtype)
    longer[: len(array)] = array
    return longer
