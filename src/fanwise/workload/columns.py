"""Columns out of whatever table somebody holds: pandas, Polars, Arrow, or a mapping of columns.

Nothing but Arrow is imported for it. What is in a cell is read as ``fanwise ingest`` reads it:
identifiers are text or whole numbers, a time is a timestamp, ISO 8601 text or seconds since the
epoch, an empty text is a missing value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.errors import InputError, ParameterError

Mask = npt.NDArray[np.bool_]

LARGEST = 2**53
"""Whole numbers up to here are exact as float64."""
SECOND = 1_000_000
"""Microseconds."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST = (datetime(1, 1, 1, tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LAST = (datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH) // _MICROSECOND + 86_400 * SECOND - 1
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_PER_SECOND = {"s": 1, "ms": 1000, "us": SECOND, "ns": 1000 * SECOND}
_UNREADABLE = (pa.ArrowException, TypeError, ValueError, OverflowError)


class Numbers(NamedTuple):
    """Numbers, NaN where a cell has none, and whether the cell is empty."""

    values: FloatArray
    is_missing: Mask


class Instants(NamedTuple):
    """Microseconds since the epoch, whether a cell has a time, and whether it is empty."""

    micros: LongArray
    is_known: Mask
    is_missing: Mask


@dataclass(frozen=True)
class Columns:
    """The columns of one table, read when they are asked for.

    Attributes
    ----------
    place
        How messages name the table.
    """

    place: str
    num_rows: int
    raw: Mapping[str, Any]

    def __contains__(self, name: str) -> bool:
        return name in self.raw

    def require(self, names: Sequence[str]) -> None:
        """Refuse a table without one of these columns."""
        for name in names:
            if name not in self.raw:
                raise InputError(
                    f"{self.place}: no column {name!r}; it has {self.present()}. Say which column "
                    f"is meant by rename={{'your column': {name!r}}}."
                )

    def present(self) -> str:
        """Return the names of the columns, for messages."""
        return ", ".join(map(repr, self.raw)) or "none"

    def identifiers(self, name: str) -> pa.Array:
        """Return names as text, null where there is none; whole numbers in decimal digits."""
        array = self._arrow(name, (str, Integral))
        kind = array.type
        if pa.types.is_floating(kind):  # pandas holds integers so where some are missing
            values = array.to_numpy(zero_copy_only=False)
            known = ~np.isnan(values)
            odd = known & ~((values == np.floor(values)) & (np.abs(values) <= LARGEST))
            if odd.any():
                row = int(np.argmax(odd))
                raise self._wrong(name, f"{values[row].item()!r} in row {row}")
            array = pa.array(np.where(known, values, 0).astype(np.int64), mask=~known)
        elif not _is_text(kind) and not (
            pa.types.is_integer(kind)
            or pa.types.is_null(kind)
            or pa.types.is_binary(kind)
            or pa.types.is_large_binary(kind)
            or (pa.types.is_decimal(kind) and kind.scale == 0)
        ):
            raise self._wrong(name, f"type {kind}")
        try:
            text = array.cast(pa.large_string())
        except _UNREADABLE as error:
            raise InputError(f"{self.place}: column {name!r}: {_first_line(error)}.") from None
        named: pa.Array = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.large_string()), text)
        return named

    def numbers(self, name: str) -> Numbers:
        """Return float64; what is infinite, too large to be exact or no number becomes NaN."""
        array = self._arrow(name, (str, Integral, float, Decimal))
        kind = array.type
        if _is_text(kind):
            texts = array.to_pylist()
            missing = np.array([text is None or text == "" for text in texts], dtype=np.bool_)
            values = np.array([_number_of(text) for text in texts], dtype=np.float64)
        elif pa.types.is_null(kind):
            missing, values = np.ones(len(array), np.bool_), np.full(len(array), np.nan)
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            missing = _nulls(array)
            values = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        else:
            raise InputError(
                f"{self.place}: column {name!r} has type {kind}; it must be a number, cast it."
            )
        return Numbers(np.where(np.abs(values) <= LARGEST, values, np.nan), missing)

    def instants(self, name: str) -> Instants:
        """Return times; what has no zone is in UTC."""
        array = self._arrow(name, (str, Integral, float, Decimal, date))
        kind, missing = array.type, _nulls(array)
        if pa.types.is_timestamp(kind):
            counts = _whole_numbers(array.cast(pa.int64()))
            per_second = _PER_SECOND[kind.unit]
            if per_second > SECOND:
                micros = counts // (per_second // SECOND)
                return Instants(micros, ~missing, missing)
            scale = SECOND // per_second
            known = ~missing & (counts >= _FIRST // scale) & (counts <= _LAST // scale)
            return Instants(np.where(known, counts, 0) * scale, known, missing)
        if pa.types.is_date(kind):
            return self._cast(array.cast(pa.timestamp("us")), missing)
        if pa.types.is_integer(kind):
            seconds = _whole_numbers(array.cast(pa.int64(), safe=False))
            known = ~missing & (seconds >= _FIRST // SECOND) & (seconds <= _LAST // SECOND)
            return Instants(np.where(known, seconds, 0) * SECOND, known, missing)
        if pa.types.is_floating(kind):
            seconds = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
            known = ~missing & (seconds >= _FIRST / SECOND) & (seconds <= _LAST // SECOND)
            micros = np.rint(np.where(known, seconds, 0) * SECOND).astype(np.int64)
            return Instants(micros, known, missing)
        if pa.types.is_null(kind) or _is_text(kind) or pa.types.is_decimal(kind):
            texts = [None if cell is None else str(cell) for cell in array.to_pylist()]
            found = [_instant_of(text) for text in texts]
            return Instants(
                np.array([0 if one is None else one for one in found], dtype=np.int64),
                np.array([one is not None for one in found], dtype=np.bool_),
                np.array([text is None or text == "" for text in texts], dtype=np.bool_),
            )
        raise InputError(
            f"{self.place}: column {name!r} has type {kind}; it must be a timestamp, ISO 8601 text "
            "or seconds since the epoch."
        )

    def _cast(self, array: pa.Array, missing: Mask) -> Instants:
        return Instants(_whole_numbers(array.cast(pa.int64())), ~missing, missing)

    def _arrow(self, name: str, taken: tuple[type, ...]) -> pa.Array:
        """Return a column as one plain Arrow array; cells of several types as text."""
        raw = self.raw[name]
        if isinstance(raw, pa.Array | pa.ChunkedArray):
            return _plain(raw)
        try:
            return _plain(pa.array(raw, from_pandas=True))
        except UnicodeError as error:
            raise InputError(f"{self.place}: column {name!r}: {_first_line(error)}.") from None
        except _UNREADABLE:
            pass
        texts: list[str | None] = []
        for row, cell in enumerate(raw):
            if cell is None or cell != cell:  # NaN and NaT are not equal to themselves
                texts.append(None)
            elif isinstance(cell, taken) and not isinstance(cell, bool | np.bool_):
                texts.append(str(cell))
            else:
                raise self._wrong(name, f"{cell!r} in row {row}")
        return pa.array(texts, pa.large_string())

    def _wrong(self, name: str, what: str) -> InputError:
        return InputError(
            f"{self.place}: column {name!r} has {what}; it must be text or whole numbers, "
            "cast it, as by .astype(str)."
        )


def read_columns(frame: Any, place: str, rename: Mapping[str, str] | None = None) -> Columns:
    """Find the columns of a table.

    Parameters
    ----------
    frame
        A pandas frame; anything with Arrow's C stream or the data frame protocol, such as a Polars
        or DuckDB table; an Arrow table; or columns by name.
    place
        How messages name the table.
    rename
        What columns mean, where their names differ: ``{"user": "subscriber"}``. Names that the
        table does not have are for another table.
    """
    names, take, num_rows = _open(frame, place)
    raw: dict[str, Any] = {}
    for position, name in enumerate(names):
        meant = (rename or {}).get(name, name)
        if meant in raw:
            raise InputError(f"{place}: column {meant!r} is there more than once; rename one.")
        raw[meant] = take(position)
    return Columns(place, num_rows, raw)


def _open(frame: Any, place: str) -> tuple[list[Any], Callable[[int], Any], int]:
    """Return the names of columns, what gives the column at a position, and the number of rows."""
    if hasattr(frame, "iloc") and hasattr(frame, "columns"):  # pandas
        index = [name for name in frame.index.names if name is not None]
        levels = [name for name in index if name not in frame.columns]
        held = frame.reset_index(level=levels) if levels else frame
        return list(held.columns), lambda position: held.iloc[:, position], len(held)
    if isinstance(frame, Mapping):
        columns = list(frame.values())
        lengths = {len(column) for column in columns}
        if len(lengths) > 1:
            raise InputError(f"{place}: columns of different lengths, {sorted(lengths)}.")
        return list(frame), columns.__getitem__, max(lengths, default=0)
    try:
        if hasattr(frame, "__arrow_c_stream__") or isinstance(frame, pa.RecordBatch):
            table = pa.table(frame)
        elif hasattr(frame, "__dataframe__"):
            from pyarrow.interchange import from_dataframe

            table = from_dataframe(frame)
        else:
            raise InputError(
                f"{place}: {type(frame).__name__} is no table; give a pandas or Polars frame, an "
                "Arrow table, or columns by name."
            )
    except (*_UNREADABLE, NotImplementedError) as error:
        raise InputError(f"{place}: not readable as a table: {_first_line(error)}.") from None
    return table.column_names, table.column, table.num_rows


def number_names(names: pa.Array) -> tuple[pa.Array, LongArray]:
    """Return the different names in code-point order, and the rank of each entry among them.

    Whole numbers are names in decimal digits.
    """
    encoded = pc.dictionary_encode(names)
    different = encoded.dictionary.cast(pa.large_string())
    order = pc.sort_indices(different)  # Arrow compares the bytes of UTF-8
    rank = np.empty(len(order), dtype=np.int64)
    rank[order.to_numpy()] = np.arange(len(order))
    return different.take(order), rank[encoded.indices.to_numpy()]


def parse_instant(value: Any, parameter: str) -> int:
    """Return microseconds since the epoch of a ``datetime``, ISO 8601 text or seconds."""
    found = None
    if isinstance(value, str | int | float | date) and not isinstance(value, bool):
        found = _instant_of(str(value))
    if found is None:
        raise ParameterError(parameter, "a time: ISO 8601, or seconds since the epoch", value)
    return found


def _instant_of(text: str | None) -> int | None:
    text = (text or "").strip()
    if _NUMBER.fullmatch(text):
        seconds = Decimal(text)
        if not _FIRST // SECOND <= seconds <= _LAST // SECOND:
            return None
        return int((seconds * SECOND).to_integral_value())
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MICROSECOND


def _number_of(text: str | None) -> float:
    text = (text or "").strip()
    return float(text) if _NUMBER.fullmatch(text) else float("nan")


def _plain(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return one array without a dictionary, text as large strings."""
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    kind = array.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
        held = pa.large_string() if _is_text(kind) else kind
        chunks = [chunk.dictionary.cast(held).take(chunk.indices) for chunk in chunks]
        kind = held
    elif _is_text(kind):
        kind = pa.large_string()
        chunks = [chunk.cast(kind) for chunk in chunks]
    return pa.concat_arrays(chunks) if chunks else pa.array([], kind)


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def _nulls(array: pa.Array) -> Mask:
    nulls: Mask = array.is_null().to_numpy(zero_copy_only=False)
    return nulls


def _whole_numbers(array: pa.Array) -> LongArray:
    filled: LongArray = array.fill_null(0).to_numpy(zero_copy_only=False)
    return filled


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
