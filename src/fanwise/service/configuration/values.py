"""Types of values in the configuration, each read and checked in one place."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from fanwise.durations import parse_duration
from fanwise.errors import ParameterError
from fanwise.select.problem import parse_capacity

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(B|kB|MB|GB|TB)?", re.IGNORECASE)
_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}


class Section(BaseModel):
    """A table of the file: unknown names are mistakes, and nothing changes once it is read."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


def written(default: str, description: str) -> Any:
    """Declare a setting whose default is written as people do: ``"1h"``, ``"2 GB"``, a path."""
    return Field(default, description=description)


def _refuse_flags(value: Any) -> Any:
    """TOML's true is no number."""
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value


def _read_duration(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("must be a duration such as '90s', '15m', '1h30m' or '10d'")
    try:
        return float(parse_duration(value, "duration", may_be_zero=True))
    except ParameterError:
        raise ValueError("must be a duration such as '90s', '15m', '1h30m' or '10d'") from None


def _read_size(value: Any) -> int:
    found = _SIZE.fullmatch(str(value).strip())
    if isinstance(value, bool) or found is None:
        raise ValueError("must be a size such as '500 MB' or '2 GB'")
    return int(float(found[1]) * _UNITS[(found[2] or "B").lower()])


def _check_capacity(value: Any) -> float | str:
    try:
        parse_capacity(value, 1.0)
    except ParameterError:
        raise ValueError("must be a number >= 0 or a percentage such as '10%'") from None
    return value if isinstance(value, str) else float(value)


def _check_tau(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value <= 0:
        raise ValueError("must be a number > 0: events per window that satisfy a subscriber")
    return float(value)


def _check_positive(seconds: float) -> float:
    if seconds <= 0:
        raise ValueError("must be longer than nothing, such as '1h'")
    return seconds


def _check_path(path: Path) -> Path:
    if "\0" in str(path) or not str(path):
        raise ValueError("must be a path")
    return path


Duration = Annotated[float, BeforeValidator(_read_duration)]
"""Seconds, written as people do."""
Length = Annotated[float, BeforeValidator(_read_duration), AfterValidator(_check_positive)]
"""The same, of more than nothing."""
Size = Annotated[int, BeforeValidator(_read_size)]
"""Bytes, with a decimal unit."""
Capacity = Annotated[float | str, BeforeValidator(_check_capacity)]
Tau = Annotated[float, BeforeValidator(_check_tau)]
Share = Annotated[float, BeforeValidator(_refuse_flags), Field(ge=0, le=1)]
Amount = Annotated[float, BeforeValidator(_refuse_flags), Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, BeforeValidator(_refuse_flags), Field(ge=0)]
Some = Annotated[int, BeforeValidator(_refuse_flags), Field(ge=1)]
"""A count of at least one."""
Port = Annotated[int, BeforeValidator(_refuse_flags), Field(ge=0, le=65535)]
File = Annotated[Path, AfterValidator(_check_path)]
