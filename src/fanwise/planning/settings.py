"""Tuning knobs of algorithms: ``--set key=value``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fanwise.planning import values
from fanwise.planning.values import Kind


@dataclass(frozen=True)
class Setting:
    """A tuning knob of one algorithm: what it must be, and its default."""

    kind: Kind
    default: Any


def whole_number(default: int, least: int) -> Setting:
    """Return a knob that is a whole number."""
    return Setting(values.whole_number(least), default)


def number(default: float, low: float, high: float) -> Setting:
    """Return a knob that is a number between two others, both allowed."""
    return Setting(values.number_within(low, high), default)


def flag(default: bool) -> Setting:
    """Return a knob that is on or off."""
    return Setting(values.FLAG, default)


def one_of(default: str, *others: str) -> Setting:
    """Return a knob that is one of some words."""
    return Setting(values.one_of(default, *others), default)
