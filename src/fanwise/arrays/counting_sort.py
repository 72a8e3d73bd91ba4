"""Counting sort of (row, column) pairs in two steps that stay within the processor's caches.

Scattering 100 million pairs straight to their rows misses the cache on nearly every write. Here
pairs first go to a few hundred buckets of neighbouring rows, each written from start to end; then
each bucket, small enough for the cache, is sorted on its own. Both steps run on threads: kernels
hold no interpreter lock and write to disjoint stretches, so the result does not depend on how many.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from fanwise.arrays.jit import kernel
from fanwise.arrays.threads import cut_rows, in_threads

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

MAX_BUCKETS = 512
"""One cache line each: more would push each other out of the first-level cache."""
CHUNKS = 16
"""Pieces the input is cut into for threads; a constant, so that memory does not depend on them."""


def sort_pairs(rows: IntArray, columns: IntArray, num_rows: int) -> tuple[LongArray, IntArray]:
    """Sort pairs by row, then by column; duplicates stay, side by side."""
    cuts = np.linspace(0, len(rows), CHUNKS + 1).astype(np.int64)
    shift = bucket_shift(num_rows)
    num_buckets = (max(num_rows, 1) - 1 >> shift) + 1
    chunks = list(pairwise(cuts))
    counts = in_threads(
        lambda chunk: count_buckets(rows[chunk[0] : chunk[1]], shift, num_buckets), chunks
    )
    starts, bucket_starts = _bucket_starts(counts)
    packed = np.empty(len(rows), dtype=np.int64)
    in_threads(
        lambda job: scatter_pairs(
            rows[job[0][0] : job[0][1]], columns[job[0][0] : job[0][1]], shift, job[1], packed
        ),
        zip(chunks, starts, strict=True),
    )
    return _sort_buckets(packed, bucket_starts, shift, num_rows, sort_columns=True)


def sort_transposed(
    indptr: LongArray, indices: IntArray, num_columns: int
) -> tuple[LongArray, IntArray]:
    """Turn a CSR's rows into columns; each new row ascends."""
    chunks = cut_rows(indptr, CHUNKS)
    shift = bucket_shift(num_columns)
    num_buckets = (max(num_columns, 1) - 1 >> shift) + 1
    counts = in_threads(
        lambda chunk: count_buckets(
            indices[indptr[chunk[0]] : indptr[chunk[1]]], shift, num_buckets
        ),
        chunks,
    )
    starts, bucket_starts = _bucket_starts(counts)
    packed = np.empty(len(indices), dtype=np.int64)
    in_threads(
        lambda job: scatter_transposed(
            indptr, indices, job[0][0], job[0][1], shift, job[1], packed
        ),
        zip(chunks, starts, strict=True),
    )
    # Rows were visited in ascending order and counting sort is stable: nothing left to sort.
    return _sort_buckets(packed, bucket_starts, shift, num_columns, sort_columns=False)


def bucket_shift(num_rows: int) -> int:
    """Return how many low bits to drop so that ids fall into at most ``MAX_BUCKETS`` buckets."""
    return max(0, (max(num_rows, 1) - 1).bit_length() - MAX_BUCKETS.bit_length() + 1)


def _bucket_starts(counts: list[LongArray]) -> tuple[list[LongArray], LongArray]:
    """Return where each chunk starts writing in each bucket, and where each bucket starts."""
    table = np.stack(counts)
    bucket_starts = np.concatenate([[0], np.cumsum(table.sum(axis=0))])
    before = np.cumsum(table, axis=0) - table
    return [bucket_starts[:-1] + row for row in before], bucket_starts


def _sort_buckets(
    packed: LongArray, bucket_starts: LongArray, shift: int, num_rows: int, *, sort_columns: bool
) -> tuple[LongArray, IntArray]:
    indptr = np.empty(num_rows + 1, dtype=np.int64)
    indptr[num_rows] = len(packed)
    indices = np.empty(len(packed), dtype=np.int32)

    def sort_bucket(bucket: int) -> None:
        first = bucket << shift
        last = min(bucket + 1 << shift, num_rows)
        start, stop = bucket_starts[bucket], bucket_starts[bucket + 1]
        spread_bucket(packed, start, stop, first, last, indptr, indices)
        if sort_columns:
            sort_rows_between(indptr, indices, first, last, stop)

    in_threads(sort_bucket, range(len(bucket_starts) - 1))
    return indptr, indices


@kernel
def count_buckets(rows: IntArray, shift: int, num_buckets: int) -> LongArray:
    """Count the rows that fall into each bucket. Changes nothing."""
    counts = np.zeros(num_buckets, dtype=np.int64)
    for row in rows:
        counts[row >> shift] += 1
    return counts


@kernel
def scatter_pairs(
    rows: IntArray, columns: IntArray, shift: int, starts: LongArray, packed: LongArray
) -> None:
    """Write each pair, packed into 64 bits, to the end of its bucket. Changes ``packed``."""
    cursor = starts.copy()
    for i in range(len(rows)):
        bucket = rows[i] >> shift
        packed[cursor[bucket]] = (np.int64(rows[i]) << 32) | columns[i]
        cursor[bucket] += 1


@kernel
def scatter_transposed(
    indptr: LongArray,
    indices: IntArray,
    first: int,
    last: int,
    shift: int,
    starts: LongArray,
    packed: LongArray,
) -> None:
    """Like :func:`scatter_pairs` for the (column, row) pairs of some rows of a CSR.

    Changes ``packed``.
    """
    cursor = starts.copy()
    for row in range(first, last):
        for i in range(indptr[row], indptr[row + 1]):
            bucket = indices[i] >> shift
            packed[cursor[bucket]] = (np.int64(indices[i]) << 32) | row
            cursor[bucket] += 1


@kernel
def spread_bucket(
    packed: LongArray,
    start: int,
    stop: int,
    first: int,
    last: int,
    indptr: LongArray,
    indices: IntArray,
) -> None:
    """Counting sort of one bucket: rows ``first`` to ``last``, pairs ``start`` to ``stop``.

    Changes ``indptr`` and ``indices``.
    """
    cursor = np.zeros(last - first + 1, dtype=np.int32)  # from the bucket's start: half the cache
    for i in range(start, stop):
        cursor[(packed[i] >> 32) - first + 1] += 1
    for row in range(last - first):
        indptr[first + row] = start + cursor[row]
        cursor[row + 1] += cursor[row]
    sorted_columns = indices[start:stop]
    for i in range(start, stop):
        row = (packed[i] >> 32) - first
        sorted_columns[cursor[row]] = packed[i] & 0x7FFFFFFF
        cursor[row] += 1


@kernel
def sort_rows_between(
    indptr: LongArray, indices: IntArray, first: int, last: int, end: int
) -> None:
    """Sort the columns of rows ``first`` to ``last``, of which the last one stops at ``end``.

    By insertion where a row is short, which it nearly always is. Changes ``indices``.
    """
    for row in range(first, last):
        start = indptr[row]
        stop = indptr[row + 1] if row + 1 < last else end
        if stop - start > 48:
            indices[start:stop].sort()
            continue
        for i in range(start + 1, stop):
            column = indices[i]
            j = i
            while j > start and indices[j - 1] > column:
                indices[j] = indices[j - 1]
                j -= 1
            indices[j] = column
