"""The table of topics on the driver: one entry per topic is what it has room for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from fanwise.arrays.csr import FloatArray
from fanwise.errors import WorkloadError
from fanwise.workload import validation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Topics(NamedTuple):
    """The columns of all topics, by id."""

    rates: FloatArray
    message_bytes: FloatArray
    cost: FloatArray | None
    names: pa.Array


def read_topics(frame: DataFrame, file: Path, count: int) -> Topics:
    """Fetch and check the topics."""
    optional = ["cost"] if "cost" in frame.columns else []
    table: pa.Table = frame.select("topic", "name", "rate", "bytes", *optional).toArrow()
    if table.num_rows != count:
        raise WorkloadError(
            f"{file.parent / 'workload.json'}: topics = {count}, but {file.name} has "
            f"{table.num_rows} rows; one of them is cut or stale."
        )

    def place(column: str, row: int | None = None) -> str:
        return f"{file}: column {column!r}" + ("" if row is None else f", row {row}")

    found = validation.ids(table.column("topic"), "topic", place)
    order = validation.dense_order(found, count, "topic", place)

    def numbers(column: str) -> FloatArray:
        values = validation.numbers(table.column(column), column, place)
        validation.check_not_negative(values, column, place)
        return values if order is None else values[order]

    names = validation.names(table.column("name"), "name", place)
    rates = numbers("rate")
    validation.check_rates(rates, place)
    return Topics(
        rates=rates,
        message_bytes=numbers("bytes"),
        cost=numbers("cost") if optional else None,
        names=names if order is None else names.take(pa.array(order)),
    )
