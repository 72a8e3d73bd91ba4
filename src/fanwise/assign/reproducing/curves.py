"""The pictures of ``reproduce`` that are curves: Figs. 13 to 18, and the difficult workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from fanwise.assign.reproducing.plots import STYLES, row_of_axes, share_legend
from fanwise.assign.reproducing.runs import Case
from fanwise.assign.reproducing.settings import SERIES
from fanwise.workload.look import BLUE, INK, MUTED, SMALL, VERMILION, styled

WORDS = {
    "bandwidth": "bandwidth",
    "lbf": "load-balance factor",
    "rms_delay": "RMS of delay",
    "seconds": "seconds",
}


@styled
def by_algorithm(cases: Sequence[Case], x_label: str) -> Figure:
    """Draw Fig. 13: bandwidth of every algorithm against what the figure varies."""
    figure, (axes,) = row_of_axes(1, panel=4.4, height=3.2)
    for name in cases[0].results:
        _draw(axes, [case.x or 0.0 for case in cases], [case.mean(name) for case in cases], name)
    axes.set_xlabel(x_label)
    axes.set_ylabel("bandwidth")
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(FixedLocator([case.x or 0.0 for case in cases]))
    share_legend(figure, axes, columns=4)
    return figure


@styled
def of_slp(
    panels: Mapping[str, Sequence[Case]], quantities: Sequence[str], x_label: str, *,
    is_log: bool = False,
) -> Figure:  # fmt: skip
    """Draw what SLP does against a knob or size, a panel for each tree and quantity.

    Load-balance factors come with both limits.
    """
    shown = [(title, cases, quantity) for title, cases in panels.items() for quantity in quantities]
    figure, row = row_of_axes(len(shown), panel=3.2 if len(shown) > 1 else 4.4, height=2.9)
    for axes, (title, cases, quantity) in zip(row, shown, strict=True):
        _draw(axes, [case.x or 0.0 for case in cases],
              [case.mean("slp", quantity) for case in cases], "slp")  # fmt: skip
        axes.set_xlabel(x_label)
        axes.set_ylabel(WORDS[quantity])
        axes.set_title(title, fontsize=SMALL + 0.5)
        if quantity == "lbf":
            for limit in (cases[0].problem.lbf, cases[0].problem.lbf_max):
                axes.axhline(limit, color=INK, linewidth=0.8, linestyle="--")
        if is_log:
            _use_plain_logs(axes, [case.x or 0.0 for case in cases])
        else:
            axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
    return figure


@styled
def counts(panels: Mapping[str, Mapping[int, int]]) -> Figure:
    """Draw Fig. 17: candidate rectangles against super-subscriptions per broker."""
    figure, (axes,) = row_of_axes(1, panel=4.4, height=2.9)
    looks = ((BLUE, "-", "o"), (VERMILION, "--", "s"))
    for (title, found), (colour, line, marker) in zip(panels.items(), looks, strict=True):
        axes.plot(list(found), list(found.values()), color=colour, linestyle=line, marker=marker,
                  label=title)  # fmt: skip
    axes.set_xlabel("super-subscriptions per broker")
    axes.set_ylabel("candidate rectangles")
    axes.set_yscale("log")
    share_legend(figure, axes, columns=2)
    return figure


@styled
def hard(by_brokers: Sequence[Case], by_alpha: Sequence[Case]) -> Figure:
    """Draw bandwidth on the difficult workload against brokers, and against alpha."""
    figure, row = row_of_axes(2, panel=3.4, height=3.3)
    places = (
        (row[0], by_brokers, "brokers", [float(case.problem.workload.num_brokers)
                                         for case in by_brokers]),
        (row[1], by_alpha, "alpha", [float(case.problem.alpha) for case in by_alpha]),
    )  # fmt: skip
    for axes, cases, x_label, at in places:
        if not cases:
            continue
        for name in cases[0].results:
            _draw(axes, at, [case.mean(name) for case in cases], name)
        axes.plot(at, [case.bound or 0.0 for case in cases], color=MUTED, linestyle=":",
                  label="proven lower bound")  # fmt: skip
        axes.set_yscale("log")
        axes.set_xlabel(x_label)
        if x_label == "brokers":
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_major_locator(FixedLocator(at))
        axes.xaxis.set_minor_locator(NullLocator())
    row[0].set_ylabel("bandwidth")
    share_legend(figure, row[0], columns=4)
    return figure


def _use_plain_logs(axes: Axes, at: Sequence[float]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator(list(at)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(axis="x", labelsize=SMALL - 1)
    for labels in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        labels(FuncFormatter(lambda value, _: f"{value:g}"))


def _draw(axes: Axes, at: Sequence[float], values: Sequence[float], name: str) -> None:
    colour, line, marker = STYLES[name]
    axes.plot(at, values, color=colour, linestyle=line, marker=marker, linewidth=1.3,
              markersize=4, label=SERIES[name].label,
              markerfacecolor="none" if marker == "D" else colour)  # fmt: skip
