"""A workload folder as Spark sees it: topics as vectors on the driver, subscribers in blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.distributed.blocks import Blocks, Facts, pack_blocks
from fanwise.distributed.fingerprint import fingerprint
from fanwise.distributed.partitions import ENGINE_SETTINGS
from fanwise.distributed.subscribers import Subscribers
from fanwise.distributed.topics import Topics, read_topics
from fanwise.errors import ParameterError, WorkloadError
from fanwise.planning.problem import Run
from fanwise.workload.files import local_path
from fanwise.workload.headers import check_count
from fanwise.workload.remote import address_of
from fanwise.workload.topic import Tau
from fanwise.workload.topic.files import read_header

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PAIRS_PER_BLOCK = 4_000_000
MOST_LIGHT = 10_000_000
"""Pairs up to which the JVM, which only reads and spreads them, is started for short work."""


@dataclass(frozen=True)
class Inputs:
    """What a solve needs of a workload.

    Attributes
    ----------
    header
        The entries of ``workload.json``.
    topics
        Their columns.
    rates_everywhere
        A broadcast variable with the rate of each topic.
    cost, followers
        Cost of serving each topic, and how many subscribers want it.
    tau
        The threshold as plans record it: a number, or ``"column"``.
    num_subscribers
        All of them, also those that need nothing.
    fingerprint
        The workload's hash.
    """

    header: Mapping[str, Any]
    topics: Topics
    rates_everywhere: Any
    cost: FloatArray
    followers: LongArray
    blocks: Blocks
    facts: Facts
    tau: Tau
    has_costs: bool
    has_weights: bool
    num_subscribers: int
    fingerprint: str


def engine_conf(path: str | Path, conf: Mapping[str, str] | None) -> dict[str, str]:
    """Return settings for a session that plans on a workload; those given stay."""
    from fanwise.pipeline.shared.session import LIGHT

    is_small = address_of(path) is None and read_header(local_path(path))["pairs"] <= MOST_LIGHT
    return {**(LIGHT if is_small else {}), **(conf or {})}


@contextmanager
def open_inputs(
    spark: SparkSession, path: str | Path, tau: Tau, run: Run, num_partitions: int | None = None
) -> Iterator[Inputs]:
    """Read and check a workload, spread subscribers over blocks, and take its fingerprint."""
    from fanwise.pipeline.shared.session import settings
    from fanwise.pipeline.shared.tables import open_folder, read_table

    folder, header = open_folder(spark, path)
    if num_partitions is None:
        enough = math.ceil(header["pairs"] / PAIRS_PER_BLOCK)
        num_partitions = max(spark.sparkContext.defaultParallelism, enough)
    elif num_partitions < 1:
        raise ParameterError("num_partitions", "a whole number >= 1", num_partitions)
    files = {name: folder / f"{name}.parquet" for name in ("topics", "subscribers", "interests")}
    topics_frame = read_table(spark, files["topics"], ("topic", "name", "rate", "bytes"))
    people = read_table(spark, files["subscribers"], ("subscriber", "name"))
    pairs = read_table(spark, files["interests"], ("subscriber", "topic"))
    threshold = _check_tau(tau, people)
    with settings(spark, ENGINE_SETTINGS), ExitStack() as cleanup:
        topics = read_topics(topics_frame, files["topics"], header["topics"])
        subscribers = Subscribers(people, files["subscribers"], header["subscribers"])
        cleanup.callback(subscribers.release)
        everywhere = spark.sparkContext.broadcast(topics.rates)
        cleanup.callback(everywhere.destroy)
        columns = [
            *(["tau"] if threshold is None else []),
            *(["weight"] if "weight" in people.columns else []),
        ]
        pairs = _with_columns(pairs, people, columns)
        blocks = pack_blocks(
            pairs,
            num_partitions,
            everywhere,
            threshold,
            len(topics.rates),
            num_subscribers=header["subscribers"],
            num_pairs=header["pairs"],
        )
        cleanup.callback(blocks.release)
        facts, followers = blocks.facts()
        _check_pairs(facts, files["interests"], header)
        with run.timed("fingerprint"):
            known = fingerprint(
                topics,
                subscribers,
                blocks,
                period_seconds=header["period_seconds"],
                num_subscribers=header["subscribers"],
                num_pairs=header["pairs"],
            )
        subscribers.release()
        yield Inputs(
            header=header,
            topics=topics,
            rates_everywhere=everywhere,
            cost=topics.rates * followers if topics.cost is None else topics.cost,
            followers=followers,
            blocks=blocks,
            facts=facts,
            tau="column" if threshold is None else threshold,
            has_costs=topics.cost is not None,
            has_weights="weight" in people.columns,
            num_subscribers=header["subscribers"],
            fingerprint=known,
        )


def _with_columns(pairs: DataFrame, people: DataFrame, columns: list[str]) -> DataFrame:
    """Put columns of the subscriber on every pair; unknown subscribers stay, to be refused."""
    from pyspark.sql import functions as F

    pairs = pairs.select("subscriber", "topic")
    if not columns:
        return pairs
    wanted = people.select("subscriber", *(F.col(name).cast("double") for name in columns))
    return pairs.join(wanted, "subscriber", "left")


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


def _check_pairs(facts: Facts, file: Path, header: dict[str, Any]) -> None:
    if facts.trouble is not None:
        raise WorkloadError(f"{file}: {facts.trouble}")
    check_count(file.parent, "pairs", header["pairs"], file.name, facts.num_pairs)
    num_subscribers = header["subscribers"]
    for unknown in (facts.first_id, facts.last_id):
        if facts.last_id >= 0 and not 0 <= unknown < num_subscribers:
            raise WorkloadError(
                f"{file}: subscriber {unknown} is not in subscribers.parquet "
                f"(0 to {num_subscribers - 1})."
            )
    if facts.repeats:
        raise WorkloadError(
            f"{file}: {facts.repeats} pairs stand more than once; "
            "each (subscriber, topic) must stand once."
        )
