"""Breadth-first samples of a follow graph on Spark, for graphs that no machine holds.

What is visited, and in which order, is defined in :mod:`fanwise.workload.topic.sampling`. Pairs
stay in Spark: users get ids in the order of their names, and each level of the search is one job
that joins the stored links with the level before it. The driver holds the ids of visited users, 4
bytes each, and in the end the sample itself. Every level starts from those ids, so that plans do
not grow.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from fanwise.arrays.csr import IntArray
from fanwise.errors import WorkloadError
from fanwise.pipeline.shared.job_progress import track_jobs
from fanwise.pipeline.shared.jobs import run_on_spark
from fanwise.pipeline.shared.numbering import number_rows, sort_by_name
from fanwise.pipeline.shared.session import translated_errors
from fanwise.pipeline.shared.tables import open_folder, read_table
from fanwise.pipeline.topic.follow_graph import (
    count_sides,
    keep_inside,
    keep_linked,
    links_along,
    name_ends,
    next_level,
    order_starts,
)
from fanwise.progress import SILENT, Progress
from fanwise.workload.files import local_path, part_files
from fanwise.workload.headers import check_count
from fanwise.workload.remote import address_of
from fanwise.workload.topic import TopicWorkload
from fanwise.workload.topic.files import COUNTS, read_header
from fanwise.workload.topic.sampling import (
    Request,
    Visited,
    assemble,
    refuse_no_graph,
    unknown_start,
)

_TABLES = {
    "topics": ("topic", "name", "rate", "bytes"),
    "subscribers": ("subscriber", "name"),
    "pairs": ("subscriber", "topic"),
}
_FILES = {"topics": "topics", "subscribers": "subscribers", "pairs": "interests"}
_MOST_BROADCAST = 2_000_000  # users that travel to every task; more are joined by a shuffle
_PAIRS_AT_ONCE = 20_000_000  # of the sample that travel to the driver in one job


def sample(
    path: str | Path,
    request: Request,
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    progress: Progress = SILENT,
) -> TopicWorkload:
    """Return a breadth-first sample of a workload folder.

    Parameters
    ----------
    path
        A topic workload in which users are topics and subscribers, under the same names.
    request
        How many users, and where to start.
    master, conf
        Of the Spark session; see :func:`~fanwise.pipeline.shared.session.spark_session`.
    progress
        Hears of tasks done.

    Raises
    ------
    InputError
        No follow graph, or a start that is no user.
    """
    if address_of(path) is None:  # before Spark takes its seconds to start
        _check_rows(local_path(path), read_header(local_path(path)))

    def work(spark: SparkSession) -> tuple[Visited, dict[str, Any]]:
        with translated_errors(str(path)):
            folder, header = open_folder(spark, path)
            with closing(FollowGraph(spark, folder, header, progress)) as graph:
                graph.store()
                return graph.fetch(*graph.visit(request)), header

    visited, header = run_on_spark(work, master=master, conf=conf, progress=progress)
    return assemble(
        request,
        visited,
        period_seconds=float(header["period_seconds"]),
        whole={name: header[name] for name in COUNTS},
        origin={
            name: value
            for name, value in header.items()
            if name not in ("format", "version", "period_seconds", *COUNTS)
        },
    )


class FollowGraph:
    """The tables of a workload, with users in place of topics and subscribers."""

    def __init__(
        self, spark: SparkSession, folder: Path, header: Mapping[str, Any], progress: Progress
    ) -> None:
        self.spark = spark
        self.folder = folder
        self.header = header
        self.progress = progress
        self._tables = {name: _read(spark, folder, name) for name in _TABLES}
        self._stored: list[DataFrame] = []

    def store(self) -> None:
        """Number the users and store who follows whom."""
        topics, subscribers = self._tables["topics"], self._tables["subscribers"]
        ordered = sort_by_name(count_sides(topics, subscribers), "name")
        self._stored.append(ordered)
        with track_jobs(self.spark, self.progress, "numbering users"):
            self.users, num_users = number_rows(ordered, "user", "users")
        num_names = self.header["topics"] + self.header["subscribers"]
        refuse_no_graph(num_names - num_users, str(self.folder))
        self.follows = self._keep(
            self._tables["pairs"].transform(name_ends(self.users, topics, subscribers))
        )
        with track_jobs(self.spark, self.progress, "reading pairs"):
            unknown = self.header["pairs"] - self.follows.count()
        if unknown:
            raise WorkloadError(
                f"{self.folder / 'interests.parquet'}: {abs(unknown)} pairs name a subscriber or "
                "topic that is not there exactly once; every id must be known."
            )

    def visit(self, request: Request) -> tuple[IntArray, int]:
        """Visit users breadth first; return them in that order, and how many were started from.

        Each level comes as the first ``nodes`` neighbours of the one before, visited ones among
        them: as many are new as are still wanted, or all there are. In the same way the first
        ``nodes`` users in the order of starting are enough for all restarts.
        """
        links = self.follows.transform(links_along(request.along))
        with track_jobs(self.spark, self.progress, "visiting users"):
            order = None
            queue, level = np.empty(0, dtype=np.int32), self._named_starts(request)
            num_starts = len(level)
            while len(queue) + len(level) < request.nodes:
                if len(level) == 0:
                    if order is None:
                        order = self._starting_order(request)
                    wanted = min(num_starts or request.num_starts, request.nodes - len(queue))
                    level = _leave_out(order, queue)[:wanted]
                    num_starts += len(level)
                    if len(level) == 0:
                        break
                    continue
                turns = np.arange(len(queue), len(queue) + len(level), dtype=np.int32)
                queue = np.concatenate([queue, level])
                frontier = self._frame({"user": level, "turn": turns})
                seen = _users(links.transform(next_level(frontier)), request.nodes)
                level = _leave_out(seen, queue)
            queue = np.concatenate([queue, level])[: request.nodes]
        return queue, num_starts

    def fetch(self, users: IntArray, num_starts: int) -> Visited:
        """Bring what is known of the visited users, and the pairs among them, to the driver."""
        chosen = self._frame({"user": users})
        with track_jobs(self.spark, self.progress, "fetching the sample"):
            inside = self.follows.transform(keep_inside(chosen))
            if self.header["pairs"] > _PAIRS_AT_ONCE:
                pairs = _fetch_in_parts(self._keep(inside))
            else:
                pairs = inside.toArrow()
            named = {
                name: _with_users(self._tables[name], self.users, chosen).drop(_TABLES[name][0])
                for name in ("topics", "subscribers")
            }
            tables = {name: frame.toArrow() for name, frame in named.items()}
        return Visited(
            topics=tables["topics"],
            subscribers=tables["subscribers"],
            follower=pairs.column("follower").to_numpy(),
            followee=pairs.column("followee").to_numpy(),
            users=users,
            num_starts=num_starts,
        )

    def close(self) -> None:
        """Free what Spark stored."""
        for frame in self._stored:
            frame.unpersist()
        self._stored.clear()

    def _keep(self, frame: DataFrame) -> DataFrame:
        frame = frame.persist(StorageLevel.MEMORY_AND_DISK)
        self._stored.append(frame)
        return frame

    def _frame(self, columns: dict[str, IntArray]) -> DataFrame:
        """Make a frame of ids; small ones are sent to every task."""
        frame = self.spark.createDataFrame(pa.table(columns))
        small = len(next(iter(columns.values()))) <= _MOST_BROADCAST
        return F.broadcast(frame) if small else frame

    def _named_starts(self, request: Request) -> IntArray:
        if not request.starts:
            return np.empty(0, dtype=np.int32)
        linked = self.users.transform(keep_linked(self.follows))
        found = linked.where(F.col("name").isin(*request.starts)).collect()
        user_of = {row["name"]: row["user"] for row in found}
        for name in request.starts:
            if name not in user_of:
                raise unknown_start(name)
        users = [user_of[name] for name in request.starts[: request.nodes]]
        return np.array(users, dtype=np.int32)

    def _starting_order(self, request: Request) -> IntArray:
        linked = self.users.transform(keep_linked(self.follows))
        return _users(linked.transform(order_starts(request.seed)), request.nodes)


def _with_users(table: DataFrame, users: DataFrame, chosen: DataFrame) -> DataFrame:
    known = users.select("name", "user").join(chosen, "user", "left_semi")
    return table.join(known, "name")


def _users(ordered: DataFrame, most: int) -> IntArray:
    """Return the first users of an ordered frame."""
    found = ordered.limit(most).select("user").toArrow()
    return np.asarray(found.column("user").to_numpy(), dtype=np.int32)


def _leave_out(users: IntArray, visited: IntArray) -> IntArray:
    return users[np.isin(users, visited, invert=True)]


def _fetch_in_parts(pairs: DataFrame) -> pa.Table:
    """Fetch pairs in several jobs where they are many: Spark limits what one may return."""
    parts = max(1, -(-pairs.count() // _PAIRS_AT_ONCE))
    part = F.pmod("follower", F.lit(parts))
    return pa.concat_tables([pairs.where(part == number).toArrow() for number in range(parts)])


def _check_rows(folder: Path, header: Mapping[str, Any]) -> None:
    """Refuse a missing or damaged table, and one that has not the rows that the header says."""
    for name, file in _FILES.items():
        count = 0
        for part in part_files(folder / f"{file}.parquet"):
            try:
                count += pq.read_metadata(part).num_rows
            except (pa.ArrowException, OSError) as error:
                text = str(error).splitlines()[0]
                raise WorkloadError(f"{part}: not readable as Parquet ({text}).") from None
        check_count(folder, name, header[name], f"{file}.parquet", count)


def _read(spark: SparkSession, folder: Path, name: str) -> DataFrame:
    """Read what a sample keeps of a table."""
    needed = _TABLES[name]
    frame = read_table(spark, folder / f"{_FILES[name]}.parquet", needed)
    optional = {"topics": ("cost",), "subscribers": ("tau", "weight", "max_degree")}
    kept = [
        column
        for column in frame.columns
        if column in needed
        or column in optional.get(name, ())
        or (name == "subscribers" and column.startswith("net_"))
    ]
    return frame.select(*kept)
