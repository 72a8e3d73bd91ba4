"""The stream: micro-batches by Spark Structured Streaming, counted by the pipeline's transforms.

Spark decides what is in a batch and remembers it before the batch runs; the ledger takes each batch
once. So whatever is killed when, every event that reached a file counts exactly once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from fanwise.pipeline.shared import schema as S
from fanwise.pipeline.shared import values
from fanwise.pipeline.shared.windows import WINDOW
from fanwise.pipeline.topic.checks import check_events
from fanwise.pipeline.topic.transforms import count_events
from fanwise.service.monitor.aside import MOST_ROWS, Aside
from fanwise.service.monitor.checkpoint import Checkpoint
from fanwise.service.monitor.clock import DOUBT_SECONDS, FAR, SteadyClock
from fanwise.service.monitor.ledger import Batch, Ledger, TopicCount
from fanwise.service.monitor.sources import BAD, EVENT
from fanwise.service.monitor.spool import bytes_waiting
from fanwise.service.monitor.subscriptions import (
    ACTIONS,
    FOREVER,
    GAP,
    START,
    SUBSCRIBE,
    SubscriptionChange,
)
from fanwise.service.monitor.windows import WindowRule
from fanwise.service.records import Window
from fanwise.service.status import StreamStatus

log = logging.getLogger(__name__)

MOST_AHEAD = 3600 * 10**6
"""Events further in the future than this many microseconds are bad at most: a clock is wrong, and
one of them would close every window."""

MOST_FORWARD = 2 * FAR
"""Seconds that events may be ahead that get their time from us: more is a clock that was wrong."""
FUTURE = "timestamp in the future"
UNKNOWN_ACTION = "action neither subscribe nor unsubscribe"
RENEW_SECONDS = 10.0
"""Between two attempts to begin a new checkpoint."""


class Stream:
    """A running query that feeds the ledger."""

    def __init__(
        self,
        frame: DataFrame,
        ledger: Ledger,
        rule: WindowRule,
        checkpoint: Path,
        *,
        trigger: float,
        idle: float,
        when_closed: Callable[[Sequence[Window]], None],
        ahead: float | None = None,
        now: Callable[[], int] | None = None,
        spool: Path | None = None,
        aside: Path | None = None,
    ) -> None:
        """Prepare the query.

        Parameters
        ----------
        frame
            See :mod:`fanwise.service.monitor.sources`.
        checkpoint
            Where Spark remembers what is in each batch.
        trigger, idle
            Seconds between looks for input, and without input after which windows close.
        when_closed
            Told of closed windows.
        ahead
            Seconds that events may be ahead of the time; more is bad. Left out: as long as a window
            is open, an hour at most. MOST_FORWARD where events get their time from us.
        now
            The time in microseconds since the epoch; left out: that of this machine.
        spool
            Where the frame's segments are, if it reads a spool: its checkpoint stays small.
        aside
            File for some of the rows that cannot be read.
        """
        self._frame, self._ledger, self._rule = frame, ledger, rule
        self._checkpoint, self._spool = Checkpoint(checkpoint, ledger, spool), spool
        self._trigger, self._idle = trigger, idle
        self._aside = None if aside is None else Aside(aside)
        # Believed sooner than by receivers, whose events would be in the future.
        self._clock = SteadyClock(patience=DOUBT_SECONDS / 2)
        self._when_closed, self.now = when_closed, now or self._clock.now
        if ahead is None:
            self._ahead = float(min(MOST_AHEAD, rule.length + rule.lateness))
        else:
            self._ahead = ahead * 1e6
        self._query: Any = None
        self._lock = threading.Lock()
        self._starts, self._renewed = 0, -RENEW_SECONDS
        self.status = StreamStatus(reasons=ledger.reasons())
        self._heard = self.status.last_input

    def start(self) -> None:
        """Start the query."""
        first, start = self._checkpoint.first_batch, self._starts

        def take(frame: DataFrame, number: int) -> None:
            self._take(frame, first + number, start)

        self._query = (
            self._frame.writeStream.foreachBatch(take)
            .option("checkpointLocation", str(self._checkpoint.path))
            .trigger(processingTime=f"{max(1, round(1000 * self._trigger))} milliseconds")
            .start()
        )

    def stop(self) -> None:
        """Stop the query after the batch that runs."""
        query, self._query = self._query, None
        if query is not None:
            with self._lock:  # a batch that is being counted comes to its end, and none follows
                self._starts += 1
            query.stop()

    def renew_if_large(self) -> None:
        """Begin a new checkpoint where the old one has grown large."""
        is_soon = time.monotonic() - self._renewed < RENEW_SECONDS
        if self._query is None or is_soon or not self._checkpoint.is_large():
            return
        self._renewed = time.monotonic()
        self.stop()
        try:
            if self._checkpoint.renew():
                log.info("a new checkpoint from batch %d on", self._checkpoint.first_batch)
        finally:
            self.start()

    @property
    def doubt(self) -> str:
        """What is doubted of the machine's clock, in a sentence; empty while nothing is."""
        return self._clock.doubt

    @property
    def ahead(self) -> float:
        """Seconds that events may be ahead of the time."""
        return self._ahead / 1e6

    def is_alive(self) -> bool:
        """Whether the query runs; if not, the status says why."""
        query = self._query
        if query is None or query.isActive:
            return query is not None
        error = query.exception()
        self.status.trouble = f"the stream ended: {str(error).splitlines()[0] if error else '?'}"
        return False

    def backlog(self) -> int:
        """Return the bytes of the spool that wait to be counted; 0 for other sources."""
        if self._spool is None:
            return 0
        return bytes_waiting(self._spool, self._checkpoint.counted(self._ledger.last_batch()))

    def note_away(self) -> None:
        """Note that the source cannot be heard: that it is silent means nothing."""
        self._heard = time.monotonic()

    def close_if_silent(self) -> None:
        """Close the windows that are open and past if nothing has come for long."""
        if not self._is_silent():
            return
        with self._lock:
            if not self._is_silent():
                return
            closed = self._ledger.close_silent(self.now())
        if closed:
            self._when_closed(closed)

    def _is_silent(self) -> bool:
        return time.monotonic() - max(self.status.last_input, self._heard) >= self._idle

    def _take(self, frame: DataFrame, number: int, start: int) -> None:
        """Count a micro-batch of a query, unless the query was told to stop."""
        with self._lock:
            if start != self._starts:
                raise RuntimeError("the stream was stopped")
            if self._ledger.has_batch(number):
                return  # its files may have been put away; Spark would find nothing in it
            started = time.monotonic()
            latest = min(self.now() + self._ahead, FOREVER)
            batch, bad = read_batch(frame, number, self._rule, int(latest))
            done = self._ledger.commit(batch)
            if bad and done.is_new:
                self._set_aside({"batch": number, **row} for row in bad)
            status = self.status
            status.batch = number
            if done.is_new:
                events = sum(count.events for count in batch.counts)
                rows = events + sum(batch.reasons.values()) + len(batch.changes)
                status.events += events
                status.late += done.late
                status.bad += done.bad
                status.changes += len(batch.changes)
                if done.bad:
                    status.reasons = self._ledger.reasons()
                status.batch_seconds = time.monotonic() - started
                status.rows_per_second = rows / max(status.batch_seconds, 1e-9)
                if rows:
                    status.last_input = time.monotonic()
        if done.closed:
            self._when_closed(done.closed)

    def _set_aside(self, rows: Iterable[dict[str, Any]]) -> None:
        if self._aside is None:
            return
        try:
            self._aside.write(rows)
        except OSError as error:  # they are counted all the same
            log.warning("bad rows cannot be set aside: %s", error)


def read_batch(
    frame: DataFrame, number: int, rule: WindowRule, latest: int
) -> tuple[Batch, list[dict[str, Any]]]:
    """Return a micro-batch counted, and some of the rows that could not be read.

    Parameters
    ----------
    frame
        See :mod:`fanwise.service.monitor.sources`.
    latest
        Events after this instant are bad.
    """
    frame = frame.persist()
    try:
        checked = check_events(frame.where(F.col("kind") == EVENT), end=latest, place="source")
        counts = checked.transform(count_events(rule.slide)).toArrow()
        is_fine = pc.all(pc.equal(counts.column("verdict"), S.FINE)).as_py()
        bad = [] if is_fine in (True, None) else _some_bad(checked)
        others = _others(frame)
    finally:
        frame.unpersist()
    by_verdict: dict[int, int] = {}
    fine: list[TopicCount] = []
    last: int | None = None
    for row in counts.to_pylist():
        if row["verdict"] != S.FINE:
            by_verdict[row["verdict"]] = by_verdict.get(row["verdict"], 0) + row["rows"]
            continue
        last = row["last"] if last is None else max(last, row["last"])
        fine.append(
            TopicCount(
                row[WINDOW],
                row["topic"],
                row["events"],
                float(row["size_sum"] or 0.0),
                int(row["size_known"]),
            )
        )
    reasons = S.count_reasons(by_verdict)
    if by_verdict.get(S.OUTSIDE):
        reasons[FUTURE] = by_verdict[S.OUTSIDE]
    changes, more = _read_others(others)
    for row in more:
        reasons[row["reason"]] = reasons.get(row["reason"], 0) + 1
    return Batch(number, fine, last, reasons, changes), [*bad, *more][:MOST_ROWS]


def _some_bad(checked: DataFrame) -> list[dict[str, Any]]:
    """Return events that cannot be read, with the reason."""
    rows = checked.where(F.col(S.VERDICT) != S.FINE).select(
        "topic", "timestamp", "bytes", S.VERDICT
    )
    found: list[dict[str, Any]] = rows.limit(MOST_ROWS).toArrow().to_pylist()
    for row in found:
        code = row.pop(S.VERDICT)
        row["reason"] = FUTURE if code == S.OUTSIDE else next(iter(S.count_reasons({code: 1})))
    return found


def _others(frame: DataFrame) -> pa.Table:
    others = frame.where(F.col("kind") != EVENT)
    return others.select(
        "kind",
        "subscriber",
        "topic",
        "reason",
        "raw",
        "timestamp",
        F.coalesce(F.col("came").try_cast("bigint"), F.lit(0)).alias("came"),
        values.instant(others, "timestamp", "source").alias("instant"),
    ).toArrow()


def _read_others(table: pa.Table) -> tuple[list[SubscriptionChange], list[dict[str, Any]]]:
    """Return changes in their order, and rows that cannot be read."""
    changes: list[SubscriptionChange] = []
    bad: list[dict[str, Any]] = []
    # Files come in any order, and so do their rows; what happened first counts first. What arrived
    # here did so in order, also where the clock of whoever wrote it was set back.
    rows = sorted(table.to_pylist(), key=lambda row: (row["came"], row["instant"] or 0))
    for row in rows:
        reason = _why_bad(row)
        if reason is not None:
            shown = {name: row[name] for name in ("topic", "subscriber", "timestamp", "raw")}
            bad.append({"reason": reason, **shown})
            continue
        changes.append(
            SubscriptionChange(
                row["instant"], row["kind"], row["subscriber"] or "", row["topic"], row["came"]
            )
        )
    return changes, bad


def _why_bad(row: dict[str, Any]) -> str | None:
    if row["kind"] == BAD:
        return row["reason"] or UNKNOWN_ACTION
    if row["kind"] not in ACTIONS:
        return "malformed row"
    if not row["subscriber"] and row["kind"] not in (START, GAP):
        return "no subscriber"
    if not row["topic"] and row["kind"] == SUBSCRIBE:
        return "no topic"
    return None if row["instant"] is not None else "timestamp not ISO 8601 or epoch seconds"


def start_spark(master: str | None, conf: dict[str, str]) -> SparkSession:
    """Start Spark for streaming: few partitions, for batches are small."""
    from fanwise.pipeline.shared.session import start

    return start(
        master,
        {
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.streaming.metricsEnabled": "false",
            "spark.sql.streaming.minBatchesToRetain": "20",
            # Logs of files that were merged into a later one stay ten minutes otherwise.
            "spark.sql.streaming.fileSource.log.cleanupDelay": "60s",
            **conf,
        },
    )
