"""Rows of a frame on the driver, partition after partition, a few at a time, compressed on the way.

Adaptive execution is off while engines run: their partitions are as many as they are meant to be,
and Spark would only start a job of its own for every shuffle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fanwise.distributed.travel import expand, expand_ids, squeeze, squeeze_ids

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

AT_ONCE = 4
"""Partitions that travel together: more keep more cores busy, and more memory."""
ENGINE_SETTINGS = {"spark.sql.adaptive.enabled": "false"}
_ASCENDING = "ids"
"""A column with this name holds ascending int32 ids."""

Row = Mapping[str, Any]


def in_order(frame: DataFrame, columns: tuple[str, ...]) -> Iterator[Row]:
    """Yield rows in the order of the frame's partitions; the driver holds few of them at a time.

    One job per few partitions, started by the calling thread, so that an interrupt can cancel it.
    """
    yield from map(unpacked, packed_in_order(frame, columns))


def packed_in_order(frame: DataFrame, columns: tuple[str, ...]) -> Iterator[Row]:
    """Yield what :func:`in_order` does, with bytes still compressed: see :func:`unpacked`."""
    chosen = frame.select(*columns)
    schema = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in chosen.schema)
    rows = chosen.mapInArrow(_squeeze, schema).rdd
    count = rows.getNumPartitions()
    for start in range(0, count, AT_ONCE):
        some = range(start, min(start + AT_ONCE, count))
        yield from (row.asDict() for row in rows.context.runJob(rows, list, some))


def unpacked(row: Row) -> Row:
    """Return a row with its bytes as they were."""
    return {
        name: _expand(name, bytes(value)) if isinstance(value, bytes | bytearray) else value
        for name, value in row.items()
    }


def _squeeze(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = {}
        for name in batch.schema.names:
            column = batch.column(name)
            if pa.types.is_binary(column.type):
                values = [None if cell is None else _squeezed(name, cell) for cell in
                          column.to_pylist()]  # fmt: skip
                column = pa.array(values, pa.binary())
            columns[name] = column
        yield pa.RecordBatch.from_pydict(columns)


def _squeezed(name: str, cell: bytes) -> bytes:
    if name == _ASCENDING:
        return squeeze_ids(np.frombuffer(cell, dtype=np.int32))
    return squeeze(cell)


def _expand(name: str, value: bytes) -> bytes:
    return expand_ids(value).tobytes() if name == _ASCENDING else expand(value)


def spread_by_id(frame: DataFrame, name: str, parts: int, count: int) -> DataFrame:
    """Spread rows over partitions by ranges of ids 0 to ``count - 1``, all of the same length.

    Unlike a range partitioning this takes no look at the data before. Ids that are none, or out of
    range, go to the first or last partition.
    """
    from pyspark.sql import functions as F

    if parts == 1:
        return frame.repartition(1)
    part: Column = F.floor(F.col(name).cast("bigint") * F.lit(parts) / F.lit(max(count, 1)))
    part = F.greatest(F.least(F.coalesce(part, F.lit(0)), F.lit(parts - 1)), F.lit(0))
    if not hasattr(frame, "repartitionById"):  # before Spark 4.1
        return frame.repartitionByRange(parts, name)
    return frame.repartitionById(parts, part.cast("int"))
