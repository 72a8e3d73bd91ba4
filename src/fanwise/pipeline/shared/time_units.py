"""Units of epoch times: seconds, milli-, micro- and nanoseconds, told apart by their size.

A number below 10¹¹ is seconds (until the year 5138), below 10¹⁴ milliseconds, below 10¹⁷
microseconds, else nanoseconds: each unit from March 1973 on. Earlier times in finer units than
seconds, and logs that must not be guessed, say their unit.
"""

from __future__ import annotations

from decimal import Decimal

from fanwise.errors import ParameterError

AUTO = "auto"
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
LIMITS = {"s": 10**11, "ms": 10**14, "us": 10**17}
"""Numbers below these are taken to be of the unit."""
_WORDS = {
    "s": ("s", "sec", "second", "seconds"),
    "ms": ("ms", "milli", "millis", "millisecond", "milliseconds"),
    "us": ("us", "µs", "micro", "micros", "microsecond", "microseconds"),
    "ns": ("ns", "nano", "nanos", "nanosecond", "nanoseconds"),
    AUTO: (AUTO,),
}

DATE, TYPED = 1, 32
BITS = {"s": 2, "ms": 4, "us": 8, "ns": 16}
"""Of a mask that says in which forms times came: text of ISO 8601, units, timestamps."""
_NAMES = {DATE: "ISO 8601", **{bit: unit for unit, bit in BITS.items()}, TYPED: "timestamp"}


def parse_unit(text: str) -> str:
    """Return the unit that an option names, or ``auto``."""
    for unit, words in _WORDS.items():
        if text.strip().lower() in words:
            return unit
    raise ParameterError("time-unit", "one of auto, s, ms, us, ns", text)


def unit_of(value: float | Decimal) -> str:
    """Return the unit that a number is taken to be of."""
    size = Decimal(value).copy_abs()
    return next((unit for unit, limit in LIMITS.items() if size < limit), "ns")


def names_of(mask: int | None) -> list[str]:
    """Return the forms in which times came."""
    return [name for bit, name in _NAMES.items() if (mask or 0) & bit]
