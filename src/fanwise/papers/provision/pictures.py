"""The pictures: the paper's Figs. 2 to 7, and how far plans are above our bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fanwise.papers.case import Case, by_series, grouped, pick
from fanwise.papers.course import Course
from fanwise.papers.panels import (
    Axis,
    Curve,
    Panel,
    colour_of,
    draw,
    draw_bars,
    row_of_axes,
    share_legend,
    style_of,
)
from fanwise.papers.provision.runs import LAST_RUNG, OURS, REGIMES, SCALED
from fanwise.provision.plots import LADDER
from fanwise.workload.plot_style import COLOURS, LINES, MUTED, WIDTH, new_axes, styled

BOUNDS = ("our bound", "paper's bound")


def pictures(
    course: Course, costs: Sequence[Case], seconds: Sequence[Case]
) -> Iterator[tuple[str, tuple[str, Figure]]]:
    """Yield file names with captions and pictures, the scaled regime first."""
    paper, traces = course.paper, course.settings.traces
    for regime in reversed(REGIMES):
        for at, own in grouped(pick(costs, regime=regime), "trace", "instance").items():
            figure = own[0].figure
            caption = paper.caption("ladder", figure=figure, **own[0].at)
            yield f"fig{figure}-{at[0].lower()}-{regime}", (caption, _ladder(course, own))
    for trace, setup in traces.items():
        for stage, figure in zip(("select", "pack"), setup["figures"][1:], strict=True):
            caption = paper.caption(f"{stage}-seconds", figure=figure, trace=trace)
            drawing = _seconds(course, pick(seconds, figure, trace=trace))
            yield f"fig{figure}-{trace.lower()}-{stage}-seconds", (caption, drawing)
    caption = paper.caption("distance-to-bound")
    yield "distance-to-bound", (caption, _distances(pick(costs, regime=SCALED)))


@styled
def _ladder(course: Course, cases: Sequence[Case]) -> Figure:
    """Draw cost, machines and traffic of every rung, by tau; cost also with the bounds."""
    series = course.paper.series
    figure, row = row_of_axes(3, width=2.05 * WIDTH)
    ticks = [f"tau {case.at['tau']}" for case in cases]
    styles = [{"color": colour_of(series[name])} for name in LADDER]
    for axes, label, quantities, unit in (
        (row[0], "total cost ($)", ("usd",), 1.0),
        (row[1], "machines", ("machines",), 1.0),
        (row[2], "traffic (GB per period)", ("in_bytes", "out_bytes"), 1e-9),
    ):
        heights = {
            series[name].label: [
                unit * sum(case.mean(name, quantity) for quantity in quantities) for case in cases
            ]
            for name in LADDER
        }
        draw_bars(axes, heights, styles, ticks)
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=label == "machines"))
        axes.set_ylabel(label)
    positions = np.arange(len(cases))
    for name in BOUNDS:
        colour, line, _ = style_of(series[name])
        bound = [case.mean(name, "usd") for case in cases]
        row[0].hlines(bound, positions - 0.43, positions + 0.43, color=colour, linestyle=line,
                      linewidth=1.3, label=name)  # fmt: skip
    share_legend(figure, row, columns=5)
    return figure


def _seconds(course: Course, cases: Sequence[Case]) -> Figure:
    """Draw the running times of a stage against tau; stage 2 on GSP's pairs."""
    curves: list[Curve] = []
    for instance, own in grouped(cases, "instance").items():
        for name, some in by_series(own).items():
            index = len(curves)
            words = f", {instance}" if some[0].kept["stage"] == "pack" else ""
            curves.append(
                Curve([case.at["tau"] for case in some],
                      [case.mean(name, "seconds") for case in some], f"{name.upper()}{words}",
                      COLOURS[index % len(COLOURS)], LINES[index % len(LINES)], "o")
            )  # fmt: skip
    x = Axis("tau (events per period)", is_log=True, ticks=course.settings.taus)
    return draw([Panel(curves, x, Axis("seconds (this machine)", is_log=True))], columns=2)


@styled
def _distances(cases: Sequence[Case]) -> Figure:
    """Draw how far GSP+CBP and ours are above our bound, for every problem."""
    figure, axes = new_axes(height=1.2 + 0.24 * len(cases))
    axes.axvline(0, color=MUTED, linewidth=1)
    for name, label, colour, marker in (
        (LAST_RUNG, "GSP + CBP", COLOURS[0], "o"),
        (OURS, "best + best", COLOURS[2], "s"),
    ):
        above = [100 * (case.ratio(name, "our bound", "usd") - 1) for case in cases]
        axes.plot(above, range(len(cases)), linestyle="none", marker=marker, color=colour,
                  label=label)  # fmt: skip
    names = [f"{at['trace']}, {at['instance']}, tau {at['tau']}" for at in
             (case.at for case in cases)]  # fmt: skip
    axes.set_yticks(range(len(cases)), names)
    axes.invert_yaxis()
    axes.set_xlabel("% above our bound")
    share_legend(figure, [axes], columns=2)
    return figure
