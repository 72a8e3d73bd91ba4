"""Kernels that improve a packing: ``placed[group, vm]`` is how many pairs of a group are where."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.provision.machines.machine_kernels import CLOSED, pairs_that_fit


@kernel
def sort_falling(ids: LongArray, keys: FloatArray, count: int) -> None:
    """Sort the first ids by falling key of their own place, equal ones by id (Shell's method)."""
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
def restore(
    placed: LongArray,
    room: FloatArray,
    topics_left: LongArray,
    pairs_left: LongArray,
    old_placed: LongArray,
    old_room: FloatArray,
    old_topics: LongArray,
    old_pairs: LongArray,
) -> None:
    """Write back what was there before."""
    for vm in range(len(room)):
        room[vm] = old_room[vm]
        topics_left[vm] = old_topics[vm]
        pairs_left[vm] = old_pairs[vm]
        for group in range(len(placed)):
            placed[group, vm] = old_placed[group, vm]


@kernel
def move(
    placed: LongArray,
    needs: FloatArray,
    room: FloatArray,
    topics_left: LongArray,
    pairs_left: LongArray,
    group: int,
    vm: int,
    count: int,
) -> None:
    """Put ``count`` more pairs of a group on a machine, or take some away if it is negative."""
    before = placed[group, vm]
    after = before + count
    copies = (1 if after > 0 else 0) - (1 if before > 0 else 0)
    placed[group, vm] = after
    room[vm] -= (count + copies) * needs[group]
    topics_left[vm] -= copies
    pairs_left[vm] -= count


@kernel
def rehouse(
    placed: LongArray,
    needs: FloatArray,
    room: FloatArray,
    topics_left: LongArray,
    pairs_left: LongArray,
    group: int,
    count: int,
    source: int,
    may_split: bool,
) -> int:
    """Place pairs of a group away from a machine; return how many copies that adds, or -1.

    Machines that have the topic take pairs for no copy, if they hold all; else the tightest machine
    that holds all; else both kinds share them, if splitting is allowed. Where -1 comes back some
    pairs may be placed: the caller restores.
    """
    num_vms = len(room)
    need = needs[group]
    spare = 0
    for vm in range(num_vms):
        if vm != source and placed[group, vm] > 0:
            spare += min(pairs_left[vm], pairs_that_fit(room[vm] + need, need, pairs_left[vm]))
    if spare < count:
        found = -1
        for vm in range(num_vms):
            if vm == source or placed[group, vm] > 0:
                continue
            if room[vm] < (count + 1) * need or topics_left[vm] <= 0 or pairs_left[vm] < count:
                continue
            if found < 0 or room[vm] < room[found]:
                found = vm
        if found >= 0:
            move(placed, needs, room, topics_left, pairs_left, group, found, count)
            return 1
        if not may_split:
            return -1
    left = count
    for vm in range(num_vms):
        if left > 0 and vm != source and placed[group, vm] > 0:
            taken = min(left, pairs_that_fit(room[vm] + need, need, pairs_left[vm]))
            if taken > 0:
                move(placed, needs, room, topics_left, pairs_left, group, vm, taken)
                left -= taken
    copies = 0
    while left > 0:
        found = -1
        for vm in range(num_vms):
            if vm == source or placed[group, vm] > 0 or topics_left[vm] <= 0:
                continue
            if pairs_left[vm] > 0 and (found < 0 or room[vm] > room[found]):
                found = vm
        if found < 0 or room[found] < 2.0 * need:
            return -1
        taken = min(left, pairs_that_fit(room[found], need, pairs_left[found]))
        move(placed, needs, room, topics_left, pairs_left, group, found, taken)
        left -= taken
        copies += 1
    return copies


@kernel
def evict_machine(
    placed: LongArray,
    needs: FloatArray,
    room: FloatArray,
    topics_left: LongArray,
    pairs_left: LongArray,
    vm: int,
    rent: float,
    price: float,
) -> bool:
    """Empty a machine if what it holds can go elsewhere for less than its rent."""
    groups = np.empty(len(needs), dtype=np.int64)
    sizes = np.empty(len(needs))
    num_groups = 0
    for group in range(len(needs)):
        if placed[group, vm] > 0:
            groups[num_groups] = group
            sizes[num_groups] = placed[group, vm] * needs[group]
            num_groups += 1
    sort_falling(groups, sizes, num_groups)
    old = placed.copy()
    old_room, old_topics, old_pairs = room.copy(), topics_left.copy(), pairs_left.copy()
    gain = rent
    for i in range(num_groups):
        group = groups[i]
        count = placed[group, vm]
        move(placed, needs, room, topics_left, pairs_left, group, vm, -count)
        copies = rehouse(placed, needs, room, topics_left, pairs_left, group, count, vm, True)
        gain += (1 - copies) * price * needs[group]
        if copies < 0 or gain <= 0.0:
            gain = 0.0
            break
    if gain > 0.0:
        room[vm] = CLOSED
        topics_left[vm] = 0
        pairs_left[vm] = 0
        return True
    restore(placed, room, topics_left, pairs_left, old, old_room, old_topics, old_pairs)
    return False


@kernel
def merge_group(
    placed: LongArray,
    needs: FloatArray,
    room: FloatArray,
    topics_left: LongArray,
    pairs_left: LongArray,
    group: int,
    source: int,
) -> bool:
    """Save one copy of a split topic: its pairs on one machine join those on others.

    Either they have room, or a whole group of another topic makes room by going the other way.
    """
    count = placed[group, source]
    need = needs[group]
    spare = 0
    for vm in range(len(room)):
        if vm != source and placed[group, vm] > 0:
            spare += pairs_that_fit(room[vm] + need, need, pairs_left[vm])
    move(placed, needs, room, topics_left, pairs_left, group, source, -count)
    if spare >= count:
        rehouse(placed, needs, room, topics_left, pairs_left, group, count, source, True)
        return True
    for vm in range(len(room)):
        if vm == source or placed[group, vm] == 0:
            continue
        for other in range(len(needs)):
            taken = placed[other, vm]
            if other == group or taken == 0:
                continue
            copy_out = 0.0 if placed[other, source] > 0 else needs[other]
            if room[source] < taken * needs[other] + copy_out or pairs_left[source] < taken:
                continue
            if copy_out > 0.0 and topics_left[source] <= 0:
                continue
            if room[vm] + (taken + 1) * needs[other] < count * need:
                continue
            if pairs_left[vm] + taken < count:
                continue
            move(placed, needs, room, topics_left, pairs_left, other, vm, -taken)
            move(placed, needs, room, topics_left, pairs_left, other, source, taken)
            move(placed, needs, room, topics_left, pairs_left, group, vm, count)
            return True
    move(placed, needs, room, topics_left, pairs_left, group, source, count)
    return False


@kernel
def improve_placed(
    placed: LongArray,
    needs: FloatArray,
    room: FloatArray,
    topics_left: LongArray,
    pairs_left: LongArray,
    rents: FloatArray,
    price: float,
    max_rounds: int,
) -> None:
    """Empty machines and merge split topics until nothing gets cheaper.

    ``placed[group, vm]`` is how many pairs are where. The emptiest machines are tried first.
    """
    num_vms = len(room)
    order = np.empty(num_vms, dtype=np.int64)
    for _ in range(max_rounds):
        is_better = False
        for vm in range(num_vms):
            order[vm] = vm
        sort_falling(order, room.copy(), num_vms)
        for i in range(num_vms):
            vm = order[i]
            if room[vm] > CLOSED and evict_machine(
                placed, needs, room, topics_left, pairs_left, vm, rents[vm], price
            ):
                is_better = True
        if price > 0.0:
            for group in range(len(needs)):
                copies = 0
                for vm in range(num_vms):
                    copies += placed[group, vm] > 0
                for vm in range(num_vms):
                    if (
                        copies > 1
                        and placed[group, vm] > 0
                        and needs[group] > 0.0
                        and merge_group(placed, needs, room, topics_left, pairs_left, group, vm)
                    ):
                        copies -= 1
                        is_better = True
        if not is_better:
            break
