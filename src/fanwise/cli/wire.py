"""``fanwise wire``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fanwise.cli import console, options, problems
from fanwise.cli.solving import (
    Facts,
    Solvable,
    algorithms_help,
    check_algorithm,
    load_workload,
    solve_and_save,
)
from fanwise.planning.families import WIRE

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("wire")(wire)


def wire(
    workload: options.Workload,
    out: options.Out,
    topology: problems.Topology = None,
    core_factor: problems.CoreFactor = None,
    capacity_factor: problems.CapacityFactor = None,
    algorithm: Annotated[
        str, typer.Option("--algorithm", "-a", help=f"One of {algorithms_help('wire')}.")
    ] = WIRE.default,
    seed: options.Seed = 0,
    time_limit: options.TimeLimit = None,
    gap: options.Gap = None,
    no_proof: options.NoProof = False,
    settings: options.Settings = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Attach users of a content workload to brokers so that carrying all traffic costs least.

    Users publish on channels and want those that their rectangle overlaps. The
    plan says who is attached where, and what each link between brokers
    carries: a message crosses a link at most once. No broker should carry
    more than its capacity.

    Example: [bold]fanwise wire sensors/ --out plan/[/bold]
    """
    check_algorithm("wire", algorithm)

    def make_problem() -> Solvable:
        from fanwise.wire.problem import Wiring

        return Wiring(
            load_workload(workload, "wire"),
            topology=topology or "mesh",
            core_factor=1.0 if core_factor is None else core_factor,
            capacity_factor=1.0 if capacity_factor is None else capacity_factor,
        )

    solve_and_save(
        make_problem,
        algorithm,
        out=out,
        overwrite=overwrite,
        inputs=[workload],
        as_json=as_json,
        seed=seed,
        time_limit=time_limit,
        gap=gap,
        no_proof=no_proof,
        settings=settings,
        describe=describe,
    )


def describe(plan: Plan) -> Facts:
    """Return what people want to know of a wiring."""
    metrics = plan.metrics
    yield ("cost", console.number(plan.objective))
    yield ("of that access", console.number(metrics["access"]))
    yield ("of that core", console.number(metrics["core"]))
    steiner = metrics["core_steiner"]
    if steiner is not None and steiner < metrics["core"] * (1 - 1e-9):
        yield ("core with Steiner trees", f"{console.number(steiner)} at most")
    yield ("links between brokers", f"{plan.tables['links'].num_rows:,}")
    if metrics["shortened"]:
        yield ("links that cost more than a way around", f"{metrics['shortened']:,}")
    yield ("overloaded brokers", f"{metrics['overloaded']:,}")
    if metrics["max_load"] is not None:
        yield ("fullest broker", console.percent(metrics["max_load"]))
