"""Topic workloads on disk: ``workload.json`` and three Parquet tables.

Each table is one file or a folder of part files, as Spark writes them; row order is free.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fanwise.arrays.csr import FloatArray
from fanwise.errors import WorkloadError
from fanwise.workload import validation
from fanwise.workload.folders import atomic_folder
from fanwise.workload.headers import TOPIC_FORMAT, VERSION, is_count, read_any_header
from fanwise.workload.headers import read_json as read_json
from fanwise.workload.outputs import WORKLOAD
from fanwise.workload.topic import TopicWorkload

FORMAT = TOPIC_FORMAT
COUNTS = ("topics", "subscribers", "pairs")


def read_workload(path: str | Path) -> TopicWorkload:
    """Read and check a topic workload.

    Parameters
    ----------
    path
        A folder with ``workload.json``, or its ``file:`` address.

    Raises
    ------
    WorkloadError
        In one line: which file, column and row break the format, and what is needed there.
    """
    folder = local_path(path)
    header = read_header(folder)
    topics = ParquetTable(folder / "topics.parquet", ("topic", "name", "rate", "bytes"), ("cost",))
    subscribers = ParquetTable(
        folder / "subscribers.parquet",
        ("subscriber", "name"),
        ("tau", "weight", "max_degree", "net_*"),
    )
    pairs = ParquetTable(folder / "interests.parquet", ("subscriber", "topic"), ())
    for table, entry in ((topics, "topics"), (subscribers, "subscribers"), (pairs, "pairs")):
        if len(table) != header[entry]:
            raise WorkloadError(
                f"{folder / 'workload.json'}: {entry} = {header[entry]}, but "
                f"{table.path.name} has {len(table)} rows; one of them is cut or stale."
            )

    topic_order = topics.order("topic")
    rates = topics.floats("rate", topic_order)
    validation.check_rates(topics.floats("rate"), topics.place)
    subscriber_order = subscribers.order("subscriber")
    return TopicWorkload(
        rates=rates,
        message_bytes=topics.not_negative("bytes", topic_order),
        interests=validation.interests(
            pairs.ids("subscriber"), pairs.ids("topic"), len(subscribers), len(topics), pairs.place
        ),
        topic_names=topics.names(topic_order),
        subscriber_names=subscribers.names(subscriber_order),
        period_seconds=float(header["period_seconds"]),
        cost=topics.optional("cost", topic_order),
        tau=subscribers.optional("tau", subscriber_order),
        weight=subscribers.optional("weight", subscriber_order),
        max_degree=subscribers.optional_ids("max_degree", subscriber_order),
        positions=subscribers.positions(subscriber_order),
        origin={
            key: value
            for key, value in header.items()
            if key not in ("format", "version", "period_seconds", *COUNTS)
        },
    )


def write_workload(workload: TopicWorkload, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a workload so that the folder appears whole or not at all."""
    with atomic_folder(local_path(path), WORKLOAD, overwrite=overwrite) as folder:
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
    (folder / "workload.json").write_text(
        header_text(
            period_seconds=period_seconds,
            topics=topics,
            subscribers=subscribers,
            pairs=pairs,
            origin=origin,
        ),
        encoding="utf-8",
    )


def header_text(
    *, period_seconds: float, topics: int, subscribers: int, pairs: int, origin: dict[str, Any]
) -> str:
    """Return the text of ``workload.json``; ``origin`` adds entries of its own."""
    period = int(period_seconds) if float(period_seconds).is_integer() else period_seconds
    header = {
        "format": FORMAT,
        "version": VERSION,
        "period_seconds": period,
        "topics": topics,
        "subscribers": subscribers,
        "pairs": pairs,
    }
    header.update((key, value) for key, value in origin.items() if key not in header)
    return json.dumps(header, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def local_path(path: str | Path) -> Path:
    """Return a local path, also from a ``file:`` address."""
    if isinstance(path, str) and path.startswith("file:"):
        return Path(unquote(urlparse(path).path))
    return Path(path)


def read_header(folder: Path) -> dict[str, Any]:
    """Read and check ``workload.json``."""
    file = folder / "workload.json"
    header = read_any_header(folder, FORMAT)
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


class ParquetTable:
    """A Parquet file or folder of part files, read column by column."""

    def __init__(self, path: Path, needed: tuple[str, ...], optional: tuple[str, ...]) -> None:
        self.path = path
        parts = part_files(path)
        tables = []
        for part in parts:
            try:
                file = pq.ParquetFile(part, memory_map=True)
                present = file.schema_arrow.names
                missing = [name for name in needed if name not in present]
                if missing:
                    raise WorkloadError(
                        f"{part}: no column {', '.join(map(repr, missing))}; "
                        f"it has {', '.join(map(repr, present)) or 'none'}."
                    )
                wanted = [name for name in present if _matches(name, (*needed, *optional))]
                tables.append(file.read(columns=wanted))
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                reason = str(error).splitlines()[0]
                raise WorkloadError(
                    f"{part}: not readable as Parquet, cut or damaged ({reason}); write it again."
                ) from None
        self._parts = parts
        self._starts = np.cumsum([0, *(table.num_rows for table in tables)])
        try:
            self._table = pa.concat_tables(tables, promote_options="none")
        except pa.ArrowException:
            try:
                self._table = pa.concat_tables(tables, promote_options="permissive")
            except pa.ArrowException as error:
                reason = str(error).splitlines()[0]
                raise WorkloadError(
                    f"{path}: part files do not agree on columns and types ({reason})."
                ) from None

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def place(self, column: str, row: int | None = None) -> str:
        """Name a column, or one of its rows: the part file and the row in it, from 0."""
        if row is None:
            return f"{self.path}: column {column!r}"
        part = int(np.searchsorted(self._starts, row, side="right")) - 1
        return f"{self._parts[part]}: column {column!r}, row {row - self._starts[part]}"

    def _column(self, name: str) -> pa.ChunkedArray:
        return self._table.column(name)

    def ids(self, name: str) -> Any:
        return validation.ids(self._column(name), name, self.place)

    def order(self, name: str) -> Any:
        return validation.dense_order(self.ids(name), len(self), name, self.place)

    def floats(self, name: str, order: Any = None) -> FloatArray:
        values = validation.numbers(self._column(name), name, self.place)
        return values if order is None else values[order]

    def not_negative(self, name: str, order: Any) -> FloatArray:
        validation.check_not_negative(self.floats(name), name, self.place)
        return self.floats(name, order)

    def names(self, order: Any) -> pa.Array:
        values = validation.names(self._column("name"), "name", self.place)
        return values if order is None else values.take(pa.array(order))

    def optional(self, name: str, order: Any) -> FloatArray | None:
        return self.not_negative(name, order) if name in self._table.column_names else None

    def optional_ids(self, name: str, order: Any) -> Any:
        if name not in self._table.column_names:
            return None
        values = self.ids(name)
        validation.refuse(values < 0, values, name, self.place, "must be >= 0")
        return values if order is None else values[order]

    def positions(self, order: Any) -> FloatArray | None:
        axes = [name for name in self._table.column_names if name.startswith("net_")]
        if not axes:
            return None
        expected = [f"net_{axis}" for axis in range(len(axes))]
        if sorted(axes) != sorted(expected):
            raise WorkloadError(
                f"{self.path}: columns {', '.join(sorted(axes))} where "
                f"{', '.join(expected)} are needed."
            )
        return np.column_stack([self.floats(name, order) for name in expected])


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(
        name == pattern or (pattern.endswith("*") and name.startswith(pattern[:-1]))
        for pattern in patterns
    )


def part_files(path: Path) -> list[Path]:
    """Return the Parquet files behind ``x.parquet``: itself, or the parts of a folder."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise WorkloadError(f"{path}: not there; a workload folder needs it.")
    parts = sorted(
        part
        for part in path.rglob("*.parquet")
        if part.is_file() and not part.name.startswith(("_", "."))
    )
    if not parts:
        raise WorkloadError(f"{path}: a folder without part files (*.parquet).")
    return parts
