"""Pictures of an overlay: the links themselves, what they support, degrees, pieces of topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fanwise.connect.arrays import NO_LIMIT
from fanwise.connect.layout import lay_out_nodes
from fanwise.connect.structure import (
    Overlay,
    TopicComponents,
    degree_counts,
    overlay_of,
    support_curve,
    topic_components,
)
from fanwise.workload.plot_style import (
    BLUE,
    GREEN,
    INK,
    MUTED,
    SMALL,
    VERMILION,
    new_axes,
    say_empty,
    styled,
)

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.topic import TopicWorkload

MAX_DRAWN_NODES = 300
MAX_BARS = 60
"""Degrees beyond this many are drawn as a curve instead of bars."""
MAX_CURVE_POINTS = 2000
GAINS = LinearSegmentedColormap.from_list("gains", ("#BFD7EA", "#4C96C8", BLUE, "#06304B"))


def figures(workload: TopicWorkload, plan: Plan) -> dict[str, Figure]:
    """Return every picture of an overlay, the main one first; large overlays are not drawn."""
    overlay = overlay_of(workload, plan)
    pictures = {}
    if overlay.network.num_nodes <= MAX_DRAWN_NODES:
        pictures["The overlay"] = plot_overlay(overlay)
    pictures |= {
        "Support against links": plot_support(overlay, plan.bound),
        "Links of the nodes": plot_degrees(overlay),
        "Pieces of the topics": plot_components(topic_components(overlay)),
    }
    return pictures


@styled
def plot_overlay(overlay: Overlay) -> Figure:
    """Draw nodes and links, a link the darker the more it contributed when it was chosen."""
    network, edges = overlay
    figure, axes = new_axes(width=5.2, height=4.4)
    axes.set_axis_off()
    if not network.num_nodes:
        say_empty(axes, "no nodes")
        return figure
    positions = lay_out_nodes(network.num_nodes, edges)
    gains = network.gains(edges)
    shade = Normalize(0, max(float(gains.max(initial=0)), 1.0))
    order = np.argsort(gains, kind="stable")  # what contributes most is drawn on top
    useful = order[gains[order] > 0]
    useless = order[gains[order] == 0]
    if len(useless):
        axes.add_collection(
            LineCollection(list(positions[edges[useless]]), colors=VERMILION, linewidths=0.7,
                           linestyles=(0, (2, 2)), label="joins nothing")
        )  # fmt: skip
    if len(useful):
        width = 0.7 + 1.6 * shade(gains[useful])
        axes.add_collection(
            LineCollection(list(positions[edges[useful]]), colors=GAINS(shade(gains[useful])),
                           linewidths=width)
        )  # fmt: skip
    degrees = network.degrees(edges)
    size = 8 + 60 * degrees / max(int(degrees.max(initial=0)), 1) * min(1, 60 / network.num_nodes)
    axes.scatter(
        positions[:, 0],
        positions[:, 1],
        s=size,
        color="white",
        edgecolors=INK,
        linewidths=0.8,
        zorder=3,
    )
    axes.set_xlim(-0.04, 1.04)
    axes.set_ylim(-0.04, 1.04)
    axes.set_aspect("equal")
    if len(useful):
        bar = figure.colorbar(ScalarMappable(shade, GAINS), ax=axes, shrink=0.7, pad=0.01)
        bar.set_label("contribution of the link", size=SMALL)
        bar.ax.tick_params(labelsize=SMALL, length=2)
        bar.outline.set_visible(False)
        bar.locator = MaxNLocator(5, integer=bool((gains == gains.round()).all()))
        bar.update_ticks()
    if len(useless):
        axes.legend(loc="upper left", bbox_to_anchor=(0.0, 0.02), handlelength=1.6)
    return figure


@styled
def plot_support(overlay: Overlay, bound: float | None) -> Figure:
    """Draw support against links in the order chosen, the proven bound, and the 80-20 point."""
    figure, axes = new_axes()
    curve = support_curve(overlay)
    whole = overlay.network.complete_value
    if not len(overlay.edges) or not whole:
        say_empty(axes, "no links" if whole else "nothing to connect")
        return figure
    num_links = len(overlay.edges)
    shown = np.unique(np.linspace(0, num_links, min(num_links + 1, MAX_CURVE_POINTS)).astype(int))
    axes.plot(shown, 100 * curve.support[shown], color=BLUE, label="support")
    reached = 100 * float(curve.support[-1])
    if bound is not None:
        most = min(100.0, 100 * bound / whole)
        axes.axhline(most, color=GREEN, linewidth=1.2, linestyle="--",
                     label=f"proven bound {most:.3g}%")  # fmt: skip
    needed = curve.edges_for(0.8)
    if needed is not None:
        axes.plot([needed, needed, 0], [0, 80, 80], color=MUTED, linewidth=0.9, linestyle=":")
        is_early = needed < num_links / 2
        axes.annotate(
            f"80% with {100 * needed / num_links:.0f}% of the links",
            (needed if is_early else 0, 80),
            xytext=(6, -12 if is_early else 4),
            textcoords="offset points",
            fontsize=SMALL,
            color=MUTED,
        )
    axes.plot([num_links], [reached], linestyle="none", marker="o", color=BLUE, clip_on=False,
              zorder=4, label=f"this plan {reached:.3g}%")  # fmt: skip
    axes.set_xlim(0, num_links)
    axes.set_ylim(0, 103)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}%"))
    axes.set_xlabel("links, in the order chosen")
    axes.set_ylabel("support")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, handlelength=1.6,
                columnspacing=1.2)  # fmt: skip
    return figure


@styled
def plot_degrees(overlay: Overlay) -> Figure:
    """Draw how many nodes have how many links, and the limit where all have the same."""
    figure, axes = new_axes()
    counts = degree_counts(overlay)
    if not overlay.network.num_nodes:
        say_empty(axes, "no nodes")
        return figure
    degrees = np.arange(len(counts))
    mean = float((counts * degrees).sum() / counts.sum())
    if len(counts) <= MAX_BARS:
        axes.bar(degrees, counts, width=0.8, color=BLUE)
        axes.set_xlim(-0.7, max(len(counts), 4) - 0.3)
        axes.xaxis.set_major_locator(MaxNLocator(10, integer=True))
        axes.set_ylabel("nodes")
        axes.grid(False, axis="x")
    else:
        at_least = counts[::-1].cumsum()[::-1]
        axes.step(degrees, at_least, where="post", color=BLUE)
        axes.set_yscale("log")
        axes.set_xscale("symlog", linthresh=1)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.set_xlim(left=0)
        axes.set_ylabel("nodes with at least as many")
    axes.axvline(mean, color=INK, linewidth=1, linestyle="--", label=f"mean {mean:.3g}")
    limits = np.unique(overlay.network.degree_limit)
    if len(limits) == 1 and limits[0] < NO_LIMIT:
        axes.axvline(limits[0], color=VERMILION, linewidth=1, label=f"limit {limits[0]:,}")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_xlabel("links of the node")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure


@styled
def plot_components(found: TopicComponents) -> Figure:
    """Draw how many topics so many nodes want that are in so many pieces; areas are counts."""
    figure, axes = new_axes()
    wanted = np.flatnonzero(found.nodes > 1)
    if not len(wanted):
        say_empty(axes, "no topic that two nodes want")
        return figure
    points, counts = np.unique(
        np.column_stack([found.nodes[wanted], found.components[wanted]]), axis=0, return_counts=True
    )
    most = int(points[:, 0].max())
    axes.plot([1, most], [1, most], color=MUTED, linewidth=0.8, linestyle=":")
    axes.annotate("without links", (most**0.5, most**0.5), xytext=(-4, 4), ha="right",
                  textcoords="offset points", fontsize=SMALL, color=MUTED)  # fmt: skip
    for is_whole, colour, label in ((False, VERMILION, "in pieces"), (True, BLUE, "connected")):
        some = (points[:, 1] == 1) == is_whole
        area = 9 + 150 * counts[some] / counts.max()
        axes.scatter(points[some, 0], points[some, 1], s=area, alpha=0.55, linewidths=0,
                     color=colour)  # fmt: skip
        axes.plot([], [], linestyle="none", marker="o", color=colour,
                  label=f"{label} ({counts[some].sum():,})")  # fmt: skip
    _use_count_scale(axes, most)
    axes.set_xlabel("nodes that want the topic")
    axes.set_ylabel("pieces")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, handletextpad=0.4)
    return figure


def _use_count_scale(axes: Axes, most: int) -> None:
    """Draw counts on logarithmic axes where they reach far, and name them as numbers."""
    for axis, set_scale in ((axes.xaxis, axes.set_xscale), (axes.yaxis, axes.set_yscale)):
        if most > 20:
            set_scale("log")
        else:
            axis.set_major_locator(MaxNLocator(8, integer=True))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.4g}"))
        axis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
