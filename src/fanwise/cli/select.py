"""``fanwise select``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fanwise.cli import console, engines, options
from fanwise.cli.solving import (
    Facts,
    Solvable,
    algorithms_help,
    check_algorithm,
    load_workload,
    resolve_tau,
    solve_and_save,
)
from fanwise.planning.families import SELECT

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("select")(select)


def select(
    workload: options.Workload,
    out: options.Out,
    capacity: Annotated[
        str,
        typer.Option(
            help="Cost units, or a percentage of the cost of serving everything: 10%.",
            show_default=False,
        ),
    ],
    tau: Annotated[
        str | None,
        typer.Option(
            help="Events per period that satisfy a subscriber, or 'column'. "
            "Default: the workload's column tau.",
            show_default=False,
        ),
    ] = None,
    metric: Annotated[
        str,
        typer.Option(help="binary counts satisfied subscribers, fractional adds up shares."),
    ] = "binary",
    algorithm: Annotated[
        str, typer.Option("--algorithm", "-a", help=f"One of {algorithms_help('select')}.")
    ] = SELECT.default,
    seed: options.Seed = 0,
    time_limit: options.TimeLimit = None,
    gap: options.Gap = None,
    settings: options.Settings = None,
    engine: engines.Engine = engines.LOCAL,
    master: engines.Master = None,
    conf: engines.Conf = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Choose the topics to serve so that most subscribers are satisfied within a capacity.

    The plan lists every topic as served or offloaded, with the number of
    satisfied subscribers, a proven bound on the best possible number, and the
    gap between the two.

    Example: [bold]fanwise select spotify/ --tau 27 --capacity 10% --out plan/[/bold]
    """
    from fanwise.select.problem import Selection

    check_algorithm("select", algorithm)
    engines.check_engine("select", engine, algorithm, master, conf)

    def make_problem() -> Solvable:
        if engine != engines.LOCAL:
            return engines.Elsewhere(
                "select", engine, workload, tau, master, conf, capacity=capacity, metric=metric
            )
        loaded = load_workload(workload)
        return Selection(
            loaded,
            tau=resolve_tau(tau, loaded),
            capacity=capacity,
            metric=metric,  # type: ignore[arg-type]  # the problem refuses other words
        )

    solve_and_save(
        make_problem,
        algorithm,
        out=out,
        overwrite=overwrite,
        as_json=as_json,
        seed=seed,
        time_limit=time_limit,
        gap=gap,
        settings=settings,
        describe=describe,
    )


def describe(plan: Plan) -> Facts:
    """Return what people want to know of a selection."""
    metrics, capacity = plan.metrics, plan.parameters["capacity"]
    of_all = metrics["satisfied"] / metrics["subscribers"] if metrics["subscribers"] else None
    used = metrics["used"] / capacity if capacity else None
    rows = [
        ("satisfied subscribers", f"{metrics['satisfied']:,} of {metrics['subscribers']:,} "
         f"({console.percent(of_all)})"),
        ("served topics", f"{metrics['served']:,} of {plan.tables['topics'].num_rows:,}"),
        ("capacity used", f"{console.number(metrics['used'])} of {console.number(capacity)} "
         f"({console.percent(used)})"),
    ]  # fmt: skip
    if plan.parameters["metric"] == "fractional":
        rows.insert(0, ("total satisfaction", console.number(plan.objective)))
    return rows
