"""From DataFrames of publications and subscriptions to the tables of a workload.

Everything that grows with the data stays in Spark; the driver sees totals and, with windows, one
row per window.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fanwise.errors import InputError, ParameterError
from fanwise.pipeline import checks, quarantine, transforms
from fanwise.pipeline import schema as S
from fanwise.pipeline.numbering import number_rows, sort_by_name
from fanwise.pipeline.period import Period, Scope, settle
from fanwise.pipeline.report import Report, Rows, Window
from fanwise.pipeline.session import translated_errors
from fanwise.pipeline.transforms import WINDOW
from fanwise.pipeline.watching import watch
from fanwise.progress import SILENT, Progress

MESSAGE_BYTES = 200.0


@dataclass(frozen=True)
class WorkloadFrames:
    """The tables of a workload, or with windows of all of them together.

    Attributes
    ----------
    topics
        ``topic``, ``name``, ``rate``, ``bytes``; with windows also ``window``, its start in
        microseconds since the epoch. So have the others.
    subscribers
        ``subscriber``, ``name``.
    interests
        ``subscriber``, ``topic``.
    bad
        ``trace``, ``file``, ``reason``, ``row`` of the bad rows, read again when asked for.
    report
        What was read, dropped and kept.
    """

    topics: DataFrame
    subscribers: DataFrame
    interests: DataFrame
    bad: DataFrame
    report: Report
    _stored: list[DataFrame] = field(default_factory=list, repr=False)

    def release(self) -> None:
        """Free what Spark stored to make the tables; they must not be used afterwards."""
        for frame in self._stored:
            frame.unpersist()
        self._stored.clear()


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
    if not 0 <= message_bytes < float("inf"):
        raise ParameterError("message-bytes", "a finite number >= 0", message_bytes)
    builder = _Builder(
        scope or Scope(), quarantine.Limit.parse(max_bad_rows), message_bytes, progress
    )
    try:
        return builder.build(publications, subscriptions, keep_empty, mutual, places)
    except BaseException:
        builder.release()
        raise


class _Builder:
    def __init__(
        self,
        scope: Scope,
        limit: quarantine.Limit,
        message_bytes: float,
        progress: Progress,
    ) -> None:
        self.scope = scope
        self.limit = limit
        self.message_bytes = message_bytes
        self.progress = progress
        self.stored: list[DataFrame] = []

    def release(self) -> None:
        for frame in self.stored:
            frame.unpersist()

    def store(self, frame: DataFrame) -> DataFrame:
        frame = frame.persist(StorageLevel.MEMORY_AND_DISK)
        self.stored.append(frame)
        return frame

    def build(
        self,
        publications: DataFrame,
        subscriptions: DataFrame,
        keep_empty: bool,
        mutual: bool,
        places: tuple[str, str],
    ) -> WorkloadFrames:
        spark = publications.sparkSession
        window = self.scope.window

        checked_events = self.check_publications(publications, places[0])
        counts = self.store(checked_events.transform(transforms.count_events(window)))
        with watch(spark, self.progress, "reading publications"), translated_errors(places[0]):
            totals = _event_totals(counts)
        quarantine.refuse_too_many(self.limit, totals.rows, checked_events, places[0])
        period = settle(self.scope, totals.first, totals.last, places[0])

        start, end = period.covered
        checked_pairs = checks.check_subscriptions(
            subscriptions, start=start, end=end, place=places[1]
        )
        both_ways = checks.mutual(checked_pairs) if mutual else checked_pairs
        all_pairs = self.store(both_ways.transform(transforms.distinct_pairs(window)))
        with watch(spark, self.progress, "reading subscriptions"), translated_errors(places[1]):
            seen = _pair_totals(all_pairs)
        self.refuse_too_many(totals.rows, seen.rows, checked_events, checked_pairs, places)

        pairs = transforms.fine_pairs(all_pairs)
        followed = self.store(transforms.followed_topics(pairs))
        published = counts.transform(transforms.publish_rates(self.message_bytes))
        kept = published.transform(transforms.keep_followed(followed))
        with watch(spark, self.progress, "numbering topics"):
            topics, num_topics = self.number(kept, "topics")
            topics_followed = _count(followed, "topic")
            topics_published = totals.topics if window is None else _count(published, "name")
        links = pairs.transform(transforms.links_to(topics))
        with watch(spark, self.progress, "numbering subscribers"):
            degrees = links.transform(transforms.count_degrees)
            if keep_empty:
                present = pairs.transform(_in_windows(period)) if window else pairs
                degrees = degrees.transform(
                    transforms.add_empty(transforms.seen_subscribers(present))
                )
            subscribers, num_subscribers = self.number(
                degrees.withColumnRenamed("subscriber", "name"), "subscribers"
            )
            windows, num_pairs = self.count(topics, subscribers, period)
            if window is not None:
                num_topics = _count(topics, "name")
                num_subscribers = _count(subscribers, "name")
        return WorkloadFrames(
            topics=_tidy(topics, "topic", ("rate", "bytes")),
            subscribers=_tidy(subscribers, "subscriber", ()),
            interests=links.transform(
                transforms.interests(subscribers.withColumnRenamed("name", "subscriber"))
            ),
            bad=quarantine.all_bad_rows(
                {"publications": checked_events, "subscriptions": checked_pairs}
            ),
            report=Report(
                publications=totals.rows,
                subscriptions=seen.rows,
                events=totals.events,
                duplicates=seen.rows.fine - seen.pairs,
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

    def check_publications(self, frame: DataFrame, place: str) -> DataFrame:
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

    def refuse_too_many(
        self,
        events: Rows,
        pairs: Rows,
        checked_events: DataFrame,
        checked_pairs: DataFrame,
        places: tuple[str, str],
    ) -> None:
        num_bad = events.num_bad + pairs.num_bad
        if self.limit.allows(num_bad, events.rows + pairs.rows):
            return
        if events.num_bad > pairs.num_bad:
            raise quarantine.too_many(self.limit, events, checked_events, places[0], num_bad)
        raise quarantine.too_many(self.limit, pairs, checked_pairs, places[1], num_bad)

    def number(self, frame: DataFrame, what: str) -> tuple[DataFrame, int]:
        placed = sort_by_name(frame, "name")
        self.stored.append(placed)
        return number_rows(placed, "id", what)

    def count(
        self, topics: DataFrame, subscribers: DataFrame, period: Period
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
    rows: Rows
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
        rows=_rows({code: row["rows"] for code, row in by_verdict.items()}),
        events=int(fine["events"]) if fine else 0,
        topics=fine["topics"] if fine else 0,
        first=fine["first"] if fine else None,
        last=fine["last"] if fine else None,
    )


@dataclass(frozen=True)
class _PairTotals:
    rows: Rows
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
        rows=_rows({row["verdict"]: row["rows"] for row in found}),
        pairs=fine["pairs"] if fine else 0,
        subscribers=fine["who"] if fine else 0,
    )


def _rows(by_verdict: dict[int, int]) -> Rows:
    return Rows(
        rows=sum(by_verdict.values()),
        outside=by_verdict.get(S.OUTSIDE, 0),
        fine=by_verdict.get(S.FINE, 0),
        bad=S.count_reasons(by_verdict),
    )


def _in_windows(period: Period) -> Callable[[DataFrame], DataFrame]:
    starts = period.window_starts
    every = F.sequence(
        F.lit(starts[0]).cast("bigint"),
        F.lit(starts[-1]).cast("bigint"),
        F.lit(starts.step).cast("bigint"),
    )
    return transforms.spread_over_windows(every)


def _count(frame: DataFrame, column: str) -> int:
    return int(frame.select(column).distinct().count())


def _tidy(frame: DataFrame, column: str, others: tuple[str, ...]) -> DataFrame:
    window: list[Any] = [WINDOW] if WINDOW in frame.columns else []
    return frame.select(*window, F.col("id").alias(column), "name", *others)
