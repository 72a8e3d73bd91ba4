"""What does not change while overlays do: interests both ways, weights, limits, positions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.connect.kernels import link_length
from fanwise.connect.problem import Connection

NO_COST = 1.0
"""What a link counts as where links cost nothing: gain per cost is then the gain."""
TINY_COST = 1e-200
"""What a link of no length counts as, so that gain per cost stays a number."""
COST_TOLERANCE = 1e-9


class Ground(NamedTuple):
    """A network with slots numbered topic by topic.

    A slot is a (node, topic) pair. Here slots stand in the order of ``nodes``: those of one topic
    lie side by side, so walks inside a topic and counts over all who want it read memory in order.

    Attributes
    ----------
    slot_of
        The slot of each entry of ``topics``.
    topic_of
        The topic of each slot.
    """

    indptr: LongArray
    topics: IntArray
    slot_of: IntArray
    topic_indptr: LongArray
    nodes: IntArray
    topic_of: IntArray
    weight: FloatArray
    degree_limit: IntArray
    positions: FloatArray


class Budget(NamedTuple):
    """What all links together may be: how many, and how costly."""

    max_edges: int
    max_cost: float


def lay_ground(problem: Connection) -> Ground:
    """Return the arrays of a problem. O(pairs)."""
    network = problem.network
    topic_of = np.repeat(
        np.arange(network.num_topics, dtype=np.int32), np.diff(network.topic_indptr)
    )
    return Ground(
        network.indptr,
        network.topics,
        number_slots(network.topics, network.topic_indptr),
        network.topic_indptr,
        network.nodes,
        topic_of,
        np.array(network.weight, dtype=np.float64),
        np.array(network.degree_limit, dtype=np.int32),
        np.array(network.positions, dtype=np.float64),
    )


def budget_of(problem: Connection) -> Budget:
    """Return the limits on all links; more than there can be where there is no limit."""
    num_nodes = problem.network.num_nodes
    every_pair = num_nodes * (num_nodes - 1) // 2
    max_edges = every_pair if problem.edge_limit is None else min(problem.edge_limit, every_pair)
    limit = problem.max_link_cost
    max_cost = np.inf if limit is None else limit * (1 + COST_TOLERANCE / 2) + 1e10 * TINY_COST
    return Budget(max_edges, float(max_cost))


@kernel
def number_slots(topics: IntArray, topic_indptr: LongArray) -> IntArray:
    """Return the topic-major slot of each entry of the subscriber-major list."""
    cursor = topic_indptr[:-1].copy()
    slot_of = np.empty(len(topics), dtype=np.int32)
    for i in range(len(topics)):
        slot_of[i] = cursor[topics[i]]
        cursor[topics[i]] += 1
    return slot_of


@kernel
def cost_of(ground: Ground, u: int, v: int) -> float:
    """Return the cost of a link; 1 where links cost nothing."""
    if ground.positions.shape[1] == 0:
        return NO_COST
    return max(TINY_COST, link_length(ground.positions, u, v))


@kernel
def gain_of(ground: Ground, label: IntArray, u: int, v: int) -> float:
    """Return what a link adds to mu: the weight of common topics whose components it joins."""
    i, i_end, j, j_end = (
        ground.indptr[u],
        ground.indptr[u + 1],
        ground.indptr[v],
        ground.indptr[v + 1],
    )
    topics = ground.topics
    gain = 0.0
    while i < i_end and j < j_end:
        if topics[i] < topics[j]:
            i += 1
        elif topics[i] > topics[j]:
            j += 1
        else:
            if label[ground.slot_of[i]] != label[ground.slot_of[j]]:
                gain += ground.weight[topics[i]]
            i += 1
            j += 1
    return gain


@kernel
def label_slots(ground: Ground, edges: IntArray) -> IntArray:
    """Return a label per slot, equal where links join: the smallest slot of the component."""
    label = np.arange(len(ground.nodes)).astype(np.int32)
    topics = ground.topics
    for k in range(len(edges)):
        i, i_end = ground.indptr[edges[k, 0]], ground.indptr[edges[k, 0] + 1]
        j, j_end = ground.indptr[edges[k, 1]], ground.indptr[edges[k, 1] + 1]
        while i < i_end and j < j_end:
            if topics[i] < topics[j]:
                i += 1
            elif topics[i] > topics[j]:
                j += 1
            else:
                join_slots(label, ground.slot_of[i], ground.slot_of[j])
                i += 1
                j += 1
    for slot in range(len(label)):
        label[slot] = root_of(label, slot)
    return label


@kernel
def root_of(parent: IntArray, slot: int) -> int:
    """Return the root of a slot in a disjoint-set forest, halving the path to it."""
    while parent[slot] != slot:
        parent[slot] = parent[parent[slot]]
        slot = parent[slot]
    return slot


@kernel
def join_slots(parent: IntArray, one: int, other: int) -> None:
    """Put the trees of two slots together; the smaller root stays."""
    one, other = root_of(parent, one), root_of(parent, other)
    if one < other:
        parent[other] = one
    else:
        parent[one] = other
