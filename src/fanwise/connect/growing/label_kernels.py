"""Topic components as labels, in the order of topics: what a node gains is one walk along rows.

A position is a (topic, node) pair as it stands in the topic-major CSR. All positions of a topic
component have one label; the smaller component is relabelled when two join, so that every position
changes its label at most log |V_t| times.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel


class Interests(NamedTuple):
    """Who wants what, from both sides; ``position`` leads from a slot to its position."""

    indptr: LongArray
    topics: IntArray
    position: IntArray
    topic_indptr: LongArray
    nodes: IntArray
    weight: FloatArray


class Labels(NamedTuple):
    """Topic components.

    ``ring`` strings the positions of a component together, ``size`` counts them at the position
    that gave the label, ``components`` counts the components of each topic.
    """

    label: IntArray
    ring: IntArray
    size: IntArray
    components: IntArray


@kernel
def find_positions(
    indptr: LongArray, topics: IntArray, topic_indptr: LongArray, nodes: IntArray
) -> IntArray:
    """Return the position of each slot."""
    position = np.empty(len(topics), dtype=np.int32)
    cursor = topic_indptr[:-1].copy()
    for slot in range(len(topics)):
        position[slot] = cursor[topics[slot]]
        cursor[topics[slot]] += 1
    return position


@kernel
def worth_of(interests: Interests, labels: Labels, u: int, v: int) -> float:
    """Add up the weight of the topics whose components a link u-v would join."""
    topics, position, label = interests.topics, interests.position, labels.label
    i, i_end = interests.indptr[u], interests.indptr[u + 1]
    j, j_end = interests.indptr[v], interests.indptr[v + 1]
    worth = 0.0
    while i < i_end and j < j_end:
        if topics[i] < topics[j]:
            i += 1
        elif topics[i] > topics[j]:
            j += 1
        else:
            if label[position[i]] != label[position[j]]:
                worth += interests.weight[topics[i]]
            i += 1
            j += 1
    return worth


@kernel
def join_labels(interests: Interests, labels: Labels, u: int, v: int) -> int:
    """Link u-v: join the components of every common topic; return how many were joined."""
    topics, position, label = interests.topics, interests.position, labels.label
    i, i_end = interests.indptr[u], interests.indptr[u + 1]
    j, j_end = interests.indptr[v], interests.indptr[v + 1]
    joined = 0
    while i < i_end and j < j_end:
        if topics[i] < topics[j]:
            i += 1
        elif topics[i] > topics[j]:
            j += 1
        else:
            small, large = label[position[i]], label[position[j]]
            if small != large:
                if labels.size[small] > labels.size[large]:
                    small, large = large, small
                relabel(labels, small, large)
                labels.components[topics[i]] -= 1
                joined += 1
            i += 1
            j += 1
    return joined


@kernel
def relabel(labels: Labels, small: int, large: int) -> None:
    """Give a component the label of another, and string the two together."""
    ring = labels.ring
    place = small
    while True:
        labels.label[place] = large
        place = ring[place]
        if place == small:
            break
    ring[small], ring[large] = ring[large], ring[small]
    labels.size[large] += labels.size[small]


@kernel
def add_up_row(
    interests: Interests, labels: Labels, u: int, gain: FloatArray, touched: IntArray
) -> int:
    """Add to ``gain[v]`` what a link u-v is worth, for all v > u; list who gains anything.

    Topics in ascending order, so that sums round as anywhere else. Returns how many gain; ``gain``
    must be all zeros before and is the caller's to clear.
    """
    num_touched = 0
    for slot in range(interests.indptr[u], interests.indptr[u + 1]):
        topic = interests.topics[slot]
        if labels.components[topic] < 2:
            continue
        weight = interests.weight[topic]
        here = interests.position[slot]
        mine = labels.label[here]
        for place in range(here + 1, interests.topic_indptr[topic + 1]):
            if labels.label[place] != mine:
                v = interests.nodes[place]
                if gain[v] == 0.0:
                    touched[num_touched] = v
                    num_touched += 1
                gain[v] += weight
    return num_touched
