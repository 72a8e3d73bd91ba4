"""Lengths of time as people write them: ``90``, ``90s``, ``15m``, ``1h30m``, ``1.5h``, ``10d``."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from fanwise.errors import ParameterError

UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "min": 60, "m": 60, "s": 1}
"""Seconds of each unit."""
LONGEST = 253_402_300_799
"""Seconds up to the end of the year 9999, from the epoch on."""
_NUMBER = r"\d+(?:\.\d*)?|\.\d+"
_PART = re.compile(rf"({_NUMBER})\s*({'|'.join(UNITS)})\s*", re.ASCII)
_WHOLE = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)


def parse_duration(text: str | float, parameter: str, *, may_be_zero: bool = False) -> Decimal:
    """Return the seconds of a length of time, exactly.

    Parameters
    ----------
    text
        A number of seconds, or numbers with units one after the other: w, d, h, m or min, s.
    parameter
        What the option is called, for the message.
    may_be_zero
        Whether no time at all is a length too.

    Raises
    ------
    ParameterError
        In the same words for every option.
    """
    written = str(text).strip().lower()
    if _WHOLE.fullmatch(written):
        parts = _PART.findall(written)
        seconds = sum((Decimal(count) * UNITS[unit] for count, unit in parts), Decimal(0))
    else:
        try:
            seconds = Decimal(written)
        except InvalidOperation:
            seconds = Decimal("nan")
    is_long_enough = seconds.is_finite() and (seconds > 0 or (may_be_zero and seconds == 0))
    if not is_long_enough or seconds > LONGEST:
        least = ">= 0" if may_be_zero else "> 0"
        raise ParameterError(
            parameter, f"a duration {least}, in seconds or as in 90s, 15m, 1h30m or 10d", text
        )
    return seconds
