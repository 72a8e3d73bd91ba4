"""Checks that make a topic workload out of columns, with messages that name the place.

The checks speak of a column by a :class:`Source`, which knows how to name a file and a row, so the
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
from fanwise.errors import ParameterError, WorkloadError
from fanwise.workload.topic import TopicWorkload

MAX_IDS = 2**31 - 1
LARGEST = 1e30
"""No number of a workload is larger than this: products of a few and sums of billions stay finite,
with digits to spare."""
SMALLEST_RATE = 1 / LARGEST


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


def interests(
    subscriber: IntArray,
    topic: IntArray,
    num_subscribers: int,
    num_topics: int,
    place: Source,
) -> Csr:
    """Build the subscriber CSR, refusing unknown ids and duplicate pairs."""
    for values, column, count in (
        (subscriber, "subscriber", num_subscribers),
        (topic, "topic", num_topics),
    ):
        if len(values) and (values.min() < 0 or values.max() >= count):
            known = f"unknown {column}: ids run from 0 to {count - 1}"
            refuse((values < 0) | (values >= count), values, column, place, known)
    csr = build_csr(subscriber, topic, num_subscribers)
    repeated = find_duplicate(csr)
    if repeated is not None:
        rows = np.flatnonzero((subscriber == repeated[0]) & (topic == repeated[1]))
        raise WorkloadError(
            f"{place('subscriber, topic', int(rows[1]))}: the pair (subscriber {repeated[0]}, "
            f"topic {repeated[1]}) is there already (row {rows[0]}); remove duplicates."
        )
    return csr


def check_rates(rates: FloatArray, place: Source) -> None:
    """Refuse rates that are not positive, or so small that one over them overflows."""
    refuse(rates <= 0, rates, "rate", place, "must be > 0")
    reason = f"must be at least {SMALLEST_RATE:g}, below which quotients overflow"
    refuse(rates < SMALLEST_RATE, rates, "rate", place, reason)


def check_period(period_seconds: float, place: str) -> None:
    """Refuse a length of the period that is not positive, or beyond all reason."""
    if not SMALLEST_RATE <= period_seconds <= LARGEST:  # also NaN
        raise WorkloadError(
            f"{place}: period_seconds must be a finite number > 0, from {SMALLEST_RATE:g} to "
            f"{LARGEST:g}, got {period_seconds!r}."
        )


def check_not_negative(values: FloatArray, column: str, place: Source) -> None:
    """Refuse negative numbers."""
    refuse(values < 0, values, column, place, "must be >= 0")


def build_topic_workload(
    *,
    rates: npt.ArrayLike,
    subscriber: npt.ArrayLike,
    topic: npt.ArrayLike,
    num_subscribers: int | None,
    message_bytes: npt.ArrayLike,
    topic_names: Any,
    subscriber_names: Any,
    period_seconds: float,
    cost: npt.ArrayLike | None,
    tau: npt.ArrayLike | None,
    weight: npt.ArrayLike | None,
    max_degree: npt.ArrayLike | None,
    positions: npt.ArrayLike | None,
    origin: Mapping[str, Any] | None,
) -> TopicWorkload:
    """Check arrays as a file would be checked; see :meth:`TopicWorkload.from_arrays`."""

    def place(column: str, row: int | None = None) -> str:
        return f"{column}" if row is None else f"{column}[{row}]"

    def column(values: npt.ArrayLike | None, name: str, count: int) -> FloatArray | None:
        if values is None:
            return None
        array = np.array(np.broadcast_to(np.asarray(values), (count,)), dtype=np.float64)
        refuse_wild(array, name, place)
        check_not_negative(array, name, place)
        return array

    if not (np.isfinite(period_seconds) and period_seconds > 0):
        raise ParameterError("period_seconds", "a finite number > 0", period_seconds)
    check_period(float(period_seconds), "from_arrays")
    rate = np.array(rates, dtype=np.float64).reshape(-1)
    refuse_wild(rate, "rates", place)
    check_rates(rate, place)
    rows = ids(_as_chunked(subscriber), "subscriber", place)
    columns = ids(_as_chunked(topic), "topic", place)
    if len(rows) != len(columns):
        raise WorkloadError(
            f"subscriber and topic must have the same length, got {len(rows)} and {len(columns)}."
        )
    if num_subscribers is None:
        if subscriber_names is not None:
            num_subscribers = len(subscriber_names)
        else:
            num_subscribers = int(rows.max()) + 1 if len(rows) else 0
    sizes = column(message_bytes, "message_bytes", len(rate))
    if sizes is None:
        raise ParameterError("message_bytes", "a number >= 0, or one for each topic", None)
    return TopicWorkload(
        rates=rate,
        message_bytes=sizes,
        interests=interests(rows, columns, num_subscribers, len(rate), place),
        topic_names=names_or_default(topic_names, "t", len(rate), "topic_names", place),
        subscriber_names=names_or_default(
            subscriber_names, "s", num_subscribers, "subscriber_names", place
        ),
        period_seconds=float(period_seconds),
        cost=column(cost, "cost", len(rate)),
        tau=column(tau, "tau", num_subscribers),
        weight=column(weight, "weight", num_subscribers),
        max_degree=None if max_degree is None else _degrees(max_degree, num_subscribers, place),
        positions=None if positions is None else _points(positions, num_subscribers, place),
        origin=dict(origin or {}),
    )


def _degrees(values: npt.ArrayLike, count: int, place: Source) -> IntArray:
    degrees = ids(_as_chunked(values), "max_degree", place)
    if len(degrees) != count:
        raise WorkloadError(f"max_degree: {len(degrees)} entries for {count} subscribers.")
    refuse(degrees < 0, degrees, "max_degree", place, "must be >= 0")
    return degrees.copy()


def _points(values: npt.ArrayLike, count: int, place: Source) -> FloatArray:
    points = np.array(values, dtype=np.float64, order="C")
    if points.ndim != 2 or len(points) != count:
        raise WorkloadError(
            f"positions: shape {points.shape} where ({count}, dimensions) is needed."
        )
    for coordinate in points.T:
        refuse_wild(coordinate, "positions", place)
    return points


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
    return names(_as_chunked(array), column, place)


def _as_chunked(values: Any) -> pa.ChunkedArray:
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
