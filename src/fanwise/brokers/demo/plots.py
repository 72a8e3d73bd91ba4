"""A picture of the demo's cost over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from fanwise.brokers.demo.costs import Costs


def cost_figure(costs: Sequence[Costs]) -> Figure:
    """Return cost over time: as it was, if nobody had moved, and solved centrally."""
    figure = Figure(figsize=(7.5, 4), layout="constrained")
    axes = figure.add_subplot()
    seconds = [one.seconds for one in costs]
    axes.plot(seconds, [one.never for one in costs], label="nobody ever moves", color="0.6")
    axes.plot(seconds, [one.now for one in costs], label="brokers move their clients")
    solved = [(one.seconds, one.central) for one in costs if one.central is not None]
    if solved:
        axes.plot(*zip(*solved, strict=True), "o--", label="solved centrally at that moment")
    axes.set_xlabel("seconds")
    axes.set_ylabel("cost C1 + C2 for a second")
    axes.set_ylim(bottom=0)
    axes.legend()
    return figure


def save_cost_figure(costs: Sequence[Costs], path: Path) -> None:
    """Write the picture; its format follows the name."""
    cost_figure(costs).savefig(path, dpi=130)
