"""A connection problem as plain arrays, and what every algorithm asks of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.connect import kernels

NO_LIMIT = int(np.iinfo(np.int32).max)
"""The degree limit of a node that has none."""
NO_EDGES: IntArray = np.empty((0, 2), dtype=np.int32)


class Network(NamedTuple):
    """Nodes, what they want, and what limits them.

    Edges are int32 arrays with a row (u, v), u < v, per link, in the order chosen.

    Attributes
    ----------
    indptr, topics
        Topics of each node, ascending. A position in ``topics`` is a slot: a (node, topic) pair.
    topic_indptr, nodes
        Nodes of each topic, ascending.
    weight
        What joining two components of each topic is worth: 1, or the topic's rate.
    degree_limit
        Most links of each node; ``NO_LIMIT`` where there is none.
    positions
        Coordinates of each node, a row of none where links cost nothing.
    """

    num_nodes: int
    indptr: LongArray
    topics: IntArray
    topic_indptr: LongArray
    nodes: IntArray
    weight: FloatArray
    degree_limit: IntArray
    positions: FloatArray

    @property
    def num_topics(self) -> int:
        return len(self.weight)

    @property
    def num_slots(self) -> int:
        return len(self.topics)

    @property
    def has_costs(self) -> bool:
        """Whether links cost their length."""
        return bool(self.positions.shape[1] > 0)

    @property
    def complete_value(self) -> float:
        """mu(K): what any overlay that connects every topic is worth."""
        return float(np.dot(np.maximum(np.diff(self.topic_indptr) - 1, 0), self.weight))

    def forest(self, edges: IntArray = NO_EDGES) -> IntArray:
        """Return the disjoint-set forest over slots after linking ``edges``."""
        parent = kernels.single_slots(self.num_slots)
        kernels.link_edges(self.indptr, self.topics, parent, self.weight, edges)
        return parent

    def gains(self, edges: IntArray) -> FloatArray:
        """Return what each edge adds to mu, in order; they sum to mu(E)."""
        parent = kernels.single_slots(self.num_slots)
        return kernels.link_edges(self.indptr, self.topics, parent, self.weight, edges)

    def value(self, edges: IntArray) -> float:
        """mu(E): topic components joined, weighted: the fewer remain, the more it is."""
        return float(self.gains(edges).sum())

    def components(self, edges: IntArray) -> LongArray:
        """Count the components of each topic under an overlay."""
        return kernels.count_components(self.forest(edges), self.topics, self.num_topics)

    def degrees(self, edges: IntArray) -> IntArray:
        """Count the links of each node."""
        return kernels.count_degrees(edges, self.num_nodes)

    def costs(self, edges: IntArray) -> FloatArray:
        """Return the length of each link; 0 where links cost nothing."""
        return kernels.link_costs(self.positions, edges)


def as_edges(pairs: npt.ArrayLike) -> IntArray:
    """Return pairs as an edge array, each the smaller node first, the order kept."""
    edges = np.asarray(pairs, dtype=np.int32).reshape(-1, 2)
    return np.ascontiguousarray(np.sort(edges, axis=1))
