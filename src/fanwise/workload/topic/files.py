"""Topic workloads on disk: ``workload.json`` and three Parquet tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fanwise.errors import WorkloadError
from fanwise.workload.files import ParquetTable, local_path, output_path
from fanwise.workload.folders import atomic_folder
from fanwise.workload.headers import (
    TOPIC_FORMAT,
    VERSION,
    check_count,
    is_count,
    json_text,
    read_any_header,
)
from fanwise.workload.outputs import WORKLOAD
from fanwise.workload.topic import validation
from fanwise.workload.topic.model import TopicWorkload

COUNTS = ("topics", "subscribers", "pairs")


def read_workload(path: str | Path) -> TopicWorkload:
    """Read and check a topic workload; see :func:`fanwise.read_workload`."""
    folder = local_path(path)
    header = read_header(folder)
    topics, subscribers = open_tables(folder, header)
    pairs = ParquetTable(folder / "interests.parquet", ("subscriber", "topic"), ())
    check_count(folder, "pairs", header["pairs"], pairs.path.name, len(pairs))
    return TopicWorkload(
        **read_columns(topics, subscribers),
        interests=validation.interests(
            pairs.ids("subscriber"), pairs.ids("topic"), len(subscribers), len(topics), pairs.place
        ),
        period_seconds=float(header["period_seconds"]),
        origin={
            key: value
            for key, value in header.items()
            if key not in ("format", "version", "period_seconds", *COUNTS)
        },
    )


def open_tables(folder: Path, header: dict[str, Any]) -> tuple[ParquetTable, ParquetTable]:
    """Open the tables of topics and of subscribers, which must have the rows the header says."""
    topics = ParquetTable(
        folder / "topics.parquet", ("topic", "name", "rate", "bytes"), ("cost", "change_price")
    )
    subscribers = ParquetTable(
        folder / "subscribers.parquet",
        ("subscriber", "name"),
        ("tau", "weight", "max_degree", "net_*"),
    )
    for table, entry in ((topics, "topics"), (subscribers, "subscribers")):
        check_count(folder, entry, header[entry], table.path.name, len(table))
    return topics, subscribers


def read_columns(topics: ParquetTable, subscribers: ParquetTable) -> dict[str, Any]:
    """Return what a :class:`TopicWorkload` has of topics and subscribers: all but their pairs."""
    topic_order = topics.order("topic")
    validation.check_rates(topics.floats("rate"), topics.place)
    order = subscribers.order("subscriber")
    return {
        "rates": topics.floats("rate", topic_order),
        "message_bytes": topics.not_negative("bytes", topic_order),
        "topic_names": topics.names(topic_order),
        "subscriber_names": subscribers.names(order),
        "cost": topics.optional("cost", topic_order),
        "change_price": topics.optional("change_price", topic_order),
        "tau": subscribers.optional("tau", order),
        "weight": subscribers.optional("weight", order),
        "max_degree": subscribers.optional_ids("max_degree", order),
        "positions": subscribers.positions(order),
    }


def write_workload(workload: TopicWorkload, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a workload so that the folder appears whole or not at all."""
    with atomic_folder(output_path(path), WORKLOAD, overwrite=overwrite) as folder:
        write_tables(workload, folder)


def write_tables(workload: TopicWorkload, folder: Path) -> None:
    """Write the files of a workload into an existing folder, the JSON last."""
    topics: dict[str, Any] = {
        "topic": np.arange(workload.num_topics, dtype=np.int32),
        "name": workload.topic_names,
        "rate": workload.rates,
        "bytes": workload.message_bytes,
    }
    if workload.cost is not None:
        topics["cost"] = workload.cost
    if workload.change_price is not None:
        topics["change_price"] = workload.change_price
    subscribers: dict[str, Any] = {
        "subscriber": np.arange(workload.num_subscribers, dtype=np.int32),
        "name": workload.subscriber_names,
    }
    for name, values in (
        ("tau", workload.tau),
        ("weight", workload.weight),
        ("max_degree", workload.max_degree),
    ):
        if values is not None:
            subscribers[name] = values
    if workload.positions is not None:
        for axis in range(workload.positions.shape[1]):
            subscribers[f"net_{axis}"] = np.ascontiguousarray(workload.positions[:, axis])
    pairs = {
        "subscriber": np.repeat(
            np.arange(workload.num_subscribers, dtype=np.int32),
            np.diff(workload.interests.indptr),
        ),
        "topic": workload.interests.indices,
    }
    for name, columns in (
        ("topics", topics),
        ("subscribers", subscribers),
        ("interests", pairs),
    ):
        pq.write_table(pa.table(columns), folder / f"{name}.parquet", compression="snappy")
    write_header(
        folder,
        period_seconds=workload.period_seconds,
        topics=workload.num_topics,
        subscribers=workload.num_subscribers,
        pairs=workload.num_pairs,
        origin=dict(workload.origin),
    )


def write_header(
    folder: Path,
    *,
    period_seconds: float,
    topics: int,
    subscribers: int,
    pairs: int,
    origin: dict[str, Any],
) -> None:
    """Write ``workload.json``."""
    header = header_entries(
        period_seconds=period_seconds,
        topics=topics,
        subscribers=subscribers,
        pairs=pairs,
        origin=origin,
    )
    (folder / "workload.json").write_text(json_text(header), encoding="utf-8")


def header_entries(
    *, period_seconds: float, topics: int, subscribers: int, pairs: int, origin: dict[str, Any]
) -> dict[str, Any]:
    """Return the entries of ``workload.json``; ``origin`` adds entries of its own."""
    period = int(period_seconds) if float(period_seconds).is_integer() else period_seconds
    header = {
        "format": TOPIC_FORMAT,
        "version": VERSION,
        "period_seconds": period,
        "topics": topics,
        "subscribers": subscribers,
        "pairs": pairs,
    }
    return {**header, **{key: value for key, value in origin.items() if key not in header}}


def read_header(folder: Path) -> dict[str, Any]:
    """Read and check ``workload.json``."""
    file = folder / "workload.json"
    header = read_any_header(folder, TOPIC_FORMAT)
    period = header.get("period_seconds")
    if not isinstance(period, int | float) or isinstance(period, bool) or not period > 0:
        raise WorkloadError(f"{file}: period_seconds must be a number > 0, got {period!r}.")
    validation.check_period(period, str(file))
    for entry in COUNTS:
        if not is_count(header.get(entry)):
            raise WorkloadError(
                f"{file}: {entry} must be a whole number >= 0, got {header.get(entry)!r}."
            )
    return header
