"""From a request to a plan: state, solve, save, show, and the exit status."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import typer

from fanwise.cli import console
from fanwise.cli.planning_command import Request
from fanwise.cli.stating import state_problem
from fanwise.errors import ParameterError
from fanwise.planning.family import Facts, load
from fanwise.workload.remote import address_of

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.progress import Progress

INTERRUPTED = 130
OPTIONS = ("algorithm", "seed", "time_limit", "gap", "progress", "proof")
"""Arguments of solve that are options of their own, or none at all: never knobs."""


class Solvable(Protocol):
    """A problem, here or on another engine."""

    def solve(
        self,
        algorithm: str | None = None,
        *,
        seed: int = 0,
        time_limit: float | None = None,
        gap: float | None = None,
        progress: Progress = ...,
        proof: bool = True,
        **settings: Any,
    ) -> Plan:
        """Make a plan."""


def solve_and_save(
    request: Request,
    make_problem: Callable[[], Solvable] | None = None,
    amend: Callable[[Plan, Progress], Plan] | None = None,
) -> Plan:
    """Make a plan, write it, show it, and exit 1 if it breaks a limit, 130 if interrupted.

    Parameters
    ----------
    make_problem
        Loads the workload and states the problem; called once the output is known to be free. By
        default that is the problem that was asked for, here.
    amend
        Adds what else is to be said of the plan before it is written.
    """
    from fanwise.planning.outputs import PLAN
    from fanwise.workload.folders import refuse_existing

    out, family = request.out, request.family
    refuse_existing(out, PLAN, overwrite=request.overwrite, inputs=request.inputs)
    knobs = parse_settings(request.settings)
    if make_problem is None:
        problem: Solvable = state_problem(family, request.workload, request.given)
    else:
        problem = make_problem()
    with console.progress() as progress:
        plan = problem.solve(
            request.algorithm,
            seed=request.seed,
            time_limit=request.time_limit,
            gap=request.gap,
            progress=progress,
            proof=not request.no_proof,
            **knobs,
        )
        if amend is not None:
            plan = amend(plan, progress)
    plan.save(out, overwrite=request.overwrite)
    if request.as_json:
        console.print_json({**plan.to_dict(), "plan": str(out)})
    else:
        show_plan(plan, load(family.facts)(plan), out, family.objective.write)
    for warning in plan.warnings.values():
        console.warn(f"{out}: {warning}")
    if plan.is_interrupted:
        raise typer.Exit(INTERRUPTED)
    if not plan.feasible:
        console.warn(f"{out}: the plan breaks a limit (feasible: false); see fanwise verify.")
        raise typer.Exit(1)
    return plan


def show_plan(plan: Plan, facts: Facts, out: Path, amount: Callable[[Any], str]) -> None:
    """Print a plan for people."""
    rows = [
        *facts,
        ("bound on the optimum", amount(plan.bound)),
        ("certified gap", describe_gap(plan)),
        ("stopped by", plan.stopped_by),
        ("seconds", round(plan.seconds["total"], 2)),
    ]
    if "empty-question" in plan.warnings:
        rows = [
            ("nothing to decide", plan.warnings["empty-question"]),
            ("seconds", round(plan.seconds["total"], 2)),
        ]
    terminal = console.out()
    terminal.print(console.facts(f"{plan.problem} by {plan.algorithm}", rows))
    place = address_of(out) or out
    terminal.print(f"Plan {plan.id[:12]} written to {place}", markup=False)


def describe_gap(plan: Plan) -> str:
    """Write the gap for people, or why there is none to speak of."""
    if "no-useful-bound" in plan.warnings:
        return "no useful bound"
    text = console.percent(plan.gap)
    if plan.gap is not None and plan.proof is None:
        text += " (no proof kept)"
    elif plan.gap is not None and plan.proof is not None and plan.proof.kind == "solver":
        text += f" (by the solver's word; the certificate proves {plan.proof.proves:,.6g})"
    return text


def parse_settings(settings: list[str] | None) -> dict[str, str]:
    """Split ``key=value`` options."""
    knobs = {}
    for text in settings or []:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise ParameterError("set", "of the form key=value", text)
        if key.replace("-", "_") in OPTIONS:
            raise ParameterError("set", "a knob of the algorithm", key)
        knobs[key.replace("-", "_")] = value
    return knobs
