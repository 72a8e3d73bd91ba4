"""Checks of raw topic traces: each row gets typed columns and a verdict, and none is dropped.

The trace's own columns stay beside the new ones, so that a bad row can be shown as it was.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fanwise.pipeline.shared import schema as S
from fanwise.pipeline.shared import values
from fanwise.pipeline.shared.checks import (
    Reason,
    any_of,
    bad_timestamps,
    judge,
    message_sizes,
    outside_period,
)
from fanwise.pipeline.shared.doubles import event_ids
from fanwise.pipeline.shared.time_units import AUTO


def check_events(
    frame: DataFrame,
    *,
    start: int | None = None,
    end: int | None = None,
    place: str = "publications",
    unit: str = AUTO,
    event_id: str | None = None,
    is_doubted: bool = False,
) -> DataFrame:
    """Check publications of one row per event.

    Parameters
    ----------
    frame
        ``topic``, ``timestamp``, optional ``bytes``, optional ``events`` where a row stands for
        several.
    start, end
        Microseconds since the epoch; events before ``start`` or from ``end`` on are outside.
    place
        How messages name the trace.
    unit
        Of epoch times; see :mod:`~fanwise.pipeline.shared.time_units`.
    event_id
        A column that each event must have a value in; see
        :func:`~fanwise.pipeline.shared.doubles.mark_doubles`.
    is_doubted
        Whether replacement characters tell of another encoding.
    """
    S.require_columns(frame, ("topic", "timestamp"), place)
    frame = values.with_whole_number(frame, "timestamp")
    ids, no_ids = event_ids(frame, event_id, place)
    sizes, bad_sizes = message_sizes(frame, place)
    events, bad_events = _events(frame, place)
    typed = frame.withColumns(
        {
            S.TOPIC: values.identifier(frame, "topic", place),
            S.INSTANT: values.instant(frame, "timestamp", place, unit),
            S.UNIT: values.instant_form(frame, "timestamp", unit),
            **events,
            S.BYTES: sizes,
            **ids,
        }
    )
    no_topic = ("no topic", F.col(S.TOPIC).isNull())
    reasons = (no_topic, *bad_timestamps(frame), *bad_events, *bad_sizes, *no_ids)
    doubted = (S.TOPIC,) if is_doubted else ()
    return judge(typed, reasons, outside_period(start, end), doubted)


def check_counts(
    frame: DataFrame,
    *,
    place: str = "publications",
    event_id: str | None = None,
    is_doubted: bool = False,
) -> DataFrame:
    """Check publications of ready counts: ``topic``, ``events``, optional ``bytes``."""
    ids, no_ids = event_ids(frame, event_id, place)
    S.require_columns(frame, ("topic", "events"), place)
    sizes, bad_sizes = message_sizes(frame, place)
    events, bad_events = _events(frame, place)
    typed = frame.withColumns(
        {S.TOPIC: values.identifier(frame, "topic", place), **events, S.BYTES: sizes, **ids}
    )
    reasons = (("no topic", F.col(S.TOPIC).isNull()), *bad_events, *bad_sizes, *no_ids)
    return judge(typed, reasons, doubted=(S.TOPIC,) if is_doubted else ())


def check_subscriptions(
    frame: DataFrame,
    *,
    start: int | None = None,
    end: int | None = None,
    place: str = "subscriptions",
    unit: str = AUTO,
    is_doubted: bool = False,
) -> DataFrame:
    """Check ``subscriber``, ``topic``, optional ``since`` and ``until``.

    A subscription holds in [since, until), for ever where they are missing; it is outside unless
    that overlaps [start, end).
    """
    S.require_columns(frame, ("subscriber", "topic"), place)
    typed = frame.withColumns(
        {
            S.SUBSCRIBER: values.identifier(frame, "subscriber", place),
            S.TOPIC: values.identifier(frame, "topic", place),
            **{
                column: values.instant(frame, name, place, unit)
                for column, name in ((S.SINCE, "since"), (S.UNTIL, "until"))
                if S.has_column(frame, name)
            },
        }
    )
    reasons = [
        ("no subscriber", F.col(S.SUBSCRIBER).isNull()),
        ("no topic", F.col(S.TOPIC).isNull()),
    ]
    since = F.col(S.SINCE) if S.has_column(frame, "since") else None
    until = F.col(S.UNTIL) if S.has_column(frame, "until") else None
    for name, column in (("since", since), ("until", until)):
        if column is not None:
            unreadable = column.isNull() & ~values.is_missing(frame, name)
            reasons.append((f"{name} not ISO 8601 or epoch seconds", unreadable))
    if since is not None and until is not None:
        reasons.append(("until not after since", until <= since))
    outside = any_of(
        until <= start if until is not None and start is not None else None,
        since >= end if since is not None and end is not None else None,
    )
    return judge(typed, reasons, outside, (S.SUBSCRIBER, S.TOPIC) if is_doubted else ())


def mutual(frame: DataFrame) -> DataFrame:
    """Read each checked subscription both ways: the subscriber and the topic follow each other."""
    ends = F.array(
        F.struct(F.col(S.SUBSCRIBER).alias("a"), F.col(S.TOPIC).alias("b")),
        F.struct(F.col(S.TOPIC).alias("a"), F.col(S.SUBSCRIBER).alias("b")),
    )
    # A bad row stays one row, so that it is counted once.
    once = F.slice(ends, 1, F.when(F.col(S.VERDICT) >= S.FIRST_BAD, 1).otherwise(2))
    both = frame.withColumn("_ends", F.explode(once))
    return both.withColumns({S.SUBSCRIBER: F.col("_ends.a"), S.TOPIC: F.col("_ends.b")}).drop(
        "_ends"
    )


def _events(frame: DataFrame, place: str) -> tuple[dict[str, Column], list[Reason]]:
    if not S.has_column(frame, "events"):
        return {}, []
    events = F.col(S.EVENTS)
    is_count = events.between(0, values.LARGEST) & (events == F.floor(events))
    bad = ~F.coalesce(is_count, F.lit(False))
    return {S.EVENTS: values.number(frame, "events", place)}, [
        ("events not a whole number >= 0", bad)
    ]
