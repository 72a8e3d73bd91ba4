"""The allocation on disk, sorted by machine, topic and subscriber without being in memory.

Which row a pair gets is known as soon as it is met: parts of topics on machines have their places,
and subscribers come in ascending order. Rows are cut into shelves. Pairs are thrown on a pile for
their shelf, a file each; then one pile after the other is put in order and becomes a part file of
the table. Each pair is written and read once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fanwise.arrays.csr import Csr, IntArray, LongArray
from fanwise.progress import Progress
from fanwise.provision.machines.packing import Packing
from fanwise.provision.streamed.kernels import Cursors, find_rows, sort_by_shelf
from fanwise.provision.streamed.source import blocks

ROWS_PER_SHELF = 8_000_000
MOST_SHELVES = 200
"""Piles are open files; there may not be too many."""


class Layout(NamedTuple):
    """Where the parts of a packing stand among the rows, by machine and topic.

    Attributes
    ----------
    vm, topic, num_pairs
        By part.
    first_row
        By part, and one more: its first row.
    """

    vm: IntArray
    topic: IntArray
    num_pairs: LongArray
    first_row: LongArray

    @property
    def num_rows(self) -> int:
        return int(self.first_row[-1])

    def spread(self, values: IntArray, start: int, end: int) -> IntArray:
        """Repeat a part's value for each of its rows, for the rows from ``start`` to ``end``."""
        first = int(np.searchsorted(self.first_row, start, side="right")) - 1
        last = int(np.searchsorted(self.first_row, end, side="left"))
        bounds = np.clip(self.first_row[first : last + 1], start, end)
        return np.repeat(values[first:last], np.diff(bounds))

    def columns(self, subscribers: Iterable[IntArray]) -> dict[str, Iterable[IntArray]]:
        """Return the columns of the table in pieces, given the subscribers in order."""
        pieces = shelves(self.num_rows)
        return {
            "subscriber": subscribers,
            "topic": (self.spread(self.topic, *piece) for piece in pieces),
            "vm": (self.spread(self.vm, *piece) for piece in pieces),
        }


def lay_out(packing: Packing) -> Layout:
    """Put parts in the order of their rows."""
    order = np.lexsort((packing.topic, packing.vm))
    num_pairs = packing.num_pairs[order]
    first_row = np.zeros(len(order) + 1, dtype=np.int64)
    np.cumsum(num_pairs, out=first_row[1:])
    return Layout(packing.vm[order], packing.topic[order], num_pairs, first_row)


def shelves(num_rows: int) -> list[tuple[int, int]]:
    """Cut rows into shelves: first row and end of each."""
    size = shelf_size(num_rows)
    return [(start, min(start + size, num_rows)) for start in range(0, num_rows, size)]


def shelf_size(num_rows: int) -> int:
    """Return how many rows a shelf has."""
    return max(ROWS_PER_SHELF, -(-num_rows // MOST_SHELVES))


def pile_up(pairs: Csr, layout: Layout, num_topics: int, folder: Path, progress: Progress) -> None:
    """Throw every pair on the pile of its shelf."""
    piles = shelves(layout.num_rows)
    order = np.lexsort((layout.vm, layout.topic))
    first_row, num_pairs = layout.first_row[:-1][order], layout.num_pairs[order]
    cursors = Cursors(
        np.searchsorted(layout.topic[order], np.arange(num_topics)) - 1,
        np.zeros(num_topics, dtype=np.int64),
        np.zeros(num_topics, dtype=np.int64),
    )
    with ExitStack() as stack, progress.step("placing pairs", float(layout.num_rows)) as step:
        files = [stack.enter_context(_pile(folder, i).open("wb")) for i in range(len(piles))]
        for block in blocks(pairs):
            degrees = np.diff(block.rows.indptr)
            subscribers = np.repeat(np.arange(block.first, block.last, dtype=np.int32), degrees)
            rows = find_rows(block.rows.indices, cursors, first_row, num_pairs)
            offsets, entries = sort_by_shelf(
                rows, subscribers, shelf_size(layout.num_rows), len(piles)
            )
            for i, file in enumerate(files):
                entries[offsets[i] : offsets[i + 1]].tofile(file)
            step.advance(len(rows))


def write_parts(layout: Layout, piles: Path, folder: Path, progress: Progress) -> Iterator[Any]:
    """Turn piles into part files, one after the other; yield the subscribers of each."""
    with progress.step("writing the allocation", float(layout.num_rows)) as step:
        for i, (start, end) in enumerate(shelves(layout.num_rows)):
            pile = _pile(piles, i)
            entries = np.fromfile(pile, dtype=np.int32).reshape(-1, 2)
            pile.unlink()
            subscribers = np.empty(end - start, dtype=np.int32)
            subscribers[entries[:, 0]] = entries[:, 1]
            del entries
            write_part(layout, start, end, subscribers, folder / f"part-{i:05d}.parquet")
            step.advance(end - start)
            yield subscribers
    if layout.num_rows == 0:
        write_part(layout, 0, 0, np.zeros(0, dtype=np.int32), folder / "part-00000.parquet")


def write_part(layout: Layout, start: int, end: int, subscribers: IntArray, file: Path) -> None:
    """Write the rows from ``start`` to ``end`` of the table."""
    table = pa.table(
        {
            "vm": layout.spread(layout.vm, start, end),
            "topic": layout.spread(layout.topic, start, end),
            "subscriber": subscribers,
        }
    )
    pq.write_table(table, file, compression="snappy")


def _pile(folder: Path, shelf: int) -> Path:
    return folder / f"pile-{shelf:05d}.bin"
