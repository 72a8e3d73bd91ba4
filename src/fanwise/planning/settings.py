"""Tuning knobs of algorithms: ``--set key=value``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Setting:
    """A tuning knob of one algorithm: how to read it, its default, what it must be."""

    parse: Callable[[str], Any]
    default: Any
    constraint: str
    allows: Callable[[Any], bool] = lambda value: True


def read_flag(text: str) -> bool:
    """Read a knob that is on or off."""
    return {"true": True, "false": False}[text.lower()]


def whole_number(default: int, least: int) -> Setting:
    """Return a knob that is a whole number."""
    return Setting(
        int, default, f"a whole number >= {least}", lambda value: is_whole(value) and value >= least
    )


def number(default: float, low: float, high: float) -> Setting:
    """Return a knob that is a number between two others, both allowed."""
    return Setting(
        float,
        default,
        f"a number from {low:g} to {high:g}",
        lambda value: (is_whole(value) or isinstance(value, float)) and low <= value <= high,
    )


def flag(default: bool) -> Setting:
    """Return a knob that is on or off."""
    return Setting(read_flag, default, "true or false", lambda value: isinstance(value, bool))


def one_of(default: str, *others: str) -> Setting:
    """Return a knob that is one of some words."""
    words = (default, *others)
    return Setting(str, default, f"one of {', '.join(words)}", lambda value: value in words)


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, and not a truth value."""
    return isinstance(value, int) and not isinstance(value, bool)
