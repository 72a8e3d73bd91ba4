"""The table of subscribers on Spark: checked and packed where it lies, in the order of ids."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fanwise.arrays.csr import IntArray
from fanwise.arrays.text import flat_text
from fanwise.distributed.partitions import (
    AT_ONCE,
    Row,
    in_order,
    packed_in_order,
    spread_by_id,
    unpacked,
)
from fanwise.errors import WorkloadError
from fanwise.workload import validation
from fanwise.workload.headers import check_count

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS_PER_PART = 1_000_000
_COLUMNS = ("tau", "weight", "max_degree", "net", "name_lengths", "names")
_FACTS = ("first", "last", "count", "trouble")
_SCHEMA = "first int, last int, count long, trouble string, " + ", ".join(
    f"{name} binary" for name in _COLUMNS
)


class Subscribers:
    """The columns of all subscribers, packed into a row per range of ids.

    Raises
    ------
    WorkloadError
        Names the column that breaks the format.
    """

    def __init__(self, frame: DataFrame, file: Path, count: int) -> None:
        self.columns = frame.columns
        self.num_axes = _count_axes(frame.columns, file)
        parts = max(1, math.ceil(count / ROWS_PER_PART))
        wanted = [name for name in ("tau", "weight", "max_degree") if name in frame.columns]
        axes = [f"net_{axis}" for axis in range(self.num_axes)]
        pack = partial(_pack, file=str(file), num_axes=self.num_axes)
        chosen = frame.select("subscriber", "name", *wanted, *axes)
        self._frame = spread_by_id(chosen, "subscriber", parts, count).mapInArrow(pack, _SCHEMA)
        self._kept: list[Row] | None = None
        if parts <= AT_ONCE:  # a single job for everything
            filled = (*wanted, *(["net"] if axes else []), "name_lengths", "names")
            self._kept = list(packed_in_order(self._frame, (*_FACTS, *filled)))
            self._check(file, count, self._kept)
        else:
            self._frame = self._frame.persist()
            self._check(file, count, list(in_order(self._frame, _FACTS)))

    def column(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a column in the order of ids, part by part."""
        if self._kept is not None:
            yield from (unpacked({name: row[name]})[name] for row in self._kept)
            return
        for row in in_order(self._frame, (name,)):
            yield row[name]

    def release(self) -> None:
        """Let Spark, and the driver, forget the table."""
        self._kept = None
        self._frame.unpersist()

    def _check(self, file: Path, count: int, found: list[Row]) -> None:
        rows = sum(row["count"] for row in found)
        check_count(file.parent, "subscribers", count, file.name, rows)
        expected = 0
        for row in found:
            if row["trouble"] is not None:
                raise WorkloadError(row["trouble"])
            if row["first"] != expected:
                raise WorkloadError(
                    f"{file}: column 'subscriber': ids must be dense, 0 to {count - 1}, each once."
                )
            expected = row["last"] + 1


def _count_axes(columns: Iterable[str], file: Path) -> int:
    axes = sorted(name for name in columns if name.startswith("net_"))
    expected = [f"net_{axis}" for axis in range(len(axes))]
    if axes != sorted(expected):
        raise WorkloadError(
            f"{file}: columns {', '.join(axes)} where {', '.join(expected)} are needed."
        )
    return len(axes)


def _pack(batches: Iterable[pa.RecordBatch], file: str, num_axes: int) -> Iterator[Any]:
    parts = [batch for batch in batches if batch.num_rows]
    if not parts:
        return
    table = pa.Table.from_batches(parts)
    packed: dict[str, Any] = dict.fromkeys(_COLUMNS)
    facts: dict[str, Any] = {"first": 0, "last": 0, "count": table.num_rows, "trouble": None}
    try:
        ids, columns = _read(table, file, num_axes)
        facts |= {"first": int(ids[0]), "last": int(ids[-1])}
        packed |= columns
    except WorkloadError as error:  # travels as text: Spark would bury it in its own words
        facts["trouble"] = str(error)
    schema = pa.schema(
        [
            ("first", pa.int32()),
            ("last", pa.int32()),
            ("count", pa.int64()),
            ("trouble", pa.string()),
            *((name, pa.binary()) for name in _COLUMNS),
        ]
    )
    yield pa.RecordBatch.from_pylist([{**facts, **packed}], schema=schema)


def _read(table: pa.Table, file: str, num_axes: int) -> tuple[IntArray, dict[str, bytes]]:
    """Check a part and return its ids, ascending, and its columns in that order."""

    def place(column: str, row: int | None = None) -> str:
        return f"{file}: column {column!r}"

    ids = validation.ids(table.column("subscriber"), "subscriber", place)
    order = np.argsort(ids, kind="stable")
    ids = ids[order]
    gaps = np.diff(ids) != 1
    validation.refuse(gaps, ids[1:], "subscriber", place, "ids must be dense, each once")
    columns = {}
    for name in ("tau", "weight"):
        if name in table.column_names:
            values = validation.numbers(table.column(name), name, place)
            validation.check_not_negative(values, name, place)
            columns[name] = values[order].tobytes()
    if "max_degree" in table.column_names:
        degrees = validation.ids(table.column("max_degree"), "max_degree", place)
        validation.refuse(degrees < 0, degrees, "max_degree", place, "must be >= 0")
        columns["max_degree"] = degrees[order].tobytes()
    if num_axes:
        axes = [
            validation.numbers(table.column(f"net_{axis}"), f"net_{axis}", place)[order]
            for axis in range(num_axes)
        ]
        columns["net"] = np.column_stack(axes).tobytes()
    names = validation.names(table.column("name"), "name", place).take(pa.array(order))
    offsets, text = flat_text(names)
    columns["name_lengths"] = np.diff(offsets).astype(np.int64).tobytes()
    columns["names"] = text[offsets[0] : offsets[-1]].tobytes()
    return ids, columns
