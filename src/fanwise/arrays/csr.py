"""Compressed sparse rows: who follows what, as two flat arrays.

A CSR maps each row to its columns: those of row ``r`` are ``indices[indptr[r]:indptr[r + 1]]``,
ascending.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.counting_sort import sort_pairs, sort_transposed
from fanwise.arrays.jit import kernel

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


class Csr(NamedTuple):
    """Rows of ascending column ids."""

    indptr: LongArray
    indices: IntArray

    @property
    def num_rows(self) -> int:
        return len(self.indptr) - 1


def read_only(array: npt.NDArray[np.generic]) -> None:
    """Make an array refuse writes."""
    array.flags.writeable = False


def build_csr(rows: IntArray, columns: IntArray, num_rows: int) -> Csr:
    """Sort pairs into rows of ascending columns; duplicates stay, side by side.

    O(pairs + rows) for rows of bounded length, and one look where the pairs are sorted already.
    Ids must lie in range: the caller has checked.
    """
    if is_sorted(rows, columns):
        indptr, indices = count_offsets(rows, num_rows), columns.copy()
    else:
        indptr, indices = sort_pairs(rows, columns, num_rows)
    return _sealed(indptr, indices)


def transpose(csr: Csr, num_columns: int) -> Csr:
    """Turn rows into columns; the result's rows ascend as well. O(pairs + columns)."""
    return _sealed(*sort_transposed(csr.indptr, csr.indices, num_columns))


def take_rows(csr: Csr, rows: npt.NDArray[np.integer]) -> Csr:
    """Return some rows of a CSR, in the order given; a row may be taken more than once."""
    return take_ranges(csr.indices, csr.indptr[:-1][rows], csr.indptr[1:][rows])


def take_ranges(values: IntArray, first: LongArray, end: LongArray) -> Csr:
    """Return ``values[first[r]:end[r]]`` as row r; ranges may overlap, and come in any order."""
    lengths = end - first
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Csr(indptr, np.ascontiguousarray(values[list_ranges(first, lengths)]))


def list_ranges(first: LongArray, lengths: LongArray) -> LongArray:
    """Return the numbers of ranges in a row: from ``first[r]``, ``lengths[r]`` numbers of each."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(first - before, lengths) + np.arange(lengths.sum())


def row_of_entries(indptr: LongArray) -> IntArray:
    """Return the row that each entry of a CSR is in."""
    return np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))


def find_duplicate(csr: Csr) -> tuple[int, int] | None:
    """Return the first (row, column) that stands twice, or None."""
    position = first_repeat(csr.indptr, csr.indices)
    if position < 0:
        return None
    row = int(np.searchsorted(csr.indptr, position, side="right")) - 1
    return row, int(csr.indices[position])


def _sealed(indptr: LongArray, indices: IntArray) -> Csr:
    read_only(indptr)
    read_only(indices)
    return Csr(indptr, indices)


@kernel
def is_sorted(rows: IntArray, columns: IntArray) -> bool:
    """Whether the pairs ascend by (row, column) already. Changes nothing."""
    for i in range(1, len(rows)):
        if rows[i] < rows[i - 1] or (rows[i] == rows[i - 1] and columns[i] < columns[i - 1]):
            return False
    return True


@kernel
def count_offsets(rows: IntArray, num_rows: int) -> LongArray:
    """Return where each row starts once ``rows`` are sorted: ``num_rows + 1`` offsets.

    Changes nothing.
    """
    offsets = np.zeros(num_rows + 1, dtype=np.int64)
    for row in rows:
        offsets[row + 1] += 1
    for row in range(num_rows):
        offsets[row + 1] += offsets[row]
    return offsets


@kernel
def scatter_rows(keys: IntArray, values: IntArray, offsets: LongArray) -> IntArray:
    """Stable counting sort of ``values`` by ``keys``, whose runs start at ``offsets``.

    Changes nothing.
    """
    cursor = offsets[:-1].copy()
    ordered = np.empty(len(values), dtype=np.int32)
    for i in range(len(keys)):
        ordered[cursor[keys[i]]] = values[i]
        cursor[keys[i]] += 1
    return ordered


@kernel
def first_repeat(indptr: LongArray, indices: IntArray) -> int:
    """Position of the first entry equal to its left neighbour in the same row, or -1.

    Changes nothing.
    """
    for row in range(len(indptr) - 1):
        for i in range(indptr[row] + 1, indptr[row + 1]):
            if indices[i] == indices[i - 1]:
                return i
    return -1


@kernel
def sum_rows(indptr: LongArray, indices: IntArray, values: FloatArray) -> FloatArray:
    """Sum ``values[column]`` over each row, in ascending column order. Changes nothing."""
    sums = np.zeros(len(indptr) - 1, dtype=np.float64)
    for row in range(len(indptr) - 1):
        total = 0.0
        for i in range(indptr[row], indptr[row + 1]):
            total += values[indices[i]]
        sums[row] = total
    return sums
