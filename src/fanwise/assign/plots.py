"""Pictures of an assignment: filters, who is served from where, delays and loads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.assign.arrays import Filters
from fanwise.assign.problem import Assignment, read_tables
from fanwise.workload.plot_style import (
    BLUE,
    HEIGHT,
    INK,
    PURPLE,
    SMALL,
    VERMILION,
    new_axes,
    say_empty,
    styled,
)

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.content import ContentWorkload

MAX_MARKS = 5000
"""Subscribers of a picture; beyond, one in so many is drawn."""
SMALLEST = 0.004
"""Rectangles below this share of the event space, along both axes, are drawn as dots."""


def figures(workload: ContentWorkload, plan: Plan) -> dict[str, Figure]:
    """Return every picture of an assignment, the main one first."""
    problem = Assignment.state_from(workload, plan.parameters)
    assigned, filters = read_tables(problem.arrays, plan.tables)
    return {
        "Filters in the event space": plot_filters(problem, filters),
        "Assignments in the network": plot_assignments(problem, assigned),
        "Delay against the quickest way": plot_delays(problem, assigned),
        "Loads of the brokers": plot_loads(problem, assigned),
    }


@styled
def plot_filters(problem: Assignment, filters: Filters) -> Figure:
    """Draw subscriptions and filters in the first two event attributes, the widest one marked.

    Subscriptions too small to be seen are dots.
    """
    figure, axes = new_axes(height=HEIGHT + 0.9)
    arrays = problem.arrays
    wants = np.flatnonzero(~problem.workload.wants_nothing)
    if not len(wants):
        say_empty(axes, "nobody wants anything")
        return figure
    is_leaf = np.zeros(arrays.num_brokers, dtype=np.bool_)
    is_leaf[arrays.leaves] = True
    if not is_leaf.all():
        _draw_boxes(axes, *_rectangles(filters, ~is_leaf), PURPLE, "filters of inner brokers", 0.7)
    _draw_boxes(axes, *_rectangles(filters, is_leaf), VERMILION, "filters of leaves", 0.4)
    some = wants[:: -(-len(wants) // MAX_MARKS)]
    lo, hi = arrays.lo[some], arrays.hi[some]
    span = (arrays.hi[wants].max(axis=0) - arrays.lo[wants].min(axis=0))[:2]
    is_dot = ((hi - lo)[:, :2] < SMALLEST * span).all(axis=1)
    _draw_boxes(axes, lo[~is_dot], hi[~is_dot], BLUE, "subscriptions", 0.5, fill=0.04)
    label = "subscriptions" if is_dot.all() else None
    axes.plot(*_plane((lo + hi)[is_dot] / 2, 0.5).T, ".", color=BLUE, markersize=2,
              rasterized=True, label=label)  # fmt: skip
    measures = np.where(is_leaf, arrays.measures(filters), -1.0)
    widest = int(measures.argmax())
    name = problem.workload.broker_names[widest].as_py()
    own = np.arange(arrays.num_brokers) == widest
    _draw_boxes(axes, *_rectangles(filters, own), INK, f"the widest, {name}", 1.0, width=1.3)
    axes.autoscale_view()
    axes.set_xlabel("Event attribute 0")
    axes.set_ylabel("Event attribute 1" if arrays.event_dims > 1 else "")
    if arrays.event_dims == 1:
        axes.set_yticks([])
    _legend_above(axes)
    return figure


def _rectangles(filters: Filters, chosen: npt.NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Return the rectangles of some brokers."""
    taken = (np.arange(filters.lo.shape[1]) < filters.counts[:, None]) & chosen[:, None]
    return filters.lo[taken], filters.hi[taken]


def _draw_boxes(
    axes: Axes,
    lo: FloatArray,
    hi: FloatArray,
    colour: str,
    label: str,
    strength: float,
    *,
    fill: float = 0.0,
    width: float = 0.6,
) -> None:
    if not len(lo):
        return
    lo, hi = _plane(lo, 0.0), _plane(hi, 1.0)
    patches = [Rectangle((a[0], a[1]), *(b - a)) for a, b in zip(lo, hi, strict=True)]
    axes.add_collection(
        PatchCollection(
            patches,
            facecolors=[to_rgba(colour, fill)],
            edgecolors=[to_rgba(colour, strength)],
            linewidths=width,
            rasterized=True,
        )
    )
    axes.plot([], [], color=colour, linewidth=1.2, label=label)


@styled
def plot_assignments(problem: Assignment, assigned: IntArray) -> Figure:
    """Draw subscribers, their brokers and the tree in the first two axes of the network."""
    figure, axes = new_axes(height=HEIGHT + 0.6)
    workload = problem.workload
    is_empty = not workload.num_subscribers or workload.network_dims == 0
    if is_empty or workload.publisher is None:
        say_empty(axes, "nobody is assigned")
        return figure
    rows = np.arange(0, len(assigned), -(-len(assigned) // MAX_MARKS))
    start = _plane(workload.positions[rows], 0.0)
    brokers = _plane(workload.broker_positions, 0.0)
    publisher = _plane(workload.publisher[None], 0.0)
    above = np.vstack([brokers, publisher])[problem.arrays.parent]
    lines = np.stack([start, brokers[assigned[rows]]], axis=1)
    strength = min(0.5, max(0.08, 300 / len(rows)))
    axes.add_collection(
        LineCollection(list(lines), colors=BLUE, linewidths=0.4, alpha=strength, rasterized=True)
    )
    axes.plot(*start.T, ".", color=BLUE, markersize=1.5, rasterized=True, label="subscribers")
    if (problem.arrays.parent >= 0).any():
        links = list(np.stack([brokers, above], axis=1))
        axes.add_collection(LineCollection(links, colors=INK, linewidths=0.5, alpha=0.6))
        axes.plot([], [], color=INK, linewidth=0.8, label="tree")
    axes.plot(*brokers.T, "s", color=VERMILION, markersize=3.2, markeredgecolor="white",
              markeredgewidth=0.4, label="brokers")  # fmt: skip
    axes.plot(*publisher.T, "*", color=INK, markersize=11, markeredgecolor="white", zorder=4,
              markeredgewidth=0.6, label="publisher")  # fmt: skip
    axes.set_xlabel("Network axis 0")
    axes.set_ylabel("Network axis 1")
    _legend_above(axes)
    return figure


def _legend_above(axes: Axes) -> None:
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2 + (len(axes.lines) < 4),
                handlelength=1.2, columnspacing=1.2, fontsize=SMALL - 0.5)  # fmt: skip


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
    axes.plot(problem.shortest[rows], delay[rows], ".", color=BLUE, markersize=2, alpha=0.5,
              rasterized=True)  # fmt: skip
    workload = problem.workload
    if workload.candidates is None and workload.max_latency is None:
        limit = problem.max_delay
        if limit <= 10 * max(float(delay[rows].max()), 1e-3):
            axes.axhline(limit, color=VERMILION, linewidth=0.8, linestyle="--")
            axes.annotate("allowed", (1.0, limit), xycoords=("axes fraction", "data"), ha="right",
                          va="bottom", fontsize=7)  # fmt: skip
    axes.set_xlabel("Shortest latency")
    axes.set_ylabel("Delay, as a share of it")
    return figure


@styled
def plot_loads(problem: Assignment, assigned: IntArray) -> Figure:
    """Draw loads of leaf brokers, the largest first, as factors of their share."""
    figure, axes = new_axes()
    arrays = problem.arrays
    leaves = arrays.leaves[arrays.share[arrays.leaves] > 0]
    if not len(assigned) or not len(leaves):
        say_empty(axes, "nobody is assigned")
        return figure
    loads = np.bincount(assigned, minlength=arrays.num_brokers)[leaves]
    factor = np.sort(loads / (arrays.share[leaves] * len(assigned)))[::-1]
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
