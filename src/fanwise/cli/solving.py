"""What the planning commands share: load, solve, save, show, and the exit status."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import typer

from fanwise.cli import console
from fanwise.errors import FanwiseError, ParameterError
from fanwise.planning.families import find_family

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.progress import Progress
    from fanwise.workload.topic import TopicWorkload

Facts = Iterable[tuple[str, Any]]
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


def load_workload(folder: Path, family: str = "select") -> Any:
    """Read a workload of the kind that a family is about, with a spinner on a terminal."""
    from fanwise.planning.opening import read_for

    with console.progress() as progress, progress.step(f"reading {folder}"):
        return read_for(find_family(family), folder)


def solve_and_save(
    make_problem: Callable[[], Solvable],
    algorithm: str,
    *,
    out: Path,
    overwrite: bool,
    inputs: Iterable[Path | None],
    as_json: bool,
    seed: int,
    describe: Callable[[Plan], Facts],
    time_limit: float | None = None,
    gap: float | None = None,
    settings: list[str] | None = None,
    amount: Callable[[Any], str] = console.number,
    amend: Callable[[Plan, Progress], Plan] | None = None,
    no_proof: bool = False,
) -> Plan:
    """Make a plan, write it, show it, and exit 1 if it breaks a limit, 130 if interrupted.

    Parameters
    ----------
    make_problem
        Loads the workload and states the problem; called once the output is known to be free.
    inputs
        The folders that are read; the output replaces none of them.
    describe
        The family's own lines for people.
    amount
        How to write an objective or bound: a number, or money.
    amend
        Adds what else is to be said of the plan before it is written.
    no_proof
        Leaves out the certificate of the bound.
    """
    from fanwise.planning.outputs import PLAN
    from fanwise.workload.folders import refuse_existing

    refuse_existing(out, PLAN, overwrite=overwrite, inputs=inputs)
    knobs = parse_settings(settings)
    problem = make_problem()
    with console.progress() as progress:
        plan = problem.solve(
            algorithm,
            seed=seed,
            time_limit=time_limit,
            gap=gap,
            progress=progress,
            proof=not no_proof,
            **knobs,
        )
        if amend is not None:
            plan = amend(plan, progress)
    plan.save(out, overwrite=overwrite)
    if as_json:
        console.print_json({**plan.to_dict(), "plan": str(out)})
    else:
        show_plan(plan, describe(plan), out, amount)
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
    terminal.print(f"Plan {plan.id[:12]} written to {out}", markup=False)


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


def check_algorithm(family: str, name: str, stage: str = "algorithm") -> str:
    """Refuse an unknown algorithm before anything is loaded."""
    known = find_family(family).stages[stage]
    if name not in known:
        raise ParameterError(stage, f"one of {', '.join(known)}", name)
    return name


def algorithms_help(family: str, stage: str = "algorithm") -> str:
    """Return the names of a stage's algorithms, for an option's help."""
    return ", ".join(find_family(family).stages[stage])


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


def resolve_tau(tau: str | None, workload: TopicWorkload) -> float | str:
    """Turn ``--tau`` into a number or ``"column"``; without it the workload's column is used."""
    if tau is None:
        if workload.tau is None:
            raise FanwiseError(
                "--tau is missing, and the workload has no column 'tau'; give --tau NUMBER."
            )
        return "column"
    return parse_tau(tau)


def parse_tau(tau: str) -> float | str:
    """Return a number, or ``"column"``."""
    if tau == "column":
        return tau
    try:
        return float(tau)
    except ValueError:
        raise ParameterError("tau", "a number >= 0 or 'column'", tau) from None
