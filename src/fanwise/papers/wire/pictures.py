"""The pictures: the paper's Figs. 9 and 10, and our own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fanwise.papers.case import Case, grouped, pick
from fanwise.papers.course import Course
from fanwise.papers.curves import curve_figure
from fanwise.papers.panels import MOST_TICKS, Curve, row_of_axes, share_legend
from fanwise.papers.wire.runs import CORE_SHARE, IN_ORDER
from fanwise.workload.plot_style import BLUE, GREEN, ORANGE, SMALL, styled

HIGHEST = "no algorithm above"


def pictures(course: Course, cases: Sequence[Case]) -> dict[str, Figure]:
    """Return all pictures by file name."""
    return {
        "fig9-sizes": _ratios(course, "fig9-sizes", cases),
        "fig10-ratios": _ratios(course, "fig10-ratios", cases),
        "order": _order(cases),
        "cost-split": _splits(course, pick(cases, "9")),
        "audience": _ratios(course, "audience", cases),
    }


def _ratios(course: Course, name: str, cases: Sequence[Case]) -> Figure:
    """Draw the cost reduction ratio of every algorithm against what a figure varies."""
    figure = curve_figure(course.paper, name, cases, more=_highest)
    of = course.paper.entry("curves", name)["of"]
    for axes, own in zip(figure.axes, grouped(pick(cases, of), "regime").values(), strict=True):
        # The bound must not make the picture much higher.
        top = max(case.mean(one, "CRR") for case in own for one in case.kept["counts"])
        known = [at for curve in _highest("", own) for at in curve.y]
        axes.set_ylim(0, 1.08 * max(top, min(max(known, default=0.0), 1.6 * top)))
    return figure


def _highest(regime: str, cases: Sequence[Case]) -> Iterator[Curve]:
    """Yield what no algorithm surpasses."""
    known = [(case.x, case.results["network"][0]["highest CRR"]) for case in cases
             if "highest CRR" in case.results["network"][0]]  # fmt: skip
    if known:
        x, y = zip(*known, strict=True)
        yield Curve(x, y, f"{HIGHEST} (bound)", ORANGE, (0, (4, 2)))


@styled
def _order(cases: Sequence[Case]) -> Figure:
    """Draw on how many networks of a point the paper's order holds, by the core's share of cost."""
    figure, row = row_of_axes(1, height=3.0)
    axes = row[0]
    styles = zip((BLUE, ORANGE, GREEN), ("o", "s", "^"), strict=True)
    for (regime, own), (colour, marker) in zip(grouped(cases, "regime").items(), styles,
                                               strict=True):  # fmt: skip
        points = [case.results["network"][0] for case in own]
        axes.plot([at[CORE_SHARE] for at in points], [at[IN_ORDER] for at in points], marker,
                  color=colour, label=regime, markersize=4, alpha=0.7)  # fmt: skip
    axes.set_xlabel("core's share of what packing costs (%)")
    axes.set_ylabel("networks in the paper's order (%)")
    axes.set_ylim(-4, 104)
    share_legend(figure, row, columns=3)
    return figure


@styled
def _splits(course: Course, cases: Sequence[Case]) -> Figure:
    """Draw access and core of every algorithm as bars, the cost of random being 100%."""
    panels = grouped(cases, "regime")
    figure, row = row_of_axes(len(panels), height=3.0)
    for axes, (regime, own) in zip(row, panels.items(), strict=True):
        split = own[-1].kept["split"]
        left = [0.0] * len(split)
        for part, (label, colour) in enumerate((("access", BLUE), ("core", ORANGE))):
            width = [100 * parts[part] for parts in split.values()]
            axes.barh(range(len(split)), width, left=left, height=0.65, color=colour, label=label)
            left = width
        axes.set_yticks(range(len(split)), [course.paper.series[name].label for name in split])
        axes.tick_params(axis="y", length=0, labelleft=axes is row[0])
        axes.invert_yaxis()
        axes.grid(False, axis="y")
        axes.set_title(f"{regime},\n{own[-1].x:,} users", fontsize=SMALL + 0.5)
        axes.set_xlabel("cost (% of random's)")
        axes.xaxis.set_major_locator(MaxNLocator(MOST_TICKS))
    share_legend(figure, row, columns=2)
    return figure
