"""Components of topics while slot links come and go; see :mod:`fanwise.connect.improving.state`."""

from __future__ import annotations

from fanwise.arrays.csr import IntArray
from fanwise.arrays.jit import kernel
from fanwise.connect.improving.state import FREE_LABELS, LOGGED, NOTHING, STAMP, Live


@kernel
def note(live: Live, where: int, what: int) -> None:
    """Note what stood somewhere before it changes; see :func:`take_back`."""
    logged = live.counters[LOGGED]
    if logged < len(live.log):
        live.log[logged, 0], live.log[logged, 1] = where, what
    live.counters[LOGGED] = logged + 1


@kernel
def take_back(live: Live) -> None:
    """Undo every change of labels, sizes and free labels that the log holds, last one first."""
    num_slots = len(live.label)
    for k in range(live.counters[LOGGED] - 1, -1, -1):
        where, what = live.log[k, 0], live.log[k, 1]
        if where >= 0:
            live.label[where] = what
        elif where >= -num_slots:
            live.size[-1 - where] = what
        else:
            live.free_labels[-1 - num_slots - where] = what
    live.counters[LOGGED] = 0


@kernel
def join(live: Live, one: int, other: int) -> bool:
    """Join the components of two slots under the larger one's label; say whether they differ."""
    if live.label[one] == live.label[other]:
        return False
    if live.size[live.label[one]] < live.size[live.label[other]]:
        absorb(live, one, live.label[other])
    else:
        absorb(live, other, live.label[one])
    return True


@kernel
def absorb(live: Live, start: int, label: int) -> None:
    """Give the component around a slot the label of another; its own becomes free."""
    old, num_slots = live.label[start], len(live.label)
    free = live.counters[FREE_LABELS]
    note(live, -1 - num_slots - free, live.free_labels[free])
    live.free_labels[free] = old
    live.counters[FREE_LABELS] = free + 1
    note(live, -1 - label, live.size[label])
    live.size[label] += live.size[old]
    note(live, start, old)
    live.label[start] = label
    live.near[0] = start
    done, found = 0, 1
    while done < found:
        half = live.head[live.near[done]]
        done += 1
        while half != NOTHING:
            slot = live.to[half]
            if live.label[slot] == old:
                note(live, slot, old)
                live.label[slot] = label
                live.near[found] = slot
                found += 1
            half = live.onward[half]


@kernel
def split(live: Live, one: int, other: int) -> bool:
    """Walk from two slots in turn; where one side ends before they meet, label it anew."""
    mine = live.counters[STAMP] + 1
    theirs = mine + 1
    live.counters[STAMP] = theirs
    live.mark[one], live.mark[other] = mine, theirs
    live.near[0], live.far[0] = one, other
    near_done, near_found, near_half = 1, 1, live.head[one]
    far_done, far_found, far_half = 1, 1, live.head[other]
    while True:
        if near_half != NOTHING:
            slot = live.to[near_half]
            near_half = live.onward[near_half]
            if live.mark[slot] == theirs:
                return False
            if live.mark[slot] != mine:
                live.mark[slot] = mine
                live.near[near_found] = slot
                near_found += 1
        elif near_done < near_found:
            near_half = live.head[live.near[near_done]]
            near_done += 1
        else:
            relabel(live, live.near, near_found)
            return True
        if far_half != NOTHING:
            slot = live.to[far_half]
            far_half = live.onward[far_half]
            if live.mark[slot] == mine:
                return False
            if live.mark[slot] != theirs:
                live.mark[slot] = theirs
                live.far[far_found] = slot
                far_found += 1
        elif far_done < far_found:
            far_half = live.head[live.far[far_done]]
            far_done += 1
        else:
            relabel(live, live.far, far_found)
            return True


@kernel
def relabel(live: Live, slots: IntArray, count: int) -> None:
    """Give slots that were cut off a label of their own."""
    live.counters[FREE_LABELS] -= 1
    fresh = live.free_labels[live.counters[FREE_LABELS]]
    old = live.label[slots[0]]
    note(live, -1 - old, live.size[old])
    live.size[old] -= count
    note(live, -1 - fresh, live.size[fresh])
    live.size[fresh] = count
    for k in range(count):
        note(live, slots[k], old)
        live.label[slots[k]] = fresh
