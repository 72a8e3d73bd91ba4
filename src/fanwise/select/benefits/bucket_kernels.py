"""A priority queue of very many entries, few of which are near the top.

Entries (see :mod:`fanwise.select.benefits.queue_kernels`) whose leading bits reach a *floor* stand
in a small heap. All others wait in lists, one for each value of the leading bits, and cost nothing
until the floor comes down to them; most are out of date by then.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import IntArray
from fanwise.arrays.jit import kernel
from fanwise.select.benefits.queue_kernels import Entries, entry_key, entry_topic, lift_entry

Keys = npt.NDArray[np.float32]

NUM_BUCKETS = 1 << 15
"""Keys are not negative: 15 bits after the sign make steps of less than one percent."""


class Queue(NamedTuple):
    """Memory for a heap, and lists of waiting entries (0: moved on)."""

    heap: Entries
    waiting: Entries
    link: IntArray
    first: IntArray


def empty_queue(num_topics: int) -> Queue:
    """Return a queue that holds all entries that may count at once, twice."""
    length = 2 * num_topics
    return Queue(
        heap=np.empty(length, dtype=np.uint64),
        waiting=np.empty(length, dtype=np.uint64),
        link=np.empty(length, dtype=np.int32),
        first=np.full(NUM_BUCKETS, -1, dtype=np.int32),
    )


@kernel
def bucket_of(entry: np.uint64) -> int:
    """Return the leading bits of an entry. Changes nothing."""
    return int(entry >> np.uint64(48))


@kernel
def tidy_heap(heap: Entries, size: int, keys: Keys) -> int:
    """Keep one entry of each topic whose key is on record; return how many.

    Changes ``heap``.
    """
    is_kept = np.zeros(len(keys), dtype=np.bool_)
    kept = 0
    for i in range(size):
        entry = heap[i]
        topic = entry_topic(entry)
        if entry_key(entry) == keys[topic] and not is_kept[topic]:
            is_kept[topic] = True
            lift_entry(heap, kept, entry)
            kept += 1
    return kept


@kernel
def tidy_waiting(waiting: Entries, link: IntArray, first: IntArray, size: int, keys: Keys) -> int:
    """Keep one waiting entry of each topic whose key is on record; return how many.

    Changes ``waiting``, ``link`` and ``first``.
    """
    is_kept = np.zeros(len(keys), dtype=np.bool_)
    first[:] = -1
    kept = 0
    for i in range(size):
        entry = waiting[i]
        topic = entry_topic(entry)
        if entry != 0 and entry_key(entry) == keys[topic] and not is_kept[topic]:
            is_kept[topic] = True
            bucket = bucket_of(entry)
            waiting[kept] = entry
            link[kept] = first[bucket]
            first[bucket] = kept
            kept += 1
    return kept


@kernel
def free_entries(
    queue: Queue, heap_size: int, num_waiting: int, keys: Keys, needed: int
) -> tuple[int, int]:
    """Free slots for some entries, at most one of each topic; return the new sizes.

    Changes ``queue``.

    Of all entries of a topic one counts, so there are enough once the others are dropped; that
    costs constant time per entry on average.
    """
    heap, waiting, link, first = queue
    if heap_size + needed > len(heap):
        heap_size = tidy_heap(heap, heap_size, keys)
    if num_waiting + needed > len(waiting):
        num_waiting = tidy_waiting(waiting, link, first, num_waiting, keys)
    return heap_size, num_waiting


@kernel
def wait_entry(
    waiting: Entries, link: IntArray, first: IntArray, position: int, entry: np.uint64
) -> None:
    """Put an entry into its list; ``position`` is the next that is free.

    Changes ``waiting``, ``link`` and ``first``.
    """
    bucket = bucket_of(entry)
    waiting[position] = entry
    link[position] = first[bucket]
    first[bucket] = position


@kernel
def lower_floor(
    heap: Entries,
    waiting: Entries,
    link: IntArray,
    first: IntArray,
    keys: Keys,
    floor: int,
    bucket: int,
) -> tuple[int, int]:
    """Move waiting entries to the empty heap, down to a bucket or until the heap has any.

    Changes ``heap``, ``waiting`` and ``first``.

    Returns
    -------
    floor, heap_size
    """
    size = 0
    while floor > bucket and size == 0:
        floor -= 1
        position = first[floor]
        first[floor] = -1
        while position >= 0:
            entry = waiting[position]
            waiting[position] = 0
            if entry_key(entry) == keys[entry_topic(entry)]:
                lift_entry(heap, size, entry)
                size += 1
            position = link[position]
    return floor, size
