"""Kernels on blocks: placing chosen pairs in the allocation, pricing what is too long.

No kernel changes an array that it is given, but for those that it says it changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.provision.pairs.cover_kernels import Workspace, cheapest_cover


class Cursors(NamedTuple):
    """By topic: the part being filled, its next row, and how many pairs it still takes."""

    part: LongArray
    row: LongArray
    left: LongArray


@kernel
def add_counts(topics: IntArray, counts: LongArray) -> None:
    """Count topics, on top of what is counted already. Changes ``counts``."""
    for topic in topics:
        counts[topic] += 1


@kernel
def find_rows(
    topics: IntArray, cursors: Cursors, first_row: LongArray, num_pairs: LongArray
) -> LongArray:
    """Return the row of each pair in the allocation sorted by machine, topic and subscriber.

    Parts are in the order of topic and machine. Pairs come in ascending order of subscribers, so
    those of a topic fill its machines one after the other. Changes ``cursors``.
    """
    rows = np.empty(len(topics), dtype=np.int64)
    for i in range(len(topics)):
        topic = topics[i]
        while cursors.left[topic] == 0:
            cursors.part[topic] += 1
            cursors.row[topic] = first_row[cursors.part[topic]]
            cursors.left[topic] = num_pairs[cursors.part[topic]]
        rows[i] = cursors.row[topic]
        cursors.row[topic] += 1
        cursors.left[topic] -= 1
    return rows


@kernel
def sort_by_shelf(
    rows: LongArray, subscribers: IntArray, rows_per_shelf: int, num_shelves: int
) -> tuple[LongArray, IntArray]:
    """Sort pairs by shelf; return where each shelf starts, and row within it and subscriber.

    Changes nothing.
    """
    offsets = np.zeros(num_shelves + 1, dtype=np.int64)
    for row in rows:
        offsets[row // rows_per_shelf + 1] += 1
    for shelf in range(num_shelves):
        offsets[shelf + 1] += offsets[shelf]
    cursor = offsets[:-1].copy()
    entries = np.empty((len(rows), 2), dtype=np.int32)
    for i in range(len(rows)):
        shelf = rows[i] // rows_per_shelf
        entries[cursor[shelf], 0] = rows[i] - shelf * rows_per_shelf
        entries[cursor[shelf], 1] = subscribers[i]
        cursor[shelf] += 1
    return offsets, entries


@kernel
def keep_short_rows(
    enough: FloatArray,
    indptr: LongArray,
    topics: IntArray,
    rates: FloatArray,
    prices: FloatArray,
    short: int,
    workspace: Workspace,
) -> tuple[float, npt.NDArray[np.bool_], IntArray]:
    """Price rows with more than ``short`` topics at least; return that, and what is kept.

    What is kept: whether each row is, and the topics of those that are. Changes ``workspace``.
    """
    is_kept = np.zeros(len(enough), dtype=np.bool_)
    kept = np.empty(len(topics), dtype=np.int32)
    items = np.empty((2, len(workspace.order)))
    num_kept = 0
    price = 0.0
    for row in range(len(enough)):
        first, last = indptr[row], indptr[row + 1]
        count = last - first
        if count <= short:
            is_kept[row] = True
            kept[num_kept : num_kept + count] = topics[first:last]
            num_kept += count
            continue
        for i in range(count):
            items[0, i] = rates[topics[first + i]]
            items[1, i] = prices[topics[first + i]]
        _, least = cheapest_cover(items[0, :count], items[1, :count], enough[row], workspace)
        price += least
    return price, is_kept, kept[:num_kept].copy()
