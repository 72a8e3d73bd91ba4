"""Names of columns, and the verdicts on rows: fine, outside the period, or bad for a reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fanwise.errors import InputError

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

# The raw text of a row that its reader could not take apart, null for the others.
MALFORMED = "_malformed"

DUPLICATE = -1  # says once more what another row says
FINE = 0
OUTSIDE = 1
REASONS = (
    "malformed row",
    "no topic",
    "no subscriber",
    "no timestamp",
    "timestamp not ISO 8601 or epoch seconds",
    "bytes not a number >= 0",
    "events not a whole number >= 0",
    "since not ISO 8601 or epoch seconds",
    "until not ISO 8601 or epoch seconds",
    "until not after since",
)
CONTENT_REASONS = (
    "no publisher",
    "no value for an attribute",
    "attribute not a number",
    "event outside the space",
    "rectangle side missing",
    "rectangle side not a number",
    "rectangle with lo > hi",
    "another rectangle of the subscriber",
    "no name",
    "coordinate not a number",
    "another position of the name",
    "no position",
)
FIRST_BAD = 2
_ALL_REASONS = (*REASONS, *CONTENT_REASONS)


def verdict(reason: str) -> int:
    """Return the code of a reason."""
    return FIRST_BAD + _ALL_REASONS.index(reason)


def reason_text(code: Column) -> Column:
    """Return the words of a code, null for rows that are not bad."""
    return F.get(F.array(*map(F.lit, _ALL_REASONS)), code - F.lit(FIRST_BAD))


def count_reasons(by_verdict: Mapping[int, int]) -> dict[str, int]:
    """Return the rows of each reason that has any."""
    codes = enumerate(_ALL_REASONS, FIRST_BAD)
    return {reason: by_verdict[code] for code, reason in codes if code in by_verdict}


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
    missing = [name for name in names if not has_column(frame, name)]
    if missing:
        present = [column for column in frame.columns if column != MALFORMED]
        raise InputError(
            f"{place}: no column {', '.join(map(repr, missing))}; "
            f"it has {', '.join(map(repr, present)) or 'none'}; name them by a header, "
            "--columns or --rename."
        )
