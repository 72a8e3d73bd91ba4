"""Checks of the columns that workloads are made of, with messages that name the place.

They speak of a column by a :class:`Source`, which knows how to name a file and a row, so the
same code serves folders on disk and arrays in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fanwise.arrays.csr import Csr, FloatArray, IntArray, build_csr, find_duplicate
from fanwise.arrays.text import find_repeat
from fanwise.errors import WorkloadError

MAX_IDS = 2**31 - 1
LARGEST = 1e30
"""No number of a workload is larger than this: products of a few and sums of billions stay finite,
with digits to spare."""


class Source(Protocol):
    """Where a column came from, for messages."""

    def __call__(self, column: str, row: int | None = None) -> str: ...


def numbers(values: pa.ChunkedArray, column: str, place: Source) -> FloatArray:
    """Return a float64 column without nulls, NaN or infinities."""
    if not (pa.types.is_floating(values.type) or pa.types.is_integer(values.type)):
        raise WorkloadError(
            f"{place(column)}: type {values.type} where float64 is needed; write it as numbers."
        )
    _refuse_nulls(values, column, place)
    array: FloatArray = np.ascontiguousarray(values.cast(pa.float64()).to_numpy(), dtype=np.float64)
    refuse_wild(array, column, place)
    return array


def ids(values: pa.ChunkedArray, column: str, place: Source) -> IntArray:
    """Return an int32 column of ids; wider integers are taken where the values fit."""
    if not pa.types.is_integer(values.type):
        raise WorkloadError(
            f"{place(column)}: type {values.type} where int32 is needed; cast it to int32."
        )
    _refuse_nulls(values, column, place)
    array = values.to_numpy()
    if array.dtype != np.int32:
        refuse((array < 0) | (array > MAX_IDS), array, column, place, "must fit int32 and be >= 0")
        array = array.astype(np.int32)
    return np.ascontiguousarray(array)


def names(values: pa.ChunkedArray, column: str, place: Source) -> pa.Array:
    """Return a column of unique strings as one Arrow array."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        raise WorkloadError(
            f"{place(column)}: type {values.type} where string is needed; write names as strings."
        )
    _refuse_nulls(values, column, place)
    array = values.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # more text than 32-bit offsets can address
        array = pa.concat_arrays(values.cast(pa.large_string()).chunks)
    repeat = find_repeat(array)
    if repeat is not None:
        first, second = repeat
        raise WorkloadError(
            f"{place(column, second)}: the name {array[second].as_py()!r} is there already "
            f"(row {first}); names must be unique."
        )
    return array


def refuse(
    bad: npt.NDArray[np.bool_],
    values: npt.NDArray[Any],
    column: str,
    place: Source,
    constraint: str,
) -> None:
    """Raise for the first bad row, if there is one."""
    if bad.any():
        row = int(np.argmax(bad))
        raise WorkloadError(f"{place(column, row)}: {constraint}, got {values[row].item()}.")


def refuse_wild(values: FloatArray, column: str, place: Source) -> None:
    """Refuse what is not finite, and what is so large that sums and products would not be."""
    refuse(~np.isfinite(values), values, column, place, "must be finite")
    reason = f"must be within {LARGEST:g} of 0, beyond which sums and products overflow"
    refuse(np.abs(values) > LARGEST, values, column, place, reason)


def dense_order(found: IntArray, count: int, column: str, place: Source) -> IntArray | None:
    """Return the row of each id 0..count-1, or None where the rows are in order already."""
    if np.array_equal(found, np.arange(count, dtype=np.int32)):
        return None
    refuse(
        (found < 0) | (found >= count),
        found,
        column,
        place,
        f"ids must be dense, 0 to {count - 1} for {count} rows",
    )
    row_of_id = np.full(count, -1, dtype=np.int32)
    row_of_id[found] = np.arange(count, dtype=np.int32)
    repeated = row_of_id[found] != np.arange(count)
    refuse(repeated, found, column, place, "each id must stand once")
    return row_of_id


def pairs(first: IntArray, second: IntArray, counts: Mapping[str, int], place: Source) -> Csr:
    """Return pairs of ids as rows of the first, refusing unknown ids and duplicates.

    ``counts`` names both columns, in order, and says how many ids each has.
    """
    for values, (column, count) in zip((first, second), counts.items(), strict=True):
        if len(values) and (values.min() < 0 or values.max() >= count):
            known = f"unknown {column}: ids run from 0 to {count - 1}"
            refuse((values < 0) | (values >= count), values, column, place, known)
    one, other = counts
    csr = build_csr(first, second, counts[one])
    repeated = find_duplicate(csr)
    if repeated is not None:
        rows = np.flatnonzero((first == repeated[0]) & (second == repeated[1]))
        raise WorkloadError(
            f"{place(f'{one}, {other}', int(rows[1]))}: the pair ({one} {repeated[0]}, "
            f"{other} {repeated[1]}) is there already (row {rows[0]}); remove duplicates."
        )
    return csr


def check_not_negative(values: FloatArray, column: str, place: Source) -> None:
    """Refuse negative numbers."""
    refuse(values < 0, values, column, place, "must be >= 0")


def numbered_names(prefix: str, count: int) -> pa.Array:
    """Return ``prefix0``, ``prefix1``, … without a Python loop."""
    numbers_as_text = pa.array(np.arange(count, dtype=np.int32)).cast(pa.string())
    return pc.binary_join_element_wise(pa.scalar(prefix), numbers_as_text, "")


def names_or_default(values: Any, prefix: str, count: int, column: str, place: Source) -> pa.Array:
    """Return given names, checked, or numbered ones."""
    if values is None:
        return numbered_names(prefix, count)
    array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    if pa.types.is_null(array.type):
        array = array.cast(pa.string())
    if len(array) != count:
        raise WorkloadError(f"{column}: {len(array)} names for {count} ids; give one name each.")
    return names(as_chunked(array), column, place)


def as_chunked(values: Any) -> pa.ChunkedArray:
    """Return whatever holds a column as Arrow holds it."""
    if isinstance(values, pa.ChunkedArray):
        return values
    if isinstance(values, pa.Array):
        return pa.chunked_array([values])
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(np.int32)
    return pa.chunked_array([pa.array(array.reshape(-1))])


def _refuse_nulls(values: pa.ChunkedArray, column: str, place: Source) -> None:
    if values.null_count:
        row = int(np.argmax(values.is_null().to_numpy()))
        raise WorkloadError(f"{place(column, row)}: is null; every row needs a value.")
