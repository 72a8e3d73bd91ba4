"""A workload folder as Spark sees it: topics as vectors on the driver, subscribers in blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fanwise.arrays.csr import FloatArray
from fanwise.distributed.blocks import Blocks, pack_blocks
from fanwise.errors import ParameterError, WorkloadError
from fanwise.workload import validation
from fanwise.workload.files import local_path, part_files, read_header
from fanwise.workload.topic import Tau

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PAIRS_PER_BLOCK = 4_000_000


@dataclass(frozen=True)
class Inputs:
    """What a solve needs of a workload.

    Attributes
    ----------
    rates_everywhere
        A broadcast variable with the rate of each topic.
    cost
        Cost of serving each topic.
    tau
        The threshold as plans record it: a number, or ``"column"``.
    """

    rates_everywhere: Any
    cost: FloatArray
    blocks: Blocks
    tau: Tau
    has_costs: bool
    has_weights: bool


@contextmanager
def open_inputs(
    spark: SparkSession, path: str | Path, tau: Tau, num_partitions: int | None = None
) -> Iterator[Inputs]:
    """Read and check topics, count followers, and spread subscribers over blocks."""
    folder = local_path(path)
    header = read_header(folder)
    if num_partitions is None:
        enough = math.ceil(header["pairs"] / PAIRS_PER_BLOCK)
        num_partitions = max(spark.sparkContext.defaultParallelism, enough)
    elif num_partitions < 1:
        raise ParameterError("num_partitions", "a whole number >= 1", num_partitions)
    rates, cost = _read_topics(spark, folder / "topics.parquet", header["topics"])
    subscribers = _read(spark, folder / "subscribers.parquet", ("subscriber",))
    threshold = _check_tau(tau, subscribers)
    pairs = _read(spark, folder / "interests.parquet", ("subscriber", "topic"))
    followers = _count_followers(pairs, folder / "interests.parquet", header)
    has_weights = "weight" in subscribers.columns
    columns = [
        *(["tau"] if threshold is None else []),
        *(["weight"] if has_weights else []),
    ]
    pairs = pairs.select("subscriber", "topic")
    if columns:
        pairs = pairs.join(subscribers.select("subscriber", *columns), "subscriber")
    everywhere = spark.sparkContext.broadcast(rates)
    blocks = None
    try:
        blocks = pack_blocks(pairs, num_partitions, everywhere, threshold, len(rates))
        yield Inputs(
            rates_everywhere=everywhere,
            cost=rates * followers if cost is None else cost,
            blocks=blocks,
            tau="column" if threshold is None else threshold,
            has_costs=cost is not None,
            has_weights=has_weights,
        )
    finally:
        if blocks is not None:
            blocks.release()
        everywhere.destroy()


def _read(spark: SparkSession, file: Path, needed: tuple[str, ...]) -> DataFrame:
    from pyspark.sql import functions as F

    from fanwise.pipeline.store import input_uri

    part_files(file)  # says what is missing
    frame = spark.read.parquet(input_uri(str(file)))
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        present = ", ".join(map(repr, frame.columns)) or "none"
        raise WorkloadError(f"{file}: no column {', '.join(map(repr, missing))}; it has {present}.")
    ids = [name for name in needed if name in ("subscriber", "topic")]
    return frame.withColumns({name: F.col(name).cast("int") for name in ids})


def _read_topics(
    spark: SparkSession, file: Path, count: int
) -> tuple[FloatArray, FloatArray | None]:
    frame = _read(spark, file, ("topic", "rate"))
    columns = ["topic", "rate", *(["cost"] if "cost" in frame.columns else [])]
    table: pa.Table = frame.select(*columns).toArrow()
    if table.num_rows != count:
        raise WorkloadError(
            f"{file.parent / 'workload.json'}: topics = {count}, but {file.name} has "
            f"{table.num_rows} rows; one of them is cut or stale."
        )

    def place(column: str, row: int | None = None) -> str:
        return f"{file}: column {column!r}" + ("" if row is None else f", row {row}")

    found = validation.ids(table.column("topic"), "topic", place)
    order = validation.dense_order(found, count, "topic", place)
    rates = validation.numbers(table.column("rate"), "rate", place)
    validation.check_rates(rates, place)
    cost = None
    if "cost" in columns:
        cost = validation.numbers(table.column("cost"), "cost", place)
        validation.check_not_negative(cost, "cost", place)
        cost = cost if order is None else cost[order]
    return rates if order is None else rates[order], cost


def _check_tau(tau: Tau, subscribers: DataFrame) -> float | None:
    """Return the threshold of everybody, or None for the column."""
    if isinstance(tau, str):
        if tau != "column":
            raise ParameterError("tau", "a number >= 0 or 'column'", tau)
        if "tau" not in subscribers.columns:
            raise ParameterError(
                "tau", "a number: subscribers.parquet has no column 'tau'", "column"
            )
        return None
    if not (math.isfinite(tau) and tau >= 0):
        raise ParameterError("tau", "a finite number >= 0", tau)
    return float(tau)


def _count_followers(
    pairs: DataFrame, file: Path, header: dict[str, Any]
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Count the followers of each topic; an id that is not known is refused before any kernel."""
    table = pairs.groupBy("topic").count().toArrow()
    num_topics = header["topics"]
    if table.column("topic").null_count:
        raise WorkloadError(f"{file}: column 'topic' has an empty cell; every row needs an id.")
    topics = table.column("topic").to_numpy()
    unknown = topics[(topics < 0) | (topics >= num_topics)]
    if len(unknown):
        raise WorkloadError(
            f"{file}: topic {unknown.min()} is not in topics.parquet (0 to {num_topics - 1})."
        )
    followers = np.zeros(num_topics, dtype=np.int64)
    followers[topics] = table.column("count").to_numpy()
    if followers.sum() != header["pairs"]:
        raise WorkloadError(
            f"{file.parent / 'workload.json'}: pairs = {header['pairs']}, but {file.name} has "
            f"{followers.sum()} rows; one of them is cut or stale."
        )
    return followers
