"""When events are, coarsely: enough to see whether some lie far from all others."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fanwise.pipeline.shared import schema as S
from fanwise.pipeline.shared.outliers import (
    RING,
    SPAN,
    Outliers,
    Span,
    find_outliers,
    may_have_gap,
    refuse_many,
)
from fanwise.pipeline.shared.period import Scope

RINGS, FORMS = "ring", "forms"


def far_apart(checked: DataFrame) -> dict[str, Column]:
    """Return what is added up of events: spans of 30 days that have any, and forms of times."""
    span = F.floor(F.col(S.INSTANT) / F.lit(SPAN))
    bit = F.call_function(
        "shiftleft", F.lit(1).cast("bigint"), F.pmod(span, F.lit(RING)).cast("int")
    )
    sums = {RINGS: F.bit_or(bit)}
    if S.UNIT in checked.columns:
        sums[FORMS] = F.bit_or(F.col(S.UNIT))
    return sums


def look_for_outliers(
    checked: DataFrame, scope: Scope, totals: Mapping[int, Any], place: str
) -> Outliers | None:
    """Return events far in time from all others; raise if there are too many of them.

    Reads the trace once more where there may be any, which the totals tell.

    Parameters
    ----------
    checked
        Events with their verdicts.
    scope
        Where both its ends are given, nothing is in doubt.
    totals
        ``first``, ``last`` and ``ring`` of the events of each verdict.
    place
        How messages name the trace.
    """
    if scope.start is not None and scope.end is not None:
        return None
    whole = [totals[code] for code in (S.FINE, S.DUPLICATE) if code in totals]
    if not whole or whole[0]["first"] is None:
        return None
    first, last = min(row["first"] for row in whole), max(row["last"] for row in whole)
    ring = reduce(or_, (row[RINGS] for row in whole)) % 2**RING
    if not may_have_gap(first, last, ring):
        return None
    span = F.floor(F.col(S.INSTANT) / F.lit(SPAN)).alias("span")
    found = (
        checked.where(F.col(S.VERDICT).isin(S.FINE, S.DUPLICATE))
        .groupBy(span)
        .agg(
            F.min(S.INSTANT).alias("first"),
            F.max(S.INSTANT).alias("last"),
            F.count("*").alias("events"),
        )
        .collect()
    )
    outliers = find_outliers([Span(row["first"], row["last"], row["events"]) for row in found])
    if outliers is not None:
        refuse_many(outliers, place)
    return outliers
