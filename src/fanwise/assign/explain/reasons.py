"""What keeps each subscriber on its broker, and by how much filters would grow on another one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.assign.arrays import AssignmentArrays, Filters
from fanwise.assign.greedy_kernels import GreedyState, grow_path, holds_box

LATE, ONLY, OTHERS_FULL, FREE, DEARER, NOTHING = range(6)
REASONS = {
    LATE: "late",
    ONLY: "only",
    OTHERS_FULL: "others_full",
    FREE: "free_to_move",
    DEARER: "dearer_elsewhere",
    NOTHING: "wants_nothing",
}
WORDS = {
    LATE: "late: no broker in time, or none with room",
    ONLY: "on the only broker in time",
    OTHERS_FULL: "all other brokers in time are full",
    FREE: "another broker with room holds what they want as well",
    DEARER: "elsewhere filters would have to grow",
    NOTHING: "want nothing",
}


@kernel
def find_reasons(
    arrays: AssignmentArrays,
    filters: Filters,
    broker_of_subscriber: IntArray,
    loads: LongArray,
    limits: LongArray,
) -> npt.NDArray[np.int8]:
    """Return what keeps each subscriber where it is, the first that applies. Changes nothing."""
    reasons = np.empty(len(broker_of_subscriber), dtype=np.int8)
    for j in range(len(broker_of_subscriber)):
        mine = broker_of_subscriber[j]
        in_time, others, open_others, holding = False, 0, 0, 0
        for pair in range(arrays.indptr[j], arrays.indptr[j + 1]):
            broker = arrays.brokers[pair]
            if broker == mine:
                in_time = True
            elif arrays.share[broker] > 0:
                others += 1
                if loads[broker] < limits[broker]:
                    open_others += 1
                    if holds_box(arrays, filters, broker, j):
                        holding += 1
        if not in_time:
            reasons[j] = LATE
        elif others == 0:
            reasons[j] = ONLY
        elif open_others == 0:
            reasons[j] = OTHERS_FULL
        elif arrays.lo[j, 0] > arrays.hi[j, 0]:
            reasons[j] = NOTHING
        elif holding > 0:
            reasons[j] = FREE
        else:
            reasons[j] = DEARER
    return reasons


@kernel
def count_only_choices(arrays: AssignmentArrays) -> LongArray:
    """Return by broker how many have it as their only one in time with a share. Changes nothing."""
    counts = np.zeros(len(arrays.parent), dtype=np.int64)
    for j in range(len(arrays.lo)):
        number, last = 0, -1
        for pair in range(arrays.indptr[j], arrays.indptr[j + 1]):
            if arrays.share[arrays.brokers[pair]] > 0:
                number += 1
                last = arrays.brokers[pair]
        if number == 1:
            counts[last] += 1
    return counts


def growths(arrays: AssignmentArrays, filters: Filters, j: int, brokers: IntArray) -> list[float]:
    """Return by how much filters would grow, up to the publisher, with a subscriber elsewhere."""
    slots = filters.lo.shape[1]
    state = GreedyState(
        np.empty(0, dtype=np.int32),
        np.empty(0, dtype=np.int64),
        filters,
        np.empty((0, 0), dtype=np.int64),
        np.zeros(3, dtype=np.int64),
        np.empty((2, arrays.event_dims)),
        arrays.scratch(slots),
    )
    return [float(grow_path(arrays, state, int(b), j, np.inf, False)) for b in brokers]
