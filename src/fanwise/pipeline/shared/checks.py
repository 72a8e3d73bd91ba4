"""What the checks of all traces share: each row gets a verdict, and none is dropped."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fanwise.pipeline.shared import schema as S
from fanwise.pipeline.shared import values

Reason = tuple[str, Column]
"""The words of a reason for which a row is bad, and where it holds."""


def judge(
    frame: DataFrame,
    reasons: Sequence[Reason],
    outside: Column | None = None,
    doubted: Sequence[str] = (),
) -> DataFrame:
    """Add the verdict: the first reason that holds, else outside, else fine.

    In the columns ``doubted``, and in rows that could not be taken apart, replacement characters
    tell of another encoding.
    """
    if S.MALFORMED in frame.columns:
        reasons = [("malformed row", F.col(S.MALFORMED).isNotNull()), *reasons]
        if doubted:
            foreign = [_is_foreign(name) for name in (*doubted, S.MALFORMED)]
            reasons = [(S.NOT_UTF8, reduce(or_, foreign)), *reasons]
    (text, first), *others = reasons
    result = F.when(first, S.verdict(text))
    for text, condition in others:
        result = result.when(condition, S.verdict(text))
    if outside is not None:
        result = result.when(outside, S.OUTSIDE)
    return frame.withColumn(S.VERDICT, result.otherwise(S.FINE))


def _is_foreign(name: str) -> Column:
    return F.coalesce(F.contains(F.col(name), F.lit(S.REPLACEMENT)), F.lit(False))


def any_of(*conditions: Column | None) -> Column | None:
    """Return whether one of the conditions holds, of those there are."""
    given = [condition for condition in conditions if condition is not None]
    return reduce(or_, given) if given else None


def bad_timestamps(frame: DataFrame) -> list[Reason]:
    """Return why the time of an event may be bad."""
    return [
        ("no timestamp", values.is_missing(frame, "timestamp")),
        ("timestamp not ISO 8601 or epoch seconds", F.col(S.INSTANT).isNull()),
    ]


def outside_period(start: int | None, end: int | None) -> Column | None:
    """Return whether an event is before ``start`` or from ``end`` on, where these are given."""
    return any_of(
        F.col(S.INSTANT) < start if start is not None else None,
        F.col(S.INSTANT) >= end if end is not None else None,
    )


def message_sizes(frame: DataFrame, place: str) -> tuple[Column, list[Reason]]:
    """Return the column of message sizes, null where there is none, and why one may be bad."""
    if not S.has_column(frame, "bytes"):
        return F.lit(None).cast("double"), []
    is_size = F.coalesce(F.col(S.BYTES).between(0, values.LARGEST), F.lit(False))
    bad = ~values.is_missing(frame, "bytes") & ~is_size
    return values.number(frame, "bytes", place), [("bytes not a number >= 0", bad)]
