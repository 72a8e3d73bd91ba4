"""The pictures of ``reproduce``: the paper's Figs. 9 and 10, and our own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from fanwise.wire.reproducing.rows import HIGHEST, split
from fanwise.wire.reproducing.runs import Case
from fanwise.wire.reproducing.settings import LABELS, RANDOM
from fanwise.workload.look import (
    BLUE,
    GREEN,
    GRID,
    INK,
    MUTED,
    ORANGE,
    PURPLE,
    SMALL,
    VERMILION,
    WIDTH,
    styled,
)

STYLES = {
    "packing": (BLUE, "-", "o"),
    "clustering": (GREEN, "-", "^"),
    "steiner-mixing": (VERMILION, "-", "s"),
    "migration": (PURPLE, "-.", "v"),
    "best": (INK, "--", "D"),
}
PANEL, HEIGHT = 2.7, 3.0
MOST_TICKS = 5


@styled
def ratios(panels: Mapping[str, Sequence[Case]], x_label: str, *, is_log: bool = False) -> Figure:
    """Draw the cost reduction ratio of every algorithm against what a figure varies."""
    figure, row = _row_of_axes(len(panels))
    for axes, (title, cases) in zip(row, panels.items(), strict=True):
        x = [case.x for case in cases]
        for name in cases[0].names:
            colour, line, marker = STYLES[name]
            is_hollow = marker == "D"
            axes.plot(x, [case.crr(name) for case in cases], color=colour, linestyle=line,
                      marker=marker, label=LABELS[name], linewidth=1.3,
                      markersize=5.5 if is_hollow else 4,
                      markerfacecolor="none" if is_hollow else colour)  # fmt: skip
        axes.axhline(1.0, color=MUTED, linewidth=1.0, linestyle=":", label=LABELS[RANDOM])
        _draw_highest(axes, cases)
        axes.set_title(title, fontsize=SMALL + 0.5)
        axes.set_xlabel(x_label)
        axes.set_ylim(bottom=0)
        _mark_x(axes, x, is_log=is_log)
    row[0].set_ylabel("cost reduction ratio")
    _share_legend(figure, row[0], columns=4 if len(panels) > 1 else 2)
    return figure


def _draw_highest(axes: Axes, cases: Sequence[Case]) -> None:
    """Draw what no algorithm surpasses, without making the picture much higher for it."""
    known = [(case.x, case.highest_crr) for case in cases if case.highest_crr is not None]
    top = max(case.crr(name) for case in cases for name in case.names)
    if known:
        axes.plot(*zip(*known, strict=True), color=ORANGE, linewidth=1.3,
                  linestyle=(0, (4, 2)), label=f"{HIGHEST} (bound)")  # fmt: skip
        top = max(top, min(max(crr for _, crr in known), 1.6 * top))
    axes.set_ylim(0, 1.08 * top)


def _mark_x(axes: Axes, x: Sequence[float], *, is_log: bool) -> None:
    if is_log:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
        whole = [at for at in x if f"{at:e}"[0] == "1" and float(f"{at:.0e}") == at]
        ticks = whole if len(whole) > 1 else [x[0], x[-1]]
        axes.set_xticks(ticks, [f"{at:g}" for at in ticks])
        return
    axes.xaxis.set_major_locator(MaxNLocator(MOST_TICKS))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))


@styled
def splits(cases: Mapping[str, Case]) -> Figure:
    """Draw access and core of every algorithm as bars, the cost of random being 100%."""
    figure, row = _row_of_axes(len(cases), height=HEIGHT)
    for axes, (title, case) in zip(row, cases.items(), strict=True):
        names = [RANDOM, *case.names]
        for place, name in enumerate(names):
            access, core, _ = split(case, name)
            is_first = place == 0
            axes.barh(place, 100 * access, height=0.65, color=BLUE,
                      label="access" if is_first else None)  # fmt: skip
            axes.barh(place, 100 * core, left=100 * access, height=0.65, color=ORANGE,
                      label="core" if is_first else None)  # fmt: skip
        axes.set_yticks(range(len(names)), [LABELS[name] for name in names])
        axes.tick_params(axis="y", length=0, labelleft=axes is row[0])
        axes.invert_yaxis()
        axes.grid(False, axis="y")
        axes.set_title(title, fontsize=SMALL + 0.5)
        axes.set_xlabel("cost (% of random's)")
        axes.xaxis.set_major_locator(MaxNLocator(MOST_TICKS))
    _share_legend(figure, row[0], columns=2)
    return figure


def _row_of_axes(count: int, *, height: float = HEIGHT + 0.7) -> tuple[Figure, list[Axes]]:
    width = WIDTH if count == 1 else PANEL * count + 0.4
    figure = Figure(figsize=(width, height), layout="constrained")
    row = [figure.add_subplot(1, count, place + 1) for place in range(count)]
    for axes in row:
        axes.tick_params(color=MUTED, labelcolor=INK, labelsize=SMALL)
        axes.grid(True, color=GRID, linewidth=0.6)
    return figure, row


def _share_legend(figure: Figure, axes: Axes, *, columns: int) -> None:
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns,
                  handlelength=2.0, columnspacing=1.2, fontsize=SMALL)  # fmt: skip
