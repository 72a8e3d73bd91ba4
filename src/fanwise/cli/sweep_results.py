"""How ``fanwise sweep`` shows and writes its points."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanwise.cli import console
from fanwise.planning.family import Family, load
from fanwise.planning.parameter import Parameter

if TYPE_CHECKING:
    from fanwise.planning.problem import Problem
    from fanwise.planning.sweep import Sweep


def as_json(result: Sweep, problem: Problem, axes: list[str], out: Path | None) -> dict[str, Any]:
    """Return what programs get."""
    fixed = {
        name: value
        for name, value in problem.parameters().items()
        if name.removesuffix("_percent") not in axes
    }
    printed: dict[str, Any] = {
        "problem": problem.family,
        "workload": problem.workload.hash,
        "parameters": fixed,
        "varied": axes,
        "points": [point.to_dict() for point in result.points],
    }
    return printed if out is None else {**printed, "out": str(out)}


def show(result: Sweep, family: Family, varied: Sequence[Parameter], objective: str) -> None:
    """Print a table for people."""
    from fanwise.planning.showing import sweep_cells

    columns, rows = sweep_cells(result.points, family, varied, objective)
    console.out().print(console.table(f"{family.name}: what if", columns, rows))


def write(
    result: Sweep,
    family: Family,
    varied: Sequence[Parameter],
    objective: str,
    out: Path,
    *,
    overwrite: bool,
) -> None:
    """Write the points and their picture."""
    from fanwise.planning.outputs import CURVE
    from fanwise.planning.sweep import write_points
    from fanwise.report.comparison_plots import plot_sweep
    from fanwise.workload.folders import atomic_folder
    from fanwise.workload.plot_style import encode

    target = family.sweep_plots.get(varied[0].name) if len(varied) == 1 else None
    if target is None:
        figure = plot_sweep(result.points, varied, objective=objective)
    else:
        figure = load(target)(result.points)
    with atomic_folder(out, CURVE, overwrite=overwrite) as folder:
        write_points(result.points, folder / "points.csv")
        (folder / "curve.png").write_bytes(encode(figure, "png"))
