"""Numbers that JSON can hold but no workload or plan has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MOST = 2**63 - 1


def find_odd_number(value: Any, place: str = "") -> str | None:
    """Say where a number is NaN, infinite, or a whole number beyond 64 bits; None if none is."""
    if isinstance(value, Mapping):
        items = ((f"{place}.{key}" if place else str(key), item) for key, item in value.items())
    elif isinstance(value, list | tuple):
        items = ((f"{place}[{index}]", item) for index, item in enumerate(value))
    elif isinstance(value, bool) or not isinstance(value, int | float):
        return None
    elif isinstance(value, float):
        return None if math.isfinite(value) else f"{place} must be finite, got {value!r}"
    else:
        return None if -MOST <= value <= MOST else f"{place} must be a number below 2^63"
    found = (find_odd_number(item, where) for where, item in items)
    return next((odd for odd in found if odd is not None), None)
