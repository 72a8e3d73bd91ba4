"""The pictures of ``reproduce``: the paper's Figs. 3 to 9, and our own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fanwise.connect.reproducing.runs import Case, Complete
from fanwise.connect.reproducing.settings import PAPER_TABLE, SERIES
from fanwise.workload.look import (
    BLUE,
    COLOURS,
    GREEN,
    GRID,
    INK,
    LINES,
    MUTED,
    ORANGE,
    PURPLE,
    SKY,
    SMALL,
    VERMILION,
    WIDTH,
    styled,
)
from fanwise.workload.statistics import Statistics

STYLES = {
    "gpa": (BLUE, "-", "o"),
    "gpm": (VERMILION, "-", "s"),
    "spidercast": (GREEN, "-", "^"),
    "random-average": (MUTED, "--", "x"),
    "random-maximum": (MUTED, "-", "+"),
    "random-average-shared": (ORANGE, "--", "x"),
    "random-maximum-shared": (ORANGE, "-", "+"),
    "gossip": (PURPLE, "-.", "v"),
    "best": (INK, "--", "D"),
    "best-edges": (SKY, "--", "D"),
}
PANEL = 2.7
HEIGHT = 2.9


@styled
def supports(panels: Mapping[str, Sequence[Case]], x_label: str) -> Figure:
    """Draw support of every algorithm against what a figure varies, a panel each."""
    figure, row = _row_of_axes(len(panels))
    for axes, (title, cases) in zip(row, panels.items(), strict=True):
        for name in cases[0].results:
            colour, line, marker = STYLES[name]
            axes.plot(
                [case.x for case in cases],
                [case.results[name].support for case in cases],
                color=colour, linestyle=line, marker=marker, label=SERIES[name].label,
                markersize=4, linewidth=1.3, markerfacecolor="none" if marker == "D" else colour,
            )  # fmt: skip
        for name, support in _told(title, cases).items():
            axes.plot([0.2], [support], linestyle="none", marker="*", markersize=9,
                      color=STYLES[name][0], markeredgecolor="white", zorder=5)  # fmt: skip
        axes.set_title(title, fontsize=SMALL + 0.5)
        axes.set_ylim(0, 1.03)
        axes.set_xlabel(x_label)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    row[0].set_ylabel("support")
    _share_legend(figure, row[0], columns=3 if len(panels) > 1 else 2)
    return figure


def _told(title: str, cases: Sequence[Case]) -> dict[str, float]:
    """Return the paper's numbers of Table I where a figure has the same instance."""
    if not cases or cases[0].figure not in ("4", "5"):
        return {}
    return next((told for name, told in PAPER_TABLE.items() if title.startswith(name)), {})


@styled
def follows(graphs: Mapping[str, Statistics], samples: Mapping[str, Statistics]) -> Figure:
    """Draw the CCDF of followers and followings: whole graphs, and samples of them."""
    figure, row = _row_of_axes(2, panel=3.4)
    for axes, title, found in (
        (row[0], "whole graphs", graphs),
        (row[1], "samples", samples),
    ):
        for k, (name, statistics) in enumerate(found.items()):
            for kind, line in (("followings", "-"), ("followers", ":")):
                ccdf = getattr(statistics, kind).ccdf
                axes.step(np.maximum(ccdf.x, 1), ccdf.p, where="post", linestyle=line,
                          color=COLOURS[k % len(COLOURS)], linewidth=1.3,
                          label=name if line == "-" else None)  # fmt: skip
        axes.set_xscale("log")
        axes.set_yscale("log", nonpositive="clip")
        axes.set_title(f"{title} (dotted: followers)", fontsize=SMALL + 0.5)
        axes.set_xlabel("followings or followers")
        axes.legend(loc="upper center", bbox_to_anchor=(0.45, -0.22), fontsize=SMALL - 0.5,
                    handlelength=1.5, labelspacing=0.3)  # fmt: skip
    row[0].set_ylabel("share of users with more")
    return figure


@styled
def pareto(completes: Mapping[str, Mapping[str, Complete]]) -> Figure:
    """Draw support against the share of links in the order chosen, of complete overlays."""
    figure, row = _row_of_axes(2)
    for axes, name, title in (
        (row[0], "gm", "GM"),
        (row[1], "minmax-oda", "MinMaxODA"),
    ):
        for k, (panel, by_name) in enumerate(completes.items()):
            curve = by_name[name].curve
            shares = np.linspace(0, 1, 201)
            axes.plot(100 * shares, [curve.after(share) for share in shares],
                      color=COLOURS[k % len(COLOURS)],
                      linestyle=LINES[k // len(COLOURS) % len(LINES)], linewidth=1.3,
                      label=panel)  # fmt: skip
        axes.plot([20, 20, 0], [0, 0.8, 0.8], color=MUTED, linewidth=0.9, linestyle=":")
        axes.set_title(title, fontsize=SMALL + 0.5)
        axes.set_ylim(0, 1.03)
        axes.set_xlim(0, 100)
        axes.set_xlabel("first links (% of all)")
    row[0].set_ylabel("support")
    _share_legend(figure, row[0], columns=5)
    return figure


@styled
def gossip(found: Sequence[Mapping[str, Any]], case: Case) -> Figure:
    """Draw support against rounds by view size, next to GPM and SpiderCastM."""
    figure, (axes,) = _row_of_axes(1)
    for k, view in enumerate(dict.fromkeys(at["view"] for at in found)):
        own = [at for at in found if at["view"] == view]
        axes.plot([at["rounds"] for at in own], [at["support"] for at in own], marker="o",
                  markersize=3.5, color=COLOURS[k % len(COLOURS)], linestyle=LINES[k % len(LINES)],
                  label=f"view of {view}")  # fmt: skip
    for name, line in (("gpm", "--"), ("spidercast", "-."), ("random-maximum", ":")):
        axes.axhline(case.results[name].support, color=INK, linewidth=1, linestyle=line,
                     label=SERIES[name].label)  # fmt: skip
    axes.set_ylim(0, 1.03)
    axes.set_xlim(left=0)
    axes.set_xlabel("rounds")
    axes.set_ylabel("support")
    _share_legend(figure, axes, columns=2)
    return figure


def _row_of_axes(count: int, *, panel: float = PANEL) -> tuple[Figure, list[Axes]]:
    width = WIDTH if count == 1 else panel * count + 0.4
    figure = Figure(figsize=(width, HEIGHT + 0.8), layout="constrained")
    row = [figure.add_subplot(1, count, place + 1) for place in range(count)]
    for axes in row:
        axes.tick_params(color=MUTED, labelcolor=INK, labelsize=SMALL)
        axes.grid(True, color=GRID, linewidth=0.6)
    return figure, row


def _share_legend(figure: Figure, axes: Axes, *, columns: int) -> None:
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns,
                  handlelength=1.8, columnspacing=1.2, fontsize=SMALL)  # fmt: skip
