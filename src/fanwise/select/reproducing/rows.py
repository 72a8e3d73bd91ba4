"""What was measured, as rows of ``table.csv`` and as tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fanwise.planning.explanation import Listing
from fanwise.select.problem import METRICS
from fanwise.select.reproducing.runs import Hour, Quality, Seconds
from fanwise.select.reproducing.settings import (
    HOUR_CAPACITIES,
    HOUR_TAU,
    HOURS,
    PAPER_RATIOS,
    PAPER_SECONDS,
    TAUS,
)


@dataclass(frozen=True)
class Row:
    """One measured number, a row of ``table.csv``."""

    figure: str
    metric: str
    tau: float
    capacity_percent: float
    window: int | None
    series: str
    quantity: str
    ours: float
    paper: str = ""


def quality_rows(qualities: Sequence[Quality]) -> list[Row]:
    """Return Figs. 2 to 4 as rows."""
    rows = []
    for at in qualities:
        figure = "2" if at.metric == "binary" else "3"
        key = (at.metric, float(at.tau), 10.0, None)
        rows += [
            Row(figure, *key, "greedy", "value", at.value),
            Row(figure, *key, "paper bound", "value", at.paper_bound),
            Row(figure, *key, "our bound", "value", at.tight_bound),
            Row("4", *key, "greedy / paper bound", "ratio", at.ratio,
                PAPER_RATIOS.get((at.metric, at.tau), "")),
            Row("4", *key, "greedy / our bound", "ratio", at.tight_ratio),
        ]  # fmt: skip
        used = 100 * at.curve.used / at.everything
        for wanted in range(1, 10):
            last = int(np.searchsorted(used, wanted, side="right")) - 1
            reached = float(at.curve.value[last])
            rows.append(
                Row(figure, at.metric, float(at.tau), float(wanted), None, "greedy", "value",
                    reached)
            )  # fmt: skip
    return rows


def seconds_rows(seconds: Sequence[Seconds]) -> list[Row]:
    """Return Fig. 5 as rows."""
    return [
        Row("5", "binary" if at.algorithm == "GreedyB3M" else "fractional", float(at.tau), 10.0,
            None, at.series, "seconds", at.mean, PAPER_SECONDS.get(at.series, ""))
        for at in seconds
    ]  # fmt: skip


def hour_rows(hours: Sequence[Hour]) -> list[Row]:
    """Return Figs. 6 and 7 as rows."""
    rows = []
    for at in hours:
        key = (at.metric, float(HOUR_TAU), at.capacity_percent, at.window)
        rows += [
            Row("6", *key, "greedy", "seconds", at.seconds),
            Row("7", *key, "greedy / paper bound", "ratio", at.ratio),
        ]
        if at.tight_ratio is not None:
            rows.append(Row("7", *key, "greedy / our bound", "ratio", at.tight_ratio))
    return rows


def listings(
    qualities: Sequence[Quality], seconds: Sequence[Seconds], hours: Sequence[Hour]
) -> list[Listing]:
    """Return what was measured as tables for people."""
    series = list(dict.fromkeys(row.series for row in seconds))
    spent = {(row.series, row.tau): row.mean for row in seconds}
    return [
        Listing(
            "Values and bounds at a capacity of 10%",
            ("metric", "tau", "greedy", "paper's bound", "our bound", "greedy / paper's",
             "greedy / ours"),
            [(at.metric, at.tau, at.value, at.paper_bound, at.tight_bound, f"{at.ratio:.3f}",
              f"{at.tight_ratio:.4f}") for at in qualities],
        ),
        Listing(
            "Seconds at a capacity of 10%",
            ("tau", *series),
            [(tau, *(f"{spent[name, tau]:.4f}" for name in series)) for tau in TAUS],
        ),
        Listing(
            f"Single hours, tau {HOUR_TAU}, means of {HOURS}",
            ("capacity", "binary ms", "fractional ms", "binary ratio", "fractional ratio"),
            [
                (f"{capacity}%",
                 *(f"{1000 * mean_of(hours, metric, 'seconds', capacity):.2f}"
                   for metric in METRICS),
                 *(f"{mean_of(hours, metric, 'ratio', capacity):.3f}" for metric in METRICS))
                for capacity in HOUR_CAPACITIES
            ],
        ),
    ]  # fmt: skip


def mean_of(
    hours: Sequence[Hour], metric: str, quantity: str, capacity: float | None = None
) -> float:
    """Return a mean over the hours, at one capacity or all."""
    values = [
        getattr(hour, quantity)
        for hour in hours
        if hour.metric == metric and capacity in (None, hour.capacity_percent)
    ]
    return float(np.mean(values))


def mean_at(hours: Sequence[Hour], capacity: float) -> float:
    """Return the mean ratio of both metrics at one capacity."""
    return float(np.mean([hour.ratio for hour in hours if hour.capacity_percent == capacity]))
