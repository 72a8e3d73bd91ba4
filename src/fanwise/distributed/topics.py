"""The table of topics on the driver: it can hold one entry per topic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from fanwise.arrays.csr import FloatArray
from fanwise.workload import validation
from fanwise.workload.headers import check_count
from fanwise.workload.topic.validation import check_rates

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
    check_count(file.parent, "topics", count, file.name, table.num_rows)

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
    check_rates(rates, place)
    return Topics(
        rates=rates,
        message_bytes=numbers("bytes"),
        cost=numbers("cost") if optional else None,
        names=names if order is None else names.take(pa.array(order)),
    )
