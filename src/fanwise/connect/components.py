"""Components of topics while links are added, and what a link would add.

A component of a topic is a set of nodes that want it and reach each other over links between such
nodes. All its slots (see :class:`fanwise.connect.arrays.Network`) have one label. When two
components join, the smaller one takes the label of the other, so that a slot of topic t changes its
label at most log |V_t| times. Components that also fall apart are kept by
:mod:`fanwise.connect.improving.relabelling`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.connect.kernels import NOBODY, first_common, next_common

if TYPE_CHECKING:
    from fanwise.connect.arrays import Network


class Components(NamedTuple):
    """The components of every topic.

    Attributes
    ----------
    label
        Component of each slot, named by one of its slots.
    ring
        The next slot of the same component, around it.
    size
        Slots of each component, at the slot that names it.
    num_components
        Components of each topic.
    worth
        What joining two components of each topic adds; 0 once it is connected.
    missing
        One entry: the joins that are missing to connect every topic.
    """

    label: IntArray
    ring: IntArray
    size: IntArray
    num_components: LongArray
    worth: FloatArray
    missing: LongArray


@kernel
def gain_of(network: Network, label: IntArray, u: int, v: int) -> float:
    """Return what a link adds to mu: the weight of common topics whose components it joins.

    Changes no array.
    """
    indptr, topics, slot_of = network.indptr, network.topics, network.slot_of
    gain = 0.0
    i, j = first_common(indptr, topics, u, v)
    while i != NOBODY:
        if label[slot_of[i]] != label[slot_of[j]]:
            gain += network.weight[topics[i]]
        i, j = next_common(indptr, topics, u, v, i, j)
    return gain


@kernel
def sum_gains(
    network: Network,
    label: IntArray,
    worth: FloatArray,
    node: int,
    is_ahead: bool,
    gains: FloatArray,
    found: IntArray,
) -> int:
    """Add up, for each other node, the worth of topics whose components a link would join.

    With ``is_ahead`` for larger nodes alone. Topics in ascending order, so that sums round as those
    of :func:`gain_of` do. Changes ``gains``, which must be zeros and is the caller's to clear, and
    ``found``, where nodes that gain anything are listed; returns how many they are.
    """
    nodes, topic_indptr = network.nodes, network.topic_indptr
    num_found = 0
    for i in range(network.indptr[node], network.indptr[node + 1]):
        topic, own = network.topics[i], network.slot_of[i]
        gain, mine = worth[topic], label[own]
        if gain <= 0.0:
            continue
        # Slots of a topic ascend by node: the larger nodes follow.
        first = own + 1 if is_ahead else topic_indptr[topic]
        for slot in range(first, topic_indptr[topic + 1]):
            if label[slot] != mine:
                other = nodes[slot]
                if gains[other] == 0.0:
                    found[num_found] = other
                    num_found += 1
                gains[other] += gain
    return num_found


@kernel
def link_nodes(network: Network, components: Components, u: int, v: int) -> float:
    """Link u-v: join the components of common topics; return what that adds to mu.

    Changes ``components``.
    """
    indptr, topics, slot_of = network.indptr, network.topics, network.slot_of
    label, ring, size = components.label, components.ring, components.size
    gain = 0.0
    i, j = first_common(indptr, topics, u, v)
    while i != NOBODY:
        small, large = label[slot_of[i]], label[slot_of[j]]
        if small != large:
            if size[small] > size[large]:
                small, large = large, small
            topic = topics[i]
            relabel(label, ring, size, small, large)
            count_join(components.num_components, components.worth, components.missing, topic)
            gain += network.weight[topic]
        i, j = next_common(indptr, topics, u, v, i, j)
    return gain


@kernel
def link_all(network: Network, components: Components, edges: IntArray) -> FloatArray:
    """Link pairs one after another; return what each adds to mu. Changes ``components``."""
    gains = np.empty(len(edges), dtype=np.float64)
    for k in range(len(edges)):
        gains[k] = link_nodes(network, components, edges[k, 0], edges[k, 1])
    return gains


@kernel
def relabel(label: IntArray, ring: IntArray, size: IntArray, small: int, large: int) -> None:
    """Give a component the label of another, and string the two together.

    Changes ``label``, ``ring`` and ``size``.
    """
    slot = small
    while True:
        label[slot] = large
        slot = ring[slot]
        if slot == small:
            break
    # Exchanging the successors of one slot in each of two rings makes one ring of them.
    ring[small], ring[large] = ring[large], ring[small]
    size[large] += size[small]


@kernel
def count_join(
    num_components: LongArray, worth: FloatArray, missing: LongArray, topic: int
) -> None:
    """Count that two components of a topic have become one. Changes the three arrays."""
    num_components[topic] -= 1
    missing[0] -= 1
    if num_components[topic] == 1:
        worth[topic] = 0.0
