"""The pictures of ``reproduce`` in the paper's forms: triangles, bars, scatter, boxes, CDFs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle

from fanwise.assign.reproducing.instances import regions_of
from fanwise.assign.reproducing.runs import Case
from fanwise.assign.reproducing.settings import SERIES
from fanwise.workload.content import ContentWorkload
from fanwise.workload.look import (
    BLUE,
    GREEN,
    GRID,
    INK,
    MUTED,
    ORANGE,
    PURPLE,
    SKY,
    SMALL,
    VERMILION,
    styled,
)

STYLES = {
    "slp": (BLUE, "-", "o"),
    "gr-star": (VERMILION, "-", "s"),
    "gr": (ORANGE, "-", "^"),
    "gr-no-latency": (PURPLE, "--", "v"),
    "closest": (GREEN, "--", "x"),
    "closest-no-balance": (SKY, "-.", "+"),
    "balance": (MUTED, "-.", "d"),
    "best": (INK, "--", "D"),
}
CORNERS = {"bandwidth": 90.0, "rms_delay": 210.0, "load_stdev": 330.0}
"""What the corners of a triangle stand for, and their directions in degrees."""
WORDS = {"bandwidth": "bandwidth", "rms_delay": "RMS of delay", "load_stdev": "STDEV of loads"}
FAR = 4.0
"""Values beyond so many times the median lie outside the drawn scale, on its edge."""
MOST_BOXES = 4000


@styled
def subscriptions(workload: ContentWorkload) -> Figure:
    """Draw Fig. 6: what subscribers of each continent want, in the event space."""
    panels = regions_of(workload)
    figure, row = row_of_axes(len(panels), panel=2.5, height=2.6)
    for axes, (name, members) in zip(row, panels.items(), strict=True):
        some = members[:: max(1, -(-len(members) // MOST_BOXES))]
        patches = [
            Rectangle((lo[0], lo[1]), *(hi - lo))
            for lo, hi in zip(workload.lo[some], workload.hi[some], strict=True)
        ]
        axes.add_collection(
            PatchCollection(
                patches,
                facecolors=[to_rgba(BLUE, 0.05)],
                edgecolors=[to_rgba(BLUE, 0.25)],
                linewidths=0.4,
                rasterized=True,
            )
        )
        axes.set_xlim(workload.lo[:, 0].min(), workload.hi[:, 0].max())
        axes.set_ylim(workload.lo[:, 1].min(), workload.hi[:, 1].max())
        axes.set_aspect("equal")
        axes.set_title(f"{name}, {len(members):,} subscribers", fontsize=SMALL)
        axes.tick_params(labelsize=SMALL - 2)
    return figure


@styled
def triangles(cases: Sequence[Case]) -> Figure:
    """Draw a triangle for each algorithm: bandwidth, delay and imbalance, means over cases.

    Corners lie at the value as a share of the largest one that is not far off the others, and say
    the value itself.
    """
    names = list(cases[0].results)
    values = {
        corner: {
            name: float(np.mean([case.mean(name, corner) for case in cases])) for name in names
        }
        for corner in CORNERS
    }
    columns = 4
    lines = -(-len(names) // columns)
    figure = Figure(figsize=(2.1 * columns, 2.15 * lines), layout="constrained")
    for place, name in enumerate(names):
        axes = figure.add_subplot(lines, columns, place + 1)
        _draw_triangle(axes, values, name)
        kept = sum(case.is_feasible(name) for case in cases)
        colour = MUTED if kept == len(cases) else VERMILION
        axes.text(0, -1.13, _limits_words(kept, len(cases)), ha="center", va="top",
                  fontsize=SMALL - 1.5, color=colour)  # fmt: skip
        axes.set_title(SERIES[name].label, fontsize=SMALL + 0.5, color=INK, pad=1)
    return figure


def _limits_words(kept: int, total: int) -> str:
    if kept == total:
        return "within limits"
    return "breaks limits" if kept == 0 else f"within limits in {kept} of {total}"


def _draw_triangle(axes: Axes, values: Mapping[str, Mapping[str, float]], name: str) -> None:
    colour = STYLES[name][0]
    angles = np.radians(list(CORNERS.values()))
    edge = np.column_stack([np.cos(angles), np.sin(angles)])
    for share in (0.5, 1.0):
        axes.add_patch(Polygon(share * edge, fill=False, edgecolor=GRID, linewidth=0.8))
    radii = np.array([_radius(values[corner], name) for corner in CORNERS])
    axes.add_patch(Polygon(edge * radii[:, None], facecolor=to_rgba(colour, 0.35),
                           edgecolor=colour, linewidth=1.2))  # fmt: skip
    for (x, y), corner in zip(edge, CORNERS, strict=True):
        below = corner != "bandwidth"
        axes.text(0.75 * x, y + (-0.08 if below else 0.06),
                  f"{WORDS[corner]}\n{values[corner][name]:.3g}", fontsize=6.5, linespacing=1.1,
                  ha="center", va="top" if below else "bottom", color=INK)  # fmt: skip
    axes.set_xlim(-1.35, 1.35)
    axes.set_ylim(-1.32, 1.5)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _radius(values: Mapping[str, float], name: str) -> float:
    found = np.array(list(values.values()))
    middle = float(np.median(found))
    usual = found[found <= FAR * middle] if middle > 0 else found
    most = float(usual.max()) if len(usual) else 0.0
    return min(values[name] / most, 1.05) if most > 0 else 0.0


@styled
def bandwidths(panels: Mapping[str, Sequence[Case]], names: Sequence[str]) -> Figure:
    """Draw Figs. 10(a) and 12(a): bandwidth by workload, a bar for each algorithm."""
    first = next(iter(panels.values()))[0]
    names = [name for name in names if name in first.results]
    figure, row = row_of_axes(len(panels), panel=6.8 / len(panels), height=3.4)
    width = 0.84 / len(names)
    for axes, (title, cases) in zip(row, panels.items(), strict=True):
        at = np.arange(len(cases))
        for place, name in enumerate(names):
            heights = [case.mean(name) for case in cases]
            colour = STYLES[name][0]
            hatch = ["" if case.is_feasible(name) else "////" for case in cases]
            axes.bar(at + (place - (len(names) - 1) / 2) * width, heights, width, color=colour,
                     hatch=hatch, edgecolor="white", linewidth=0.3,
                     label=SERIES[name].label)  # fmt: skip
        axes.set_xticks(at, [case.panel for case in cases])
        axes.tick_params(axis="x", labelsize=SMALL - 1.5 * (len(panels) > 1))
        axes.grid(False, axis="x")
        if len(panels) > 1:
            axes.set_title(title, fontsize=SMALL + 0.5)
    row[0].set_ylabel("bandwidth (hatched: breaks limits)")
    share_legend(figure, row[0], columns=min(len(names), 8))
    return figure


@styled
def delays(case: Case, names: Sequence[str]) -> Figure:
    """Draw Fig. 10(b): delay against the shortest latency, some subscribers of each algorithm."""
    figure, row = row_of_axes(len(names), panel=2.2, height=2.5)
    for axes, name in zip(row, names, strict=True):
        marks = case.results[name][0].marks
        axes.plot(*marks.T, ".", color=STYLES[name][0], markersize=2, alpha=0.4, rasterized=True)
        axes.axhline(case.problem.max_delay, color=INK, linewidth=0.8, linestyle="--")
        axes.set_title(SERIES[name].label, fontsize=SMALL + 0.5)
        axes.set_xlabel("shortest latency")
        axes.set_ylim(bottom=0)
    row[0].set_ylabel("delay")
    return figure


@styled
def load_boxes(panels: Mapping[str, Case]) -> Figure:
    """Draw Figs. 10(c) and 12(b): box plots of broker loads, with both limits."""
    figure, row = row_of_axes(len(panels), panel=6.4 / len(panels), height=3.0)
    for axes, (title, case) in zip(row, panels.items(), strict=True):
        names = list(case.results)
        drawn = axes.boxplot(
            [case.results[name][0].loads for name in names],
            tick_labels=[SERIES[name].label for name in names],
            patch_artist=True, widths=0.6, flierprops={"marker": ".", "markersize": 2.5},
            medianprops={"color": INK},
        )  # fmt: skip
        for box, name in zip(drawn["boxes"], names, strict=True):
            box.set_facecolor(to_rgba(STYLES[name][0], 0.4))
            box.set_edgecolor(STYLES[name][0])
        _draw_limits(axes, case, along="x")
        axes.tick_params(axis="x", rotation=30, labelsize=SMALL - 1)
        axes.set_ylim(bottom=0)
        if len(panels) > 1:
            axes.set_title(title, fontsize=SMALL + 0.5)
    row[0].set_ylabel("load / share")
    return figure


@styled
def load_cdf(case: Case, names: Sequence[str]) -> Figure:
    """Draw Fig. 10(d): the cumulative distribution of broker loads."""
    figure, (axes,) = row_of_axes(1, panel=4.4, height=3.1)
    for name in (name for name in names if name in case.results):
        loads = np.sort(case.results[name][0].loads)
        colour, line, _ = STYLES[name]
        axes.step(loads, np.arange(1, len(loads) + 1) / len(loads), where="post", color=colour,
                  linestyle=line, label=SERIES[name].label)  # fmt: skip
    _draw_limits(axes, case, along="y")
    axes.set_xlabel("load / share")
    axes.set_ylabel("share of brokers with at most that")
    axes.set_ylim(0, 1.02)
    share_legend(figure, axes, columns=4)
    return figure


def _draw_limits(axes: Axes, case: Case, *, along: str) -> None:
    for limit in (case.problem.lbf, case.problem.lbf_max):
        draw = axes.axhline if along == "x" else axes.axvline
        draw(limit, color=INK, linewidth=0.8, linestyle="--")


def row_of_axes(count: int, *, panel: float, height: float) -> tuple[Figure, list[Axes]]:
    """Return a figure with panels side by side."""
    figure = Figure(figsize=(panel * count + 0.4, height), layout="constrained")
    row = [figure.add_subplot(1, count, place + 1) for place in range(count)]
    for axes in row:
        axes.tick_params(color=MUTED, labelcolor=INK, labelsize=SMALL)
        axes.grid(True, color=GRID, linewidth=0.6)
    return figure, row


def share_legend(figure: Figure, axes: Axes, *, columns: int) -> None:
    """Put one legend below all panels."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns,
                  handlelength=1.6, columnspacing=1.2, fontsize=SMALL)  # fmt: skip
