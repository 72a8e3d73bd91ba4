"""A priority queue of topics: packed integers, one sorted run and a four-way heap.

An entry packs a float32 key above the complement of a topic id, so that one comparison of unsigned
integers orders by key, largest first, and then by id, smallest first. Keys start as one sorted run;
what changes later goes to a heap. Entries are never deleted: an entry counts only while its key is
the one on record for its topic.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.jit import kernel

Entries = npt.NDArray[np.uint64]

LARGEST_KEY = np.float32(np.finfo(np.float32).max)
SMALLEST_KEY = np.float32(np.finfo(np.float32).tiny)


@kernel
def make_key(benefit: float, cost: float) -> np.float32:
    """Benefit per cost to seven digits; 0 only where nothing is gained, infinite where it is free.

    Changes nothing.

    Ratios that agree to seven digits tie, and ties go to the smaller id: rounding in sums of shares
    decides nothing.
    """
    if benefit <= 0:
        return np.float32(0.0)
    if cost <= 0:
        return np.float32(np.inf)
    ratio = benefit / cost
    return np.float32(min(max(ratio, float(SMALLEST_KEY)), float(LARGEST_KEY)))


@kernel
def pack_entry(key: np.float32, topic: int) -> np.uint64:
    """Pack a key and a topic into one comparable integer. Changes nothing."""
    bits = np.uint64(np.float32(key).view(np.uint32))
    return (bits << np.uint64(32)) | np.uint64(0xFFFFFFFF - int(topic))


@kernel
def entry_topic(entry: np.uint64) -> int:
    """Return the topic of an entry. Changes nothing."""
    return 0xFFFFFFFF - int(entry & np.uint64(0xFFFFFFFF))


@kernel
def entry_key(entry: np.uint64) -> np.float32:
    """Return the key of an entry. Changes nothing."""
    return np.uint32(entry >> np.uint64(32)).view(np.float32)


@kernel
def lift_entry(heap: Entries, position: int, entry: np.uint64) -> None:
    """Put an entry into a heap at ``position``, the end, or above it.

    Changes ``heap``.
    """
    while position > 0:
        parent = (position - 1) >> 2
        if heap[parent] >= entry:
            break
        heap[position] = heap[parent]
        position = parent
    heap[position] = entry


@kernel
def push_entry(heap: Entries, size: int, entry: np.uint64) -> Entries:
    """Add an entry to a heap of ``size`` entries; return the heap, larger if it was full.

    Changes ``heap``, unless it was full.
    """
    if size == len(heap):
        larger = np.empty(2 * size, dtype=np.uint64)
        larger[:size] = heap
        heap = larger
    lift_entry(heap, size, entry)
    return heap


@kernel
def drop_first(heap: Entries, size: int) -> None:
    """Remove the largest entry; ``size`` entries remain.

    Changes ``heap``.
    """
    entry = heap[size]
    position = 0
    while True:
        child = 4 * position + 1
        if child >= size:
            break
        largest = child
        for other in range(child + 1, min(child + 4, size)):
            if heap[other] > heap[largest]:
                largest = other
        if heap[largest] <= entry:
            break
        heap[position] = heap[largest]
        position = largest
    heap[position] = entry
