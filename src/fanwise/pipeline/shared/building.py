"""What the builders of workloads share: checked options, rows by verdict, what Spark stores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from fanwise.pipeline.shared import quarantine
from fanwise.pipeline.shared import schema as S
from fanwise.pipeline.shared.frames import Frames
from fanwise.pipeline.shared.job_progress import track_jobs
from fanwise.pipeline.shared.numbering import number_rows, sort_by_name
from fanwise.pipeline.shared.options import Limit
from fanwise.pipeline.shared.period import Scope
from fanwise.pipeline.shared.report import Rows
from fanwise.pipeline.shared.session import translated_errors
from fanwise.pipeline.shared.time_units import AUTO
from fanwise.progress import Progress


@dataclass(frozen=True)
class Reading:
    """How the rows of traces are taken, beyond what they say.

    Attributes
    ----------
    time_unit
        Of epoch times; see :mod:`~fanwise.pipeline.shared.time_units`.
    allow_empty
        Let results have nothing in them.
    doubts
        Traces of text whose encoding nobody has said.
    unreadable
        Files that are left out of each trace, with the reason.
    """

    time_unit: str = AUTO
    allow_empty: bool = True
    doubts: Collection[str] = ()
    unreadable: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


FramesT = TypeVar("FramesT", bound=Frames[Any], covariant=True)


class Builder(ABC, Generic[FramesT]):
    """Turns the DataFrames of traces into the tables of a workload.

    Options are checked when a builder is made, before Spark takes its seconds to start; one builder
    builds once.

    Parameters
    ----------
    scope
        The part of the traces that counts, and windows.
    max_bad_rows
        How many bad rows may be left out, or what share of all, as in "0.1%".
    progress
        Hears of tasks done.
    places
        How messages name the traces, in the order of :attr:`traces`.
    reading
        How rows are taken.
    """

    traces: ClassVar[Mapping[str, Sequence[str]]]
    """The traces in the order :meth:`build` takes them, each with the columns it can have."""

    def __init__(
        self,
        *,
        scope: Scope | None,
        max_bad_rows: int | str | Limit,
        progress: Progress,
        places: Sequence[str],
        reading: Reading | None = None,
    ) -> None:
        self.how = reading or Reading()
        self.scope = scope or Scope()
        self.limit = Limit.parse(max_bad_rows)
        self.progress = progress
        self.places = dict(zip(self.traces, places, strict=True))
        self.checked: dict[str, DataFrame] = {}
        self.rows: dict[str, Rows] = {}
        self.stored: list[DataFrame] = []

    def build(self, *frames: DataFrame) -> FramesT:
        """Return the tables; when something fails, Spark stores nothing of ours afterwards."""
        try:
            return self._build(*frames)
        except BaseException:
            for frame in self.stored:
                frame.unpersist()
            raise

    @abstractmethod
    def _build(self, *frames: DataFrame) -> FramesT:
        """Return the tables."""

    def store(self, frame: DataFrame) -> DataFrame:
        """Have Spark keep a table once it is computed, until the tables are released."""
        frame = frame.persist(StorageLevel.MEMORY_AND_DISK)
        self.stored.append(frame)
        return frame

    def number(self, frame: DataFrame, what: str) -> tuple[DataFrame, int]:
        """Return a table with ``id`` in the order of ``name``, and how many rows it has."""
        ordered = sort_by_name(frame, "name")
        self.stored.append(ordered)
        return number_rows(ordered, "id", what)

    @contextmanager
    def reading(self, spark: SparkSession, trace: str) -> Iterator[None]:
        """Report the jobs of the block as the reading of a trace; what fails names it."""
        with (
            track_jobs(spark, self.progress, f"reading {trace}"),
            translated_errors(self.places[trace]),
        ):
            yield

    def note_rows(self, trace: str, checked: DataFrame, by_verdict: Mapping[int, int]) -> Rows:
        """Note and return how the rows of a checked trace were judged."""
        self.checked[trace] = checked
        lost = len(self.how.unreadable.get(trace, ()))
        if lost:
            by_verdict = {**by_verdict, S.verdict(S.UNREADABLE): lost}
        self.rows[trace] = rows = quarantine.count_rows(by_verdict)
        return rows

    def refuse_bad_trace(self, trace: str) -> None:
        """Raise if one trace alone has more bad rows than the limit lets all of them have.

        A limit that is a share of all rows says nothing before the last trace is read.
        """
        rows = self.rows[trace]
        if self.limit.share is None and not self.limit.allows(rows.num_bad, rows.rows):
            raise self._too_many(trace, rows.num_bad)

    def refuse_bad_traces(self) -> None:
        """Raise if all traces together have too many bad rows, naming the one with most."""
        num_bad = sum(rows.num_bad for rows in self.rows.values())
        if not self.limit.allows(num_bad, sum(rows.rows for rows in self.rows.values())):
            worst = max(reversed(self.rows), key=lambda trace: self.rows[trace].num_bad)
            raise self._too_many(worst, num_bad)

    def bad_rows(self) -> DataFrame:
        """Return the bad rows of all traces, and the files left out."""
        found = quarantine.all_bad_rows(self.checked)
        lost = [
            (trace, file, S.UNREADABLE, reason)
            for trace, files in self.how.unreadable.items()
            for file, reason in files.items()
        ]
        if not lost:
            return found
        schema = "trace string, file string, reason string, row string"
        return found.unionByName(found.sparkSession.createDataFrame(lost, schema))

    def _too_many(self, trace: str, num_bad: int) -> Exception:
        return quarantine.too_many(
            self.limit, self.rows[trace], self.checked[trace], self.places[trace], num_bad
        )
