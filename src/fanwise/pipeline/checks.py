"""Checks of raw traces: each row gets typed columns and a verdict, and none is dropped.

The trace's own columns stay beside the new ones, so that a bad row can be shown as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fanwise.pipeline import schema as S
from fanwise.pipeline import values


def check_events(
    frame: DataFrame,
    *,
    start: int | None = None,
    end: int | None = None,
    place: str = "publications",
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
    """
    S.require_columns(frame, ("topic", "timestamp"), place)
    size, bad_size = size_of(frame, place)
    events, bad_events = _events(frame, place)
    known = frame.withColumns(
        {
            S.TOPIC: values.identifier(frame, "topic", place),
            S.INSTANT: values.instant(frame, "timestamp", place),
            **events,
            **size,
        }
    )
    outside = any_of(
        F.col(S.INSTANT) < start if start is not None else None,
        F.col(S.INSTANT) >= end if end is not None else None,
    )
    return judge(
        known,
        (
            ("no topic", F.col(S.TOPIC).isNull()),
            ("no timestamp", values.is_missing(frame, "timestamp")),
            ("timestamp not ISO 8601 or epoch seconds", F.col(S.INSTANT).isNull()),
            *bad_events,
            *bad_size,
        ),
        outside,
    )


def check_counts(frame: DataFrame, *, place: str = "publications") -> DataFrame:
    """Check publications of ready counts: ``topic``, ``events``, optional ``bytes``."""
    S.require_columns(frame, ("topic", "events"), place)
    size, bad_size = size_of(frame, place)
    events, bad_events = _events(frame, place)
    known = frame.withColumns({S.TOPIC: values.identifier(frame, "topic", place), **events, **size})
    return judge(known, (("no topic", F.col(S.TOPIC).isNull()), *bad_events, *bad_size), None)


def check_subscriptions(
    frame: DataFrame,
    *,
    start: int | None = None,
    end: int | None = None,
    place: str = "subscriptions",
) -> DataFrame:
    """Check ``subscriber``, ``topic``, optional ``since`` and ``until``.

    A subscription holds in [since, until), for ever where they are missing; it is outside unless
    that overlaps [start, end).
    """
    S.require_columns(frame, ("subscriber", "topic"), place)
    known = frame.withColumns(
        {
            S.SUBSCRIBER: values.identifier(frame, "subscriber", place),
            S.TOPIC: values.identifier(frame, "topic", place),
            **{
                column: values.instant(frame, name, place)
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
    return judge(known, reasons, outside)


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


def size_of(frame: DataFrame, place: str) -> tuple[dict[str, Column], list[tuple[str, Column]]]:
    """Return the column of message sizes, null where there is none, and why one may be bad."""
    if not S.has_column(frame, "bytes"):
        return {S.BYTES: F.lit(None).cast("double")}, []
    is_size = F.coalesce(F.col(S.BYTES).between(0, values.LARGEST), F.lit(False))
    bad = ~values.is_missing(frame, "bytes") & ~is_size
    return {S.BYTES: values.number(frame, "bytes", place)}, [("bytes not a number >= 0", bad)]


def _events(frame: DataFrame, place: str) -> tuple[dict[str, Column], list[tuple[str, Column]]]:
    if not S.has_column(frame, "events"):
        return {}, []
    events = F.col(S.EVENTS)
    is_count = events.between(0, values.LARGEST) & (events == F.floor(events))
    bad = ~F.coalesce(is_count, F.lit(False))
    return {S.EVENTS: values.number(frame, "events", place)}, [
        ("events not a whole number >= 0", bad)
    ]


def judge(
    frame: DataFrame, reasons: Sequence[tuple[str, Column]], outside: Column | None
) -> DataFrame:
    """Add the verdict: the first reason that holds, else outside, else fine."""
    if S.MALFORMED in frame.columns:
        reasons = [("malformed row", F.col(S.MALFORMED).isNotNull()), *reasons]
    (text, first), *others = reasons
    result = F.when(first, S.verdict(text))
    for text, condition in others:
        result = result.when(condition, S.verdict(text))
    if outside is not None:
        result = result.when(outside, S.OUTSIDE)
    return frame.withColumn(S.VERDICT, result.otherwise(S.FINE))


def any_of(*conditions: Column | None) -> Column | None:
    """Return whether one of the conditions holds, of those there are."""
    given = [condition for condition in conditions if condition is not None]
    return reduce(or_, given) if given else None
