"""The rows of an allocation in chunks, as they stand or in order, however many there are.

Rows that have to come in another order are thrown on piles, each of which fits in memory: piles are
arrays, or files where there are too many rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.provision.streamed.scratch import Scratch

CHUNK = 1 << 20
ROWS_PER_PILE = 1 << 22
MOST_PILES = 200
ROWS_IN_MEMORY = 1 << 26
"""Piles of more rows than this are files."""
MOST_CELLS = 1 << 22
KEYS = ("vm", "topic", "subscriber")

Ids = npt.NDArray[Any]
Longs = npt.NDArray[np.int64]
Table = npt.NDArray[np.int32]


class Chunk(NamedTuple):
    """Some rows, by column."""

    vm: Ids
    topic: Ids
    subscriber: Ids


class Row(NamedTuple):
    """One row and its number, from 0."""

    number: int
    vm: int
    topic: int
    subscriber: int


class AllocationRows:
    """The rows of an allocation.

    Parameters
    ----------
    read
        Called with names of columns and a number of rows: yields batches of at most as many rows,
        from the first row to the last.
    num_rows
        How many rows there are.
    """

    def __init__(
        self, read: Callable[[Sequence[str], int], Iterator[pa.RecordBatch]], num_rows: int
    ) -> None:
        self._read = read
        self.num_rows = num_rows

    @classmethod
    def of_table(cls, table: pa.Table) -> AllocationRows:
        """Return the rows of a table in memory."""

        def read(columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
            yield from table.select(list(columns)).to_batches(max_chunksize=size)

        return cls(read, table.num_rows)

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows as they stand."""
        for batch in self._read(KEYS, CHUNK):
            if batch.num_rows:
                yield Chunk(*(batch.column(name).to_numpy(zero_copy_only=False) for name in KEYS))

    def columns(self, name: str) -> Iterator[Ids]:
        """Yield one column, sorted by machine, topic and subscriber."""
        if self.is_sorted:
            for batch in self._read((name,), CHUNK):
                yield batch.column(name).to_numpy(zero_copy_only=False)
        else:
            for chunk in self.ordered():
                yield getattr(chunk, name)

    def ordered(self) -> Iterator[Chunk]:
        """Yield the rows sorted by machine, topic and subscriber; their ids must be known ones."""
        if self.is_sorted:
            yield from self.chunks()
        else:
            for pile in range(self._piles.num_piles):
                rows = self._piles.take(pile)
                if len(rows):
                    yield Chunk(*rows.T)

    @cached_property
    def is_sorted(self) -> bool:
        """Whether rows stand sorted by machine, topic and subscriber."""
        before = Chunk(*(np.zeros(1, dtype=np.int64) - 1 for _ in KEYS))
        for chunk in self.chunks():
            joined = Chunk(*(np.concatenate(pair) for pair in zip(before, chunk, strict=True)))
            undecided = np.ones(len(chunk.vm), dtype=bool)
            for ids in joined:
                if np.any(ids[1:][undecided] < ids[:-1][undecided]):
                    return False
                undecided &= ids[1:] == ids[:-1]
            before = Chunk(*(ids[-1:] for ids in chunk))
        return True

    @cached_property
    def _piles(self) -> Piles:
        """The rows on piles: machines and topics ascend from pile to pile, rows in each."""
        num_vms = max(int(chunk.vm.max()) for chunk in self.chunks()) + 1
        num_topics = max(int(chunk.topic.max()) for chunk in self.chunks()) + 1
        num_ranges = max(1, min(num_topics, MOST_CELLS // num_vms))
        width = -(-num_topics // num_ranges)

        def cells(chunk: Chunk) -> Longs:
            found: Longs = chunk.vm.astype(np.int64) * num_ranges + chunk.topic // width
            return found

        counts = np.zeros(num_vms * num_ranges, dtype=np.int64)
        for chunk in self.chunks():
            counts += np.bincount(cells(chunk), minlength=len(counts))
        pile_of_cell = (np.cumsum(counts) - counts) // pile_size(self.num_rows)
        piles = Piles(int(pile_of_cell[-1]) + 1, len(KEYS), self.num_rows)
        for chunk in self.chunks():
            piles.throw(pile_of_cell[cells(chunk)], np.column_stack(chunk))
        for pile in range(piles.num_piles):
            rows = piles.take(pile)
            piles.put(pile, rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))])
        return piles

    def find(self, is_it: Callable[[Chunk], npt.NDArray[np.bool_]], after: int = 0) -> Row:
        """Return the first row for which this holds, leaving out the first ``after`` of them."""
        start = 0
        for chunk in self.chunks():
            found = np.flatnonzero(is_it(chunk))
            if after < len(found):
                index = int(found[after])
                return Row(start + index, *(int(ids[index]) for ids in chunk))
            after -= len(found)
            start += len(chunk.vm)
        raise ValueError("there is no such row")


def pile_size(num_rows: int) -> int:
    """Return how many rows a pile has."""
    return max(ROWS_PER_PILE, -(-num_rows // MOST_PILES))


class Piles:
    """Rows of ``width`` numbers on piles, each in the order they were thrown."""

    def __init__(self, num_piles: int, width: int, num_rows: int) -> None:
        self.num_piles = num_piles
        self._width = width
        self._arrays: list[list[Table]] = [[] for _ in range(num_piles)]
        self._scratch = Scratch(None) if num_rows > ROWS_IN_MEMORY else None

    def throw(self, pile: Ids, rows: Ids) -> None:
        """Throw each row on its pile."""
        pile = pile.astype(np.uint16)  # few values: sorted by counting
        rows = rows.astype(np.int32, copy=False)[np.argsort(pile, kind="stable")]
        ends = np.cumsum(np.bincount(pile, minlength=self.num_piles)).tolist()
        for i, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            if start == end:
                continue
            if self._scratch is None:
                self._arrays[i].append(rows[start:end])
            else:
                with _file(self._scratch, i).open("ab") as file:
                    rows[start:end].tofile(file)

    def take(self, pile: int) -> Table:
        """Return a pile."""
        if self._scratch is None:
            none: Table = np.zeros((0, self._width), dtype=np.int32)
            return np.concatenate([none, *self._arrays[pile]])
        file = _file(self._scratch, pile)
        numbers = np.fromfile(file, np.int32) if file.exists() else np.zeros(0, dtype=np.int32)
        return numbers.reshape(-1, self._width)

    def put(self, pile: int, rows: Table) -> None:
        """Replace a pile."""
        if self._scratch is None:
            self._arrays[pile] = [rows]
        else:
            rows.tofile(_file(self._scratch, pile))

    def close(self) -> None:
        """Throw everything away."""
        self._arrays = []
        if self._scratch is not None:
            self._scratch.close()


def _file(scratch: Scratch, pile: int) -> Path:
    return scratch.folder / f"pile-{pile:05d}.bin"
