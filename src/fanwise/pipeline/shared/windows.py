"""Windows of time, aligned to the epoch.

Tables that are added up carry ``window``, the start of a window in microseconds since the epoch.
Without windows there is one period and no such column; the functions here serve both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fanwise.pipeline.shared import schema as S

Transform = Callable[[DataFrame], DataFrame]

WINDOW = "window"
_SPAN = "_span"


def window_start(instant: Column, window: int) -> Column:
    """Return the start of the window that an instant falls into."""
    # pmod, not %: instants before 1970 are negative.
    return instant - F.pmod(instant, F.lit(window))


def window_columns(frame: DataFrame) -> list[str]:
    """Return the column ``window`` if a table has it: what to group, join or select by as well."""
    return [WINDOW] if WINDOW in frame.columns else []


def add_times(checked: DataFrame) -> DataFrame:
    """Add to checked events their instant as Spark's timestamp, unless they have it already.

    Rows that are not fine get the epoch: Spark's windows drop rows without a time.
    """
    if S.TIME in checked.columns:
        return checked
    instant = F.when(S.is_fine(), F.col(S.INSTANT)).otherwise(0)
    return checked.withColumn(S.TIME, F.timestamp_micros(instant))


def wait_for_late_events(delay: int) -> Transform:
    """Let streams of checked events be added up window by window, in append mode.

    A window is complete, and is written, once an event ``delay`` microseconds after its end has
    come; what comes for it later is dropped. Fine rows alone are kept, for others have no time to
    wait for: count those beside. On batches nothing is late.
    """

    def transform(checked: DataFrame) -> DataFrame:
        fine = checked.where(S.is_fine()).transform(add_times)
        return fine.withWatermark(S.TIME, f"{delay} microseconds")

    return transform


def add_up(
    frame: DataFrame, keys: Sequence[Column | str], window: int | None, *sums: Column
) -> DataFrame:
    """Aggregate rows by keys and, where ``window`` is its length, by the window of their time.

    Windows are Spark's own: by them it knows when one is complete on a stream that has a watermark.
    """
    if window is None:
        return frame.groupBy(*keys).agg(*sums)
    span = F.window(S.TIME, f"{window} microseconds").alias(_SPAN)
    added = frame.groupBy(span, *keys).agg(*sums)
    return added.withColumn(WINDOW, F.unix_micros(f"{_SPAN}.start")).drop(_SPAN)
