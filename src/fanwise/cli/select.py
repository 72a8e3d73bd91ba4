"""``fanwise select``."""

from __future__ import annotations

from pathlib import Path
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
from fanwise.errors import InputError, ParameterError
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
    tau: options.Tau = None,
    metric: Annotated[
        str,
        typer.Option(help="binary counts satisfied subscribers, fractional adds up shares."),
    ] = "binary",
    algorithm: Annotated[
        str, typer.Option("--algorithm", "-a", help=f"One of {algorithms_help('select')}.")
    ] = SELECT.default,
    pin: Annotated[
        Path | None,
        typer.Option(
            help="File with topics that must be served, a name per line.", show_default=False
        ),
    ] = None,
    exclude: Annotated[
        Path | None,
        typer.Option(
            help="File with topics that must not be served, a name per line.", show_default=False
        ),
    ] = None,
    previous: Annotated[
        Path | None,
        typer.Option(help="The plan in force; changes against it are counted.", show_default=False),
    ] = None,
    previous_workload: Annotated[
        Path | None,
        typer.Option(
            help="The workload of the plan in force, if it is another one; "
            "topics are matched by name.",
            show_default=False,
        ),
    ] = None,
    max_changes: Annotated[
        int | None,
        typer.Option(
            help="How many topics may be switched on or off against --previous.",
            show_default=False,
        ),
    ] = None,
    change_price: Annotated[
        float | None,
        typer.Option(
            help="How much every switch against --previous must gain in the objective.",
            show_default=False,
        ),
    ] = None,
    seed: options.Seed = 0,
    time_limit: options.TimeLimit = None,
    gap: options.Gap = None,
    no_proof: options.NoProof = False,
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

    With --previous the next plan stays near the one in force: at most
    --max-changes topics are switched, or every switch gains --change-price;
    what that gives up against the free plan is reported.

    Example: [bold]fanwise select spotify/ --tau 27 --capacity 10% --out plan/[/bold]
    """
    from fanwise.select.problem import Selection

    check_algorithm("select", algorithm)
    engines.check_engine("select", engine, algorithm, master, conf)
    if previous is None and previous_workload is not None:
        raise ParameterError("previous_workload", "left out without --previous", previous_workload)
    near = {
        "pin": pin,
        "exclude": exclude,
        "previous": previous,
        "max_changes": max_changes,
        "change_price": change_price,
    }
    if engine != engines.LOCAL:
        for name, value in near.items():
            if value is not None:
                raise ParameterError(name, f"left out with --engine {engine}", str(value))

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
            pin=_read_names(pin),
            exclude=_read_names(exclude),
            previous=_read_previous(previous, previous_workload),
            max_changes=max_changes,
            change_price=change_price,
        )

    solve_and_save(
        make_problem,
        algorithm,
        out=out,
        overwrite=overwrite,
        inputs=[workload, previous, previous_workload],
        as_json=as_json,
        seed=seed,
        time_limit=time_limit,
        gap=gap,
        no_proof=no_proof,
        settings=settings,
        describe=describe,
    )


def _read_names(path: Path | None) -> list[str]:
    """Read a name per line; empty lines do not count."""
    if path is None:
        return []
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not text in UTF-8; write one topic name per line.") from None
    return [line for line in lines if line]


def _read_previous(plan: Path | None, folder: Path | None) -> Plan | None:
    from fanwise.planning.plan import read_plan

    if plan is None:
        return None
    return read_plan(plan, None if folder is None else load_workload(folder))


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
    return [*rows, *_describe_changes(plan)]


def _describe_changes(plan: Plan) -> Facts:
    metrics = plan.metrics
    if "changes" not in metrics:
        return
    yield (
        "changes",
        f"{metrics['changes']:,}: {metrics['switched_on']:,} topics switched on, "
        f"{metrics['switched_off']:,} off",
    )
    if "given_up" in metrics:
        share = metrics["given_up"] / metrics["free_value"] if metrics["free_value"] else 0.0
        yield (
            "given up for stability",
            f"{console.number(metrics['given_up'])} ({console.percent(share)}) against a free plan "
            f"with {metrics['free_changes']:,} changes",
        )
    if metrics.get("net_bound") is not None:
        yield (
            "less the price of changes",
            f"{console.number(metrics['net_value'])}, at most "
            f"{console.number(metrics['net_bound'])} possible",
        )
