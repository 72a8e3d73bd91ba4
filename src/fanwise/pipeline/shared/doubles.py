"""Events that were delivered more than once: of each id, one event counts."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from fanwise.pipeline.shared import schema as S
from fanwise.pipeline.shared import values
from fanwise.pipeline.shared.checks import Reason


def mark_doubles(checked: DataFrame) -> DataFrame:
    """Let the least fine event of each id stand; the others become duplicates.

    The least by time, topic or publisher, number of events, attributes and size, so that it is the
    same one on any number of cores also where events of an id differ.
    """
    is_fine = S.is_fine()
    rows = checked.withColumn(S.ROW, F.monotonically_increasing_id())
    # Rows that do not count have ids of their own, and spread over all partitions.
    of_id = Window.partitionBy(
        F.when(is_fine, F.col(S.EVENT_ID)), F.when(~is_fine, F.col(S.ROW))
    ).orderBy(*_told_apart_by(checked))
    ranked = rows.withColumn("_rank", F.row_number().over(of_id))
    again = is_fine & (F.col("_rank") > 1)
    return ranked.withColumn(S.VERDICT, S.rejudge(again, F.lit(S.DUPLICATE))).drop("_rank", S.ROW)


def _told_apart_by(checked: DataFrame) -> list[str]:
    attributes = [name for name in checked.columns if name.startswith("_at_")]
    names = (S.INSTANT, S.TOPIC, S.PUBLISHER, S.EVENTS, *attributes, S.BYTES)
    return [name for name in names if name in checked.columns]


def event_ids(
    frame: DataFrame, column: str | None, place: str
) -> tuple[dict[str, Column], list[Reason]]:
    """Return the column of ids, if there is one, and why a row of it may be bad."""
    if column is None:
        return {}, []
    S.require_columns(frame, (column,), place)
    # Rows are marked after a shuffle, when Spark no longer knows their file.
    ids = {S.EVENT_ID: values.identifier(frame, column, place), S.FILE: F.input_file_name()}
    return ids, [("no event id", F.col(S.EVENT_ID).isNull())]
