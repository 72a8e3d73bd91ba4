"""Pictures of a provisioning: how full the machines are, and what the money is spent on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fanwise.wording import money
from fanwise.workload.look import (
    BLUE,
    GRID,
    INK,
    MUTED,
    ORANGE,
    SMALL,
    new_axes,
    say_empty,
    styled,
)

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.topic import TopicWorkload

MAX_BARS = 60
"""More machines than this are drawn as one silhouette instead of bars."""

MACHINES, INCOMING, OUTGOING = MUTED, ORANGE, BLUE


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
    parts = (
        ("machines", metrics["cost_machines"], MACHINES),
        ("incoming", metrics["cost_incoming"], INCOMING),
        ("outgoing", metrics["cost_outgoing"], OUTGOING),
    )
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
    axes.set_yticks(range(len(ticks)), ticks)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.18 * max(left, *(bound or 0.0 for _, bound in bounds)))
    axes.set_xlabel("dollars over the horizon")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    figure.legend(
        *axes.get_legend_handles_labels(), loc="outside upper center", ncols=3, handlelength=1.0
    )
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
    # Machines that idle would be a line at the bottom of a whole scale.
    axes.set_ylim(0, 102 if used.max() > 25 else 1.25 * used.max() or 1.0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}%"))
    axes.set_xlabel("machine, in the order opened")
    axes.set_ylabel("share of its bandwidth")
    axes.grid(False, axis="x")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, handlelength=1.4)
    return figure


def _whole_percent(share: float) -> str:
    return "<1%" if 0 < share < 0.01 else f"{100 * share:.0f}%"


def _numbers(table: Any, name: str) -> npt.NDArray[np.float64]:
    return np.asarray(table.column(name).to_numpy(), dtype=np.float64)
