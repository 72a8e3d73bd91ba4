"""What was measured on one problem, and the rows of ``table.csv`` that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Quantities = Mapping[str, float]
"""What one run measured, by name."""


@dataclass(frozen=True, eq=False)
class Case:
    """One point of a figure: every series on the same problem.

    Attributes
    ----------
    figure
        The paper's number of the figure or table, or a word for one of ours.
    at
        Where in the figure, by column of ``table.csv``.
    results
        What was measured, by series: one entry for each run. All of it goes to the table.
    kept
        What remarks and pictures need beside that.
    """

    figure: str
    at: Mapping[str, Any]
    results: Mapping[str, Sequence[Quantities]]
    kept: Mapping[str, Any] = field(default_factory=dict)

    @property
    def panel(self) -> str:
        return str(self.at["panel"])

    @property
    def x(self) -> float:
        """What the figure varies."""
        x: float = self.at["x"]
        return x

    def mean(self, series: str, quantity: str) -> float:
        """Return the mean of a quantity over the runs of a series."""
        return float(np.mean([result[quantity] for result in self.results[series]]))

    def ratio(self, one: str, other: str, quantity: str) -> float:
        """Return the mean of one series over that of another; 1 where both are nothing."""
        return share(self.mean(one, quantity), self.mean(other, quantity))


@dataclass(frozen=True)
class Row:
    """One measured number, a row of ``table.csv``; the paper's beside it where it gives one."""

    figure: str
    at: Mapping[str, Any]
    series: str
    quantity: str
    ours: float
    paper: str = ""

    def cells(self, columns: Iterable[str]) -> list[Any]:
        """Return the row in the order of the table's columns; what is not given is empty."""
        known = {**self.at, "figure": self.figure, "series": self.series,
                 "quantity": self.quantity, "ours": self.ours, "paper": self.paper}  # fmt: skip
        return [known.get(column) for column in columns]


def _nothing(case: Case, series: str, quantity: str) -> str:
    return ""


def rows_of(
    cases: Iterable[Case], told: Callable[[Case, str, str], str] = _nothing
) -> Iterator[Row]:
    """Yield every quantity of every run.

    Parameters
    ----------
    told
        What the paper says of a case, series and quantity.
    """
    for case in cases:
        for series, results in case.results.items():
            for run, result in enumerate(results):
                at = {**case.at, "run": run}
                for quantity, ours in result.items():
                    paper = told(case, series, quantity)
                    yield Row(case.figure, at, series, quantity, float(ours), paper)


def pick(cases: Iterable[Case], *figures: str, **at: Any) -> list[Case]:
    """Return the cases of some figures, or of all, at a place."""
    return [
        case for case in cases
        if (not figures or case.figure in figures)
        and all(case.at.get(column) == value for column, value in at.items())
    ]  # fmt: skip


def grouped(cases: Iterable[Case], *columns: str) -> dict[Any, list[Case]]:
    """Return cases by what they have in a column, or by all that they have in several."""
    found: dict[Any, list[Case]] = {}
    for case in cases:
        key = tuple(case.at[column] for column in columns)
        found.setdefault(key[0] if len(columns) == 1 else key, []).append(case)
    return found


def by_series(cases: Iterable[Case]) -> dict[str, list[Case]]:
    """Return cases by the series that they have."""
    found: dict[str, list[Case]] = {}
    for case in cases:
        for name in case.results:
            found.setdefault(name, []).append(case)
    return found


def share(part: float, whole: float) -> float:
    """Return part / whole; 1 where there is nothing."""
    return part / whole if whole else 1.0
