"""From DataFrames of publications and subscriptions to the tables of a workload.

Everything that grows with the data stays in Spark; the driver sees totals and, with windows, one
row per window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from fanwise.pipeline.shared import empty
from fanwise.pipeline.shared import schema as S
from fanwise.pipeline.shared.building import Builder, Reading
from fanwise.pipeline.shared.doubles import mark_doubles
from fanwise.pipeline.shared.job_progress import track_jobs
from fanwise.pipeline.shared.options import MESSAGE_BYTES, Limit, check_message_bytes
from fanwise.pipeline.shared.outliers import Outliers
from fanwise.pipeline.shared.period import Period, Scope, settle
from fanwise.pipeline.shared.time_spans import FORMS, RINGS, look_for_outliers
from fanwise.pipeline.shared.time_units import names_of
from fanwise.pipeline.shared.windows import WINDOW, Transform, window_columns
from fanwise.pipeline.topic import change_log, checks, columns, transforms
from fanwise.pipeline.topic.actions import Actions, LogCounts
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
        max_bad_rows: int | str | Limit,
        progress: Progress,
        places: Sequence[str],
        event_id: str | None = None,
        actions: Actions | None = None,
        reading: Reading | None = None,
    ) -> None:
        super().__init__(
            scope=scope,
            max_bad_rows=max_bad_rows,
            progress=progress,
            places=places,
            reading=reading,
        )
        self.event_id = event_id
        self.actions = actions
        self.outliers: Outliers | None = None
        self.log: LogCounts | None = None
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
        if not self.how.allow_empty:
            for rule, trace in (
                (empty.refuse_no_events, "publications"),
                (empty.refuse_no_subscriptions, "subscriptions"),
            ):
                rule(self.rows[trace], self.places[trace])

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
        if not num_pairs and not self.how.allow_empty:
            empty.refuse_no_pairs(
                topics_published,
                topics_followed,
                self.places["publications"],
                self.places["subscriptions"],
            )
        return WorkloadFrames(
            topics=_tidy(topics, "topic", ("rate", "bytes")),
            subscribers=_tidy(subscribers, "subscriber", ()),
            interests=links.transform(
                transforms.interests(subscribers.withColumnRenamed("name", "subscriber"))
            ),
            bad=self.bad_rows(),
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
                time_units=tuple(names_of(totals.forms)),
                outliers=self.outliers,
                event_doubles=(
                    None if self.event_id is None else totals.by_verdict.get(S.DUPLICATE, 0)
                ),
                log=self.log,
            ),
            _stored=self.stored,
        )

    def count_events(self, publications: DataFrame) -> tuple[DataFrame, _EventTotals]:
        """Return the events of each topic (and window), and their totals."""
        place = self.places["publications"]
        checked = self.check_publications(publications)
        counts, totals = self.add_up(checked)
        with self.reading(publications.sparkSession, "publications"):
            self.outliers = look_for_outliers(checked, self.scope, totals.times, place)
        if self.outliers is not None:
            bulk = self.outliers.bulk
            within = Scope(start=bulk.first, end=bulk.last + 1)
            checked = self.check_publications(publications, within)
            counts, totals = self.add_up(checked)
        self.note_rows("publications", checked, totals.by_verdict)
        self.refuse_bad_trace("publications")
        return counts, totals

    def add_up(self, checked: DataFrame) -> tuple[DataFrame, _EventTotals]:
        """Return the events of each topic (and window), kept in storage, and their totals."""
        counts = self.store(checked.transform(transforms.count_events(self.scope.window)))
        with self.reading(checked.sparkSession, "publications"):
            return counts, _event_totals(counts)

    def check_publications(self, frame: DataFrame, within: Scope | None = None) -> DataFrame:
        """Return publications with a verdict on each row: events, or ready counts."""
        place, scope = self.places["publications"], within or self.scope
        present = [name for name in frame.columns if not name.startswith("_")]
        is_timed = columns.check_publications(
            present, place, has_window=self.scope.window is not None, event_id=self.event_id
        )
        is_doubted = "publications" in self.how.doubts
        if is_timed:
            checked = checks.check_events(
                frame,
                start=scope.start,
                end=scope.end,
                place=place,
                unit=self.how.time_unit,
                event_id=self.event_id,
                is_doubted=is_doubted,
            )
        else:
            checked = checks.check_counts(
                frame, place=place, event_id=self.event_id, is_doubted=is_doubted
            )
        return checked if self.event_id is None else checked.transform(mark_doubles)

    def find_pairs(self, subscriptions: DataFrame, period: Period) -> tuple[DataFrame, _PairTotals]:
        """Return the distinct pairs by verdict, and how many there are."""
        start, end = period.covered
        place = self.places["subscriptions"]
        is_doubted = "subscriptions" in self.how.doubts
        unit = self.how.time_unit
        bad: dict[int, int] = {}
        if self.actions is not None:
            checked = change_log.check_log(
                subscriptions, self.actions, place=place, unit=unit, is_doubted=is_doubted
            )
            turns = self.store(change_log.turning_points(checked))
            with self.reading(subscriptions.sparkSession, "subscriptions"):
                lost = len(self.how.unreadable.get("subscriptions", ()))
                log = change_log.read_log(checked, turns, start, end, lost)
            counted, bad, self.log = log.spans, log.bad, log.counts
        else:
            present = [name for name in subscriptions.columns if not name.startswith("_")]
            columns.check_follows(present, place, is_log=False)
            counted = checked = checks.check_subscriptions(
                subscriptions, start=start, end=end, place=place, unit=unit, is_doubted=is_doubted
            )
        both_ways = checks.mutual(counted) if self.mutual else counted
        pairs = self.store(both_ways.transform(transforms.distinct_pairs(self.scope.window)))
        with self.reading(subscriptions.sparkSession, "subscriptions"):
            totals = _pair_totals(pairs)
        self.note_rows("subscriptions", checked, {**totals.by_verdict, **bad})
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
    forms: int
    times: Mapping[int, Row]


def _event_totals(counts: DataFrame) -> _EventTotals:
    timed = "first" in counts.columns
    found = counts.groupBy("verdict").agg(
        F.sum("rows").alias("rows"),
        F.sum("events").alias("events"),
        F.count_if(F.col("events") > 0).alias("topics"),
        (F.min("first") if timed else F.lit(None)).alias("first"),
        (F.max("last") if timed else F.lit(None)).alias("last"),
        (F.bit_or(RINGS) if timed else F.lit(0)).alias(RINGS),
        (F.bit_or(FORMS) if timed else F.lit(0)).alias(FORMS),
    )
    by_verdict = {row["verdict"]: row for row in found.collect()}
    fine = by_verdict.get(S.FINE)
    return _EventTotals(
        by_verdict={code: row["rows"] for code, row in by_verdict.items()},
        events=int(fine["events"]) if fine else 0,
        topics=fine["topics"] if fine else 0,
        first=fine["first"] if fine else None,
        last=fine["last"] if fine else None,
        forms=fine[FORMS] if fine else 0,
        times=by_verdict,
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
