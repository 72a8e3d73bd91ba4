"""Pictures of several plans at once: algorithms side by side, and what-if curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fanwise.wording import number, span
from fanwise.workload.look import (
    BLUE,
    COLOURS,
    GRID,
    HEIGHT,
    INK,
    LINES,
    MUTED,
    SMALL,
    VERMILION,
    new_axes,
    say_empty,
    styled,
)

if TYPE_CHECKING:
    from fanwise.planning.compare import Comparison
    from fanwise.planning.sweep import Point

UNITS = {"horizon_seconds": 86400}
"""What a parameter is divided by on an axis."""
LOG_FROM, LOG_AXES = 20, ("tau", "core_factor")
"""How far apart thresholds and factors are drawn on a logarithmic axis."""
FACTORS = {"core_factor": "core", "capacity_factor": "capacity"}
LEGEND_ROWS, LEGEND_ROW = 4, 0.2
"""Rows of a legend that a figure has room for, and the inches that each further one takes."""
MAX_TICKS = 8
"""More thresholds than this are not all named on the axis."""


@styled
def plot_comparison(
    comparison: Comparison, *, objective: str, amount: Callable[[Any], str] = number
) -> Figure:
    """Draw the objective of each algorithm as a bar, best first, and the bound as a line."""
    plans = comparison.plans
    figure, axes = new_axes(height=max(HEIGHT * 0.6, 0.9 + 0.27 * len(plans)))
    if not plans:
        say_empty(axes, "no plans")
        return figure
    for place, plan in enumerate(plans):
        axes.barh(place, plan.objective, height=0.65, color=BLUE if plan.feasible else GRID)
        note = "" if plan.feasible else " (breaks a limit)"
        axes.text(
            plan.objective,
            place,
            f" {amount(plan.objective)}{note}",
            va="center",
            fontsize=SMALL,
            color=INK,
        )
    largest = max(plan.objective for plan in plans)
    if comparison.bound is not None:
        axes.axvline(
            comparison.bound,
            color=VERMILION,
            linestyle="--",
            linewidth=1.2,
            label=f"best bound {amount(comparison.bound)}",
        )
        largest = max(largest, comparison.bound)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0))
    axes.set_yticks(range(len(plans)), [plan.algorithm for plan in plans])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.2 * largest or 1.0)
    axes.set_xlabel(objective)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    return figure


@styled
def plot_sweep(points: Sequence[Point], axes_varied: Sequence[str], *, objective: str) -> Figure:
    """Draw value and bound against the last parameter that varies, one curve for each other.

    Points that are lower bounds on what the algorithm reaches are hollow; those whose plan breaks
    a limit are crosses.
    """
    figure, axes = new_axes()
    drawn = [point for point in points if point.value is not None]
    if not drawn:
        say_empty(axes, "no point has a plan")
        return figure
    *others, along = sorted(axes_varied, key=_is_number_axis(drawn))
    along = _key_of(drawn, along)
    groups: dict[tuple[Any, ...], list[Point]] = {}
    for point in drawn:
        groups.setdefault(tuple(point.parameters[name] for name in others), []).append(point)
    for index, (key, group) in enumerate(groups.items()):
        colour, line = COLOURS[index % len(COLOURS)], LINES[index % len(LINES)]
        name = ", ".join(_say(other, value) for other, value in zip(others, key, strict=True))
        _draw_curve(axes, group, along, colour=colour, line=line, name=name)
    places = {point.parameters[along] for point in drawn}
    if all(isinstance(place, str) for place in places):
        axes.set_ylim(bottom=0)
    elif min(places) > 0 and max(places) >= LOG_FROM * min(places) and along in LOG_AXES:
        axes.set_xscale("log")
        if len(places) <= MAX_TICKS:
            axes.minorticks_off()
            axes.set_xticks(sorted(places), [f"{place:g}" for place in sorted(places)])
    elif all(isinstance(place, int) for place in places):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(_label(along))
    axes.set_ylabel(objective)
    if not all(point.feasible for point in drawn):
        axes.plot([], [], "X", color=MUTED, markerfacecolor="white", label="breaks a limit")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    rows_too_many = max(len(groups) - LEGEND_ROWS, 0)
    figure.set_figheight(figure.get_figheight() + LEGEND_ROW * rows_too_many)
    return figure


def _draw_curve(
    axes: Any, group: Sequence[Point], along: str, *, colour: str, line: str, name: str
) -> None:
    if not isinstance(group[0].parameters[along], str):
        group = sorted(group, key=lambda point: float(point.parameters[along]))
    unit = UNITS.get(along, 1)
    x = [at if isinstance(at, str) else at / unit for at in
         (point.parameters[along] for point in group)]  # fmt: skip
    value = [point.value for point in group]
    bound = [float("nan") if point.bound is None else point.bound for point in group]
    prefix = f"{name}: " if name else ""
    axes.plot(x, bound, color=colour, linewidth=1.0, alpha=0.6, label=f"{prefix}bound")
    axes.plot(x, value, color=colour, linestyle=line, label=f"{prefix}value")
    for point, at in zip(group, x, strict=True):
        axes.plot(
            [at],
            [point.value],
            marker="o" if point.feasible else "X",
            color=colour,
            markerfacecolor=colour if point.is_exact and point.feasible else "white",
        )


def _say(name: str, value: Any) -> str:
    """Name a curve by what is fixed on it."""
    if name == "horizon_seconds":
        return span(value)
    if name == "message_bytes":
        return f"{number(value)} bytes"
    if name in FACTORS:
        return f"{FACTORS[name]} x {number(value)}"
    return value if isinstance(value, str) else f"{name} {number(value)}"


def _is_number_axis(points: Sequence[Point]) -> Callable[[str], bool]:
    """Sort key: words first, so that the last parameter is a number where there is one."""
    return lambda name: not isinstance(points[0].parameters[name], str)


def _key_of(points: Sequence[Point], along: str) -> str:
    """Percentages where all points were given as such, else plain numbers or words."""
    percent = f"{along}_percent"
    has_all = all(point.parameters.get(percent) is not None for point in points)
    return percent if has_all else along


def _label(key: str) -> str:
    labels = {
        "tau": "tau (events per period)",
        "capacity": "capacity (cost units)",
        "capacity_percent": "capacity (% of serving everything)",
        "message_bytes": "message size (bytes)",
        "horizon_seconds": "horizon (days)",
        "instance": "type of machine",
        "max_degree": "degree limit",
        "max_edges": "link limit",
        "budget_ratio": "budget ratio",
        "alpha": "rectangles of a filter (alpha)",
        "max_delay": "delay limit",
        "lbf_max": "load limit (load-balance factor)",
        "core_factor": "costs between brokers (times theirs)",
        "capacity_factor": "capacities (times theirs)",
    }
    return labels.get(key, key)
