"""Pictures of a content workload: what is wanted, and from where."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.workload.content.model import ContentWorkload
from fanwise.workload.content.statistics import ContentStatistics
from fanwise.workload.plot_style import BLUE, INK, MUTED, VERMILION, new_axes, say_empty, styled

MAX_RECTANGLES = 2000
"""Rectangles of a picture: more hide each other; the largest are drawn first."""
MAX_MARKS = 5000


@styled
def subscriptions(statistics: ContentStatistics) -> Figure:
    """Draw subscriptions in the first two axes of the event space, darker where more want one."""
    workload = statistics.workload
    figure, axes = new_axes()
    wanted = np.flatnonzero(~workload.wants_nothing)
    if not len(wanted):
        say_empty(axes, "nobody wants anything")
        return figure
    both = np.hstack([workload.lo[wanted], workload.hi[wanted]])
    different, counts = np.unique(both, axis=0, return_counts=True)
    chosen = np.argsort(-counts, kind="stable")[:MAX_RECTANGLES]
    dims = workload.event_dims
    lo, hi = different[chosen, :dims], different[chosen, dims:]
    if dims == 1:
        _draw_intervals(axes, lo[:, 0], hi[:, 0])
    else:
        _draw_rectangles(axes, lo, hi, counts[chosen])
    left = len(different) - len(chosen)
    note = f"{len(chosen):,} different subscriptions"
    _note(axes, note + (f"; {left:,} wanted by fewer are left out" if left else ""))
    return figure


def _draw_rectangles(axes: Axes, lo: FloatArray, hi: FloatArray, counts: LongArray) -> None:
    largest_first = np.argsort(-(hi - lo)[:, :2].prod(axis=1), kind="stable")
    patches = [
        Rectangle((lo[i, 0], lo[i, 1]), hi[i, 0] - lo[i, 0], hi[i, 1] - lo[i, 1])
        for i in largest_first
    ]
    shade = np.sqrt(counts[largest_first] / counts.max())
    fill = [to_rgba(BLUE, alpha) for alpha in 0.05 + 0.55 * shade]
    edge = [to_rgba(BLUE, alpha) for alpha in 0.3 + 0.7 * shade]
    axes.add_collection(PatchCollection(patches, facecolors=fill, edgecolors=edge, linewidths=0.5))
    axes.autoscale_view()
    axes.set_xlabel("Event attribute 0")
    axes.set_ylabel("Event attribute 1")


def _draw_intervals(axes: Axes, lo: FloatArray, hi: FloatArray) -> None:
    order = np.argsort(lo, kind="stable")
    lines = [[(lo[i], rank), (hi[i], rank)] for rank, i in enumerate(order)]
    axes.add_collection(LineCollection(lines, colors=BLUE, linewidths=0.8))
    axes.autoscale_view()
    axes.set_xlabel("Event attribute 0")
    axes.set_ylabel("Subscriptions, by lower end")


@styled
def positions(statistics: ContentStatistics) -> Figure:
    """Draw subscribers, brokers and tree in the first two axes of the network space."""
    workload = statistics.workload
    figure, axes = new_axes()
    if workload.network_dims == 0 or not workload.num_brokers:
        say_empty(axes, "no positions")
        return figure
    points, label = _plane(workload.positions), "subscribers"
    step = -(-len(points) // MAX_MARKS)
    if step > 1:
        points, label = points[::step], f"one in {step:,} subscribers"
    brokers = _plane(workload.broker_positions)
    axes.plot(*points.T, ".", color=BLUE, alpha=0.25, markersize=2, rasterized=True, label=label)
    _draw_tree(axes, workload, brokers)
    axes.plot(*brokers.T, "s", color=VERMILION, markersize=3, label="brokers")
    if workload.publisher is not None:
        at = _plane(workload.publisher[None])
        axes.plot(*at.T, "*", color=INK, markersize=9, label="publisher")
    axes.set_xlabel("Network axis 0")
    axes.set_ylabel("Network axis 1")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return figure


def _draw_tree(axes: Axes, workload: ContentWorkload, brokers: FloatArray) -> None:
    if workload.parent is None or workload.publisher is None:
        return
    root = _plane(workload.publisher[None])[0]
    lines = [
        [brokers[broker], root if parent < 0 else brokers[parent]]
        for broker, parent in enumerate(workload.parent.tolist())
    ]
    axes.add_collection(LineCollection(lines, colors=MUTED, linewidths=0.4, alpha=0.6))


def _plane(points: FloatArray) -> FloatArray:
    if points.shape[1] >= 2:
        return points[:, :2]
    return np.column_stack([points[:, 0], np.zeros(len(points))])


@styled
def channels(statistics: ContentStatistics) -> Figure:
    """Draw subscribers and events of each channel, in the channels' own order."""
    figure, axes = new_axes()
    wanting = statistics.channel_spread["subscribers"]
    events = statistics.channel_spread["events"]
    if not len(wanting):
        say_empty(axes, "no channels")
        return figure
    edges = np.arange(len(wanting) + 1) - 0.5
    axes.stairs(wanting, edges, fill=True, color=BLUE, alpha=0.35, label="subscribers")
    axes.set_xlabel("Channel")
    axes.set_ylabel("Subscribers")
    other = axes.twinx()
    other.stairs(events, edges, color=VERMILION, linewidth=1.2, label="events (right)")
    other.set_ylim(bottom=0)
    other.set_ylabel("Events per period")
    handles = [part for side in (axes, other) for part in side.get_legend_handles_labels()[0]]
    axes.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure


def _note(axes: Axes, text: str) -> None:
    axes.set_title(text, fontsize=8, color=MUTED, loc="left")


PICTURES: dict[str, Callable[[ContentStatistics], Figure]] = {
    "subscriptions": subscriptions,
    "positions": positions,
}


def content_figures(statistics: ContentStatistics) -> dict[str, Figure]:
    """Draw every picture, by file name; that of the channels where there are any."""
    figures = {name: draw(statistics) for name, draw in PICTURES.items()}
    if statistics.channel_spread:
        figures["channels"] = channels(statistics)
    return figures
