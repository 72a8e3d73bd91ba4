"""How ``fanwise sweep`` shows and writes its points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanwise.cli import console, problems
from fanwise.wording import span

if TYPE_CHECKING:
    from fanwise.planning.problem import Problem
    from fanwise.planning.sweep import Point, Sweep

AXIS_NAMES = {
    "message_bytes": "message bytes",
    "horizon_seconds": "horizon",
    "max_degree": "degree limit",
    "max_edges": "link limit",
    "budget_ratio": "budget ratio",
    "max_delay": "delay limit",
    "lbf_max": "load limit",
    "core_factor": "core costs times",
    "capacity_factor": "capacities times",
}
"""How people call what is varied, where its own name is not it."""
SHOWN: Mapping[str, tuple[tuple[str, str, Callable[[Any], str]], ...]] = {
    "select": (("used", "used", console.number), ("served", "served topics", console.number)),
    "provision": (("vms", "machines", console.number),),
    "connect": (
        ("edges", "links", console.number),
        ("max_degree", "largest degree", console.number),
        ("support", "support", console.percent),
    ),
    "assign": (
        ("lbf", "load-balance factor", console.number),
        ("late", "late", console.number),
    ),
    "wire": (
        ("access", "access", console.number),
        ("core", "core", console.number),
        ("overloaded", "overloaded", console.number),
    ),
}
"""What of a point's metrics people see: metric, its name for them, how it is written."""


def as_json(result: Sweep, posed: Problem, axes: list[str], out: Path | None) -> dict[str, Any]:
    """Return what programs get."""
    fixed = {
        name: value
        for name, value in posed.parameters().items()
        if name.removesuffix("_percent") not in axes
    }
    printed: dict[str, Any] = {
        "problem": posed.family,
        "workload": posed.workload.hash,
        "parameters": fixed,
        "varied": axes,
        "points": [point.to_dict() for point in result.points],
    }
    return printed if out is None else {**printed, "out": str(out)}


def show(result: Sweep, problem: str, axes: list[str], objective: str) -> None:
    """Print a table for people."""
    posing = problems.POSINGS[problem]
    rows = []
    for point in result.points:
        cells: list[Any] = [_setting(point, axis) for axis in axes]
        for metric, _, write in SHOWN[problem]:
            cells.append(write(point.metrics[metric]))
        cells += [posing.amount(point.value), posing.amount(point.bound)]
        missing = "no plan" if point.value is None else "breaks a limit"
        cells += [console.percent(point.gap), point.is_exact if point.feasible else missing]
        rows.append(cells)
    middle = (name for _, name, _ in SHOWN[problem])
    named = (AXIS_NAMES.get(axis, axis) for axis in axes)
    columns = (*named, *middle, objective, "bound", "gap", "exact")
    console.out().print(console.table(f"{problem}: what if", columns, rows))


def _setting(point: Point, axis: str) -> str:
    if axis == "horizon_seconds":
        return span(point.parameters[axis])
    percent = point.parameters.get(f"{axis}_percent")
    return console.number(point.parameters[axis]) if percent is None else f"{percent:g}%"


def write(
    result: Sweep, problem: str, axes: list[str], objective: str, out: Path, *, overwrite: bool
) -> None:
    """Write the points and their picture."""
    from fanwise.planning.outputs import CURVE
    from fanwise.planning.sweep import write_points
    from fanwise.report.comparison_plots import plot_sweep
    from fanwise.workload.folders import atomic_folder
    from fanwise.workload.look import encode

    if problem == "provision" and axes == ["tau"]:
        from fanwise.provision.plots import plot_cost_against_tau

        figure = plot_cost_against_tau({result.points[0].algorithm: result.points})
    else:
        figure = plot_sweep(result.points, axes, objective=objective)
    with atomic_folder(out, CURVE, overwrite=overwrite) as folder:
        write_points(result.points, folder / "points.csv")
        (folder / "curve.png").write_bytes(encode(figure, "png"))
