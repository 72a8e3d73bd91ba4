"""Identifiers, instants and numbers out of whatever type a column has: what Spark makes of them.

The plain shapes are read column by column with Arrow, the odd ones value by value. Nothing here
raises on a bad value: it becomes null, and the checks give the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fanwise.arrays.csr import FloatArray
from fanwise.errors import InputError
from fanwise.pipeline.shared import time_units
from fanwise.pipeline.shared.times import FIRST_INSTANT, LAST_INSTANT, SECOND

LARGEST = 2**53
"""Whole numbers up to here are exact as float64."""

Instants = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Bits = npt.NDArray[np.uint8]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BLANK = "".join(map(chr, range(33)))
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_BASIC = re.compile(
    r"([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2}(?:\.[0-9]+)?)"
    r"(Z|[+-][0-9]{2}:?(?:[0-9]{2})?)?"
)
_EXTENDED = re.compile(
    r"([0-9]{4})-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T]([0-9]{1,2})(?::([0-9]{1,2})"
    r"(?::([0-9]{1,2})(?:\.([0-9]*))?(.*))?)?)?)?",
    re.DOTALL,
)
_OFFSET = re.compile(
    r"(?:UTC|GMT|UT)?([+-])([0-9]{1,2})(?::?([0-9]{2})(?::?([0-9]{2}))?|:([0-9]))?"
)
_SHORT_ZONES = {
    "Z": "UTC", "UT": "UTC", "UTC": "UTC", "GMT": "UTC", "PST": "America/Los_Angeles",
    "CST": "America/Chicago", "MST": "Etc/GMT+7", "EST": "Etc/GMT+5", "HST": "Pacific/Honolulu",
    "IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "ECT": "Europe/Paris", "CTT": "Asia/Shanghai",
}  # fmt: skip
_PLAIN_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z?$"
_PLAIN_INTEGER = r"^-?[0-9]{1,18}$"
_PLAIN_NUMBER = r"^-?[0-9]+(\.[0-9]+)?$"


def is_text(column: pa.Array) -> bool:
    """Whether cells are strings."""
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def missing(column: pa.Array) -> Mask:
    """Whether cells are null or empty."""
    found = pc.is_null(column)
    if is_text(column):
        found = pc.or_(found, pc.fill_null(pc.equal(column, ""), True))
    return _mask(found)


def identifiers(column: pa.Array, name: str, place: str) -> pa.Array:
    """Return names as strings, null where there is none; integers in decimal digits."""
    kind = column.type
    if (
        is_text(column)
        or pa.types.is_integer(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_null(kind)
    ):
        texts = column.cast(pa.string())
    elif pa.types.is_decimal(kind) and kind.scale == 0:
        texts = pa.array([None if value is None else str(value) for value in column.to_pylist()])
    else:
        raise InputError(
            f"{place}: column {name!r} has type {kind}; identifiers must be strings or integers, "
            "cast it."
        )
    empty = pc.fill_null(pc.equal(texts, ""), False)
    return pc.if_else(empty, pa.scalar(None, pa.string()), texts)


def instants(column: pa.Array, name: str, place: str, unit: str) -> tuple[Instants, Mask, Bits]:
    """Return microseconds since the epoch, where there are any, and in which form they came."""
    kind = column.type
    size = len(column)
    if is_text(column):
        return _text_instants(pc.utf8_trim(column.cast(pa.string()), " "), unit)
    found, known = np.zeros(size, np.int64), _mask(pc.is_valid(column))
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        if pa.types.is_timestamp(kind) and kind.unit == "ns":
            raw = pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
            found = raw // 1000
        else:
            micros = column.cast(pa.timestamp("us", getattr(kind, "tz", None)))
            found = _filled(micros.cast(pa.int64()))
        return found, known & _within(found), np.full(size, time_units.TYPED, np.uint8)
    if pa.types.is_integer(kind):
        return _whole_instants(_filled(column.cast(pa.int64())), known, unit)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _each(column.to_pylist(), lambda value: _decimal_instant(value, unit))
    if pa.types.is_null(kind):
        return found, np.zeros(size, np.bool_), np.zeros(size, np.uint8)
    raise InputError(
        f"{place}: column {name!r} has type {kind}; it must be a timestamp, ISO 8601 text or epoch "
        "seconds."
    )


def numbers(column: pa.Array, name: str, place: str) -> FloatArray:
    """Return float64, NaN where the cell is no number."""
    kind = column.type
    if is_text(column):
        text = pc.utf8_trim(column.cast(pa.string()), " ")
        plain = _mask(pc.fill_null(pc.match_substring_regex(text, _PLAIN_NUMBER), False))
        result = np.full(len(text), np.nan)
        result[plain] = pc.filter(text, pa.array(plain)).cast(pa.float64()).to_numpy()
        odd = np.flatnonzero(~plain & _mask(pc.is_valid(text)))
        result[odd] = [_number(value) for value in text.take(pa.array(odd)).to_pylist()]
        return result
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        values = pc.fill_null(column.cast(pa.float64()), np.nan).to_numpy(zero_copy_only=False)
        return np.where(np.isfinite(values), values, np.nan)
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    raise InputError(f"{place}: column {name!r} has type {kind}; it must be a number.")


def _text_instants(text: pa.Array, unit: str) -> tuple[Instants, Mask, Bits]:
    size = len(text)
    found, known = np.zeros(size, np.int64), np.zeros(size, np.bool_)
    bits = np.zeros(size, np.uint8)
    left = _mask(pc.is_valid(text))
    dates = _mask(pc.fill_null(pc.match_substring_regex(text, _PLAIN_DATE), False))
    if dates.any():
        plain = pc.utf8_rtrim(pc.filter(text, pa.array(dates)), "Z")
        try:
            found[dates] = plain.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
        except pa.ArrowInvalid:  # a month 13 among them: one by one, below
            pass
        else:
            known[dates], bits[dates] = _within(found[dates]), time_units.DATE
            left &= ~dates
    whole = left & _mask(pc.fill_null(pc.match_substring_regex(text, _PLAIN_INTEGER), False))
    if whole.any():
        values = pc.filter(text, pa.array(whole)).cast(pa.int64()).to_numpy()
        found[whole], known[whole], bits[whole] = _whole_instants(
            values, np.ones(len(values), np.bool_), unit
        )
        left &= ~whole
    odd = np.flatnonzero(left)
    if len(odd):
        found[odd], known[odd], bits[odd] = _each(
            text.take(pa.array(odd)).to_pylist(), lambda value: _odd_instant(value, unit)
        )
    return found, known, bits


def _whole_instants(values: Instants, known: Mask, unit: str) -> tuple[Instants, Mask, Bits]:
    size = np.abs(values)
    if unit == time_units.AUTO:
        limits = np.array(list(time_units.LIMITS.values()), dtype=np.int64)
        chosen = np.searchsorted(limits, size, side="right")
    else:
        chosen = np.full(len(values), list(time_units.PER_SECOND).index(unit))
    micros = np.choose(chosen, [values * 10**6, values * 1000, values, values // 1000])
    # What would overflow is out of range before it is multiplied.
    fits = size <= np.choose(chosen, [LAST_INSTANT // 10**6 + 1, LAST_INSTANT // 1000 + 1]
                             + [np.iinfo(np.int64).max] * 2)  # fmt: skip
    bits = np.array(list(time_units.BITS.values()), dtype=np.uint8)[chosen]
    return micros, known & fits & _within(micros), bits


def _each(
    values: list[Any], read: Callable[[Any], tuple[int, int] | None]
) -> tuple[Instants, Mask, Bits]:
    results = [None if value is None else read(value) for value in values]
    known = np.array([result is not None for result in results], np.bool_)
    pairs = [result or (0, 0) for result in results]
    return (
        np.array([micros for micros, _ in pairs], np.int64),
        known,
        np.array([bit for _, bit in pairs], np.uint8),
    )


def _odd_instant(text: str, unit: str) -> tuple[int, int] | None:
    """Return microseconds and the bit of the form in which they came."""
    if text[4:5] == "-":
        return _dated(_extended_instant(text))
    stripped = text.strip(_BLANK)
    if _INTEGER.fullmatch(stripped) or _NUMBER.fullmatch(text):
        try:
            return _decimal_instant(Decimal(stripped), unit)
        except InvalidOperation:
            return None
    basic = _BASIC.fullmatch(text)
    if basic is None:
        return None
    year, month, day, hour, minute, second, zone = basic.groups()
    written = f"{year}-{month}-{day}T{hour}:{minute}:{second}{zone or ''}"
    return _dated(_extended_instant(written))


def _dated(micros: int | None) -> tuple[int, int] | None:
    return None if micros is None else (micros, time_units.DATE)


def _decimal_instant(value: Decimal | float, unit: str) -> tuple[int, int] | None:
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite() or abs(number) >= Decimal(10) ** 32:
        return None
    number = number.quantize(Decimal("0.000001"), ROUND_HALF_UP)
    if unit == time_units.AUTO:
        unit = next(
            (name for name, limit in time_units.LIMITS.items() if abs(number) < limit), "ns"
        )
    scaled = number * 10**6 / time_units.PER_SECOND[unit]
    rounding = ROUND_FLOOR if unit == "ns" else ROUND_HALF_UP
    micros = int(scaled.to_integral_value(rounding))
    if not FIRST_INSTANT <= micros <= LAST_INSTANT:
        return None
    return micros, time_units.BITS[unit]


def _extended_instant(text: str) -> int | None:
    """Return microseconds of ISO 8601 as Spark reads it, None where it does not."""
    found = _EXTENDED.fullmatch(text.strip(_BLANK))
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    try:
        moment = datetime(
            int(year), int(month), int(day or 1), int(hour or 0), int(minute or 0),
            int(second or 0), int((fraction or "").ljust(6, "0")[:6]),
        )  # fmt: skip
    except ValueError:
        return None
    return _in_zone(moment, (zone or "").strip(_BLANK))


def _in_zone(moment: datetime, zone: str) -> int | None:
    if not zone or zone == "Z":
        return (moment.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
    offset = _OFFSET.fullmatch(zone)
    if offset is not None:
        sign, hours, minutes, seconds, digit = offset.groups()
        ahead = timedelta(
            hours=int(hours), minutes=int(minutes or digit or 0), seconds=int(seconds or 0)
        )
        if ahead > timedelta(hours=18) or int(minutes or 0) > 59 or int(seconds or 0) > 59:
            return None
        local = (moment.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
        shift = ahead // timedelta(microseconds=1)
        return local - shift if sign == "+" else local + shift
    try:
        known = ZoneInfo(_SHORT_ZONES.get(zone, zone))
        return (moment.replace(tzinfo=known) - _EPOCH) // timedelta(microseconds=1)
    except (ValueError, OSError, KeyError, OverflowError):
        return None


def _number(text: str) -> float:
    stripped = text.strip(_BLANK)
    if _NUMBER.fullmatch(text):
        return float(text)
    if _INTEGER.fullmatch(stripped) and abs(int(stripped)) < 2**63:
        return float(int(stripped))
    return float("nan")


def _within(micros: Instants) -> Mask:
    return (micros >= FIRST_INSTANT) & (micros <= LAST_INSTANT)


def _filled(column: pa.Array) -> Instants:
    values: Instants = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
    return values


def _mask(column: Any) -> Mask:
    values: Mask = np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.bool_)
    return values


__all__ = ["LARGEST", "SECOND", "identifiers", "instants", "is_text", "missing", "numbers"]


def parse_instant(text: str, unit: str = time_units.AUTO) -> int | None:
    """Return microseconds since the epoch of a text, None where it is no time."""
    found = _odd_instant(text.strip(" "), unit)
    return None if found is None else found[0]


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    return _NUMBER.fullmatch(text.strip(" ")) is not None
