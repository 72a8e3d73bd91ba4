"""What packing kernels share: machines with room, parts of groups on them, sorting.

Free bandwidth of machines is kept in a tournament (:mod:`fanwise.arrays.tournament`), a leaf per
machine. A machine that takes no further topic (its topics or connections are used up) stands there
as -1, as do those not opened yet where only open ones count.

No kernel changes an array that it is given, but for those that it says it changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tournament import mend_tree, set_leaf

CLOSED = -1.0
"""What the tree has for a machine that takes no further topic."""


class Capacity(NamedTuple):
    """What a new machine takes: bytes, topics, pairs."""

    limit: float
    max_topics: int
    max_pairs: int


class Machines(NamedTuple):
    """What machines have left: a tree of maxima for new topics, bytes, topics, pairs."""

    free: FloatArray
    room: FloatArray
    topics_left: LongArray
    pairs_left: LongArray


class Parts(NamedTuple):
    """How many pairs of which topic or group are on which machine."""

    vm: IntArray
    group: IntArray
    num_pairs: LongArray


def make_machines(num_leaves: int, capacity: Capacity, free: float) -> Machines:
    """Return machines without anything on them."""
    return Machines(
        np.full(2 * num_leaves, free),
        np.full(num_leaves, capacity.limit),
        np.full(num_leaves, capacity.max_topics, dtype=np.int64),
        np.full(num_leaves, capacity.max_pairs, dtype=np.int64),
    )


def more_machines(machines: Machines, capacity: Capacity, free: float) -> Machines:
    """Return twice as many machines, the new ones without anything on them."""
    num_leaves = len(machines.room)
    new = make_machines(num_leaves, capacity, free)
    tree = np.concatenate([machines.free[:num_leaves], new.free[:num_leaves],
                           machines.free[num_leaves:], new.free[num_leaves:]])  # fmt: skip
    mend_tree(tree)
    return Machines(
        tree,
        np.concatenate([machines.room, new.room]),
        np.concatenate([machines.topics_left, new.topics_left]),
        np.concatenate([machines.pairs_left, new.pairs_left]),
    )


def make_parts(length: int) -> Parts:
    """Return memory for parts."""
    ids = np.empty(length, dtype=np.int32)
    return Parts(ids, ids.copy(), np.empty(length, dtype=np.int64))


def more_parts(parts: Parts) -> Parts:
    """Return memory for twice as many parts."""
    new = make_parts(len(parts.vm))
    return Parts(
        np.concatenate([parts.vm, new.vm]),
        np.concatenate([parts.group, new.group]),
        np.concatenate([parts.num_pairs, new.num_pairs]),
    )


def first_parts(parts: Parts, count: int) -> Parts:
    """Return the first few parts."""
    return Parts(parts.vm[:count], parts.group[:count], parts.num_pairs[:count])


@kernel
def pairs_that_fit(room: float, need: float, connections: int) -> int:
    """Return how many pairs of a topic new to it a machine takes, beside the incoming copy.

    Changes nothing.
    """
    if need <= 0.0:
        return connections
    held = np.floor(room / need) - 1.0
    if held <= 0.0:
        return 0
    return connections if held >= connections else int(held)


@kernel
def put(machines: Machines, vm: int, count: int, need: float) -> None:
    """Take what so many pairs of a topic that is new there need from a machine.

    Changes ``machines``.
    """
    machines.room[vm] -= (count + 1) * need
    machines.topics_left[vm] -= 1
    machines.pairs_left[vm] -= count
    show_room(machines, vm)


@kernel
def show_room(machines: Machines, vm: int) -> None:
    """Let the tree know what a machine has for a new topic. Changes ``machines.free``."""
    is_open = machines.topics_left[vm] > 0 and machines.pairs_left[vm] > 0
    set_leaf(machines.free, vm, machines.room[vm] if is_open else CLOSED)


@kernel
def add_part(parts: Parts, num_parts: int, vm: int, group: int, count: int) -> int:
    """Write down a part; return how many there are then. Changes ``parts``."""
    parts.vm[num_parts] = vm
    parts.group[num_parts] = group
    parts.num_pairs[num_parts] = count
    return num_parts + 1


@kernel
def weigh_machines(
    vms: IntArray, topics: IntArray, counts: LongArray, needs: FloatArray, num_vms: int
) -> tuple[FloatArray, LongArray, LongArray]:
    """Return bytes, topics and pairs of each machine; a part must be its topic's only one there.

    Changes nothing.
    """
    used = np.zeros(num_vms)
    num_topics = np.zeros(num_vms, dtype=np.int64)
    num_pairs = np.zeros(num_vms, dtype=np.int64)
    for part in range(len(vms)):
        vm = vms[part]
        used[vm] += (counts[part] + 1) * needs[topics[part]]
        num_topics[vm] += 1
        num_pairs[vm] += counts[part]
    return used, num_topics, num_pairs


@kernel
def count_pairs(topics: IntArray, num_topics: int) -> LongArray:
    """Return how many pairs each topic has. Changes nothing."""
    counts = np.zeros(num_topics, dtype=np.int64)
    for topic in topics:
        counts[topic] += 1
    return counts


@kernel
def order_falling(values: FloatArray) -> LongArray:
    """Return indices by falling value, then ascending: counting sort by 16 bits at a time.

    Numbers must be >= 0: their bits, read as whole numbers, then ascend with them. Digits that all
    numbers share are passed over. Several times as fast as a comparison sort of a million.
    Changes nothing.
    """
    length = len(values)
    keys = (values + 0.0).view(np.int64)  # -0.0 becomes 0.0
    order = np.arange(length)
    other = np.empty(length, dtype=np.int64)
    for digit in range(4):
        shift = 16 * digit
        starts = np.zeros((1 << 16) + 1, dtype=np.int64)
        for i in range(length):
            starts[0xFFFF - ((keys[i] >> shift) & 0xFFFF) + 1] += 1
        if length == 0 or starts.max() == length:
            continue
        for bucket in range(1 << 16):
            starts[bucket + 1] += starts[bucket]
        for i in range(length):
            bucket = 0xFFFF - ((keys[order[i]] >> shift) & 0xFFFF)
            other[starts[bucket]] = order[i]
            starts[bucket] += 1
        order, other = other, order
    return order
