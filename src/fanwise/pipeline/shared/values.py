"""Column expressions that read identifiers, instants and numbers out of whatever type they have.

Text comes from CSV, JSON and edge lists; Parquet and DataFrames bring types of their own. Nothing
here raises on a bad value: it becomes null, and the checks give the reason.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from fanwise.errors import InputError
from fanwise.pipeline.shared import time_units
from fanwise.pipeline.shared.time_units import AUTO
from fanwise.pipeline.shared.times import FIRST_INSTANT, LAST_INSTANT, SECOND

# Whole numbers up to here are exact as float64.
LARGEST = 2**53

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$"
_BASIC_ISO = r"^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d(?:\.\d+)?)(Z|[+-]\d\d:?(?:\d\d)?)?$"
_WHOLE = "_whole"
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


def with_whole_number(frame: DataFrame, name: str) -> DataFrame:
    """Add whole numbers in a column of text of times, which several expressions then look at."""
    if not isinstance(_type(frame, name), T.StringType):
        return frame
    text = F.trim(F.col(name))
    return frame.withColumn(_WHOLE, F.when(~_is_date(text), text.try_cast("bigint")))


def instant(frame: DataFrame, name: str, place: str, unit: str = AUTO) -> Column:
    """Return microseconds since the epoch of ISO 8601 text, epoch times, or a timestamp.

    ``unit`` is that of epoch times; ``auto`` tells it by their size.
    """
    kind = _type(frame, name)
    column = F.col(name)
    if isinstance(kind, T.StringType):
        return _within(_instant_of_text(frame, F.trim(column), unit))
    if isinstance(kind, T.TimestampType):
        return _within(F.unix_micros(column))
    if isinstance(kind, T.TimestampNTZType | T.DateType):
        return _within(F.unix_micros(column.cast("timestamp")))
    if isinstance(kind, T.IntegralType):
        return _within(_micros_of_whole(column.cast("bigint"), unit))
    if isinstance(kind, T.DecimalType):
        return _within(_micros_of(column.cast("decimal(38,6)"), unit))
    if isinstance(kind, T.FractionalType):
        return _within(_micros_of(F.when(~F.isnan(column), column.cast("double")), unit))
    if isinstance(kind, T.NullType):
        return F.lit(None).cast("bigint")
    raise InputError(
        f"{place}: column {name!r} has type {kind.simpleString()}; it must be a timestamp, "
        "ISO 8601 text or epoch seconds."
    )


def instant_form(frame: DataFrame, name: str, unit: str = AUTO) -> Column:
    """Return the bit of the form in which a time came; see :mod:`.time_units`."""
    kind = _type(frame, name)
    if isinstance(kind, T.StringType):
        text = F.trim(F.col(name))
        fraction = F.when(text.rlike(_NUMBER), text.try_cast("decimal(38,6)"))
        return (
            F.when(_is_date(text), time_units.DATE)
            .when(F.col(_WHOLE).isNotNull(), _unit_bit(F.col(_WHOLE), unit))
            .when(fraction.isNotNull(), _unit_bit(fraction, unit))
            .otherwise(time_units.DATE)
        )
    if isinstance(kind, T.NumericType):
        return _unit_bit(F.col(name), unit)
    return F.lit(time_units.TYPED)


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


def _is_date(text: Column) -> Column:
    # A dash after four characters tells a date from a number without a try at both.
    return F.substring(text, 5, 1) == "-"


def _instant_of_text(frame: DataFrame, text: Column, unit: str) -> Column:
    date = F.unix_micros(text.try_cast("timestamp"))
    number = F.col(_WHOLE) if _WHOLE in frame.columns else text.try_cast("bigint")
    whole = _micros_of_whole(number, unit)
    fraction = F.when(text.rlike(_NUMBER), _micros_of(text.try_cast("decimal(38,6)"), unit))
    basic = F.when(
        text.rlike(_BASIC_ISO),
        F.unix_micros(F.regexp_replace(text, _BASIC_ISO, _EXTENDED_ISO).try_cast("timestamp")),
    )
    return F.when(_is_date(text), date).otherwise(F.coalesce(whole, fraction, basic))


def _micros_of_whole(number: Column, unit: str) -> Column:
    """Return microseconds of a whole number; null where they would overflow."""
    finer = F.call_function("div", number - F.pmod(number, F.lit(1000)), F.lit(1000))
    micros = {
        "s": F.when(_fits(number, SECOND), number * F.lit(SECOND)),
        "ms": F.when(_fits(number, 1000), number * F.lit(1000)),
        "us": number,
        "ns": finer,
    }
    return _by_unit(number, micros, unit)


def _micros_of(number: Column, unit: str) -> Column:
    """Return microseconds of a number with a fraction, rounded; of nanoseconds, the floor."""
    micros = {
        name: F.when(_fits(number, factor), F.round(number * F.lit(factor)).cast("bigint"))
        for name, factor in (("s", SECOND), ("ms", 1000), ("us", 1))
    }
    micros["ns"] = F.when(_fits(number, 1), F.floor(number / F.lit(1000)).cast("bigint"))
    return _by_unit(number, micros, unit)


def _fits(number: Column, factor: int) -> Column:
    # The range comes first: multiplying must not overflow.
    if factor == 1:
        return F.abs(number) < F.lit(2**62)
    return number.between(FIRST_INSTANT // factor, LAST_INSTANT // factor)


def _by_unit(number: Column, of: Mapping[str, Column], unit: str) -> Column:
    """Return what belongs to the unit that a number is of."""
    if unit != AUTO:
        return of[unit]
    size = F.abs(number)
    result = F.when(size < F.lit(time_units.LIMITS["s"]), of["s"])
    for name in ("ms", "us"):
        result = result.when(size < F.lit(time_units.LIMITS[name]), of[name])
    return result.otherwise(F.when(number.isNotNull(), of["ns"]))


def _unit_bit(number: Column, unit: str) -> Column:
    return _by_unit(number, {name: F.lit(bit) for name, bit in time_units.BITS.items()}, unit)


def _within(micros: Column) -> Column:
    return F.when(micros.between(FIRST_INSTANT, LAST_INSTANT), micros)


def _type(frame: DataFrame, name: str) -> T.DataType:
    return next(
        field.dataType for field in frame.schema.fields if field.name.lower() == name.lower()
    )
