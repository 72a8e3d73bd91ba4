"""Pictures from curves and bars: panels side by side, one legend for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from fanwise.papers.paper import Paper, Series
from fanwise.workload import plot_style
from fanwise.workload.plot_style import GRID, INK, MUTED, SMALL, WIDTH, styled

PANEL, HEIGHT = 2.9, 3.6
"""Inches: a panel among several, a row of panels with its legend."""
MOST_TICKS = 6
SHORT_SPAN = 100.0
"""Logarithmic axes that reach no further have marks between powers of ten as well."""
MOST_LABELLED = 6
"""Logarithmic axes say the points themselves if there are no more of them."""


@dataclass(frozen=True)
class Curve:
    """One line of a panel; without a line, points.

    Attributes
    ----------
    band
        Lowest and highest values around the curve.
    size
        Of the markers.
    """

    x: Sequence[float]
    y: Sequence[float]
    label: str | None
    colour: str
    line: Any = "-"
    marker: str = ""
    band: tuple[Sequence[float], Sequence[float]] | None = None
    size: float = 4.0
    width: float = 1.3
    is_step: bool = False


@dataclass(frozen=True)
class Axis:
    """One direction of a panel.

    Attributes
    ----------
    ticks
        Where to have marks; None leaves it to the picture.
    """

    label: str = ""
    is_log: bool = False
    low: float | None = None
    high: float | None = None
    ticks: Sequence[float] | None = None


@dataclass(frozen=True)
class Panel:
    """Curves over the same axes; ``levels`` are values that a dashed line marks."""

    curves: Sequence[Curve]
    x: Axis
    y: Axis
    title: str = ""
    levels: Sequence[float] = ()


def axis_of(paper: Paper, name: str, **more: Any) -> Axis:
    """Return one of the ``axes``, which is called what its entry says, or else by its name."""
    return Axis(**{"label": name, **paper.content["axes"].get(name, {}), **more})


def style_of(series: Series) -> tuple[str, str, str]:
    """Return colour, line and marker that a series has in every picture."""
    given = series.style.split()
    colour, line, marker = (*given, *("ink", "-", "")[len(given) :])
    return (colour if colour.startswith("#") else getattr(plot_style, colour.upper())), line, marker


def colour_of(series: Series) -> str:
    """Return the colour that a series has in every picture."""
    return style_of(series)[0]


def curve_of(series: Series, x: Sequence[float], y: Sequence[float], **style: Any) -> Curve:
    """Return a curve in the style of a series."""
    return Curve(x, y, style.pop("label", series.label), *style_of(series), **style)


def star(series: Series, x: float, y: float) -> Curve:
    """Return the mark of a number that the paper prints."""
    return Curve([x], [y], None, colour_of(series), "none", "*", size=9.0)


@styled
def draw(panels: Sequence[Panel], *, columns: int = 4, width: float | None = None,
         height: float = HEIGHT) -> Figure:  # fmt: skip
    """Draw panels side by side; the legend has so many columns."""
    figure, row = row_of_axes(len(panels), width=width, height=height)
    for axes, panel in zip(row, panels, strict=True):
        for curve in panel.curves:
            draw_curve(axes, curve)
        for level in panel.levels:
            axes.axhline(level, color=INK, linewidth=0.8, linestyle="--")
        axes.set_title(panel.title, fontsize=SMALL + 0.5)
        points = sorted({at for curve in panel.curves for at in curve.x})
        set_axis(axes, "x", panel.x, points)
        set_axis(axes, "y", panel.y, ())
        if panel.y.label == panels[0].y.label and axes is not row[0]:
            axes.set_ylabel("")
    share_legend(figure, row, columns=columns)
    return figure


def draw_curve(axes: Axes, curve: Curve) -> None:
    """Add a curve to a panel."""
    is_hollow = curve.marker == "D"
    axes.plot(curve.x, curve.y, color=curve.colour, linestyle=curve.line, marker=curve.marker,
              linewidth=curve.width, markersize=curve.size + 1.5 * is_hollow, label=curve.label,
              markerfacecolor="none" if is_hollow else curve.colour,
              markeredgecolor="white" if curve.marker == "*" else curve.colour,
              zorder=5 if curve.marker == "*" else None,
              drawstyle="steps-post" if curve.is_step else None)  # fmt: skip
    if curve.band is not None:
        axes.fill_between(curve.x, *curve.band, color=curve.colour, alpha=0.15, linewidth=0)


def set_axis(axes: Axes, name: str, axis: Axis, points: Sequence[float]) -> None:
    """Scale, mark and name one direction; the points are where something was measured."""
    own = getattr(axes, f"{name}axis")
    getattr(axes, f"set_{name}label")(axis.label)
    ticks = axis.ticks
    if axis.is_log:
        getattr(axes, f"set_{name}scale")("log", nonpositive="clip")
        own.set_minor_locator(NullLocator())
        if ticks is None and 1 < len(points) <= MOST_LABELLED:
            ticks = points
        low, high = getattr(axes, f"get_{name}lim")()
        is_short = high / low < SHORT_SPAN
        own.set_major_locator(LogLocator(subs=(1, 2, 5) if is_short else (1,), numticks=9))
    else:
        own.set_major_locator(MaxNLocator(MOST_TICKS, steps=[1, 2, 5, 10]))
    if ticks is not None:
        own.set_major_locator(FixedLocator(list(ticks)))
    own.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    ends = {
        "bottom" if name == "y" else "left": axis.low,
        "top" if name == "y" else "right": axis.high,
    }
    getattr(axes, f"set_{name}lim")(**{end: at for end, at in ends.items() if at is not None})


def draw_bars(
    axes: Axes,
    heights: Mapping[str, Sequence[float]],
    styles: Sequence[Mapping[str, Any]],
    ticks: Sequence[str],
) -> None:
    """Add bars in groups, one of each series in a group.

    Parameters
    ----------
    heights
        By label of the series, one for each group.
    looks
        Colour and hatches of each series.
    ticks
        Names of the groups.
    """
    width = 0.84 / len(heights)
    at = np.arange(len(ticks))
    for index, ((label, own), style) in enumerate(zip(heights.items(), styles, strict=True)):
        axes.bar(at + (index - (len(heights) - 1) / 2) * width, own, width, label=label, **style)
    axes.set_xticks(at, ticks)
    axes.tick_params(axis="x", length=0)
    axes.grid(False, axis="x")


def row_of_axes(
    count: int, *, width: float | None = None, height: float = HEIGHT
) -> tuple[Figure, list[Axes]]:
    """Return a figure with panels side by side."""
    if width is None:
        width = WIDTH if count == 1 else PANEL * count + 0.4
    figure = Figure(figsize=(width, height), layout="constrained")
    row = [figure.add_subplot(1, count, index + 1) for index in range(count)]
    for axes in row:
        axes.tick_params(color=MUTED, labelcolor=INK, labelsize=SMALL)
        axes.grid(True, color=GRID, linewidth=0.6)
    return figure, row


def share_legend(figure: Figure, row: Sequence[Axes], *, columns: int) -> None:
    """Put one legend below all panels, each label once; none where there is only one."""
    shown: dict[str, Any] = {}
    for axes in row:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            shown.setdefault(label, handle)
    if len(shown) > 1:
        figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=columns,
                      handlelength=1.8, columnspacing=1.2, fontsize=SMALL)  # fmt: skip
