"""Change logs of subscriptions on Spark: from rows that begin or end one to spans of time."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from fanwise.pipeline.shared import schema as S
from fanwise.pipeline.shared import values
from fanwise.pipeline.shared.checks import bad_timestamps, judge
from fanwise.pipeline.shared.time_units import AUTO
from fanwise.pipeline.topic.actions import Actions, LogCounts


def check_log(
    frame: DataFrame,
    actions: Actions,
    *,
    place: str = "subscriptions",
    unit: str = AUTO,
    is_doubted: bool = False,
) -> DataFrame:
    """Check ``subscriber``, ``topic``, ``action``, ``timestamp``."""
    S.require_columns(frame, ("subscriber", "topic", "action", "timestamp"), place)
    frame = values.with_whole_number(frame, "timestamp")
    word = F.lower(F.trim(values.identifier(frame, "action", place)))
    known = F.create_map(*(F.lit(one) for pair in actions.words.items() for one in pair))
    typed = frame.withColumns(
        {
            S.SUBSCRIBER: values.identifier(frame, "subscriber", place),
            S.TOPIC: values.identifier(frame, "topic", place),
            S.INSTANT: values.instant(frame, "timestamp", place, unit),
            S.BEGINS: F.try_element_at(known, word),
        }
    )
    reasons = (
        ("no subscriber", F.col(S.SUBSCRIBER).isNull()),
        ("no topic", F.col(S.TOPIC).isNull()),
        ("action neither subscribe nor unsubscribe", F.col(S.BEGINS).isNull()),
        *bad_timestamps(frame),
    )
    return judge(typed, reasons, doubted=(S.SUBSCRIBER, S.TOPIC) if is_doubted else ())


def turning_points(checked: DataFrame) -> DataFrame:
    """Keep fine rows that change something, with when their pair changes next.

    The first row of a pair changes something only if it begins a subscription. Of rows of the same
    instant those that end one come first, so that who leaves and joins at once has joined.
    """
    of_pair = Window.partitionBy(S.SUBSCRIBER, S.TOPIC).orderBy(S.INSTANT, S.BEGINS)
    turns = (
        checked.where(S.is_fine())
        .select(S.SUBSCRIBER, S.TOPIC, S.INSTANT, S.BEGINS)
        .withColumn("_before", F.coalesce(F.lag(S.BEGINS).over(of_pair), F.lit(False)))
        .where(F.col(S.BEGINS) != F.col("_before"))
    )
    return turns.withColumn(S.UNTIL, F.lead(S.INSTANT).over(of_pair)).drop("_before")


def spans_of(turns: DataFrame, start: int | None, end: int | None) -> DataFrame:
    """Return the spans in which pairs hold, with the verdict: outside unless in [start, end)."""
    spans = turns.where(S.BEGINS).select(
        S.SUBSCRIBER, S.TOPIC, F.col(S.INSTANT).alias(S.SINCE), S.UNTIL
    )
    outside = F.lit(False)
    if end is not None:
        outside |= F.col(S.SINCE) >= end
    if start is not None:
        outside |= F.coalesce(F.col(S.UNTIL) <= start, F.lit(False))
    verdict = F.when(outside, S.OUTSIDE).otherwise(S.FINE)
    return spans.withColumn(S.VERDICT, verdict)


@dataclass(frozen=True)
class Log:
    """A change log taken apart."""

    checked: DataFrame
    spans: DataFrame
    bad: dict[int, int]
    counts: LogCounts


def read_log(
    checked: DataFrame, turns: DataFrame, start: int | None, end: int | None, lost: int
) -> Log:
    """Count a checked log and return its spans.

    Parameters
    ----------
    checked
        The rows with their verdicts.
    turns
        See :func:`turning_points`; kept in storage by the caller.
    start, end
        What a span has to overlap.
    lost
        Files that were left out, a row each.
    """
    by_verdict = {
        row["verdict"]: row["count"]
        for row in checked.groupBy(F.col(S.VERDICT).alias("verdict")).count().collect()
    }
    turned = {row[S.BEGINS]: row["count"] for row in turns.groupBy(S.BEGINS).count().collect()}
    fine = by_verdict.pop(S.FINE, 0)
    began, ended = turned.get(True, 0), turned.get(False, 0)
    counts = LogCounts(
        rows=fine + sum(by_verdict.values()) + lost,
        began=began,
        ended=ended,
        without_effect=fine - began - ended,
    )
    return Log(checked, spans_of(turns, start, end), by_verdict, counts)
