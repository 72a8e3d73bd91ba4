"""Components of topics while slot links come and go.

:mod:`fanwise.connect.improving.overlay` tells what is kept of an overlay.
"""

from __future__ import annotations

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.connect.improving.overlay import (
    FREE_LABELS,
    LOGGED,
    STAMP,
    WORK,
    SlotLabels,
    SlotLinks,
)
from fanwise.connect.kernels import NOBODY


@kernel
def note(log: IntArray, counters: LongArray, where: int, what: int) -> None:
    """Note what stood somewhere before it changes; see :func:`take_back`.

    Changes ``log`` and ``counters``.
    """
    logged = counters[LOGGED]
    if logged < len(log):
        log[logged, 0], log[logged, 1] = where, what
    counters[LOGGED] = logged + 1


@kernel
def take_back(labels: SlotLabels, counters: LongArray) -> None:
    """Undo every change of labels, sizes and free labels that the log holds, last one first.

    Changes ``labels`` and ``counters``.
    """
    num_slots = len(labels.label)
    for k in range(counters[LOGGED] - 1, -1, -1):
        where, what = labels.log[k, 0], labels.log[k, 1]
        # One column for three arrays: a slot from 0 up, label k's size at -1 - k, and behind those
        # the free labels. Backwards, as an entry may have changed more than once.
        if where >= 0:
            labels.label[where] = what
        elif where >= -num_slots:
            labels.size[-1 - where] = what
        else:
            labels.free_labels[-1 - num_slots - where] = what
    counters[LOGGED] = 0


@kernel
def join(
    labels: SlotLabels, slot_links: SlotLinks, counters: LongArray, one: int, other: int
) -> None:
    """Join the components of two slots, which differ, under the label of the larger one.

    Changes ``labels`` and ``counters``.
    """
    label, size = labels.label, labels.size
    if size[label[one]] < size[label[other]]:
        absorb(labels, slot_links, counters, one, label[other])
    else:
        absorb(labels, slot_links, counters, other, label[one])


@kernel
def absorb(
    labels: SlotLabels, slot_links: SlotLinks, counters: LongArray, start: int, new: int
) -> None:
    """Give the component around a slot the label of another; its own becomes free.

    Changes ``labels`` and ``counters``.
    """
    log, label, walk = labels.log, labels.label, labels.walks[0]
    head, to, onward = slot_links.head, slot_links.to, slot_links.onward
    old, free = label[start], counters[FREE_LABELS]
    # Everything that changes is noted first; see :func:`take_back`.
    note(log, counters, -1 - len(label) - free, labels.free_labels[free])
    labels.free_labels[free] = old
    counters[FREE_LABELS] = free + 1
    note(log, counters, -1 - new, labels.size[new])
    labels.size[new] += labels.size[old]
    note(log, counters, start, old)
    label[start] = new
    walk[0] = start
    done, found = 0, 1
    while done < found:
        half = head[walk[done]]
        done += 1
        while half != NOBODY:
            slot = to[half]
            if label[slot] == old:
                note(log, counters, slot, old)
                label[slot] = new
                walk[found] = slot
                found += 1
            half = onward[half]


@kernel
def split(
    labels: SlotLabels, slot_links: SlotLinks, counters: LongArray, one: int, other: int
) -> bool:
    """Walk from two slots in turn; where one side ends before they meet, label it anew.

    Returns whether they are apart. Changes ``labels`` and ``counters``.
    """
    head, to, onward = slot_links.head, slot_links.to, slot_links.onward
    mark, walks = labels.mark, labels.walks
    # Two stamps for each call, higher than any before: marks never have to be cleared.
    stamp = counters[STAMP] + 1
    counters[STAMP] = stamp + 1
    mark[one], mark[other] = stamp, stamp + 1
    walks[0, 0], walks[1, 0] = one, other
    # Of the slots that a walk found, some are done; ``half`` is the half link that it follows next.
    side, done, found, half = 0, 1, 1, head[one]
    other_done, other_found, other_half = 1, 1, head[other]
    while True:
        if half != NOBODY:
            slot = to[half]
            half = onward[half]
            # Met by the walk from the other end: still one component.
            if mark[slot] == stamp + 1 - side:
                counters[WORK] += done + other_done
                return False
            if mark[slot] != stamp + side:
                mark[slot] = stamp + side
                walks[side, found] = slot
                found += 1
        elif done < found:
            half = head[walks[side, done]]
            done += 1
        else:
            counters[WORK] += done + other_done
            relabel(labels, counters, walks[side, :found])
            return True
        # A step on each side in turn, so that both walks together take twice the smaller side at
        # most, however large the other one is.
        side = 1 - side
        done, other_done = other_done, done
        found, other_found = other_found, found
        half, other_half = other_half, half


@kernel
def relabel(labels: SlotLabels, counters: LongArray, slots: IntArray) -> None:
    """Give slots that were cut off a label of their own. Changes ``labels`` and ``counters``."""
    log, label, size = labels.log, labels.label, labels.size
    counters[FREE_LABELS] -= 1
    fresh = labels.free_labels[counters[FREE_LABELS]]
    old = label[slots[0]]
    note(log, counters, -1 - old, size[old])
    size[old] -= len(slots)
    note(log, counters, -1 - fresh, size[fresh])
    size[fresh] = len(slots)
    for k in range(len(slots)):
        note(log, counters, slots[k], old)
        label[slots[k]] = fresh
