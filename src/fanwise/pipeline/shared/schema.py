"""Names of columns, and the verdicts on rows: fine, outside the period, or bad for a reason."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fanwise.pipeline.shared.columns import require
from fanwise.pipeline.shared.reasons import (
    ALL_REASONS,
    CONTENT_REASONS,
    DUPLICATE,
    FINE,
    FIRST_BAD,
    NOT_UTF8,
    OUTSIDE,
    REPLACEMENT,
    UNREADABLE,
    count_reasons,
    verdict,
)
from fanwise.pipeline.shared.reasons import TOPIC_REASONS as REASONS

__all__ = [
    "ALL_REASONS", "CONTENT_REASONS", "DUPLICATE", "FINE", "FIRST_BAD", "NOT_UTF8", "OUTSIDE",
    "REASONS", "REPLACEMENT", "UNREADABLE", "count_reasons", "verdict",
]  # fmt: skip

# Columns that checks add to a trace; the trace's own columns stay, for the quarantine.
TOPIC = "_topic"
SUBSCRIBER = "_subscriber"
INSTANT = "_instant"  # microseconds since the epoch
TIME = "_time"  # the same as Spark's timestamp, where there are windows
BYTES = "_bytes"
EVENTS = "_events"
SINCE = "_since"  # microseconds since the epoch, null: always
UNTIL = "_until"
VERDICT = "_verdict"

# Columns of content traces, those of each axis numbered: _at_0, _lo_0, _hi_0, _net_0 …
PUBLISHER = "_publisher"
NAME = "_name"
FILE = "_file"
ROW = "_row"  # ascending in each file

UNIT = "_unit"  # a bit of time_units: in which form the instant came
EVENT_ID = "_event_id"
BEGINS = "_begins"  # of a change log: whether the row begins a subscription

# The raw text of a row that its reader could not take apart, null for the others.
MALFORMED = "_malformed"


def reason_text(code: Column) -> Column:
    """Return the words of a code, null for rows that are not bad."""
    return F.get(F.array(*map(F.lit, ALL_REASONS)), code - F.lit(FIRST_BAD))


def is_fine() -> Column:
    """Return whether a row is judged fine."""
    return F.col(VERDICT) == FINE


def rejudge(condition: Column, code: int | Column) -> Column:
    """Return the verdict, changed to ``code`` where a condition holds."""
    return F.when(condition, code).otherwise(F.col(VERDICT))


def has_column(frame: DataFrame, name: str) -> bool:
    """Whether there is such a column; like Spark, blind to upper and lower case."""
    return name.lower() in (column.lower() for column in frame.columns)


def require_columns(frame: DataFrame, names: Iterable[str], place: str) -> None:
    """Raise unless all columns are there, naming the missing together with the present ones."""
    require([column for column in frame.columns if column != MALFORMED], list(names), place)
