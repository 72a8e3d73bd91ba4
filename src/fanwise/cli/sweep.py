"""``fanwise sweep``."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanwise.cli import console, options, problems
from fanwise.cli.question import Question, asking
from fanwise.cli.solving import INTERRUPTED, check_algorithm, parse_duration
from fanwise.errors import FanwiseError, ParameterError
from fanwise.planning.families import find_family
from fanwise.wording import span

if TYPE_CHECKING:
    from fanwise.planning.problem import Problem
    from fanwise.planning.sweep import Point, Sweep
    from fanwise.progress import Progress

ONE_RUN = "greedy"
"""What a curve from one run is of."""
AXIS_NAMES = {"message_bytes": "message bytes", "horizon_seconds": "horizon"}
"""How people call what is varied, where its own name is not it."""


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

    Example: [bold]fanwise sweep select spotify/ --tau 27 --capacities 1%,5%,20%,50%[/bold]
    """
    from fanwise.workload.folders import refuse_existing

    problem, given = question.problem, question.given()
    _refuse_both("tau", question.tau, "taus", taus)
    _refuse_both("capacity", question.capacity, "capacities", capacities)
    _refuse_both("instance", question.instance, "instances", instances)
    _refuse_both("message-bytes", question.message_bytes, "message-sizes", message_sizes)
    _refuse_both("horizon", question.horizon, "horizons", horizons)
    machines = {"instances": instances, "message-sizes": message_sizes, "horizons": horizons}
    if algorithm is not None:
        _check_algorithm(problem, algorithm)
    axes: dict[str, list[Any]] = {}
    if taus is not None:
        axes["tau"] = _numbers(taus, "taus", "numbers >= 0")
    has_curve = False
    if problem == "select":
        for name, given_list in machines.items():
            _refuse_for(problem, name, given_list, "; give --capacities")
        if question.capacity is None:
            axes["capacity"] = _capacities(capacities)
            given["capacity"] = axes["capacity"][-1]
            has_curve = not exact_points
        _check_selection(axes, algorithm, has_curve=has_curve, exact_points=exact_points)
    else:
        _refuse_for(problem, "capacities", capacities)
        _refuse_for(problem, "exact-points", exact_points or None)
        axes |= _machine_axes(machines)
        if "instance" in axes:
            given["instance"] = axes["instance"][0]  # the default may not be in the catalogue
        if not axes:
            lists = " or ".join(f"--{name} A,B" for name in machines)
            raise FanwiseError(f"nothing to sweep; give --taus 10,100 or {lists}.")
    if out is not None:
        refuse_existing(out, overwrite=overwrite)

    first_tau = question.tau if taus is None else str(axes["tau"][0])
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
        _write(result, problem, list(axes), objective, out, overwrite=overwrite)
    if as_json:
        console.print_json(_as_json(result, posed, list(axes), out))
    else:
        _show(result, problem, list(axes), objective)
        if out is not None:
            console.out().print(f"Points and picture written to {out}", markup=False)
    if result.is_interrupted:
        raise typer.Exit(INTERRUPTED)
    if not any(point.feasible for point in result.points):
        console.warn("no point has a plan within its limits.")
        raise typer.Exit(1)


def _machine_axes(given: dict[str, str | None]) -> dict[str, list[Any]]:
    """Return what of a provisioning is varied, by the problem's own names."""
    axes: dict[str, list[Any]] = {}
    instances, sizes, horizons = given["instances"], given["message-sizes"], given["horizons"]
    if instances is not None:
        axes["instance"] = problems.split_list(instances, "instances")
    if sizes is not None:
        axes["message_bytes"] = _numbers(sizes, "message-sizes", "numbers > 0")
    if horizons is not None:
        spans = problems.split_list(horizons, "horizons")
        axes["horizon_seconds"] = [parse_duration(text, "horizons") for text in spans]
    return axes


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


def _as_json(result: Sweep, posed: Problem, axes: list[str], out: Path | None) -> dict[str, Any]:
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


def _show(result: Sweep, problem: str, axes: list[str], objective: str) -> None:
    posing = problems.POSINGS[problem]
    rows = []
    for point in result.points:
        cells: list[Any] = [_setting(point, axis) for axis in axes]
        if problem == "select":
            cells += [point.metrics["used"], point.metrics["served"]]
        else:
            cells += [point.metrics["vms"]]
        cells += [posing.amount(point.value), posing.amount(point.bound)]
        cells += [console.percent(point.gap), point.is_exact if point.feasible else "no plan"]
        rows.append(cells)
    middle = ("used", "served topics") if problem == "select" else ("machines",)
    named = (AXIS_NAMES.get(axis, axis) for axis in axes)
    columns = (*named, *middle, objective, "bound", "gap", "exact")
    console.out().print(console.table(f"{problem}: what if", columns, rows))


def _setting(point: Point, axis: str) -> str:
    if axis == "horizon_seconds":
        return span(point.parameters[axis])
    percent = point.parameters.get(f"{axis}_percent")
    return console.number(point.parameters[axis]) if percent is None else f"{percent:g}%"


def _write(
    result: Sweep, problem: str, axes: list[str], objective: str, out: Path, *, overwrite: bool
) -> None:
    from fanwise.planning.sweep import write_points
    from fanwise.report.comparison_plots import plot_sweep
    from fanwise.workload.folders import atomic_folder
    from fanwise.workload.look import encode

    if problem == "provision" and axes == ["tau"]:
        from fanwise.provision.plots import plot_cost_against_tau

        figure = plot_cost_against_tau({result.points[0].algorithm: result.points})
    else:
        figure = plot_sweep(result.points, axes, objective=objective)
    with atomic_folder(out, overwrite=overwrite) as folder:
        write_points(result.points, folder / "points.csv")
        (folder / "curve.png").write_bytes(encode(figure, "png"))


def _capacities(text: str | None) -> list[str]:
    if text is not None:
        return problems.split_list(text, "capacities")
    from fanwise.select.sweep import DEFAULT_PERCENTS

    return [f"{percent}%" for percent in DEFAULT_PERCENTS]


def _numbers(text: str, name: str, constraint: str) -> list[float]:
    numbers = []
    for part in problems.split_list(text, name):
        try:
            numbers.append(float(part))
        except ValueError:
            raise ParameterError(name, f"{constraint} apart by commas", part) from None
    return numbers


def _check_algorithm(problem: str, algorithm: str) -> None:
    stages = find_family(problem).stages
    if len(stages) == 1:
        check_algorithm(problem, algorithm, *stages)
    else:
        find_family(problem).algorithms(algorithm)


def _refuse_both(one: str, given: Any, many: str, list_given: str | None) -> None:
    if given is not None and list_given is not None:
        raise FanwiseError(f"--{one} and --{many} exclude each other; give one of them.")


def _refuse_for(problem: str, name: str, given: Any, advice: str = "") -> None:
    if given is not None:
        raise FanwiseError(f"--{name} is not an option of {problem}{advice}.")
