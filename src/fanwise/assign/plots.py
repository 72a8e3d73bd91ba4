"""Pictures of an assignment: filters, who is served from where, delays and loads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.assign.ground import Filters
from fanwise.assign.problem import Assignment, read_tables
from fanwise.workload.look import BLUE, INK, MUTED, VERMILION, new_axes, say_empty, styled

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.content import ContentWorkload

MAX_MARKS = 5000
"""Subscribers of a picture; beyond, one in so many is drawn."""


def figures(workload: ContentWorkload, plan: Plan) -> dict[str, Figure]:
    """Return every picture of an assignment, the main one first."""
    names = ("alpha", "max_delay", "lbf", "lbf_max", "latency")
    problem = Assignment(workload, **{name: plan.parameters[name] for name in names})
    assigned, filters = read_tables(problem.ground, plan.tables)
    return {
        "Filters in the event space": plot_filters(problem, filters),
        "Assignments in the network": plot_assignments(problem, assigned),
        "Delay against the quickest way": plot_delays(problem, assigned),
        "Loads of the brokers": plot_loads(problem, assigned),
    }


@styled
def plot_filters(problem: Assignment, filters: Filters) -> Figure:
    """Draw subscriptions and the rectangles of leaf brokers in the first two event attributes."""
    figure, axes = new_axes()
    ground = problem.ground
    wants = np.flatnonzero(~problem.workload.wants_nothing)
    if not len(wants):
        say_empty(axes, "nobody wants anything")
        return figure
    wants = wants[:: -(-len(wants) // MAX_MARKS)]
    taken = np.arange(filters.lo.shape[1]) < filters.counts[ground.leaves, None]
    lo, hi = filters.lo[ground.leaves][taken], filters.hi[ground.leaves][taken]
    _draw_boxes(axes, ground.lo[wants], ground.hi[wants], BLUE, 0.08)
    _draw_boxes(axes, lo, hi, VERMILION, 0.0)
    axes.autoscale_view()
    axes.set_xlabel("Event attribute 0")
    axes.set_ylabel("Event attribute 1" if ground.event_dims > 1 else "")
    axes.set_title("subscriptions, and filters of the leaves", fontsize=8, color=MUTED, loc="left")
    return figure


def _draw_boxes(axes: Axes, lo: FloatArray, hi: FloatArray, colour: str, fill: float) -> None:
    lo, hi = _plane(lo, 0.0), _plane(hi, 1.0)
    patches = [Rectangle((a[0], a[1]), *(b - a)) for a, b in zip(lo, hi, strict=True)]
    axes.add_collection(
        PatchCollection(
            patches, facecolors=[to_rgba(colour, fill)], edgecolors=[colour], linewidths=0.5
        )
    )


@styled
def plot_assignments(problem: Assignment, assigned: IntArray) -> Figure:
    """Draw a line from each subscriber to its broker in the first two axes of the network."""
    figure, axes = new_axes()
    workload = problem.workload
    if not workload.num_subscribers or workload.network_dims == 0:
        say_empty(axes, "nobody is assigned")
        return figure
    rows = np.arange(0, len(assigned), -(-len(assigned) // MAX_MARKS))
    start = _plane(workload.positions[rows], 0.0)
    brokers = _plane(workload.broker_positions, 0.0)
    lines = np.stack([start, brokers[assigned[rows]]], axis=1)
    axes.add_collection(LineCollection(list(lines), colors=BLUE, linewidths=0.3, alpha=0.4))
    axes.plot(*start.T, ".", color=BLUE, markersize=2, rasterized=True, label="subscribers")
    axes.plot(*brokers.T, "s", color=VERMILION, markersize=3, label="brokers")
    assert workload.publisher is not None
    at = _plane(workload.publisher[None], 0.0)
    axes.plot(*at.T, "*", color=INK, markersize=9, label="publisher")
    axes.set_xlabel("Network axis 0")
    axes.set_ylabel("Network axis 1")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return figure


@styled
def plot_delays(problem: Assignment, assigned: IntArray) -> Figure:
    """Draw each subscriber's delay against its shortest latency, with the limit."""
    from fanwise.assign.measuring import delays

    figure, axes = new_axes()
    delay = delays(problem, assigned)
    rows = np.flatnonzero(~np.isnan(delay))
    if not len(rows):
        say_empty(axes, "no delays")
        return figure
    rows = rows[:: -(-len(rows) // MAX_MARKS)]
    axes.plot(problem.shortest[rows], delay[rows], ".", color=BLUE, markersize=2, alpha=0.5)
    workload = problem.workload
    if workload.candidates is None and workload.max_latency is None:
        limit = problem.max_delay
        if limit <= 10 * max(float(delay[rows].max()), 1e-3):
            axes.axhline(limit, color=VERMILION, linewidth=0.8, linestyle="--")
    axes.set_xlabel("Shortest latency")
    axes.set_ylabel("Delay, as a share of it")
    return figure


@styled
def plot_loads(problem: Assignment, assigned: IntArray) -> Figure:
    """Draw loads of leaf brokers, the largest first, as factors of their share."""
    figure, axes = new_axes()
    ground = problem.ground
    leaves = ground.leaves[ground.share[ground.leaves] > 0]
    if not len(assigned) or not len(leaves):
        say_empty(axes, "nobody is assigned")
        return figure
    loads = np.bincount(assigned, minlength=ground.num_brokers)[leaves]
    factor = np.sort(loads / (ground.share[leaves] * len(assigned)))[::-1]
    axes.step(np.arange(len(factor) + 1), np.append(factor, factor[-1]), where="post", color=BLUE)
    for limit, label in ((problem.lbf, "desired"), (problem.lbf_max, "allowed")):
        axes.axhline(limit, color=VERMILION, linewidth=0.8, linestyle="--")
        axes.annotate(label, (len(factor), limit), ha="right", va="bottom", fontsize=7)
    axes.set_xlabel("Leaf brokers, most loaded first")
    axes.set_ylabel("Load, as a factor of the share")
    axes.set_ylim(bottom=0)
    return figure


def _plane(points: FloatArray, other: float) -> FloatArray:
    if points.shape[1] >= 2:
        return points[:, :2]
    return np.column_stack([points[:, 0], np.full(len(points), other)])
