"""``fanwise assign``."""

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
from fanwise.planning.families import ASSIGN

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("assign")(assign)


def assign(
    workload: options.Workload,
    out: options.Out,
    alpha: problems.Alpha = None,
    max_delay: problems.MaxDelay = None,
    lbf: problems.Lbf = None,
    lbf_max: problems.LbfMax = None,
    latency: problems.Latency = None,
    algorithm: Annotated[
        str, typer.Option("--algorithm", "-a", help=f"One of {algorithms_help('assign')}.")
    ] = ASSIGN.default,
    seed: options.Seed = 0,
    time_limit: options.TimeLimit = None,
    gap: options.Gap = None,
    no_proof: options.NoProof = False,
    settings: options.Settings = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Assign subscribers of a content workload to brokers, and give brokers filters.

    Each broker lets through a union of at most alpha rectangles of the event
    space; the plan says which subscribers it serves. What travels to all
    brokers together should be little, nobody late, no broker overloaded. A
    plan that cannot keep a limit says why, and what would help.

    Example: [bold]fanwise assign groups/ --alpha 3 --out plan/[/bold]
    """
    check_algorithm("assign", algorithm)

    def make_problem() -> Solvable:
        from fanwise.assign.problem import Assignment

        return Assignment(
            load_workload(workload, "assign"),
            alpha=alpha,  # type: ignore[arg-type]
            max_delay=max_delay,  # type: ignore[arg-type]
            lbf=lbf,  # type: ignore[arg-type]
            lbf_max=lbf_max,  # type: ignore[arg-type]
            latency=latency or "path",
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
    """Return what people want to know of an assignment."""
    metrics, parameters = plan.metrics, plan.parameters
    yield ("total bandwidth", console.number(plan.objective))
    yield ("rectangles", f"{plan.tables['filters'].num_rows:,}, at most {parameters['alpha']} each")
    factor = "without bound" if metrics["lbf"] is None else f"{metrics['lbf']:.3f}"
    yield (
        "load-balance factor",
        f"{factor} ({parameters['lbf']:g} desired, {parameters['lbf_max']:g} allowed)",
    )
    yield ("overloaded brokers", f"{metrics['overloaded']:,}")
    yield ("late subscribers", f"{metrics['late']:,}")
    yield ("root mean square delay", f"{metrics['rms_delay']:.3f}")
    if "trouble" in metrics:
        yield ("why", metrics["trouble"]["says"])
