"""Kernels of the paper's packing algorithms: arrays in, arrays out.

They stop where an array is full, and go on once their caller has made it longer: arrays that change
within a loop cost it most of its speed.

No kernel changes an array that it is given, but for those that it says it changes.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import ROUNDING
from fanwise.arrays.tournament import first_at_least, first_largest, set_leaf
from fanwise.provision.machines.machine_kernels import (
    CLOSED,
    Capacity,
    Machines,
    Parts,
    add_part,
    first_parts,
    make_machines,
    make_parts,
    more_machines,
    more_parts,
    pairs_that_fit,
    put,
    show_room,
)


def pack_first_fit(topics: IntArray, needs: FloatArray, capacity: Capacity) -> tuple[Parts, int]:
    """Put each pair on the first machine with room; return the parts and how many machines."""
    machines, parts = make_machines(64, capacity, capacity.limit), make_parts(1024)
    latest = np.full(len(needs), -1, dtype=np.int64)
    pair = num_parts = num_vms = 0
    while True:
        pair, num_parts, num_vms = first_fit_from(
            pair, topics, needs, machines, parts, latest, num_parts, num_vms
        )
        if pair == len(topics):
            return first_parts(parts, num_parts), num_vms
        if num_parts == len(parts.vm):
            parts = more_parts(parts)
        if num_vms == len(machines.room):
            machines = more_machines(machines, capacity, capacity.limit)


def pack_groups(
    counts: LongArray,
    needs: FloatArray,
    capacity: Capacity,
    *,
    may_reuse: bool,
    is_by_cost: bool,
    rent: float,
    price: float,
) -> tuple[Parts, int]:
    """Put groups of pairs on machines, one after the other; return the parts and how many machines.

    See :func:`pack_groups_from`.
    """
    machines, parts = make_machines(64, capacity, CLOSED), make_parts(len(counts) + 1024)
    group = num_parts = num_vms = 0
    while True:
        group, num_parts, num_vms = pack_groups_from(
            group, counts, needs, capacity, machines, parts, num_parts, num_vms,
            may_reuse, is_by_cost, rent, price,
        )  # fmt: skip
        if group == len(counts):
            return first_parts(parts, num_parts), num_vms
        most_new = num_vms + -(-int(counts[group]) // pairs_that_fit(
            capacity.limit, needs[group], capacity.max_pairs))  # fmt: skip
        while num_parts + most_new > len(parts.vm):
            parts = more_parts(parts)
        while most_new > len(machines.room):
            machines = more_machines(machines, capacity, CLOSED)


@kernel
def first_fit_from(
    first: int,
    topics: IntArray,
    needs: FloatArray,
    machines: Machines,
    parts: Parts,
    latest: LongArray,
    num_parts: int,
    num_vms: int,
) -> tuple[int, int, int]:
    """Put each pair on the first machine with room (the paper's Alg. 3).

    A pair takes ``needs[topic]`` where its topic is already, twice that elsewhere, for the topic's
    incoming copy. Every need must be at most half the limit.

    Only the machine that got the topic last can be the first with room among those that have it:
    when the topic went there, the others had no room for one more pair and no machine before it
    had room for a new topic; and room only shrinks. So one part per topic is remembered, and a
    tree of maxima finds the first machine with room for a new topic. Machines not in use yet stand
    behind in the tree with full capacity, so that opening one is finding it. O(log machines) per
    pair at most. Machines of one topic ascend with its subscribers.

    Returns the first pair not placed, and how many parts and machines there are. Changes
    ``machines``, ``parts`` and ``latest``.
    """
    # Names of their own: reading them from the tuple in each step takes half as long again.
    free, room = machines.free, machines.room
    topics_left, pairs_left = machines.topics_left, machines.pairs_left
    part_vm, part_topic, part_count = parts.vm, parts.group, parts.num_pairs
    for i in range(first, len(topics)):
        topic = topics[i]
        need = needs[topic]
        part = latest[topic]
        vm = part_vm[part] if part >= 0 else -1
        if vm >= 0 and room[vm] >= need and pairs_left[vm] > 0:
            part_count[part] += 1
            room[vm] -= need
        else:
            if num_parts == len(part_vm) or num_vms == len(room):
                return i, num_parts, num_vms
            vm = first_at_least(free, 2.0 * need)
            room[vm] -= 2.0 * need
            topics_left[vm] -= 1
            part_vm[num_parts] = vm
            part_topic[num_parts] = topic
            part_count[num_parts] = 1
            latest[topic] = num_parts
            num_parts += 1
            num_vms = max(num_vms, vm + 1)
        pairs_left[vm] -= 1
        is_open = topics_left[vm] > 0 and pairs_left[vm] > 0
        set_leaf(free, vm, room[vm] if is_open else CLOSED)
    return len(topics), num_parts, num_vms


@kernel
def is_cheaper_to_distribute(
    count: int,
    need: float,
    free: FloatArray,
    pairs_left: LongArray,
    per_new: int,
    rent: float,
    price: float,
) -> bool:
    """Whether open machines should take a group before new ones are rented (Alg. 7).

    Distributing fills the machines with most room one after the other, each with a copy of its own;
    the rest, like all pairs otherwise, goes to new machines with ``per_new`` pairs each. Outgoing
    traffic is the same either way. Changes ``free`` on the way, and leaves it as it
    was.
    """
    left = count
    copies = 0
    touched = np.empty(len(pairs_left), dtype=np.int64)
    room = np.empty(len(pairs_left))
    while left > 0 and free[1] >= 2.0 * need and free[1] > CLOSED:
        vm = first_largest(free)
        left -= min(left, pairs_that_fit(free[1], need, pairs_left[vm]))
        touched[copies] = vm
        room[copies] = free[1]
        copies += 1
        set_leaf(free, vm, CLOSED)
    for i in range(copies):
        set_leaf(free, touched[i], room[i])
    extra = (left + per_new - 1) // per_new
    new = (count + per_new - 1) // per_new
    one_more = rent + price * need
    return extra * one_more + copies * price * need < new * one_more * (1.0 - ROUNDING)


@kernel
def pack_groups_from(
    first: int,
    counts: LongArray,
    needs: FloatArray,
    capacity: Capacity,
    machines: Machines,
    parts: Parts,
    num_parts: int,
    num_vms: int,
    may_reuse: bool,
    is_by_cost: bool,
    rent: float,
    price: float,
) -> tuple[int, int, int]:
    """Put groups of pairs on machines, one after the other (the paper's Alg. 4).

    A group that fits the machine opened last as a whole goes there. Otherwise new machines take it;
    with ``may_reuse`` open ones come first, those with most room first, each with as much as it has
    room for, unless with ``is_by_cost`` new ones alone are cheaper. The tree hears of the machine
    opened last only when somebody asks it, and of none where nobody will.

    Returns the first group not placed, and how many parts and machines there are. Changes
    ``machines`` and ``parts``.
    """
    free, room = machines.free, machines.room
    topics_left, pairs_left = machines.topics_left, machines.pairs_left
    for group in range(first, len(counts)):
        need = needs[group]
        left = counts[group]
        last = num_vms - 1
        if (
            last >= 0
            and topics_left[last] > 0
            and pairs_left[last] >= left
            and (left + 1) * need <= room[last]
            and num_parts < len(parts.vm)
        ):
            num_parts = add_part(parts, num_parts, last, group, left)
            room[last] -= (left + 1) * need
            topics_left[last] -= 1
            pairs_left[last] -= left
            continue
        per_new = pairs_that_fit(capacity.limit, need, capacity.max_pairs)
        most_new = num_vms + (left + per_new - 1) // per_new
        if num_parts + most_new > len(parts.vm) or most_new > len(room):
            return group, num_parts, num_vms
        may_distribute = False
        if may_reuse and last >= 0:
            show_room(machines, last)
            may_distribute = not is_by_cost or is_cheaper_to_distribute(
                left, need, free, pairs_left, per_new, rent, price
            )
        while left > 0:
            if not (may_distribute and free[1] >= 2.0 * need and free[1] > CLOSED):
                may_distribute = False
                vm = num_vms
                num_vms += 1
            else:
                vm = first_largest(free)
            taken = min(left, pairs_that_fit(room[vm], need, pairs_left[vm]))
            num_parts = add_part(parts, num_parts, vm, group, taken)
            left -= taken
            put(machines, vm, taken, need)
    return len(counts), num_parts, num_vms
