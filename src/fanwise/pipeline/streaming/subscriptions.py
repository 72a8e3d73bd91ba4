"""Subscriptions as a stream of changes, and the pairs that hold now.

A change says that a subscriber subscribes to a topic or unsubscribes from it at an instant. The
latest change of a pair decides, in whatever order changes come; of two at the same instant, the one
that unsubscribes. So a change that is delivered twice changes nothing.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fanwise.pipeline.shared import schema as S
from fanwise.pipeline.shared import values
from fanwise.pipeline.shared.checks import bad_timestamps, judge

SUBSCRIBE, UNSUBSCRIBE = "subscribe", "unsubscribe"
IS_OPEN = "_is_open"


def check_changes(frame: DataFrame, *, place: str = "changes") -> DataFrame:
    """Check ``subscriber``, ``topic``, ``action`` and ``timestamp``: a verdict on each row.

    A row with another action than ``subscribe`` and ``unsubscribe`` is malformed.
    """
    S.require_columns(frame, ("subscriber", "topic", "action", "timestamp"), place)
    action = F.lower(F.trim(F.col("action").cast("string")))
    typed = frame.withColumns(
        {
            S.SUBSCRIBER: values.identifier(frame, "subscriber", place),
            S.TOPIC: values.identifier(frame, "topic", place),
            S.INSTANT: values.instant(frame, "timestamp", place),
            IS_OPEN: F.when(action == SUBSCRIBE, True).when(action == UNSUBSCRIBE, False),
        }
    )
    reasons = (
        ("no subscriber", F.col(S.SUBSCRIBER).isNull()),
        ("no topic", F.col(S.TOPIC).isNull()),
        *bad_timestamps(frame),
        ("malformed row", F.col(IS_OPEN).isNull()),
    )
    return judge(typed, reasons)


def latest_changes(checked: DataFrame) -> DataFrame:
    """Return ``subscriber``, ``topic``, ``instant`` and ``is_open`` of the latest change of a pair.

    On a stream Spark keeps a row per pair as its state: use update mode, whose rows are the pairs
    that changed in a batch, or complete mode for all of them. Rows that are not fine are left out:
    count those beside, by their verdict.
    """
    latest = F.max(F.struct(S.INSTANT, (~F.col(IS_OPEN)).alias("is_closed")))
    return (
        checked.where(S.is_fine())
        .groupBy(F.col(S.SUBSCRIBER).alias("subscriber"), F.col(S.TOPIC).alias("topic"))
        .agg(latest.alias("latest"))
        .select(
            "subscriber",
            "topic",
            F.col(f"latest.{S.INSTANT}").alias("instant"),
            (~F.col("latest.is_closed")).alias("is_open"),
        )
    )


def open_pairs(latest: DataFrame) -> DataFrame:
    """Return the pairs that hold, as ``subscriber`` and ``topic``: what builders take."""
    return latest.where("is_open").select("subscriber", "topic")
