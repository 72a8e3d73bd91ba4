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
    from fanwise.planning.sweep import Point, Sweep


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
    shown = [metric for metric in family.metrics if metric.in_curves and metric.in_tables]
    amount = family.objective.write
    rows = []
    for point in result.points:
        cells: list[Any] = [_setting(point, parameter) for parameter in varied]
        cells += [metric.write(point.metrics[metric.name]) for metric in shown]
        cells += [amount(point.value), amount(point.bound)]
        missing = "no plan" if point.value is None else "breaks a limit"
        cells += [console.percent(point.gap), point.is_exact if point.feasible else missing]
        rows.append(cells)
    named = (parameter.label for parameter in varied)
    middle = (metric.label for metric in shown)
    columns = (*named, *middle, objective, "bound", "gap", "exact")
    console.out().print(console.table(f"{family.name}: what if", columns, rows))


def _setting(point: Point, parameter: Parameter) -> str:
    percent = point.parameters.get(f"{parameter.name}_percent")
    value = point.parameters[parameter.name]
    return parameter.write(value) if percent is None else f"{percent:g}%"


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
