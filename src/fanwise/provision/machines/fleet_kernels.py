"""Kernels of the best packing: fill a given fleet of machines.

No kernel changes an array that it is given, but for those that it says it changes.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tournament import first_at_least, first_largest, mend_tree
from fanwise.provision.machines.machine_kernels import (
    CLOSED,
    Capacity,
    Machines,
    Parts,
    add_part,
    first_parts,
    make_machines,
    make_parts,
    pairs_that_fit,
    put,
)


def make_fleet(room: FloatArray, topics_left: LongArray, pairs_left: LongArray) -> Machines:
    """Return machines with this much left, with a tree over those that take a further topic."""
    num_leaves = 1
    while num_leaves < len(room):
        num_leaves *= 2
    free = np.full(2 * num_leaves, CLOSED)
    is_open = (topics_left > 0) & (pairs_left > 0)
    free[num_leaves : num_leaves + len(room)] = np.where(is_open, room, CLOSED)
    mend_tree(free)
    return Machines(free, room, topics_left, pairs_left)


def fill_fleet(
    counts: LongArray, needs: FloatArray, fleet: Machines, *, is_best_fit: bool
) -> Parts | None:
    """Put items on machines that are there, whole ones first; None if there is not enough room.

    What machines have left is changed.
    """
    parts = make_parts(len(counts) + 4 * len(fleet.room) + 64)
    num_parts = fill_machines(counts, needs, fleet, parts, is_best_fit)
    return None if num_parts < 0 else first_parts(parts, num_parts)


def count_machines(counts: LongArray, needs: FloatArray, capacity: Capacity) -> int:
    """Return how many machines first fit opens for whole items, each of which fits one."""
    num_vms = 64
    while True:
        machines = make_machines(num_vms, capacity, capacity.limit)
        last = open_machines(counts, needs, machines)
        if last < num_vms:
            return last + 1
        num_vms *= 4


@kernel
def find_machine(size: float, count: int, machines: Machines, is_best_fit: bool) -> int:
    """Return the first machine, or the tightest, that holds a whole item; -1 if none does.

    Changes nothing.
    """
    free, room = machines.free, machines.room
    topics_left, pairs_left = machines.topics_left, machines.pairs_left
    if not is_best_fit:
        if free[1] < size or free[1] == CLOSED:
            return -1
        vm = first_at_least(free, size)
        if pairs_left[vm] >= count:
            return vm
    found = -1
    for vm in range(len(room)):
        if room[vm] < size or topics_left[vm] <= 0 or pairs_left[vm] < count:
            continue
        if not is_best_fit:
            return vm
        if found < 0 or room[vm] < room[found]:
            found = vm
    return found


@kernel
def open_machines(counts: LongArray, needs: FloatArray, machines: Machines) -> int:
    """Put whole items on the first machine with room; return the last one used.

    Returns how many machines there are if they are too few. Changes ``machines``.
    """
    last = -1
    for item in range(len(counts)):
        vm = find_machine((counts[item] + 1) * needs[item], counts[item], machines, False)
        if vm < 0:
            return len(machines.room)
        put(machines, vm, counts[item], needs[item])
        last = max(last, vm)
    return last


@kernel
def fill_machines(
    counts: LongArray, needs: FloatArray, machines: Machines, parts: Parts, is_best_fit: bool
) -> int:
    """Put items on machines, whole ones first; return how many parts there are, or -1.

    Items come in the order given; those that fit no machine as a whole are put aside and split over
    the machines with most room at the end. -1 says that there is no room for all of them, or for
    their parts. Changes ``machines`` and ``parts``.
    """
    aside = np.empty(len(counts), dtype=np.int64)
    num_aside = 0
    num_parts = 0
    for item in range(len(counts)):
        vm = find_machine((counts[item] + 1) * needs[item], counts[item], machines, is_best_fit)
        if vm < 0:
            aside[num_aside] = item
            num_aside += 1
            continue
        put(machines, vm, counts[item], needs[item])
        num_parts = add_part(parts, num_parts, vm, item, counts[item])
    for i in range(num_aside):
        item = aside[i]
        left = counts[item]
        while left > 0:
            room = machines.free[1]
            if room < 2.0 * needs[item] or room == CLOSED or num_parts == len(parts.vm):
                return -1
            vm = first_largest(machines.free)
            taken = min(left, pairs_that_fit(room, needs[item], machines.pairs_left[vm]))
            put(machines, vm, taken, needs[item])
            num_parts = add_part(parts, num_parts, vm, item, taken)
            left -= taken
    return num_parts
