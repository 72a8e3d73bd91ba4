"""From DataFrames of publications and subscriptions to the tables of a workload.

Everything that grows with the data stays in Spark; the driver sees totals and, with windows, one
row per window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fanwise.errors import InputError
from fanwise.pipeline.shared import quarantine
from fanwise.pipeline.shared import schema as S
from fanwise.pipeline.shared.building import Builder
from fanwise.pipeline.shared.job_progress import track_jobs
from fanwise.pipeline.shared.options import MESSAGE_BYTES, check_message_bytes
from fanwise.pipeline.shared.period import Period, Scope, settle
from fanwise.pipeline.shared.windows import WINDOW, Transform, window_columns
from fanwise.pipeline.topic import checks, transforms
from fanwise.pipeline.topic.frames import WorkloadFrames
from fanwise.pipeline.topic.report import Report, Window
from fanwise.progress import SILENT, Progress


def build_workload(
    publications: DataFrame,
    subscriptions: DataFrame,
    *,
    scope: Scope | None = None,
    message_bytes: float = MESSAGE_BYTES,
    keep_empty: bool = False,
    mutual: bool = False,
    max_bad_rows: int | str = 0,
    progress: Progress = SILENT,
    places: tuple[str, str] = ("publications", "subscriptions"),
) -> WorkloadFrames:
    """Make the tables of a workload.

    Runs Spark jobs and keeps intermediate results in Spark's storage until ``release()``.
    Timestamps without a zone are read in the session's time zone.

    Parameters
    ----------
    publications
        ``topic``, ``timestamp``, optional ``bytes`` and ``events``: one row per event, or per
        ``events`` events. Or ready counts: ``topic``, ``events``, optional ``bytes``.
    subscriptions
        ``subscriber``, ``topic``, optional ``since``, ``until``.
    scope
        The part of the traces that counts, and windows.
    message_bytes
        Size of the messages of topics of which no size is known.
    keep_empty
        Keep subscribers whose topics were all dropped.
    mutual
        Each subscription holds both ways, as in a friendship graph.
    max_bad_rows
        How many bad rows may be left out, or what share of all, as in "0.1%".
    progress
        Hears of tasks done.
    places
        How messages name the two traces.

    Raises
    ------
    InputError
        Missing columns, too many bad rows, or no way to tell the period.
    """
    builder = TopicBuilder(
        scope=scope,
        message_bytes=message_bytes,
        keep_empty=keep_empty,
        mutual=mutual,
        max_bad_rows=max_bad_rows,
        progress=progress,
        places=places,
    )
    return builder.build(publications, subscriptions)


class TopicBuilder(Builder[WorkloadFrames]):
    """Builds a topic workload; see :func:`build_workload`."""

    traces: ClassVar[Mapping[str, Sequence[str]]] = {
        "publications": ("topic", "timestamp", "bytes", "events"),
        "subscriptions": ("subscriber", "topic", "since", "until"),
    }

    def __init__(
        self,
        *,
        scope: Scope | None,
        message_bytes: float,
        keep_empty: bool,
        mutual: bool,
        max_bad_rows: int | str,
        progress: Progress,
        places: Sequence[str],
    ) -> None:
        super().__init__(scope=scope, max_bad_rows=max_bad_rows, progress=progress, places=places)
        self.message_bytes = check_message_bytes(message_bytes)
        self.keep_empty = keep_empty
        self.mutual = mutual

    def _build(self, *frames: DataFrame) -> WorkloadFrames:
        publications, subscriptions = frames
        spark = publications.sparkSession
        window = self.scope.window

        counts, totals = self.count_events(publications)
        period = settle(self.scope, totals.first, totals.last, self.places["publications"])
        all_pairs, seen = self.find_pairs(subscriptions, period)
        self.refuse_bad_traces()

        pairs = transforms.fine_pairs(all_pairs)
        followed = self.store(transforms.followed_topics(pairs))
        published = counts.transform(transforms.publish_rates(self.message_bytes))
        kept = published.transform(transforms.keep_followed(followed))
        with track_jobs(spark, self.progress, "numbering topics"):
            topics, num_topics = self.number(kept, "topics")
            topics_followed = _count_distinct(followed, "topic")
            topics_published = (
                totals.topics if window is None else _count_distinct(published, "name")
            )
        links = pairs.transform(transforms.links_to(topics))
        with track_jobs(spark, self.progress, "numbering subscribers"):
            degrees = links.transform(transforms.count_degrees)
            if self.keep_empty:
                present = pairs.transform(_in_windows(period)) if window else pairs
                degrees = degrees.transform(
                    transforms.add_empty(transforms.seen_subscribers(present))
                )
            subscribers, num_subscribers = self.number(
                degrees.withColumnRenamed("subscriber", "name"), "subscribers"
            )
            windows, num_pairs = _count_windows(topics, subscribers, period)
            if window is not None:
                num_topics = _count_distinct(topics, "name")
                num_subscribers = _count_distinct(subscribers, "name")
        return WorkloadFrames(
            topics=_tidy(topics, "topic", ("rate", "bytes")),
            subscribers=_tidy(subscribers, "subscriber", ()),
            interests=links.transform(
                transforms.interests(subscribers.withColumnRenamed("name", "subscriber"))
            ),
            bad=quarantine.all_bad_rows(self.checked),
            report=Report(
                publications=self.rows["publications"],
                subscriptions=self.rows["subscriptions"],
                events=totals.events,
                duplicates=self.rows["subscriptions"].fine - seen.pairs,
                pairs_seen=seen.pairs,
                topics_published=topics_published,
                topics_followed=topics_followed,
                subscribers_seen=seen.subscribers,
                topics=num_topics,
                subscribers=num_subscribers,
                pairs=num_pairs,
                period_seconds=period.seconds,
                start=period.start,
                end=self.scope.end if self.scope.end is not None else totals.last,
                window=window,
                windows=windows,
            ),
            _stored=self.stored,
        )

    def count_events(self, publications: DataFrame) -> tuple[DataFrame, _EventTotals]:
        """Return the events of each topic (and window), and their totals."""
        checked = self.check_publications(publications)
        counts = self.store(checked.transform(transforms.count_events(self.scope.window)))
        with self.reading(publications.sparkSession, "publications"):
            totals = _event_totals(counts)
        self.note_rows("publications", checked, totals.by_verdict)
        self.refuse_bad_trace("publications")
        return counts, totals

    def check_publications(self, frame: DataFrame) -> DataFrame:
        """Return publications with a verdict on each row: events, or ready counts."""
        place = self.places["publications"]
        if S.has_column(frame, "timestamp"):
            return checks.check_events(
                frame, start=self.scope.start, end=self.scope.end, place=place
            )
        if not S.has_column(frame, "events"):
            present = [name for name in frame.columns if not name.startswith("_")]
            raise InputError(
                f"{place}: neither 'timestamp' (one row per event) nor 'events' (ready counts) is "
                f"among the columns {', '.join(map(repr, present))}; see --columns and --rename."
            )
        if self.scope.window is not None:
            raise InputError(
                f"{place}: has no column 'timestamp', so it cannot be cut into windows; "
                "leave out --window."
            )
        return checks.check_counts(frame, place=place)

    def find_pairs(self, subscriptions: DataFrame, period: Period) -> tuple[DataFrame, _PairTotals]:
        """Return the distinct pairs by verdict, and how many there are."""
        start, end = period.covered
        checked = checks.check_subscriptions(
            subscriptions, start=start, end=end, place=self.places["subscriptions"]
        )
        both_ways = checks.mutual(checked) if self.mutual else checked
        pairs = self.store(both_ways.transform(transforms.distinct_pairs(self.scope.window)))
        with self.reading(subscriptions.sparkSession, "subscriptions"):
            totals = _pair_totals(pairs)
        self.note_rows("subscriptions", checked, totals.by_verdict)
        return pairs, totals


def _count_windows(
    topics: DataFrame, subscribers: DataFrame, period: Period
) -> tuple[tuple[Window, ...], int]:
    """Count what each window keeps, and the pairs of all."""
    degree = F.coalesce(F.sum("degree"), F.lit(0)).alias("pairs")
    if period.window is None:
        return (), subscribers.agg(degree).first()["pairs"]
    topics_of = {row[0]: row[1] for row in topics.groupBy(WINDOW).count().collect()}
    rows = subscribers.groupBy(WINDOW).agg(F.count("*").alias("count"), degree).collect()
    found = {row[WINDOW]: (row["count"], row["pairs"]) for row in rows}
    windows = tuple(
        Window(start, start + period.window, topics_of.get(start, 0), *found.get(start, (0, 0)))
        for start in period.window_starts
    )
    return windows, sum(window.pairs for window in windows)


@dataclass(frozen=True)
class _EventTotals:
    by_verdict: dict[int, int]
    events: int
    topics: int
    first: int | None
    last: int | None


def _event_totals(counts: DataFrame) -> _EventTotals:
    timed = "first" in counts.columns
    found = counts.groupBy("verdict").agg(
        F.sum("rows").alias("rows"),
        F.sum("events").alias("events"),
        F.count_if(F.col("events") > 0).alias("topics"),
        (F.min("first") if timed else F.lit(None)).alias("first"),
        (F.max("last") if timed else F.lit(None)).alias("last"),
    )
    by_verdict = {row["verdict"]: row for row in found.collect()}
    fine = by_verdict.get(S.FINE)
    return _EventTotals(
        by_verdict={code: row["rows"] for code, row in by_verdict.items()},
        events=int(fine["events"]) if fine else 0,
        topics=fine["topics"] if fine else 0,
        first=fine["first"] if fine else None,
        last=fine["last"] if fine else None,
    )


@dataclass(frozen=True)
class _PairTotals:
    by_verdict: dict[int, int]
    pairs: int
    subscribers: int


def _pair_totals(pairs: DataFrame) -> _PairTotals:
    # Partitioned by subscriber: of these steps only the last one, of a few rows, shuffles.
    if transforms.span_columns(pairs):
        pairs = pairs.groupBy("subscriber", "topic", "verdict").agg(F.sum("rows").alias("rows"))
    found = (
        pairs.groupBy("subscriber", "verdict")
        .agg(F.sum("rows").alias("rows"), F.count("*").alias("pairs"))
        .groupBy("verdict")
        .agg(F.sum("rows").alias("rows"), F.sum("pairs").alias("pairs"), F.count("*").alias("who"))
        .collect()
    )
    fine = next((row for row in found if row["verdict"] == S.FINE), None)
    return _PairTotals(
        by_verdict={row["verdict"]: row["rows"] for row in found},
        pairs=fine["pairs"] if fine else 0,
        subscribers=fine["who"] if fine else 0,
    )


def _in_windows(period: Period) -> Transform:
    starts = period.window_starts
    every = F.sequence(
        F.lit(starts[0]).cast("bigint"),
        F.lit(starts[-1]).cast("bigint"),
        F.lit(starts.step).cast("bigint"),
    )
    return transforms.spread_over_windows(every)


def _count_distinct(frame: DataFrame, column: str) -> int:
    return int(frame.select(column).distinct().count())


def _tidy(frame: DataFrame, column: str, others: tuple[str, ...]) -> DataFrame:
    return frame.select(*window_columns(frame), F.col("id").alias(column), "name", *others)
