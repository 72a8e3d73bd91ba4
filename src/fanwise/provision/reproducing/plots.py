"""The pictures of ``reproduce``: the paper's Figs. 2 to 7."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

from fanwise.provision.reproducing.runs import Case, Rung, Seconds
from fanwise.provision.reproducing.settings import LADDER, OURS, TAUS
from fanwise.workload.look import (
    BLUE,
    COLOURS,
    GREEN,
    GRID,
    HEIGHT,
    INK,
    LINES,
    MUTED,
    SMALL,
    VERMILION,
    WIDTH,
    new_axes,
    styled,
    use_log_scale,
)

SHADES = ("#B9B9B9", "#C6DBEF", "#9ECAE1", "#6BAED6", "#3182BD", BLUE, GREEN)
"""Grey for the naive plan, blues that deepen from rung to rung, green for ours."""
BOUNDS = ("our bound", "paper's bound")
PANELS: dict[str, Callable[[Rung], float]] = {
    "total cost ($)": lambda rung: rung.cost,
    "machines": lambda rung: float(rung.machines),
    "traffic (GB per period)": lambda rung: rung.gigabytes,
}


@styled
def ladder(cases: Sequence[Case]) -> Figure:
    """Draw cost, machines and traffic of every rung, by tau; cost also with the bounds."""
    figure = Figure(figsize=(2.05 * WIDTH, HEIGHT), layout="constrained")
    for place, (label, amount) in enumerate(PANELS.items(), start=1):
        axes = figure.add_subplot(1, len(PANELS), place)
        _draw_bars(axes, cases, amount)
        if place == 1:
            _draw_bounds(axes, cases)
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=label == "machines"))
        axes.set_ylabel(label)
    drawn = dict(zip(*reversed(figure.axes[0].get_legend_handles_labels()), strict=True))
    shown = {name: drawn[name] for name in (*LADDER.values(), *BOUNDS)}
    figure.legend(
        shown.values(),
        shown.keys(),
        loc="outside lower center",
        ncols=5,
        handlelength=1.2,
        columnspacing=1.2,
    )
    return figure


def _draw_bars(axes: Axes, cases: Sequence[Case], amount: Callable[[Rung], float]) -> None:
    width = 0.8 / len(LADDER)
    for index, ((name, label), colour) in enumerate(zip(LADDER.items(), SHADES, strict=True)):
        left = np.arange(len(cases)) - 0.4 + width * (index + 0.5)
        heights = [amount(case.rungs[name]) for case in cases]
        axes.bar(left, heights, width=width, color=colour, label=label)
    axes.set_xticks(range(len(cases)), [f"tau {case.tau}" for case in cases])
    axes.tick_params(axis="x", length=0, labelcolor=INK, labelsize=SMALL + 0.5)
    axes.tick_params(axis="y", color=MUTED, labelcolor=INK, labelsize=SMALL)
    axes.grid(True, axis="y", color=GRID, linewidth=0.6)


def _draw_bounds(axes: Axes, cases: Sequence[Case]) -> None:
    places = np.arange(len(cases))
    for label, colour, line, bounds in zip(
        BOUNDS,
        (INK, VERMILION),
        ("-", "--"),
        ([case.bound for case in cases], [case.paper_bound for case in cases]),
        strict=True,
    ):
        axes.hlines(bounds, places - 0.43, places + 0.43, color=colour, linestyle=line,
                    linewidth=1.3, label=label)  # fmt: skip


@styled
def select_seconds(seconds: Sequence[Seconds]) -> Figure:
    """Draw the running times of stage 1 against tau."""
    return _draw_seconds({
        name.upper(): [row for row in seconds if row.stage == "select" and row.algorithm == name]
        for name in ("rsp", "gsp")
    })  # fmt: skip


@styled
def pack_seconds(seconds: Sequence[Seconds]) -> Figure:
    """Draw the running times of stage 2 against tau, on GSP's pairs."""
    rows = [row for row in seconds if row.stage == "pack"]
    series = dict.fromkeys((row.algorithm, row.instance) for row in rows)
    return _draw_seconds({
        f"{name.upper()}, {instance}": [
            row for row in rows if (row.algorithm, row.instance) == (name, instance)
        ]
        for name, instance in series
    })  # fmt: skip


def _draw_seconds(series: dict[str, list[Seconds]]) -> Figure:
    figure, axes = new_axes()
    for index, (name, rows) in enumerate(series.items()):
        axes.plot([row.tau for row in rows], [row.shortest for row in rows], marker="o",
                  color=COLOURS[index % len(COLOURS)], linestyle=LINES[index % len(LINES)],
                  label=name)  # fmt: skip
    use_log_scale(axes)
    axes.set_xticks(TAUS, [str(tau) for tau in TAUS])
    axes.minorticks_off()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("tau (events per period)")
    axes.set_ylabel("seconds (this machine)")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure


@styled
def distances(cases: Sequence[Case]) -> Figure:
    """Draw how far GSP+CBP and ours are above our bound, for every problem."""
    figure, axes = new_axes(height=0.9 + 0.24 * len(cases))
    axes.axvline(0, color=MUTED, linewidth=1)
    for name, colour, marker in (("gsp+cbp", BLUE, "o"), (OURS, GREEN, "s")):
        above = [100 * (case.rungs[name].cost / case.bound - 1) for case in cases]
        axes.plot(above, range(len(cases)), linestyle="none", marker=marker, color=colour,
                  label=LADDER[name] if name == OURS else "GSP + CBP")  # fmt: skip
    axes.set_yticks(
        range(len(cases)),
        [f"{case.trace.name}, {case.instance}, tau {case.tau}" for case in cases],
    )
    axes.invert_yaxis()
    axes.set_xlabel("% above our bound")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure
