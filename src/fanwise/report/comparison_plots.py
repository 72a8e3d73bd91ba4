"""Pictures of several plans at once: algorithms side by side, and what-if curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fanwise.formatting import number
from fanwise.workload.plot_style import (
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
    from fanwise.planning.parameter import Parameter
    from fanwise.planning.sweep import Point

LOG_FROM = 20
"""How far apart values are drawn on a logarithmic axis, where a parameter may have one."""
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
    for row, plan in enumerate(plans):
        axes.barh(row, plan.objective, height=0.65, color=BLUE if plan.feasible else GRID)
        note = "" if plan.feasible else " (breaks a limit)"
        axes.text(
            plan.objective,
            row,
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
def plot_sweep(points: Sequence[Point], varied: Sequence[Parameter], *, objective: str) -> Figure:
    """Draw value and bound against the last parameter that varies, one curve for each other.

    Points that are lower bounds on what the algorithm reaches are hollow; those whose plan breaks
    a limit are crosses.
    """
    figure, axes = new_axes()
    drawn = [point for point in points if point.value is not None]
    if not drawn:
        say_empty(axes, "no point has a plan")
        return figure
    *others, along = sorted(varied, key=_is_number_axis(drawn))
    key, label = _key_and_label(drawn, along)
    groups: dict[tuple[Any, ...], list[Point]] = {}
    for point in drawn:
        groups.setdefault(tuple(point.parameters[one.name] for one in others), []).append(point)
    for index, (fixed, group) in enumerate(groups.items()):
        colour, line = COLOURS[index % len(COLOURS)], LINES[index % len(LINES)]
        name = ", ".join(one.say(value) for one, value in zip(others, fixed, strict=True))
        _draw_curve(axes, group, key, along.per_unit, colour=colour, line=line, name=name)
    values = {point.parameters[key] for point in drawn}
    may_be_log = along.axis is not None and along.axis.is_wide
    if all(isinstance(value, str) for value in values):
        axes.set_ylim(bottom=0)
    elif may_be_log and min(values) > 0 and max(values) >= LOG_FROM * min(values):
        axes.set_xscale("log")
        if len(values) <= MAX_TICKS:
            axes.minorticks_off()
            axes.set_xticks(sorted(values), [f"{value:g}" for value in sorted(values)])
    elif all(isinstance(value, int) for value in values):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(label)
    axes.set_ylabel(objective)
    if not all(point.feasible for point in drawn):
        axes.plot([], [], "X", color=MUTED, markerfacecolor="white", label="breaks a limit")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    rows_too_many = max(len(groups) - LEGEND_ROWS, 0)
    figure.set_figheight(figure.get_figheight() + LEGEND_ROW * rows_too_many)
    return figure


def _draw_curve(
    axes: Any,
    group: Sequence[Point],
    key: str,
    per_unit: float,
    *,
    colour: str,
    line: str,
    name: str,
) -> None:
    if not isinstance(group[0].parameters[key], str):
        group = sorted(group, key=lambda point: float(point.parameters[key]))
    x = [at if isinstance(at, str) else at / per_unit for at in
         (point.parameters[key] for point in group)]  # fmt: skip
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


def _is_number_axis(points: Sequence[Point]) -> Callable[[Parameter], bool]:
    """Sort key: words first, so that the last parameter is a number where there is one."""
    return lambda parameter: not isinstance(points[0].parameters[parameter.name], str)


def _key_and_label(points: Sequence[Point], along: Parameter) -> tuple[str, str]:
    """Percentages where all points were given as such, else plain numbers or words."""
    percent = f"{along.name}_percent"
    if all(point.parameters.get(percent) is not None for point in points):
        return percent, f"{along.label} (% of {along.percent_of})"
    return along.name, along.title
