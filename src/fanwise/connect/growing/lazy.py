"""Growing overlays row by row: weighted topics, links with a cost, very many nodes.

The one lazy greedy: it also goes on from links that there are, under all limits at once.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.connect.arrays import NO_EDGES, NO_LIMIT, Network
from fanwise.connect.growing import lazy_kernels, lazy_phase_kernels
from fanwise.connect.growing.cursor import NUM_ENTRIES, PHASE
from fanwise.connect.kernels import NOBODY

LISTED = 16
"""Pairs of a row that are remembered with their values."""


class LazyState:
    """Components, the best pairs of every row and limits, ready for kernels."""

    def __init__(self, network: Network, max_cost: float, start: IntArray) -> None:
        num_nodes = network.num_nodes
        self.network, self.components = network, network.components(start)
        leaves = 1 << max(num_nodes - 1, 1).bit_length()
        self.candidates = lazy_kernels.Candidates(
            np.full(num_nodes, np.inf),
            np.full(num_nodes, NOBODY, dtype=np.int32),
            np.zeros((num_nodes, LISTED), dtype=np.int32),
            np.zeros((num_nodes, LISTED)),
            np.full(num_nodes, np.inf),
            np.zeros(2 * leaves),
            np.zeros(num_nodes),
            np.empty(num_nodes, dtype=np.int32),
        )
        self.limits = lazy_kernels.Limits(
            network.degree_limit,
            network.degrees(start),
            np.zeros(num_nodes, dtype=bool),
            network.positions,
            np.array([network.costs(start).sum(), max_cost]),
        )
        self.cursor = np.zeros(NUM_ENTRIES, dtype=np.int64)


class LazyGreedy:
    """The greedy rule: largest gain (per cost) first, then the smallest pair.

    Parameters
    ----------
    start
        Links that there are already.
    """

    def __init__(
        self, network: Network, max_cost: float = np.inf, start: IntArray = NO_EDGES
    ) -> None:
        self._state = LazyState(network, max_cost, start)
        self._state.cursor[PHASE] = NO_LIMIT
        lazy_kernels.open_rows(self._state.candidates, self._state.limits, NO_LIMIT)

    def more(self, num_edges: int) -> IntArray:
        """Return up to ``num_edges`` further links; fewer only when nothing is left."""
        edges = np.empty((num_edges, 2), dtype=np.int32)
        state = self._state
        taken = lazy_kernels.take_by_row(
            state.network, state.components, state.candidates, state.limits, state.cursor, edges, 0
        )
        return edges[:taken]


class LazyPhases:
    """The greedy rule degree by degree: among pairs that keep the largest degree lowest."""

    def __init__(self, network: Network, max_cost: float = np.inf) -> None:
        self._state = LazyState(network, max_cost, NO_EDGES)
        self._first = np.full(network.num_nodes, NOBODY, dtype=np.int32)
        self._then = np.empty(0, dtype=np.int32)
        self._node = np.empty(0, dtype=np.int32)
        self._count = np.zeros(1, dtype=np.int64)

    def more(self, num_edges: int) -> IntArray:
        """Return up to ``num_edges`` further links; fewer only when nothing is left."""
        edges = np.empty((num_edges, 2), dtype=np.int32)
        state = self._state
        taken = lazy_phase_kernels.take_by_row_phase(
            state.network,
            state.components,
            state.candidates,
            state.limits,
            self._neighbours(2 * num_edges),
            state.cursor,
            edges,
        )
        return edges[:taken]

    def _neighbours(self, further: int) -> lazy_phase_kernels.Neighbours:
        """Return the lists of neighbours with slots for further entries."""
        # Lists grow by doubling: how many links there will be is not known where nothing limits
        # them.
        needed = int(self._count[0]) + further
        if needed > len(self._then):
            size = max(needed, 2 * len(self._then))
            self._then, self._node = (_lengthen(array, size) for array in (self._then, self._node))
        return lazy_phase_kernels.Neighbours(self._first, self._then, self._node, self._count)


def _lengthen(array: IntArray, size: int) -> IntArray:
    longer = np.empty(size, dtype=array.dtype)
    longer[: len(array)] = array
    return longer
