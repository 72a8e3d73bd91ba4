"""Instants and lengths of time as options give them, in whole microseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation

from fanwise import durations
from fanwise.errors import ParameterError
from fanwise.pipeline.shared.time_units import PER_SECOND, unit_of

Instant = str | float | datetime
Duration = str | float

SECOND = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INSTANT = "an instant in ISO 8601 or epoch seconds, as in 2024-01-31T12:00:00Z"

# Years 1 to 9999: what both Spark and Python can write as a date.
FIRST_INSTANT = -62_135_596_800 * SECOND
LAST_INSTANT = 253_402_300_800 * SECOND - 1


def parse_instant(text: Instant, parameter: str) -> int:
    """Return microseconds since the epoch; without a zone, UTC is meant.

    Digits alone are an epoch time, whose unit its size tells as in traces: 20240131 is a moment in
    August 1970, so write dates with dashes.
    """
    if isinstance(text, datetime):
        moment = text
    else:
        try:
            seconds = Decimal(str(text).strip())
        except InvalidOperation:
            try:
                moment = datetime.fromisoformat(str(text).strip())
            except ValueError:
                raise ParameterError(parameter, _INSTANT, text) from None
        else:
            if seconds.is_finite():
                micros = seconds * SECOND / PER_SECOND[unit_of(seconds)]
                if FIRST_INSTANT <= micros <= LAST_INSTANT:
                    return int(micros.to_integral_value())
            raise ParameterError(parameter, _INSTANT, text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)


def parse_duration(text: Duration, parameter: str) -> int:
    """Return microseconds of a length of time such as ``1h30m``, at least one."""
    return int((durations.parse_duration(text, parameter) * SECOND).to_integral_value()) or 1


def iso(instant: int) -> str:
    """Write an instant as 2024-01-31T12:00:00Z, with the fraction only where there is one."""
    moment = _EPOCH + timedelta(microseconds=instant)
    return moment.isoformat().replace("+00:00", "Z")


def folder_name(instant: int) -> str:
    """Write an instant as 20240131T120000Z."""
    moment = _EPOCH + timedelta(microseconds=instant)
    return f"{moment.year:04d}" + moment.strftime("%m%dT%H%M%SZ")


def floor_to(instant: int, window: int) -> int:
    """Return the start of the window, aligned to the epoch, that an instant falls into."""
    return instant // window * window
