"""How distributions of either kind of workload are summed up, and shown as tables."""

from __future__ import annotations

from typing import Any, NamedTuple

SUMMARY = ("min", "q25", "median", "mean", "q75", "p90", "p99", "max")
"""What is told of a distribution, in this order."""


class StatisticsTable(NamedTuple):
    """A titled table: names of columns, then rows of numbers or text."""

    title: str
    columns: list[str]
    rows: list[list[Any]]
