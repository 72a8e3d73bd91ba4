"""Pictures of a selection: which topics are served, who is satisfied, what capacity buys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from fanwise.select.explain.shortages import bin_edges, bin_label
from fanwise.select.greedy_curve import Curve, greedy_curve
from fanwise.select.problem import Selection, served_topics
from fanwise.workload.plot_style import (
    BLUE,
    GREEN,
    INK,
    MUTED,
    VERMILION,
    new_axes,
    say_empty,
    styled,
    use_log_scale,
)

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.topic import TopicWorkload

MAX_DOTS = 20_000
MAX_CURVE_PAIRS = 5_000_000
"""Above this a picture of the curve would take a greedy run of many seconds."""


def figures(workload: TopicWorkload, plan: Plan) -> dict[str, Figure]:
    """Return every picture of a selection, the main one first."""
    plan.check_made_for(workload)
    served = served_topics(plan.tables["topics"], workload.num_topics)
    problem = Selection.state_from(workload, plan.parameters)
    pictures = {
        "Served and offloaded topics": plot_topics(workload, served),
        "Satisfied subscribers by number of subscriptions": plot_satisfied(problem, served),
    }
    if workload.num_pairs <= MAX_CURVE_PAIRS:
        used = float(problem.cost[served].sum())
        pictures["Coverage against capacity"] = plot_against_capacity(
            problem, greedy_curve(problem), used, plan.objective, plan.bound
        )
    return pictures


@styled
def plot_topics(workload: TopicWorkload, served: npt.NDArray[np.bool_]) -> Figure:
    """Draw each topic by followers and rate, served or offloaded."""
    figure, axes = new_axes()
    if not workload.num_pairs:
        say_empty(axes, "no interests")
        return figure
    shown = np.arange(workload.num_topics)
    if len(shown) > MAX_DOTS:  # a sample is as telling, and the picture stays small
        shown = np.sort(np.random.default_rng(0).choice(shown, MAX_DOTS, replace=False))
    for flag, colour, marker, name in (
        (False, VERMILION, "x", "offloaded"),
        (True, BLUE, "o", "served"),
    ):
        topics = shown[served[shown] == flag]
        axes.scatter(
            workload.num_followers[topics],
            workload.rates[topics],
            s=9,
            alpha=0.6,
            linewidths=0.8 if marker == "x" else 0,
            color=colour,
            marker=marker,
            label=f"{name} ({np.count_nonzero(served == flag):,})",
            rasterized=True,
        )
    use_log_scale(axes)
    axes.set_xlabel("followers of the topic")
    axes.set_ylabel("events per period")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure


@styled
def plot_satisfied(problem: Selection, served: npt.NDArray[np.bool_]) -> Figure:
    """Draw the share of satisfied subscribers against the number of subscriptions."""
    figure, axes = new_axes()
    followings = np.diff(problem.workload.interests.indptr)
    needs = problem.demand > 0
    if not needs.any():
        say_empty(axes, "nobody needs anything")
        return figure
    satisfaction = problem.satisfaction(served)
    edges = bin_edges(int(followings[needs].max()))
    bin_of_subscriber = np.searchsorted(edges, followings[needs], side="right") - 1
    count = np.bincount(bin_of_subscriber, minlength=len(edges))
    total = np.bincount(bin_of_subscriber, weights=satisfaction[needs], minlength=len(edges))
    used = np.flatnonzero(count)
    labels = [bin_label(edges, i) for i in used.tolist()]
    axes.bar(np.arange(len(used)), 100 * total[used] / count[used], color=BLUE, width=0.75)
    overall = 100 * float(satisfaction[needs].mean())
    axes.axhline(overall, color=MUTED, linewidth=1, linestyle="--")
    axes.set_xlim(-0.6, len(used) - 0.4)
    axes.annotate(
        f"all:\n{overall:.1f}%",
        xy=(1.0, overall),
        xycoords=("axes fraction", "data"),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        color=MUTED,
    )
    axes.set_xticks(np.arange(len(used)), labels, rotation=45, ha="right")
    axes.set_ylim(0, 105)
    axes.set_xlabel("subscriptions of the subscriber")
    axes.set_ylabel("satisfied (%)" if problem.metric == "binary" else "mean satisfaction (%)")
    axes.grid(False, axis="x")
    return figure


@styled
def plot_against_capacity(
    problem: Selection, curve: Curve, used: float, objective: float, bound: float | None
) -> Figure:
    """Draw what greedy reaches along its run, the paper's bound, and the plan with its own."""
    figure, axes = new_axes()
    everything = float(problem.cost.sum())
    if not everything or not problem.weight.any():
        say_empty(axes, "nothing to gain")
        return figure
    draw_curve(axes, curve, everything)
    axes.plot(
        [100 * used / everything], [objective],
        linestyle="none", marker="o", markersize=6, color=INK, label="this plan", zorder=4,
    )  # fmt: skip
    if bound is not None:
        axes.plot(
            [100 * problem.limit / everything], [bound],
            linestyle="none", marker="_", markersize=14, markeredgewidth=2, color=GREEN,
            label="its proven bound", zorder=3,
        )  # fmt: skip
    label_capacity_axes(axes, problem.metric)
    axes.legend(loc="lower right")
    return figure


def draw_curve(axes: Axes, curve: Curve, everything: float) -> None:
    """Draw a greedy run and the paper's bound against the share of the cost of everything."""
    axes.plot(100 * curve.used / everything, curve.value, color=BLUE, label="greedy, as it runs")
    if curve.bound is not None:
        axes.plot(
            100 * curve.capacity / everything, curve.bound,
            color=VERMILION, linestyle="--", label="the paper's bound",
        )  # fmt: skip


def label_capacity_axes(axes: Axes, metric: str) -> None:
    """Name the axes of a coverage picture."""
    axes.set_xlabel("capacity (% of the cost of serving everything)")
    axes.set_ylabel("satisfied subscribers" if metric == "binary" else "total satisfaction")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
