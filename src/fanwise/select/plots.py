"""Pictures of a selection: which topics are served, and who is satisfied."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from fanwise.select.problem import Selection, served_topics
from fanwise.workload.look import (
    BLUE,
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


def figures(workload: TopicWorkload, plan: Plan) -> dict[str, Figure]:
    """Return every picture of a selection, the main one first."""
    served = served_topics(plan.tables["topics"], workload.num_topics)
    problem = Selection(
        workload,
        tau=plan.parameters["tau"],
        capacity=plan.parameters["capacity"],
        metric=plan.parameters["metric"],
    )
    return {
        "Served and offloaded topics": plot_topics(workload, served),
        "Satisfied subscribers by number of subscriptions": plot_satisfied(problem, served),
    }


@styled
def plot_topics(workload: TopicWorkload, served: npt.NDArray[np.bool_]) -> Figure:
    """Draw each topic by followers and rate, served or offloaded."""
    figure, axes = new_axes()
    if not workload.num_topics:
        say_empty(axes, "no topics")
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
    edges = _bin_edges(int(followings[needs].max()))
    bin_of_subscriber = np.searchsorted(edges, followings[needs], side="right") - 1
    count = np.bincount(bin_of_subscriber, minlength=len(edges))
    total = np.bincount(bin_of_subscriber, weights=satisfaction[needs], minlength=len(edges))
    used = np.flatnonzero(count)
    labels = [
        f"{edges[i]}" if i + 1 == len(edges) or edges[i + 1] == edges[i] + 1
        else f"{edges[i]}–{edges[i + 1] - 1}"  # noqa: RUF001
        for i in used
    ]  # fmt: skip
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


def _bin_edges(largest: int) -> npt.NDArray[np.int64]:
    """Bins of 1, 2, 3, 4, then doubling."""
    edges = [1, 2, 3, 4, 5]
    while edges[-1] <= largest:
        edges.append(2 * (edges[-1] - 1) + 1)
    return np.array(edges, dtype=np.int64)
