"""The pictures of ``reproduce``: the paper's Figs. 2 to 7."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from fanwise.select.plots import label_coverage
from fanwise.select.problem import METRICS
from fanwise.select.reproducing.runs import Hour, Quality, Seconds
from fanwise.select.reproducing.settings import HOUR_CAPACITIES, NAMED_TAUS, TAUS
from fanwise.workload.look import (
    BLUE,
    COLOURS,
    INK,
    LINES,
    MUTED,
    SMALL,
    VERMILION,
    new_axes,
    styled,
    use_log_scale,
)

PAPER_MARKS = {"binary": ((27, 0.87), (27, 0.83), (276, 0.75), (2763, 0.82)),
               "fractional": ((2763, 0.9),)}  # fmt: skip
COLOUR_OF_METRIC = {"binary": BLUE, "fractional": VERMILION}
MARKER_OF_METRIC = {"binary": "o", "fractional": "s"}


@styled
def coverage(qualities: Sequence[Quality], metric: str) -> Figure:
    """Draw value and bounds against capacity, for the three thresholds of the paper."""
    figure, axes = new_axes()
    shown = [at for at in qualities if at.metric == metric and at.tau in NAMED_TAUS]
    for at, colour in zip(shown, COLOURS, strict=False):
        curve = at.curve
        axes.plot(100 * curve.used / at.everything, curve.value, color=colour)
        if curve.bound is not None:
            limit = 100 * curve.capacity / at.everything
            axes.plot(limit, curve.bound, color=colour, linestyle="--", linewidth=1.2)
        axes.plot([10], [at.tight_bound], marker="_", markersize=12, markeredgewidth=2,
                  color=colour, linestyle="none")  # fmt: skip
    label_coverage(axes, metric)
    axes.set_ylim(top=1.35 * max(at.paper_bound for at in shown))
    handles = [Line2D([], [], color=INK, label="greedy"),
               Line2D([], [], color=INK, linestyle="--", linewidth=1.2, label="paper's bound"),
               Line2D([], [], color=INK, linestyle="none", marker="_", markersize=10,
                      markeredgewidth=2, label="our bound")]  # fmt: skip
    handles += [Line2D([], [], color=colour, linewidth=4, label=f"tau {at.tau}")
                for at, colour in zip(shown, COLOURS, strict=False)]  # fmt: skip
    axes.legend(handles=handles, ncols=2, loc="upper left")
    return figure


@styled
def ratios(qualities: Sequence[Quality]) -> Figure:
    """Draw greedy over the paper's bound and over ours against tau, with the paper's numbers."""
    figure, axes = new_axes()
    for metric in METRICS:
        shown = [at for at in qualities if at.metric == metric]
        colour, marker = COLOUR_OF_METRIC[metric], MARKER_OF_METRIC[metric]
        taus = [at.tau for at in shown]
        axes.plot(taus, [at.tight_ratio for at in shown], color=colour, marker=marker,
                  linestyle=":", linewidth=1.2, label=f"{metric}, our bound")  # fmt: skip
        axes.plot(taus, [at.ratio for at in shown], color=colour, marker=marker,
                  label=f"{metric}, paper's bound")  # fmt: skip
        axes.plot(*zip(*PAPER_MARKS[metric], strict=True), color=colour, marker="*", markersize=10,
                  markeredgecolor=INK, markeredgewidth=0.6, linestyle="none",
                  label=f"{metric}, the paper")  # fmt: skip
    _tau_axis(axes)
    axes.set_ylabel("approximation ratio")
    axes.set_ylim(0.5, 1.02)
    axes.legend(loc="lower left", ncols=2, columnspacing=0.8, handlelength=1.6, fontsize=SMALL)
    return figure


@styled
def running_times(seconds: Sequence[Seconds]) -> Figure:
    """Draw running times against tau."""
    figure, axes = new_axes()
    names = list(dict.fromkeys(row.series for row in seconds))
    for name, colour, line in zip(names, COLOURS, LINES, strict=False):
        rows = [row for row in seconds if row.series == name]
        axes.plot([row.tau for row in rows], [row.mean for row in rows], color=colour,
                  linestyle=line, marker="o", label=name)  # fmt: skip
    _tau_axis(axes)
    axes.set_ylabel("seconds (this machine)")
    axes.set_ylim(0, 1.5 * max(row.mean for row in seconds))
    axes.legend(loc="upper left")
    return figure


@styled
def hourly_seconds(hours: Sequence[Hour]) -> Figure:
    """Draw running times on single hours against capacity: mean, and range over the hours."""
    figure, axes = new_axes()
    _draw_hours(axes, hours, "seconds", 1000.0)
    axes.set_ylabel("milliseconds (this machine)")
    axes.set_ylim(bottom=0)
    axes.legend(loc="best")
    return figure


@styled
def hourly_ratios(hours: Sequence[Hour]) -> Figure:
    """Draw approximation ratios on single hours against capacity."""
    figure, axes = new_axes()
    _draw_hours(axes, hours, "ratio", 1.0)
    axes.set_ylabel("greedy / the paper's bound")
    axes.set_ylim(top=1.01)
    axes.legend(loc="lower right")
    return figure


def _draw_hours(axes: Axes, hours: Sequence[Hour], quantity: str, unit: float) -> None:
    for metric in METRICS:
        by_capacity = [
            unit * np.array([getattr(hour, quantity) for hour in hours
                             if hour.metric == metric and hour.capacity_percent == capacity])
            for capacity in HOUR_CAPACITIES
        ]  # fmt: skip
        colour = COLOUR_OF_METRIC[metric]
        axes.fill_between(
            HOUR_CAPACITIES,
            [values.min() for values in by_capacity],
            [values.max() for values in by_capacity],
            color=colour, alpha=0.15, linewidth=0,
        )  # fmt: skip
        axes.plot(HOUR_CAPACITIES, [values.mean() for values in by_capacity], color=colour,
                  marker=MARKER_OF_METRIC[metric], label=f"{metric}, mean and range")  # fmt: skip
    axes.set_xlabel("capacity (% of the cost of serving everything)")


def _tau_axis(axes: Axes) -> None:
    use_log_scale(axes, y=False)
    axes.xaxis.set_major_locator(FixedLocator(list(TAUS)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.tick_params(axis="x", color=MUTED)
    axes.set_xlabel("tau (events per period)")
