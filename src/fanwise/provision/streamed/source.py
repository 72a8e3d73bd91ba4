"""A workload whose pairs lie on disk: Parquet is read once in chunks, then mapped into memory.

The interests become one plain file of topic ids, four bytes a pair, in the order of the
subscribers. Mapped, it looks like an array to every kernel that walks over it; the operating system
reads pages ahead and drops them again, so that memory stays free however long the file is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from fanwise.arrays.csr import Csr, IntArray, LongArray, build_csr, find_duplicate, read_only
from fanwise.errors import WorkloadError
from fanwise.progress import SILENT, Progress
from fanwise.provision.streamed.kernels import add_counts
from fanwise.workload import validation
from fanwise.workload.files import local_path, not_readable, part_files, require_columns
from fanwise.workload.headers import check_count
from fanwise.workload.topic import TopicWorkload
from fanwise.workload.topic.files import open_tables, read_columns, read_header

PAIRS_AT_ONCE = 4_000_000
"""Pairs in a block: enough to keep kernels busy, little enough for many blocks in memory."""


class UnsortedError(WorkloadError):
    """Pairs do not ascend by subscriber."""


@dataclass(frozen=True, eq=False)
class MappedWorkload(TopicWorkload):
    """A workload whose ``interests.indices`` are a mapped file.

    Attributes
    ----------
    counted_followers
        How many subscribers each topic has, counted while the pairs were read.
    """

    counted_followers: LongArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @cached_property
    def followers(self) -> Csr:
        raise RuntimeError("the pairs of a mapped workload are never transposed")

    @cached_property
    def num_followers(self) -> npt.NDArray[np.int64]:
        return self.counted_followers


class Block(NamedTuple):
    """Whole subscribers, from ``first`` up to ``last``, and the topics of each."""

    first: int
    last: int
    rows: Csr


def map_workload(path: str | Path, file: Path, progress: Progress = SILENT) -> MappedWorkload:
    """Read a workload folder, its pairs into ``file``, which must stay as long as the workload.

    The same checks as :func:`fanwise.read_workload`, and one more: pairs must ascend by subscriber.

    Raises
    ------
    WorkloadError
        In one line: which file breaks the format, where, and what is needed there.
    """
    folder = local_path(path)
    header = read_header(folder)
    topics, subscribers = open_tables(folder, header)
    columns = read_columns(topics, subscribers)
    source = folder / "interests.parquet"
    indptr, followers = _write_pairs(
        source, file, header["subscribers"], header["topics"], progress
    )
    check_count(folder, "pairs", header["pairs"], source.name, int(indptr[-1]))
    return MappedWorkload(
        **columns,
        interests=Csr(indptr, map_ids(file)),
        period_seconds=float(header["period_seconds"]),
        counted_followers=followers,
    )


def map_ids(file: Path) -> IntArray:
    """Map a file of int32 numbers; an empty file cannot be mapped and needs not be."""
    if file.stat().st_size == 0:
        ids: IntArray = np.zeros(0, dtype=np.int32)
    else:
        ids = np.memmap(file, dtype=np.int32, mode="r").view(np.ndarray)
    read_only(ids)
    return ids


def blocks(rows: Csr) -> Iterator[Block]:
    """Cut rows into blocks of about equally many pairs, one subscriber at least."""
    first = 0
    while first < rows.num_rows:
        last = int(np.searchsorted(rows.indptr, rows.indptr[first] + PAIRS_AT_ONCE, side="right"))
        last = min(max(last - 1, first + 1), rows.num_rows)
        start, end = rows.indptr[first], rows.indptr[last]
        indptr = rows.indptr[first : last + 1] - start
        read_only(indptr)
        yield Block(first, last, Csr(indptr, rows.indices[start:end]))
        first = last


def _write_pairs(
    source: Path, file: Path, num_subscribers: int, num_topics: int, progress: Progress
) -> tuple[LongArray, LongArray]:
    """Write the topics of all subscribers in order; return where each starts, and followers."""
    indptr = np.zeros(num_subscribers + 1, dtype=np.int64)
    followers = np.zeros(num_topics, dtype=np.int64)
    total = float(sum(_num_rows(part) for part in part_files(source)))
    with file.open("wb") as out, progress.step(f"reading {source}", total) as step:
        for subscribers, topics in _whole_subscribers(source, num_subscribers, num_topics):
            first, last = int(subscribers[0]), int(subscribers[-1]) + 1
            rows = build_csr(subscribers - np.int32(first), topics, last - first)
            repeated = find_duplicate(rows)
            if repeated is not None:
                raise WorkloadError(
                    f"{source}: the pair (subscriber {first + repeated[0]}, topic {repeated[1]}) "
                    "is there more than once; remove duplicates."
                )
            indptr[first + 1 : last + 1] = np.diff(rows.indptr)
            add_counts(rows.indices, followers)
            rows.indices.tofile(out)
            step.advance(len(topics))
    np.cumsum(indptr, out=indptr)
    read_only(followers)
    return indptr, followers


def _whole_subscribers(
    source: Path, num_subscribers: int, num_topics: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield pairs in chunks that never cut a subscriber in two."""
    empty: IntArray = np.zeros(0, dtype=np.int32)
    kept = (empty, empty)
    for part in part_files(source):
        for subscribers, topics in _chunks(part, num_subscribers, num_topics):
            if len(kept[0]) and subscribers[0] < kept[0][-1]:
                _refuse_order(part)
            subscribers = np.concatenate([kept[0], subscribers])
            topics = np.concatenate([kept[1], topics])
            cut = int(np.searchsorted(subscribers, subscribers[-1]))
            if cut:
                yield subscribers[:cut], topics[:cut]
            kept = (subscribers[cut:], topics[cut:])
    if len(kept[0]):
        yield kept


def _chunks(
    part: Path, num_subscribers: int, num_topics: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the pairs of a part file, checked but for duplicates."""
    start = 0

    def place(column: str, row: int | None = None) -> str:
        return f"{part}: column {column!r}" + ("" if row is None else f", row {start + row}")

    try:
        file = pq.ParquetFile(part)
        require_columns(part, ("subscriber", "topic"), file.schema_arrow.names)
        with file:
            for batch in file.iter_batches(PAIRS_AT_ONCE, columns=["subscriber", "topic"]):
                if not batch.num_rows:
                    continue
                columns = []
                for name, count in (("subscriber", num_subscribers), ("topic", num_topics)):
                    ids = validation.ids(pa.chunked_array([batch.column(name)]), name, place)
                    known = f"unknown {name}: ids run from 0 to {count - 1}"
                    validation.refuse((ids < 0) | (ids >= count), ids, name, place, known)
                    columns.append(ids)
                if np.any(columns[0][1:] < columns[0][:-1]):
                    _refuse_order(part)
                yield columns[0], columns[1]
                start += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        raise not_readable(part, error) from None


def _num_rows(part: Path) -> int:
    try:
        return int(pq.read_metadata(part).num_rows)
    except (pa.ArrowException, OSError) as error:
        raise not_readable(part, error) from None


def _refuse_order(part: Path) -> None:
    raise UnsortedError(
        f"{part}: pairs do not ascend by subscriber, which streaming needs; sort "
        "interests.parquet by subscriber, or use --engine local or spark."
    )
