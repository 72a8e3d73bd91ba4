"""How every picture looks: colours, type, sizes, in one place.

A picture function is decorated with :func:`styled`, takes its axes from :func:`new_axes`, and
returns the :class:`~matplotlib.figure.Figure`. Nothing here touches ``pyplot`` or needs a display.
Files are made by :func:`encode`: the same figure gives the same bytes.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

import matplotlib as mpl
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fanwise.workload.folders import atomic_folder
from fanwise.workload.outputs import PICTURES, PROGRAM

ImageFormat = Literal["png", "svg", "pdf"]
FORMATS: tuple[ImageFormat, ...] = ("png", "svg", "pdf")

# Okabe and Ito's colours can be told apart with any kind of colour vision, and on grey paper.
BLUE = "#0072B2"
ORANGE = "#E69F00"
GREEN = "#009E73"
VERMILION = "#D55E00"
PURPLE = "#CC79A7"
SKY = "#56B4E9"
INK = "#222222"
MUTED = "#6B6B6B"
GRID = "#DDDDDD"
COLOURS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY)
LINES = ("-", "--", "-.", ":")
"""Series differ by line style as well, so that they do in black and white."""

WIDTH, HEIGHT = 4.6, 3.1
"""Inches: a text column, legible when a two-column paper shrinks it."""
DPI = 200
SMALL = 8.5

STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.labelsize": 10,
    "axes.linewidth": 0.8,
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.dpi": DPI,
    "figure.facecolor": "white",
    "font.family": ["DejaVu Sans"],  # matplotlib brings it along: the same picture everywhere
    "font.size": 10,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "legend.fontsize": SMALL + 0.5,
    "legend.frameon": False,
    "lines.linewidth": 1.7,
    "lines.markersize": 4.5,
    "path.simplify": True,
    "pdf.fonttype": 42,
    "savefig.dpi": DPI,
    "svg.fonttype": "path",
    "svg.hashsalt": "fanwise",
    "text.color": INK,
    "xtick.labelsize": SMALL + 0.5,
    "ytick.labelsize": SMALL + 0.5,
}

P = ParamSpec("P")
R = TypeVar("R")


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Run a picture function under the house style, leaving matplotlib's own settings alone."""

    @wraps(draw)
    def draw_styled(*args: P.args, **kwargs: P.kwargs) -> R:
        with mpl.rc_context(STYLE):
            return draw(*args, **kwargs)

    return draw_styled


@styled
def new_axes(*, width: float = WIDTH, height: float = HEIGHT) -> tuple[Figure, Axes]:
    """Return an empty figure with one pair of axes and a light grid."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    # Ticks are made when drawn, maybe outside the style: fix what they look like now.
    axes.tick_params(which="major", color=MUTED, labelcolor=INK, labelsize=SMALL + 0.5, length=3.5)
    axes.tick_params(which="minor", color=MUTED, length=2)
    axes.grid(True, which="major", color=GRID, linewidth=0.6)
    return figure, axes


def use_log_scale(axes: Axes, *, x: bool = True, y: bool = True) -> None:
    """Make axes logarithmic; zeros lie beyond the lower edge."""
    if x:
        axes.set_xscale("log", nonpositive="clip")
    if y:
        axes.set_yscale("log", nonpositive="clip")


def say_empty(axes: Axes, text: str = "nothing to show") -> None:
    """Write a note in the middle of axes that have no data."""
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(False)
    axes.text(0.5, 0.5, text, ha="center", va="center", color=MUTED, transform=axes.transAxes)


def encode(figure: Figure, image_format: ImageFormat, *, dpi: float = DPI) -> bytes:
    """Return a figure as the bytes of a file, without date or version in it."""
    buffer = io.BytesIO()
    metadata: dict[ImageFormat, dict[str, Any]] = {
        "png": {"Software": PROGRAM},
        "svg": {"Date": None, "Creator": PROGRAM},
        "pdf": {"CreationDate": None, "Producer": None, "Creator": PROGRAM},
    }
    with mpl.rc_context(STYLE):
        figure.savefig(buffer, format=image_format, metadata=metadata[image_format], dpi=dpi)
    return buffer.getvalue()


def save_figures(
    figures: Mapping[str, Figure],
    path: str | Path,
    *,
    image_format: ImageFormat = "png",
    overwrite: bool = False,
) -> list[str]:
    """Write figures into a folder that appears whole or not at all.

    Parameters
    ----------
    figures
        By file name, without suffix.

    Returns
    -------
    list
        The names of the files in the folder.
    """
    names = [f"{name}.{image_format}" for name in figures]
    with atomic_folder(path, PICTURES, overwrite=overwrite) as folder:
        for name, figure in zip(names, figures.values(), strict=True):
            (folder / name).write_bytes(encode(figure, image_format))
    return names
