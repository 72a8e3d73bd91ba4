"""Pictures of a provisioning: what the money is spent on, how full the machines are.

And of several: the paper's ladder from the naive plan to the bound, and cost against tau.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fanwise.formatting import money
from fanwise.workload.plot_style import (
    BLUE,
    COLOURS,
    GRID,
    INK,
    LINES,
    MUTED,
    ORANGE,
    SMALL,
    new_axes,
    say_empty,
    styled,
)

if TYPE_CHECKING:
    from fanwise.planning.compare import Comparison
    from fanwise.planning.plan import Plan
    from fanwise.planning.sweep import Point
    from fanwise.workload.topic import TopicWorkload

MAX_BARS = 60
"""More machines than this are drawn as one silhouette instead of bars."""

LOG_FROM = 20
"""How far apart thresholds are drawn on a logarithmic axis."""
MAX_TICKS = 8
"""More thresholds than this are not all named on the axis."""

MACHINES, INCOMING, OUTGOING = MUTED, ORANGE, BLUE
PARTS = {"machines": MACHINES, "incoming": INCOMING, "outgoing": OUTGOING}


def figures(workload: TopicWorkload, plan: Plan) -> dict[str, Figure]:
    """Return every picture of a provisioning, the main one first."""
    return {
        "What the plan costs": plot_costs(plan),
        "How full the machines are": plot_machines(plan),
    }


@styled
def plot_costs(plan: Plan) -> Figure:
    """Draw the cost of machines, incoming and outgoing traffic, next to the bounds."""
    metrics = plan.metrics
    figure, axes = new_axes(height=2.4)
    parts = [(name, metrics[f"cost_{name}"], colour) for name, colour in PARTS.items()]
    if not plan.objective:
        say_empty(axes, "nothing to pay for")
        return figure
    left = 0.0
    for name, cost, colour in parts:
        share = _whole_percent(cost / plan.objective)
        axes.barh(0, cost, left=left, height=0.6, color=colour, label=f"{name} {share}")
        left += cost
    bounds = [("proven bound", plan.bound), ("the paper's bound", metrics.get("paper_bound"))]
    ticks = ["this plan"]
    for name, bound in bounds:
        if bound is not None:
            axes.barh(len(ticks), bound, height=0.6, color=GRID)
            axes.text(bound, len(ticks), f" {money(bound)}", va="center", fontsize=SMALL)
            ticks.append(name)
    axes.text(left, 0, f" {money(plan.objective)}", va="center", fontsize=SMALL, color=INK)
    most = 1.18 * max(left, *(bound or 0.0 for _, bound in bounds))
    _finish_bars(figure, axes, ticks, most, legend_columns=3)
    return figure


@styled
def plot_machines(plan: Plan) -> Figure:
    """Draw incoming and outgoing traffic of each machine as a share of its capacity."""
    figure, axes = new_axes()
    vms = plan.tables["vms"].sort_by("vm")
    if not vms.num_rows:
        say_empty(axes, "no machines")
        return figure
    capacity = _numbers(vms, "capacity_bytes")
    incoming = 100 * _numbers(vms, "in_bytes") / capacity
    outgoing = 100 * _numbers(vms, "out_bytes") / capacity
    used = outgoing + incoming
    if vms.num_rows <= MAX_BARS:
        machines = np.arange(vms.num_rows)
        axes.bar(machines, outgoing, color=OUTGOING, width=0.8, label="outgoing")
        axes.bar(machines, incoming, bottom=outgoing, color=INCOMING, width=0.8, label="incoming")
        axes.set_xlim(-0.6, max(vms.num_rows, 4) - 0.4)  # one machine is no wall
        axes.set_xticks(machines[:: 1 + (vms.num_rows - 1) // 10])
    else:
        edges = np.arange(vms.num_rows + 1) - 0.5
        axes.stairs(outgoing, edges, fill=True, color=OUTGOING, label="outgoing")
        axes.stairs(used, edges, baseline=outgoing, fill=True, color=INCOMING, label="incoming")
        axes.set_xlim(-0.5, vms.num_rows - 0.5)
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    mean = 100 * float(plan.metrics["utilisation"])
    axes.axhline(mean, color=INK, linewidth=1, linestyle="--", label=f"mean {mean:.3g}%")
    reserve = plan.parameters.get("reserve", 0.0)
    if reserve and used.max() > 25:
        axes.axhline(100 * (1 - reserve), color=MUTED, linewidth=1, label="less the reserve")
    # Machines that idle would be a line at the bottom of a whole scale.
    axes.set_ylim(0, 102 if used.max() > 25 else 1.25 * used.max() or 1.0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}%"))
    axes.set_xlabel("machine, in the order opened")
    axes.set_ylabel("share of its bandwidth")
    axes.grid(False, axis="x")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, handlelength=1.4)
    return figure


LADDER = (
    "rsp+ffbp", "gsp+ffbp", "gsp+group", "gsp+expensive-first", "gsp+most-free", "gsp+cbp",
    "best+best",
)  # fmt: skip
"""The paper's ladder from the naive algorithm up, then ours."""


def ladder_of(plans: Iterable[Plan]) -> list[Plan]:
    """Return the plans of the paper's ladder, from the naive one up, then ours; others are not."""
    by_name = {plan.algorithm: plan for plan in plans}
    return [by_name[name] for name in LADDER if name in by_name]


def comparison_figures(comparison: Comparison) -> dict[str, Figure]:
    """Return the pictures of plans by several algorithms: the paper's ladder."""
    return {"ladder": plot_ladder(ladder_of(comparison.plans), comparison.bound)}


@styled
def plot_ladder(plans: Sequence[Plan], bound: float | None = None) -> Figure:
    """Draw what plans for one problem cost, each as a bar, in the order given, against a bound.

    The paper's ladder is RSP+FFBP, then GSP with rungs (a) to (e), then ours.
    """
    figure, axes = new_axes(height=1.4 + 0.32 * len(plans))
    if not any(plan.objective for plan in plans):
        say_empty(axes, "nothing to pay for")
        return figure
    left = np.zeros(len(plans))
    for name, colour in PARTS.items():
        costs = np.array([plan.metrics[f"cost_{name}"] for plan in plans])
        axes.barh(range(len(plans)), costs, left=left, height=0.7, color=colour, label=name)
        left += costs
    for row, plan in enumerate(plans):
        change = plan.objective / plans[0].objective - 1 if plans[0].objective else 0.0
        text = f" {money(plan.objective)}" + (f" ({100 * change:+.1f}%)" if row else "")
        axes.text(plan.objective, row, text, va="center", fontsize=SMALL, color=INK)
    if bound is not None:
        axes.axvline(bound, color=INK, linewidth=1, linestyle="--", label="proven bound")
    most = 1.4 * max(float(left.max()), bound or 0.0)
    _finish_bars(figure, axes, [plan.algorithm for plan in plans], most, legend_columns=4)
    return figure


def _finish_bars(
    figure: Figure, axes: Axes, names: Sequence[str], most: float, *, legend_columns: int
) -> None:
    """Name horizontal bars from top to bottom, and put dollars below and a legend above them."""
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, most)
    axes.set_xlabel("dollars over the horizon")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    figure.legend(
        *axes.get_legend_handles_labels(),
        loc="outside upper center",
        ncols=legend_columns,
        handlelength=1.0,
    )


def plot_sweep_of_tau(points: Sequence[Point]) -> Figure:
    """Draw what satisfying everybody costs against tau, by one algorithm."""
    return plot_cost_against_tau({points[0].algorithm: points})


@styled
def plot_cost_against_tau(curves: Mapping[str, Sequence[Point]]) -> Figure:
    """Draw what satisfying everybody costs against tau, one curve a name, and the highest bound.

    Points without a plan are left out.
    """
    figure, axes = new_axes()
    drawn = {
        name: sorted(
            (point for point in points if point.value is not None),
            key=lambda point: float(point.parameters["tau"]),
        )
        for name, points in curves.items()
    }
    drawn = {name: points for name, points in drawn.items() if points}
    if not drawn:
        say_empty(axes, "no point has a plan")
        return figure
    bounds: dict[float, float] = {}
    for index, (name, points) in enumerate(drawn.items()):
        taus = [float(point.parameters["tau"]) for point in points]
        values = [float(point.value or 0.0) for point in points]
        colour, line = COLOURS[index % len(COLOURS)], LINES[index % len(LINES)]
        axes.plot(taus, values, color=colour, linestyle=line, marker="o", label=name)
        for tau, point in zip(taus, points, strict=True):
            if point.bound is not None:
                bounds[tau] = max(bounds.get(tau, 0.0), point.bound)
    if bounds:
        taus = sorted(bounds)
        axes.plot(taus, [bounds[tau] for tau in taus], color=MUTED, linewidth=1, label="bound")
    ticks = sorted(
        {float(point.parameters["tau"]) for points in drawn.values() for point in points}
    )
    if ticks[0] > 0 and ticks[-1] >= LOG_FROM * ticks[0]:
        axes.set_xscale("log")
        if len(ticks) <= MAX_TICKS:
            axes.minorticks_off()
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    highest = max(float(point.value or 0.0) for points in drawn.values() for point in points)
    axes.set_ylim(0, 1.08 * max(highest, *bounds.values(), 0.0) or 1.0)
    axes.set_xlabel("tau (events per period)")
    axes.set_ylabel("dollars over the horizon")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure


def _whole_percent(share: float) -> str:
    return "<1%" if 0 < share < 0.01 else f"{100 * share:.0f}%"


def _numbers(table: Any, name: str) -> npt.NDArray[np.float64]:
    return np.asarray(table.column(name).to_numpy(), dtype=np.float64)
