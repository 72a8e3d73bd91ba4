"""Column expressions that read identifiers, instants and numbers out of whatever type they have.

Text comes from CSV, JSON and edge lists; Parquet and DataFrames bring types of their own. Nothing
here raises on a bad value: it becomes null, and the checks give the reason.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from fanwise.errors import InputError
from fanwise.pipeline.shared.times import FIRST_INSTANT, LAST_INSTANT, SECOND

# Whole numbers up to here are exact as float64.
LARGEST = 2**53

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$"
_BASIC_ISO = r"^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d(?:\.\d+)?)(Z|[+-]\d\d:?(?:\d\d)?)?$"
_EXTENDED_ISO = "$1-$2-$3T$4:$5:$6$7"


def is_missing(frame: DataFrame, name: str) -> Column:
    """Whether a cell is null or empty."""
    column = F.col(name)
    if isinstance(_type(frame, name), T.StringType):
        return column.isNull() | (column == "")
    return column.isNull()


def identifier(frame: DataFrame, name: str, place: str) -> Column:
    """Return names as strings, null where there is none; integers in decimal digits."""
    kind = _type(frame, name)
    if isinstance(kind, T.StringType):
        return F.nullif(F.col(name), F.lit(""))
    if isinstance(kind, T.IntegralType | T.BinaryType):
        return F.nullif(F.col(name).cast("string"), F.lit(""))
    if isinstance(kind, T.DecimalType) and kind.scale == 0:
        return F.col(name).cast("string")
    if isinstance(kind, T.NullType):
        return F.lit(None).cast("string")
    raise InputError(
        f"{place}: column {name!r} has type {kind.simpleString()}; identifiers must be strings or "
        "integers, cast it."
    )


def instant(frame: DataFrame, name: str, place: str) -> Column:
    """Return microseconds since the epoch of ISO 8601 text, epoch seconds, or a timestamp."""
    kind = _type(frame, name)
    column = F.col(name)
    if isinstance(kind, T.StringType):
        return _within(_instant_of_text(F.trim(column)))
    if isinstance(kind, T.TimestampType):
        return _within(F.unix_micros(column))
    if isinstance(kind, T.TimestampNTZType | T.DateType):
        return _within(F.unix_micros(column.cast("timestamp")))
    if isinstance(kind, T.IntegralType):
        return _micros_of_seconds(column.cast("bigint"))
    if isinstance(kind, T.DecimalType):
        return _micros_of_seconds(column.cast("decimal(38,6)"))
    if isinstance(kind, T.FractionalType):
        return _micros_of_seconds(F.when(~F.isnan(column), column.cast("double")))
    if isinstance(kind, T.NullType):
        return F.lit(None).cast("bigint")
    raise InputError(
        f"{place}: column {name!r} has type {kind.simpleString()}; it must be a timestamp, "
        "ISO 8601 text or epoch seconds."
    )


def number(frame: DataFrame, name: str, place: str, *, mostly_whole: bool = True) -> Column:
    """Return float64, null where the cell is no number; NaN and infinities become null too.

    ``mostly_whole`` tells which kind of number is tried first in text, for speed alone: where a try
    fails Spark throws and catches an exception, which costs more than a regular expression.
    """
    kind = _type(frame, name)
    column = F.col(name)
    if isinstance(kind, T.StringType):
        text = F.trim(column)
        any_number = F.when(text.rlike(_NUMBER), text.try_cast("double"))
        if mostly_whole:
            return F.coalesce(text.try_cast("bigint").cast("double"), any_number)
        return any_number
    if isinstance(kind, T.NumericType):
        value = column.cast("double")
        return F.when(~F.isnan(value) & (F.abs(value) != float("inf")), value)
    if isinstance(kind, T.NullType):
        return F.lit(None).cast("double")
    raise InputError(
        f"{place}: column {name!r} has type {kind.simpleString()}; it must be a number."
    )


def _instant_of_text(text: Column) -> Column:
    # A dash after four characters tells a date from a number without a try at both.
    is_date = F.substring(text, 5, 1) == "-"
    date = F.unix_micros(text.try_cast("timestamp"))
    whole = _micros_of_seconds(text.try_cast("bigint"))
    fraction = F.when(text.rlike(_NUMBER), _micros_of_seconds(text.try_cast("decimal(38,6)")))
    basic = F.when(
        text.rlike(_BASIC_ISO),
        F.unix_micros(F.regexp_replace(text, _BASIC_ISO, _EXTENDED_ISO).try_cast("timestamp")),
    )
    return F.when(is_date, date).otherwise(F.coalesce(whole, fraction, basic))


def _micros_of_seconds(seconds: Column) -> Column:
    # The range comes first: multiplying must not overflow.
    known = seconds.between(FIRST_INSTANT // SECOND, LAST_INSTANT // SECOND)
    return F.when(known, F.round(seconds * F.lit(SECOND)).cast("bigint"))


def _within(micros: Column) -> Column:
    return F.when(micros.between(FIRST_INSTANT, LAST_INSTANT), micros)


def _type(frame: DataFrame, name: str) -> T.DataType:
    return next(
        field.dataType for field in frame.schema.fields if field.name.lower() == name.lower()
    )
