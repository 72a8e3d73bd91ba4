"""Kernels that improve a packing: empty machines, merge split topics.

No kernel changes an array that it is given, but for those that it says it changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.provision.machines.machine_kernels import CLOSED, pairs_that_fit


class State(NamedTuple):
    """A packing while it is improved.

    Attributes
    ----------
    placed
        How many pairs of a group are on a machine, by ``[group, vm]``.
    needs
        By group: bytes of one copy.
    room, topics_left, pairs_left
        By machine: the bytes, topics and pairs that it could still take.
    """

    allocated: LongArray
    needs: FloatArray
    room: FloatArray
    topics_left: LongArray
    pairs_left: LongArray


@kernel
def sort_falling(ids: LongArray, keys: FloatArray, count: int) -> None:
    """Sort the first ids by falling key of their own place, equal ones by id (Shell's method).

    Changes ``ids`` and ``keys``.
    """
    gap = count // 2
    while gap > 0:
        for i in range(gap, count):
            identity, key = ids[i], keys[i]
            j = i
            while j >= gap and (
                keys[j - gap] < key or (keys[j - gap] == key and ids[j - gap] > identity)
            ):
                ids[j], keys[j] = ids[j - gap], keys[j - gap]
                j -= gap
            ids[j], keys[j] = identity, key
        gap //= 2


@kernel
def copy_state(state: State) -> State:
    """Return a copy that is left alone from now on. Changes nothing."""
    return State(
        state.allocated.copy(),
        state.needs,
        state.room.copy(),
        state.topics_left.copy(),
        state.pairs_left.copy(),
    )


@kernel
def restore(state: State, old: State) -> None:
    """Write back what was there before. Changes ``state``."""
    state.allocated[:] = old.allocated
    state.room[:] = old.room
    state.topics_left[:] = old.topics_left
    state.pairs_left[:] = old.pairs_left


@kernel
def move(state: State, group: int, vm: int, count: int) -> None:
    """Put ``count`` more pairs of a group on a machine, or take some away if it is negative.

    Changes ``state``.
    """
    before = state.allocated[group, vm]
    after = before + count
    copies = (1 if after > 0 else 0) - (1 if before > 0 else 0)
    state.allocated[group, vm] = after
    state.room[vm] -= (count + copies) * state.needs[group]
    state.topics_left[vm] -= copies
    state.pairs_left[vm] -= count


@kernel
def rehouse(
    state: State,
    group: int,
    count: int,
    source: int,
    may_split: bool,
) -> int:
    """Place pairs of a group away from a machine; return how many copies that adds, or -1.

    Machines that have the topic take pairs for no copy, if they hold all; else the tightest machine
    that holds all; else both kinds share them, if splitting is allowed. Where -1 comes back some
    pairs may be placed: the caller restores.

    Changes ``state``.
    """
    allocated, needs, room, topics_left, pairs_left = state
    num_vms = len(room)
    need = needs[group]
    spare = 0
    for vm in range(num_vms):
        if vm != source and allocated[group, vm] > 0:
            spare += min(pairs_left[vm], pairs_that_fit(room[vm] + need, need, pairs_left[vm]))
    if spare < count:
        found = -1
        for vm in range(num_vms):
            if vm == source or allocated[group, vm] > 0:
                continue
            if room[vm] < (count + 1) * need or topics_left[vm] <= 0 or pairs_left[vm] < count:
                continue
            if found < 0 or room[vm] < room[found]:
                found = vm
        if found >= 0:
            move(state, group, found, count)
            return 1
        if not may_split:
            return -1
    left = count
    for vm in range(num_vms):
        if left > 0 and vm != source and allocated[group, vm] > 0:
            taken = min(left, pairs_that_fit(room[vm] + need, need, pairs_left[vm]))
            if taken > 0:
                move(state, group, vm, taken)
                left -= taken
    copies = 0
    while left > 0:
        found = -1
        for vm in range(num_vms):
            if vm == source or allocated[group, vm] > 0 or topics_left[vm] <= 0:
                continue
            if pairs_left[vm] > 0 and (found < 0 or room[vm] > room[found]):
                found = vm
        if found < 0 or room[found] < 2.0 * need:
            return -1
        taken = min(left, pairs_that_fit(room[found], need, pairs_left[found]))
        move(state, group, found, taken)
        left -= taken
        copies += 1
    return copies


@kernel
def evict_machine(
    state: State,
    vm: int,
    rent: float,
    price: float,
) -> bool:
    """Empty a machine if what it holds can go elsewhere for less than its rent.

    Changes ``state``.
    """
    allocated, needs, room, topics_left, pairs_left = state
    groups = np.empty(len(needs), dtype=np.int64)
    sizes = np.empty(len(needs))
    num_groups = 0
    for group in range(len(needs)):
        if allocated[group, vm] > 0:
            groups[num_groups] = group
            sizes[num_groups] = allocated[group, vm] * needs[group]
            num_groups += 1
    sort_falling(groups, sizes, num_groups)
    old = copy_state(state)
    gain = rent
    for i in range(num_groups):
        group = groups[i]
        count = allocated[group, vm]
        move(state, group, vm, -count)
        copies = rehouse(state, group, count, vm, True)
        gain += (1 - copies) * price * needs[group]
        if copies < 0 or gain <= 0.0:
            gain = 0.0
            break
    if gain > 0.0:
        room[vm] = CLOSED
        topics_left[vm] = 0
        pairs_left[vm] = 0
        return True
    restore(state, old)
    return False


@kernel
def merge_group(
    state: State,
    group: int,
    source: int,
) -> bool:
    """Save one copy of a split topic: its pairs on one machine join those on others.

    Either they have room, or a whole group of another topic makes room by going the other way.

    Changes ``state``.
    """
    allocated, needs, room, topics_left, pairs_left = state
    count = allocated[group, source]
    need = needs[group]
    spare = 0
    for vm in range(len(room)):
        if vm != source and allocated[group, vm] > 0:
            spare += pairs_that_fit(room[vm] + need, need, pairs_left[vm])
    move(state, group, source, -count)
    if spare >= count:
        rehouse(state, group, count, source, True)
        return True
    for vm in range(len(room)):
        if vm == source or allocated[group, vm] == 0:
            continue
        for other in range(len(needs)):
            taken = allocated[other, vm]
            if other == group or taken == 0:
                continue
            copy_out = 0.0 if allocated[other, source] > 0 else needs[other]
            if room[source] < taken * needs[other] + copy_out or pairs_left[source] < taken:
                continue
            if copy_out > 0.0 and topics_left[source] <= 0:
                continue
            if room[vm] + (taken + 1) * needs[other] < count * need:
                continue
            if pairs_left[vm] + taken < count:
                continue
            move(state, other, vm, -taken)
            move(state, other, source, taken)
            move(state, group, vm, count)
            return True
    move(state, group, source, count)
    return False


@kernel
def improve_allocated(
    state: State,
    rents: FloatArray,
    price: float,
    max_rounds: int,
) -> None:
    """Empty machines and merge split topics until nothing gets cheaper.

    The emptiest machines are tried first.

    Changes ``state``.
    """
    allocated, needs, room = state.allocated, state.needs, state.room
    num_vms = len(room)
    order = np.empty(num_vms, dtype=np.int64)
    for _ in range(max_rounds):
        is_better = False
        for vm in range(num_vms):
            order[vm] = vm
        sort_falling(order, room.copy(), num_vms)
        for i in range(num_vms):
            vm = order[i]
            if room[vm] > CLOSED and evict_machine(state, vm, rents[vm], price):
                is_better = True
        if price > 0.0:
            for group in range(len(needs)):
                copies = 0
                for vm in range(num_vms):
                    copies += allocated[group, vm] > 0
                for vm in range(num_vms):
                    if (
                        copies > 1
                        and allocated[group, vm] > 0
                        and needs[group] > 0.0
                        and merge_group(state, group, vm)
                    ):
                        copies -= 1
                        is_better = True
        if not is_better:
            break
