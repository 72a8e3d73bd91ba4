"""Compressed sparse rows: who follows what, as two flat arrays.

A CSR maps each row to its columns: those of row ``r`` are ``indices[indptr[r]:indptr[r + 1]]``,
ascending. Pairs arrive in any order; two stable counting sorts, first by column, then by row, put
them in place without comparing anything.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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


def build_csr(rows: IntArray, columns: IntArray, num_rows: int, num_columns: int) -> Csr:
    """Sort pairs into rows of ascending columns; duplicates stay, side by side.

    Costs two passes of counting sort, O(pairs + rows + columns), or one check where the pairs
    are sorted already. Ids must lie in range: the caller has checked.
    """
    indptr = count_offsets(rows, num_rows)
    if is_sorted_by_row(rows, columns):
        indices = np.ascontiguousarray(columns, dtype=np.int32).copy()
    else:
        column_offsets = count_offsets(columns, num_columns)
        by_column = scatter_rows(columns, rows, column_offsets)
        indices = transpose_indices(column_offsets, by_column, indptr)
    read_only(indptr)
    read_only(indices)
    return Csr(indptr, indices)


def transpose(csr: Csr, num_columns: int) -> Csr:
    """Turn rows into columns; the result's rows ascend as well."""
    indptr = count_offsets(csr.indices, num_columns)
    indices = transpose_indices(csr.indptr, csr.indices, indptr)
    read_only(indptr)
    read_only(indices)
    return Csr(indptr, indices)


def find_duplicate(csr: Csr) -> tuple[int, int] | None:
    """Return the first (row, column) that stands twice, or None."""
    position = first_repeat(csr.indptr, csr.indices)
    if position < 0:
        return None
    row = int(np.searchsorted(csr.indptr, position, side="right")) - 1
    return row, int(csr.indices[position])


@kernel
def count_offsets(keys, num_keys):  # type: ignore[no-untyped-def]
    """Where each key's run starts once ``keys`` are sorted: ``num_keys + 1`` offsets."""
    offsets = np.zeros(num_keys + 1, dtype=np.int64)
    for key in keys:
        offsets[key + 1] += 1
    for key in range(num_keys):
        offsets[key + 1] += offsets[key]
    return offsets


@kernel
def is_sorted_by_row(rows, columns):  # type: ignore[no-untyped-def]
    """Whether the pairs ascend by (row, column) already."""
    for i in range(1, len(rows)):
        if rows[i] < rows[i - 1] or (rows[i] == rows[i - 1] and columns[i] < columns[i - 1]):
            return False
    return True


@kernel
def scatter_rows(keys, values, offsets):  # type: ignore[no-untyped-def]
    """Stable counting sort of ``values`` by ``keys``; ``offsets`` is not changed."""
    cursor = offsets[:-1].copy()
    sorted_values = np.empty(len(values), dtype=np.int32)
    for i in range(len(keys)):
        key = keys[i]
        sorted_values[cursor[key]] = values[i]
        cursor[key] += 1
    return sorted_values


@kernel
def transpose_indices(indptr, indices, offsets):  # type: ignore[no-untyped-def]
    """Scatter each row's id to its columns; ``offsets`` are the transposed row starts."""
    cursor = offsets[:-1].copy()
    transposed = np.empty(len(indices), dtype=np.int32)
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            column = indices[i]
            transposed[cursor[column]] = row
            cursor[column] += 1
    return transposed


@kernel
def first_repeat(indptr, indices):  # type: ignore[no-untyped-def]
    """Position of the first entry equal to its left neighbour in the same row, or -1."""
    for row in range(len(indptr) - 1):
        for i in range(indptr[row] + 1, indptr[row + 1]):
            if indices[i] == indices[i - 1]:
                return i
    return -1


@kernel
def sum_rows(indptr, indices, values):  # type: ignore[no-untyped-def]
    """Sum ``values[column]`` over each row, in ascending column order."""
    sums = np.zeros(len(indptr) - 1, dtype=np.float64)
    for row in range(len(indptr) - 1):
        total = 0.0
        for i in range(indptr[row], indptr[row + 1]):
            total += values[indices[i]]
        sums[row] = total
    return sums
