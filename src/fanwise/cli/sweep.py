"""``fanwise sweep``."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from fanwise.cli import console, options, parameters, sweep_results
from fanwise.cli.planning_command import check_algorithm
from fanwise.cli.solving import INTERRUPTED
from fanwise.cli.stating import Question, asking, state_problem
from fanwise.errors import FanwiseError
from fanwise.planning.families import FAMILIES
from fanwise.planning.family import Curve, Family
from fanwise.planning.parameter import flag

ABOUT = """What-if curves: value and bound as a parameter of the problem changes.

{} Several lists give a plan for each combination.

Example: [bold]fanwise sweep select spotify/ --tau 27 --capacities 1%,5%,20%,50%[/bold]
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    about = " ".join(f"{family.name}: {_what_varies(family)}." for family in FAMILIES.values())
    app.command("sweep", help=ABOUT.format(about))(asking(sweep, has_lists=True))


def _what_varies(family: Family) -> str:
    if family.curve is not None:
        return family.curve.about
    *first, last = _list_flags(family)
    return "against " + (f"{', '.join(first)} or {last}" if first else last)


def _list_flags(family: Family) -> list[str]:
    return [flag(axis.option) for axis in parameters.axes_of(family).values()]


def sweep(
    question: Question,
    exact_points: Annotated[
        bool,
        typer.Option(
            "--exact-points",
            help="select: a run of its own for each capacity, in place of one greedy run for all.",
        ),
    ] = False,
    algorithm: Annotated[
        str | None,
        typer.Option(
            "--algorithm",
            "-a",
            help="What makes the plan of a point that has its own run. Default: the family's.",
            show_default=False,
        ),
    ] = None,
    seed: options.Seed = 0,
    time_limit: options.TimeLimitEach = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Folder to write points.csv and a picture to; must not exist.",
            show_default=False,
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Show what-if curves."""
    from fanwise.planning.outputs import CURVE
    from fanwise.planning.sweep import sweep as solve_points
    from fanwise.planning.sweep import sweep_from_one_run
    from fanwise.workload.folders import refuse_existing

    family, given = question.family, dict(question.given)
    if algorithm is not None:
        _check_algorithm(family, algorithm)
    axes = question.read_lists()
    has_curve = False
    if family.curve is not None:
        if family.curve.along not in given:
            axes.setdefault(family.curve.along, list(family.curve.values))
            has_curve = not exact_points
        _check_curve(family, family.curve, axes, exact_points=exact_points)
        if has_curve and algorithm not in (None, family.curve.algorithm):
            raise FanwiseError(
                f"one run gives the curve of {family.curve.algorithm} alone; add --exact-points "
                f"for {algorithm}."
            )
    elif exact_points:
        raise FanwiseError(f"--exact-points is not an option of {family.name}.")
    if not axes:
        advice = " or ".join(f"{option} A,B" for option in _list_flags(family))
        raise FanwiseError(f"nothing to sweep; give {advice}.")
    for name, axis in parameters.axes_of(family).items():
        if name in axes and axis.states:
            given[name] = axes[name][0]
    if out is not None:
        refuse_existing(out, CURVE, overwrite=overwrite, inputs=[question.workload])

    problem = state_problem(family, question.workload, given)
    with console.progress() as progress:
        if has_curve:
            result = sweep_from_one_run(problem, axes, progress=progress)
        else:
            changes = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
            result = solve_points(
                problem, changes, algorithm, seed=seed, time_limit=time_limit, progress=progress
            )
    varied = [family.parameter(name) for name in axes]
    objective = family.objective.title(problem.parameters())
    if out is not None:
        sweep_results.write(result, family, varied, objective, out, overwrite=overwrite)
    if as_json:
        console.print_json(sweep_results.as_json(result, problem, list(axes), out))
    else:
        sweep_results.show(result, family, varied, objective)
        if out is not None:
            console.out().print(f"Points and picture written to {out}", markup=False)
    if result.is_interrupted:
        raise typer.Exit(INTERRUPTED)
    if not any(point.feasible for point in result.points):
        console.warn("no point has a plan within its limits.")
        raise typer.Exit(1)


def _check_curve(
    family: Family, curve: Curve, axes: Mapping[str, list[Any]], *, exact_points: bool
) -> None:
    """Refuse what contradicts itself in a sweep that one run could give."""
    along = parameters.axes_of(family)[curve.along]
    lists = flag(along.option)
    if not axes:
        others = " or ".join(option for option in _list_flags(family) if option != lists)
        raise FanwiseError(
            f"{family.parameter(curve.along).flag} fixes what is swept; give {others} beside it, "
            f"or {lists} instead."
        )
    if curve.along not in axes and exact_points:
        raise FanwiseError(
            f"--exact-points goes with {lists}; each {' and '.join(axes)} has its own run."
        )


def _check_algorithm(family: Family, algorithm: str) -> None:
    if len(family.stages) == 1:
        check_algorithm(family, algorithm, *family.stages)
    else:
        family.algorithms(algorithm)
