"""The pictures: the paper's triangles, bars, scatter, boxes and CDFs, and its curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle

from fanwise.papers.assign.comparisons import bandwidth
from fanwise.papers.assign.instances import LOOSE, TIGHT, TIGHTER, regions_of
from fanwise.papers.assign.runs import Details, is_feasible
from fanwise.papers.case import Case, pick
from fanwise.papers.course import Course
from fanwise.papers.curves import curve_figure
from fanwise.papers.panels import (
    Axis,
    Curve,
    Panel,
    colour_of,
    curve_of,
    draw,
    draw_bars,
    row_of_axes,
    share_legend,
)
from fanwise.papers.paper import Series
from fanwise.workload.content import ContentWorkload
from fanwise.workload.plot_style import BLUE, GRID, INK, MUTED, SMALL, VERMILION, styled

CORNERS = {"bandwidth": 90.0, "rms_delay": 210.0, "load_stdev": 330.0}
"""What the corners of a triangle stand for, and their directions in degrees."""
WORDS = {"bandwidth": "bandwidth", "rms_delay": "RMS of delay", "load_stdev": "STDEV of loads"}
FAR = 4.0
"""Values beyond so many times the median lie outside the drawn scale, on its edge."""
MOST_BOXES = 4000
COLUMNS = 4
"""Triangles side by side."""


def pictures(course: Course, cases: Sequence[Case]) -> dict[str, Figure]:
    """Return all pictures by file name."""
    settings, shown = course.settings, course.settings.shown
    first = pick(cases, "7")
    (closer,) = pick(first, panel=settings.closer_look)
    tight, loose = pick(cases, f"11{TIGHT}"), pick(cases, f"11{LOOSE}")
    loads = {
        title: pick(cases, f"11{setting}", panel=settings.loads_of)[0]
        for title, setting in (("tight", TIGHT), ("near the least factor", TIGHTER),
                               ("loose", LOOSE))
    }  # fmt: skip
    curves = {name: curve_figure(course.paper, name, cases, levels=_limits)
              for name in ("fig13-alpha", "fig14-time", "fig15-balance", "fig16-clusters",
                           "fig17-candidates", "fig18-gamma")}  # fmt: skip
    return {
        "fig6-subscriptions": _subscriptions(closer.kept["problem"].workload),
        "fig7-overall": _triangles(course, first),
        "fig8-overall": _triangles(course, pick(cases, "8")),
        "fig9-overall": _triangles(course, pick(cases, "9")),
        "fig10a-bandwidth": _bandwidths(course, {"": first}, shown["overall"]),
        "fig10b-delays": _delays(course, closer, shown["delays"]),
        "fig10c-loads": _load_boxes(course, {"": closer}, shown["overall"]),
        "fig10d-loads": _load_cdf(course, closer, shown["loads"]),
        "fig11a-tight": _triangles(course, tight),
        "fig11b-loose": _triangles(course, loose),
        "fig12a-bandwidth": _bandwidths(course, {"tight": tight, "loose": loose}, shown["trees"]),
        "fig12b-loads": _load_boxes(course, loads, shown["tree_loads"]),
        **curves,
        "difficult": _difficult(course, pick(cases, "difficult")),
    }


def _limits(case: Case, quantity: str) -> Sequence[float]:
    """Return both limits where a panel shows load-balance factors."""
    problem = case.kept.get("problem")
    return (problem.lbf, problem.lbf_max) if quantity == "lbf" and problem else ()


@styled
def _subscriptions(workload: ContentWorkload) -> Figure:
    """Draw Fig. 6: what subscribers of each continent want, in the event space."""
    panels = regions_of(workload)
    figure, row = row_of_axes(len(panels), width=2.5 * len(panels) + 0.4, height=2.6)
    for axes, (name, members) in zip(row, panels.items(), strict=True):
        some = members[:: max(1, -(-len(members) // MOST_BOXES))]
        boxes = [Rectangle(tuple(lo[:2]), *(hi - lo)[:2])
                 for lo, hi in zip(workload.lo[some], workload.hi[some], strict=True)]  # fmt: skip
        axes.add_collection(
            PatchCollection(boxes, facecolors=[to_rgba(BLUE, 0.05)],
                            edgecolors=[to_rgba(BLUE, 0.25)], linewidths=0.4, rasterized=True)
        )  # fmt: skip
        axes.set_xlim(workload.lo[:, 0].min(), workload.hi[:, 0].max())
        axes.set_ylim(workload.lo[:, 1].min(), workload.hi[:, 1].max())
        axes.set_aspect("equal")
        axes.set_title(f"{name}, {len(members):,} subscribers", fontsize=SMALL)
        axes.tick_params(labelsize=SMALL - 2)
    return figure


@styled
def _triangles(course: Course, cases: Sequence[Case]) -> Figure:
    """Draw a triangle for each algorithm: bandwidth, delay and imbalance, means over cases.

    Corners lie at the value as a share of the largest one that is not far off the others, and say
    the value itself.
    """
    names = course.settings.shown["overall"]
    values = {
        corner: {name: float(np.mean([case.mean(name, corner) for case in cases]))
                 for name in names}
        for corner in CORNERS
    }  # fmt: skip
    lines = -(-len(names) // COLUMNS)
    figure = Figure(figsize=(2.1 * COLUMNS, 2.15 * lines), layout="constrained")
    for index, name in enumerate(names):
        axes = figure.add_subplot(lines, COLUMNS, index + 1)
        series = course.paper.series[name]
        _draw_triangle(axes, values, name, series)
        kept = sum(is_feasible(case, name) for case in cases)
        words = f"within limits in {kept} of {len(cases)}" if kept else "breaks limits"
        is_kept = kept == len(cases)
        axes.text(0, -1.13, "within limits" if is_kept else words, ha="center", va="top",
                  fontsize=SMALL - 1.5, color=MUTED if is_kept else VERMILION)  # fmt: skip
        axes.set_title(series.label, fontsize=SMALL + 0.5, color=INK, pad=1)
    return figure


def _draw_triangle(
    axes: Axes, values: Mapping[str, Mapping[str, float]], name: str, series: Series
) -> None:
    colour = colour_of(series)
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
def _bandwidths(
    course: Course, panels: Mapping[str, Sequence[Case]], names: Sequence[str]
) -> Figure:
    """Draw Figs. 10(a) and 12(a): bandwidth by workload, a bar for each algorithm."""
    series = [course.paper.series[name] for name in names]
    figure, row = row_of_axes(len(panels), width=7.2, height=3.4)
    for axes, (title, cases) in zip(row, panels.items(), strict=True):
        heights = {
            one.label: [bandwidth(case, name) for case in cases]
            for name, one in zip(names, series, strict=True)
        }
        styles = [
            {"color": colour_of(one), "edgecolor": "white", "linewidth": 0.3,
             "hatch": ["" if is_feasible(case, name) else "////" for case in cases]}
            for name, one in zip(names, series, strict=True)
        ]  # fmt: skip
        draw_bars(axes, heights, styles, [case.panel for case in cases])
        axes.tick_params(axis="x", labelsize=SMALL - 1.5 * (len(panels) > 1))
        axes.set_title(title, fontsize=SMALL + 0.5)
    row[0].set_ylabel("bandwidth (hatched: breaks limits)")
    share_legend(figure, row, columns=8)
    return figure


@styled
def _delays(course: Course, case: Case, names: Sequence[str]) -> Figure:
    """Draw Fig. 10(b): delay against the shortest latency, some subscribers of each algorithm."""
    figure, row = row_of_axes(len(names), width=2.2 * len(names) + 0.4, height=2.5)
    for axes, name in zip(row, names, strict=True):
        series = course.paper.series[name]
        axes.plot(*_detail(case, name).marks.T, ".", color=colour_of(series), markersize=2,
                  alpha=0.4, rasterized=True)  # fmt: skip
        axes.axhline(case.kept["problem"].max_delay, color=INK, linewidth=0.8, linestyle="--")
        axes.set_title(series.label, fontsize=SMALL + 0.5)
        axes.set_xlabel("shortest latency")
        axes.set_ylim(bottom=0)
    row[0].set_ylabel("delay")
    return figure


@styled
def _load_boxes(course: Course, panels: Mapping[str, Case], names: Sequence[str]) -> Figure:
    """Draw Figs. 10(c) and 12(b): box plots of broker loads, with both limits."""
    figure, row = row_of_axes(len(panels), width=6.8, height=3.0)
    series = [course.paper.series[name] for name in names]
    for axes, (title, case) in zip(row, panels.items(), strict=True):
        drawn = axes.boxplot(
            [_detail(case, name).loads for name in names],
            tick_labels=[one.label for one in series],
            patch_artist=True, widths=0.6, flierprops={"marker": ".", "markersize": 2.5},
            medianprops={"color": INK},
        )  # fmt: skip
        for box, one in zip(drawn["boxes"], series, strict=True):
            box.set_facecolor(to_rgba(colour_of(one), 0.4))
            box.set_edgecolor(colour_of(one))
        for limit in _limits(case, "lbf"):
            axes.axhline(limit, color=INK, linewidth=0.8, linestyle="--")
        axes.tick_params(axis="x", rotation=30, labelsize=SMALL - 1)
        axes.set_ylim(bottom=0)
        axes.set_title(title, fontsize=SMALL + 0.5)
    row[0].set_ylabel("load / share")
    return figure


def _load_cdf(course: Course, case: Case, names: Sequence[str]) -> Figure:
    """Draw Fig. 10(d): the cumulative distribution of broker loads."""
    curves = []
    for name in names:
        loads = np.sort(_detail(case, name).loads).tolist()
        shares = [(rank + 1) / len(loads) for rank in range(len(loads))]
        curve = curve_of(course.paper.series[name], loads, shares, is_step=True)
        curves.append(replace(curve, marker=""))
    curves += [Curve([limit, limit], [0, 1], None, INK, "--", width=0.8)
               for limit in _limits(case, "lbf")]  # fmt: skip
    y = Axis("share of brokers with at most that", low=0.0, high=1.02)
    return draw([Panel(curves, Axis("load / share"), y)], columns=3)


def _difficult(course: Course, cases: Sequence[Case]) -> Figure:
    """Draw bandwidth on the difficult workload against brokers, and against alpha."""
    fixed_alpha, fixed_brokers = fixed_of(cases)
    panels = []
    for label, own, at in (
        ("brokers", [case for case in cases if alpha_of(case) == fixed_alpha], brokers_of),
        ("alpha", [case for case in cases if brokers_of(case) == fixed_brokers], alpha_of),
    ):
        own = sorted(own, key=at)
        x = [at(case) for case in own]
        curves = [
            curve_of(course.paper.series[name], x, [bandwidth(case, name) for case in own])
            for name in course.settings.shown["difficult"]
        ]
        bounds = [bandwidth(case, "proven bound") for case in own]
        curves.append(Curve(x, bounds, "proven lower bound", MUTED, ":"))
        y = Axis("bandwidth", is_log=True)
        panels.append(Panel(curves, Axis(label, is_log=label == "brokers", ticks=x), y))
    return draw(panels)


def brokers_of(case: Case) -> int:
    """Return the brokers of a case."""
    return int(case.kept["problem"].workload.num_brokers)


def alpha_of(case: Case) -> int:
    """Return the rectangles of a filter in a case."""
    return int(case.kept["problem"].alpha)


def fixed_of(cases: Sequence[Case]) -> tuple[int, int]:
    """Return the alpha where brokers vary, and the brokers where alpha varies."""
    alpha = alpha_of(cases[0])
    return alpha, max(brokers_of(case) for case in cases if alpha_of(case) != alpha)


def _detail(case: Case, name: str) -> Details:
    detail: Details = case.kept["details"][name][0]
    return detail
