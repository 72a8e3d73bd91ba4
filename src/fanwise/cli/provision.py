"""``fanwise provision``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, cast

import typer

from fanwise.cli import engines, provision_engines
from fanwise.cli.planning_command import Request, planning_command
from fanwise.cli.solving import Solvable, solve_and_save
from fanwise.cli.stating import state_problem
from fanwise.errors import ParameterError
from fanwise.progress import Progress

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.provision.problem import Provisioning


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("provision")(planning_command("provision", provision))


def provision(
    request: Request,
    baseline: Annotated[
        bool,
        typer.Option("--baseline", help="Also say what is saved against the naive plan, RSP+FFBP."),
    ] = False,
    engine: provision_engines.Engine = None,
    master: engines.Master = None,
    conf: engines.Conf = None,
) -> None:
    """Rent the cheapest machines and bandwidth that satisfy every subscriber.

    Stage 1 chooses (topic, subscriber) pairs that reach everybody's
    threshold, stage 2 packs them on machines. The plan lists the machines and
    what runs on each, with its cost, a proven bound on the least possible
    cost, and the gap between the two.

    Pairs that do not fit in memory stay on disk (--engine stream) or on
    Spark (--engine spark).

    Example: [bold]fanwise provision spotify/ --tau 100 --horizon 10d --out plan/[/bold]
    """
    engine, request = provision_engines.choose_engine(request, engine, master, conf)
    is_local = engine == engines.LOCAL
    if baseline and not is_local:
        raise ParameterError("baseline", f"left out with --engine {engine}", baseline)
    stated: list[Provisioning] = []

    def make_problem() -> Solvable:
        if not is_local:
            return provision_engines.EngineProvisioning(request, engine, master, conf)
        problem = state_problem(request.family, request.workload, request.given)
        stated.append(cast("Provisioning", problem))
        return problem

    def compare_with_naive(plan: Plan, progress: Progress) -> Plan:
        with progress.step("the naive plan"):
            naive = stated[0].naive_cost(request.seed)
        saved = {"cost_naive": naive, "savings": naive - plan.objective}
        return replace(plan, metrics={**plan.metrics, **saved})

    plan = solve_and_save(request, make_problem, amend=compare_with_naive if baseline else None)
    if plan.metrics.get("decision") not in (None, "yes"):
        raise typer.Exit(1)
