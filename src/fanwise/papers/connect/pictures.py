"""The pictures: the paper's Figs. 3 to 9, and our own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fanwise.papers.case import Case
from fanwise.papers.connect.comparisons import support, told_support
from fanwise.papers.connect.runs import Completes
from fanwise.papers.course import Course
from fanwise.papers.curves import curve_figure
from fanwise.papers.panels import Axis, Curve, Panel, draw, row_of_axes, star
from fanwise.workload.plot_style import COLOURS, INK, LINES, MUTED, SMALL, styled
from fanwise.workload.topic.statistics import Statistics

SUPPORT = Axis("support", low=0.0, high=1.03)


def support_figures(
    course: Course, cases: Sequence[Case], titles: Mapping[str, str]
) -> dict[str, Figure]:
    """Draw Figs. 4 to 9; stars in the first two are the paper's Table I."""

    def stars(panel: str, own: Sequence[Case]) -> Iterator[Curve]:
        for name, series in course.paper.series.items():
            told = told_support(course, own[0], name)
            if told is not None and own[0].figure in course.settings.ratio_figures:
                yield star(series, course.settings.beta, told)

    names = ("fig4-fb-1k", "fig5-tw-1k", "fig6-nodes", "fig7-topics", "fig8-sizes", "fig9-ratios")
    return {name: curve_figure(course.paper, name, cases, more=stars, titles=titles)
            for name in names}  # fmt: skip


@styled
def follows(graphs: Mapping[str, Statistics], samples: Mapping[str, Statistics]) -> Figure:
    """Draw the CCDF of followers and followings: whole graphs, and samples of them."""
    figure, row = row_of_axes(2, width=7.2)
    for axes, title, found in ((row[0], "whole graphs", graphs), (row[1], "samples", samples)):
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


def first_links(completes: Completes) -> Figure:
    """Draw support against the share of links in the order chosen, of complete overlays."""
    shares = [step / 200 for step in range(201)]
    rule = Curve([20, 20, 0], [0, 0.8, 0.8], None, MUTED, ":", width=0.9)
    panels = []
    for name, title in (("gm", "GM"), ("minmax-oda", "MinMaxODA")):
        curves = [
            Curve([100 * share for share in shares],
                  [found[name].curve.after(share) for share in shares], panel,
                  COLOURS[k % len(COLOURS)], LINES[k // len(COLOURS) % len(LINES)])
            for k, (panel, found) in enumerate(completes.items())
        ]  # fmt: skip
        x = Axis("first links (% of all)", low=0.0, high=100.0)
        panels.append(Panel([*curves, rule], x, SUPPORT, title))
    return draw(panels, columns=5)


def gossip(course: Course, found: Sequence[Mapping[str, Any]], case: Case) -> Figure:
    """Draw support against rounds by view size, next to algorithms that know everything."""
    curves = []
    for k, view in enumerate(course.settings.views):
        own = [at for at in found if at["view"] == view]
        curves.append(Curve([at["rounds"] for at in own], [at["support"] for at in own],
                            f"view of {view}", COLOURS[k % len(COLOURS)], LINES[k % len(LINES)],
                            "o", size=3.5))  # fmt: skip
    ends = [0, max(at["rounds"] for at in found)]
    for name, line in (("gpm", "--"), ("spidercast", "-."), ("random-maximum", ":")):
        curves.append(Curve(ends, 2 * [support(case, name)], course.paper.series[name].label, INK,
                            line, width=1.0))  # fmt: skip
    return draw([Panel(curves, Axis("rounds", low=0.0), SUPPORT)], columns=2)
