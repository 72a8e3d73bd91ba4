"""The pictures: the paper's Figs. 2 to 7."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from matplotlib.figure import Figure

from fanwise.papers.case import Case, by_series, grouped, pick
from fanwise.papers.course import Course
from fanwise.papers.panels import Axis, Curve, Panel, axis_of, curve_of, draw, star
from fanwise.select.plots import label_capacity_axes
from fanwise.select.problem import METRICS
from fanwise.workload.plot_style import COLOURS, LINES


def pictures(course: Course, cases: Sequence[Case]) -> dict[str, Figure]:
    """Return all pictures by file name."""
    return {
        "fig2-coverage-binary": _values_and_bounds(course, cases, "binary"),
        "fig3-coverage-fractional": _values_and_bounds(course, cases, "fractional"),
        "fig4-ratios": _ratios(course, pick(cases, "4")),
        "fig5-seconds": _seconds(course, pick(cases, "5")),
        "fig6-hourly-seconds": _hours(
            course, pick(cases, "6"), "greedy", "seconds", "milliseconds", unit=1000.0
        ),
        "fig7-hourly-ratios": _hours(
            course, pick(cases, "7"), "greedy / paper bound", "ratio", "hour-ratio"
        ),
    }


def _values_and_bounds(course: Course, cases: Sequence[Case], metric: str) -> Figure:
    """Draw value and bounds against capacity, for the thresholds that the paper names."""
    paper, percent = course.paper, course.settings.capacity_percent
    shown = [
        case for case in pick(cases, "2", "3", metric=metric, capacity_percent=percent)
        if case.at["tau"] in course.settings.named_taus
    ]  # fmt: skip
    curves = []
    for case, colour in zip(shown, COLOURS, strict=False):
        found, everything = case.kept["curve"], case.kept["everything"]
        curves.append(Curve(100 * found.used / everything, found.value,
                            paper.phrase("curve", **case.at), colour, width=1.7))  # fmt: skip
        if found.bound is not None:
            label = paper.phrase("curve-papers-bound") if case is shown[0] else None
            limit = 100 * found.capacity / everything
            curves.append(Curve(limit, found.bound, label, colour, "--"))
        label = paper.phrase("curve-our-bound") if case is shown[0] else None
        ours = [case.mean("our bound", "value")]
        curves.append(Curve([percent], ours, label, colour, "none", "_", size=12.0))
    top = 1.1 * max(case.mean("paper bound", "value") for case in shown)
    figure = draw([Panel(curves, Axis(), Axis(high=top))], columns=2)
    label_capacity_axes(figure.axes[0], metric)
    return figure


def _ratios(course: Course, cases: Sequence[Case]) -> Figure:
    """Draw greedy over the paper's bound and over ours against tau, with the paper's numbers."""
    curves = []
    for metric in METRICS:
        series, own = course.paper.series[metric], pick(cases, metric=metric)
        taus = [case.at["tau"] for case in own]
        for bound, words, line in (("our", "our bound", ":"), ("paper", "paper's bound", "-")):
            found = [case.mean(f"greedy / {bound} bound", "ratio") for case in own]
            label = course.paper.phrase("ratio-curve", metric=metric, bound=words)
            curve = curve_of(series, taus, found, label=label)
            curves.append(replace(curve, line=line))
        curves += [star(series, tau, told) for tau, told in course.paper.numbers["stars"][metric]]
    y = axis_of(course.paper, "ratio")
    return draw([Panel(curves, _tau_axis(course), y)], columns=2)


def _seconds(course: Course, cases: Sequence[Case]) -> Figure:
    """Draw running times against tau."""
    curves = [
        Curve([case.at["tau"] for case in own], [case.mean(name, "seconds") for case in own], name,
              colour, line, "o")
        for (name, own), colour, line in zip(by_series(cases).items(), COLOURS, LINES, strict=False)
    ]  # fmt: skip
    panel = Panel(curves, _tau_axis(course), axis_of(course.paper, "seconds"))
    return draw([panel], columns=2)


def _hours(
    course: Course, cases: Sequence[Case], name: str, quantity: str, y: str, *, unit: float = 1.0
) -> Figure:
    """Draw a quantity on single hours against capacity: mean, and range over the hours."""
    curves = []
    for metric in METRICS:
        found = [
            [unit * case.mean(name, quantity) for case in own]
            for own in grouped(pick(cases, metric=metric), "capacity_percent").values()
        ]
        curves.append(
            curve_of(
                course.paper.series[metric], course.settings.hour_capacities,
                [sum(values) / len(values) for values in found],
                label=course.paper.phrase("hour-curve", metric=metric),
                band=([min(values) for values in found], [max(values) for values in found]),
            )
        )  # fmt: skip
    x, y_axis = (axis_of(course.paper, one) for one in ("hour-capacity", y))
    return draw([Panel(curves, x, y_axis)])


def _tau_axis(course: Course) -> Axis:
    return axis_of(course.paper, "tau", ticks=course.settings.taus)
