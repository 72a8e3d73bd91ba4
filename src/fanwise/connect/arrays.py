"""A connection problem as plain arrays, and what every algorithm asks of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import Csr, FloatArray, IntArray, LongArray
from fanwise.connect import kernels
from fanwise.connect.components import Components, link_all

NO_LIMIT = int(np.iinfo(np.int32).max)
"""The degree limit of a node that has none."""
NO_EDGES: IntArray = np.empty((0, 2), dtype=np.int32)


class Network(NamedTuple):
    """Nodes, what they want, and what limits them.

    An *interest* is a (node, topic) pair as it stands in ``topics``, node by node; a *slot* is the
    same pair as it stands in ``nodes``, topic by topic. What is known of components has an entry
    per slot: those of one topic lie side by side, so that walks inside a topic and counts over all
    who want it read memory in order. Edges are int32 arrays with a row (u, v), u < v, per link, in
    the order chosen.

    Attributes
    ----------
    indptr, topics
        Topics of each node, ascending.
    slot_of
        The slot of each interest.
    topic_indptr, nodes
        Nodes of each topic, ascending.
    topic_of
        The topic of each slot.
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
    slot_of: IntArray
    topic_indptr: LongArray
    nodes: IntArray
    topic_of: IntArray
    weight: FloatArray
    degree_limit: IntArray
    positions: FloatArray

    @property
    def num_topics(self) -> int:
        return len(self.weight)

    @property
    def num_slots(self) -> int:
        return len(self.nodes)

    @property
    def has_costs(self) -> bool:
        """Whether links cost their length."""
        return bool(self.positions.shape[1] > 0)

    @property
    def followers(self) -> LongArray:
        """How many nodes want each topic: |V_t|."""
        return np.diff(self.topic_indptr)

    @property
    def complete_value(self) -> float:
        """mu(K): what any overlay that connects every topic is worth."""
        return float(np.dot(np.maximum(self.followers - 1, 0), self.weight))

    @property
    def counting_work(self) -> int:
        """What counting the gains of all pairs costs: followers of a topic, squared."""
        return int(np.dot(self.followers, self.followers))

    @property
    def most_interests(self) -> int:
        """How many topics a node wants at most: the common topics of a link are no more."""
        return int(np.diff(self.indptr).max(initial=0))

    def components(self, edges: IntArray = NO_EDGES) -> Components:
        """Return the components of every topic after linking ``edges``."""
        components = self._single_slots()
        link_all(self, components, edges)
        return components

    def gains(self, edges: IntArray) -> FloatArray:
        """Return what each edge adds to mu, in order; they sum to mu(E)."""
        return link_all(self, self._single_slots(), edges)

    def value(self, edges: IntArray) -> float:
        """mu(E): topic components joined, weighted: the fewer remain, the more it is."""
        return float(self.gains(edges).sum())

    def degrees(self, edges: IntArray) -> IntArray:
        """Count the links of each node."""
        return kernels.count_degrees(edges, self.num_nodes)

    def costs(self, edges: IntArray) -> FloatArray:
        """Return the length of each link; 0 where links cost nothing."""
        return kernels.link_costs(self.positions, edges)

    def _single_slots(self) -> Components:
        followers = self.followers
        slots = np.arange(self.num_slots, dtype=np.int32)
        return Components(
            label=slots,
            ring=slots.copy(),
            size=np.ones(self.num_slots, dtype=np.int32),
            num_components=followers.copy(),
            # A topic that one node wants has nothing to join.
            worth=np.where(followers > 1, self.weight, 0.0),
            missing=np.array([np.maximum(followers - 1, 0).sum()], dtype=np.int64),
        )


class Budget(NamedTuple):
    """What all links together may be: how many, and how costly."""

    max_edges: int
    max_cost: float


def make_network(
    interests: Csr,
    followers: Csr,
    weight: FloatArray,
    degree_limit: IntArray,
    positions: FloatArray,
) -> Network:
    """Return a network of who wants what, from both sides. O(interests)."""
    topics = np.arange(followers.num_rows, dtype=np.int32)
    return Network(
        interests.num_rows,
        *interests,
        kernels.number_slots(interests.indices, followers.indptr),
        *followers,
        np.repeat(topics, np.diff(followers.indptr)),
        weight,
        degree_limit,
        positions,
    )


def as_edges(pairs: npt.ArrayLike) -> IntArray:
    """Return pairs as an edge array, each the smaller node first, the order kept."""
    edges = np.asarray(pairs, dtype=np.int32).reshape(-1, 2)
    return np.ascontiguousarray(np.sort(edges, axis=1))
