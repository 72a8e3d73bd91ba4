"""``fanwise sweep``."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanwise.cli import console, options, problems, sweep_results
from fanwise.cli.question import Question, asking
from fanwise.cli.solving import INTERRUPTED, check_algorithm
from fanwise.cli.sweep_axes import options_of, read_axes
from fanwise.errors import FanwiseError
from fanwise.planning.families import find_family

if TYPE_CHECKING:
    from fanwise.planning.sweep import Point, Sweep
    from fanwise.progress import Progress

ONE_RUN = "greedy"
"""What a curve from one run is of."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sweep")(asking(sweep))


def sweep(
    question: Question,
    taus: Annotated[
        str | None,
        typer.Option(help="Thresholds to try, apart by commas: 10,27,100.", show_default=False),
    ] = None,
    capacities: Annotated[
        str | None,
        typer.Option(
            help="select: capacities to try: 1%,5%,20%. Default: 1% to 100%.", show_default=False
        ),
    ] = None,
    instances: Annotated[
        str | None,
        typer.Option(
            help="provision: types of machine to try: c3.large,c3.xlarge,auto.", show_default=False
        ),
    ] = None,
    message_sizes: Annotated[
        str | None,
        typer.Option(help="provision: bytes of a message to try: 111,200.", show_default=False),
    ] = None,
    horizons: Annotated[
        str | None,
        typer.Option(
            help="provision: how long the machines run, to try: 1d,10d,30d.", show_default=False
        ),
    ] = None,
    max_degrees: Annotated[
        str | None,
        typer.Option(help="connect: most links of a node, to try: 2,4,8.", show_default=False),
    ] = None,
    edge_limits: Annotated[
        str | None,
        typer.Option(help="connect: most links in all, to try: 100,1000.", show_default=False),
    ] = None,
    budget_ratios: Annotated[
        str | None,
        typer.Option(
            help="connect: shares of the complete overlay to try: 0.1,0.2,0.5.", show_default=False
        ),
    ] = None,
    alphas: Annotated[
        str | None,
        typer.Option(
            help="assign: most rectangles of a filter, to try: 1,2,4.", show_default=False
        ),
    ] = None,
    max_delays: Annotated[
        str | None,
        typer.Option(help="assign: delays allowed, to try: 0.1,0.3,1.", show_default=False),
    ] = None,
    load_limits: Annotated[
        str | None,
        typer.Option(
            help="assign: largest load-balance factors to try: 1.5,2.", show_default=False
        ),
    ] = None,
    core_factors: Annotated[
        str | None,
        typer.Option(
            help="wire: costs between brokers, times these: 0.1,1,10.", show_default=False
        ),
    ] = None,
    capacity_factors: Annotated[
        str | None,
        typer.Option(help="wire: capacities, times these: 0.5,1,2.", show_default=False),
    ] = None,
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
    """What-if curves: value and bound as a parameter of the problem changes.

    select: against capacity, from one greedy run and one relaxation (a point
    that is not exact is a lower bound on greedy; --exact-points makes a plan
    for each), or with --taus against tau. provision: against --taus,
    --instances, --message-sizes and --horizons, a plan for each combination.
    connect: against --max-degrees, --edge-limits or --budget-ratios. assign:
    against --alphas, --max-delays or --load-limits. wire: against
    --core-factors or --capacity-factors.

    Example: [bold]fanwise sweep select spotify/ --tau 27 --capacities 1%,5%,20%,50%[/bold]
    """
    from fanwise.planning.outputs import CURVE
    from fanwise.workload.folders import refuse_existing

    problem, given = question.problem, question.given()
    lists = {
        "taus": taus,
        "capacities": capacities,
        "instances": instances,
        "message-sizes": message_sizes,
        "horizons": horizons,
        "max-degrees": max_degrees,
        "edge-limits": edge_limits,
        "budget-ratios": budget_ratios,
        "alphas": alphas,
        "max-delays": max_delays,
        "load-limits": load_limits,
        "core-factors": core_factors,
        "capacity-factors": capacity_factors,
    }
    if algorithm is not None:
        _check_algorithm(problem, algorithm)
    axes = read_axes(question, lists)
    if exact_points and problem != "select":
        raise FanwiseError(f"--exact-points is not an option of {problem}.")
    has_curve = False
    if problem == "select":
        if question.capacity is None:
            axes.setdefault("capacity", _default_capacities())
            given["capacity"] = axes["capacity"][-1]
            has_curve = not exact_points
        _check_selection(axes, algorithm, has_curve=has_curve, exact_points=exact_points)
    if not axes:
        options_to_give = " or ".join(f"--{name} A,B" for name in options_of(problem))
        raise FanwiseError(f"nothing to sweep; give {options_to_give}.")
    if "instance" in axes:
        given["instance"] = axes["instance"][0]  # the default may not be in the catalogue
    if out is not None:
        refuse_existing(out, CURVE, overwrite=overwrite, inputs=[question.workload])

    first_tau = str(axes["tau"][0]) if "tau" in axes else question.tau
    posed = problems.make_problem(problem, question.workload, first_tau, given)
    with console.progress() as progress:
        if has_curve:
            result = _curves(posed, axes, progress)
        else:
            from fanwise.planning.sweep import sweep as solve_points

            changes = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
            result = solve_points(
                posed, changes, algorithm, seed=seed, time_limit=time_limit, progress=progress
            )
    objective = problems.POSINGS[problem].objective(posed.parameters())
    if out is not None:
        sweep_results.write(result, problem, list(axes), objective, out, overwrite=overwrite)
    if as_json:
        console.print_json(sweep_results.as_json(result, posed, list(axes), out))
    else:
        sweep_results.show(result, problem, list(axes), objective)
        if out is not None:
            console.out().print(f"Points and picture written to {out}", markup=False)
    if result.is_interrupted:
        raise typer.Exit(INTERRUPTED)
    if not any(point.feasible for point in result.points):
        console.warn("no point has a plan within its limits.")
        raise typer.Exit(1)


def _check_selection(
    axes: dict[str, list[Any]], algorithm: str | None, *, has_curve: bool, exact_points: bool
) -> None:
    """Refuse what contradicts itself in a sweep of selections."""
    if not axes:
        raise FanwiseError(
            "--capacity fixes what is swept; give --taus beside it, or --capacities instead."
        )
    if "capacity" not in axes and exact_points:
        raise FanwiseError("--exact-points goes with --capacities; each tau has its own run.")
    if has_curve and algorithm not in (None, ONE_RUN):
        raise FanwiseError(
            f"one run gives the curve of {ONE_RUN} alone; add --exact-points for {algorithm}."
        )


def _curves(problem: Any, axes: dict[str, list[Any]], progress: Progress) -> Sweep:
    """One curve per tau (or one in all), each with a point for every capacity."""
    from dataclasses import replace

    from fanwise.planning.sweep import Sweep
    from fanwise.select.sweep import capacity_curve

    if "tau" not in axes:
        return capacity_curve(problem, axes["capacity"], progress=progress)
    points: list[Point] = []
    for tau in axes["tau"]:
        replace(problem, tau=tau)  # refuses a bad value before any work
    for tau in axes["tau"]:
        curve = capacity_curve(replace(problem, tau=tau), axes["capacity"], progress=progress)
        points += [
            replace(point, parameters={"tau": tau, **point.parameters}) for point in curve.points
        ]
        if curve.is_interrupted:
            return Sweep(tuple(points), is_interrupted=True)
    return Sweep(tuple(points))


def _default_capacities() -> list[str]:
    from fanwise.select.sweep import DEFAULT_PERCENTS

    return [f"{percent}%" for percent in DEFAULT_PERCENTS]


def _check_algorithm(problem: str, algorithm: str) -> None:
    stages = find_family(problem).stages
    if len(stages) == 1:
        check_algorithm(problem, algorithm, *stages)
    else:
        find_family(problem).algorithms(algorithm)
