"""Plans put together: one place for every engine, wherever it keeps its tables.

In memory, on disk or on Spark, an engine hands over what it :class:`Made`; gap, limits, why it
stopped, warnings and metrics are then stated in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from fanwise.errors import ParameterError
from fanwise.planning.families import find_family
from fanwise.planning.identity import plan_id
from fanwise.planning.plan import AnyPlan, Plan, certified_gap
from fanwise.planning.problem import Bound, Measurement, Outcome, Problem, Run, Stopped


@dataclass(frozen=True, eq=False, kw_only=True)
class Made:
    """What an engine hands over.

    Attributes
    ----------
    family, algorithm, parameters, workload
        Who answered what: names, parameters as the plan states them, the workload's hash.
    tables, identity
        The decision, and its hash together with who answered what.
    measured, proved
        What the tables are worth, and a bound on what any could be; None without one.
    stopped
        Why the engine ended; None for one that simply came to its end.
    emptiness, trivial_bound
        As of :class:`fanwise.planning.problem.Problem`.
    """

    family: str
    algorithm: str
    parameters: Mapping[str, Any]
    workload: str
    tables: Mapping[str, pa.Table]
    identity: str
    measured: Measurement
    proved: Bound | None
    stopped: Stopped | None = None
    emptiness: str | None
    trivial_bound: float | None


def make_plan(
    problem: Problem, algorithm: str, outcome: Outcome, proved: Bound | None, run: Run
) -> Plan:
    """Measure what an algorithm returned, and put the plan together."""
    with run.timed("measure"):
        measured = problem.measure(outcome.tables)
    judged = problem.judge(measured.objective, None if proved is None else proved.value)
    metrics = {**measured.metrics, **outcome.metrics, **judged}
    parameters, tables = stated_parameters(problem, run), dict(outcome.tables)
    made = Made(
        family=problem.family,
        algorithm=algorithm,
        parameters=parameters,
        workload=problem.workload.hash,
        tables=tables,
        identity=plan_id(problem.family, algorithm, parameters, tables),
        measured=Measurement(measured.objective, measured.is_feasible, metrics),
        proved=proved,
        stopped="interrupted" if outcome.is_interrupted else outcome.stopped,
        emptiness=problem.emptiness(),
        trivial_bound=problem.trivial_bound(),
    )
    return assemble(made, run, Plan, source=problem.workload)


def assemble(made: Made, run: Run, kind: type[AnyPlan], **entries: Any) -> AnyPlan:
    """Return a plan of a kind; ``entries`` are what this kind has beside the others.

    Raises
    ------
    ParameterError
        Where the objective is not a finite number.
    """
    objective = float(made.measured.objective)
    if not math.isfinite(objective):
        raise ParameterError(
            "workload", "of sizes, prices and limits whose products stay below 1e308", objective
        )
    bound = None if made.proved is None else float(made.proved.value)
    gap = certified_gap(objective, bound, is_feasible=made.measured.is_feasible)
    run.seconds["total"] = run.elapsed()
    return kind(
        problem=made.family,
        algorithm=made.algorithm,
        parameters=made.parameters,
        objective=objective,
        bound=bound,
        gap=gap,
        feasible=made.measured.is_feasible,
        workload=made.workload,
        tables=made.tables,
        seconds={part: round(value, 6) for part, value in run.seconds.items()},
        metrics=jsonable(made.measured.metrics),
        id=made.identity,
        is_interrupted=made.stopped == "interrupted",
        proof=made.proved.proof if made.proved is not None and run.wants_proof else None,
        stopped=made.stopped or "exhausted",
        limits=dict(run.limits_in_force),
        warnings=_warnings(made, bound, gap) | _cut_short(run),
        **entries,
    )


def stated_parameters(problem: Problem, run: Run) -> dict[str, Any]:
    """Return the parameters that a plan states: of the question, and of how it was run."""
    stated = {**problem.parameters(), "seed": run.seed, **limits_asked_for(run), **run.settings}
    parameters: dict[str, Any] = jsonable(stated)
    return parameters


def limits_asked_for(run: Run) -> dict[str, float]:
    """Return the time limit and the gap, as far as somebody gave them."""
    limits = {"time_limit": run.time_limit, "gap": run.gap}
    return {name: value for name, value in limits.items() if value is not None}


def _warnings(made: Made, bound: float | None, gap: float | None) -> dict[str, str]:
    """Return what a reader must know before the numbers of a plan, by a short code."""
    if made.emptiness is not None:
        return {"empty-question": f"There is nothing to decide: {made.emptiness}."}
    trivial = made.trivial_bound
    if bound is None or trivial is None or gap == 0:
        return {}
    is_largest = find_family(made.family).sense == "max"
    if bound < trivial if is_largest else bound > trivial:
        return {}
    everything = "everything there is" if is_largest else "nothing"
    return {
        "no-useful-bound": f"No useful bound: what was proven is no better than {everything}, so "
        "how far the plan is from the best possible is not known."
    }


def _cut_short(run: Run) -> dict[str, str]:
    """Return the warning that there was no time for all of the paper's algorithms."""
    if not run.left_out:
        return {}
    names = ", ".join(run.left_out)
    return {
        "cut-short": f"Cut short by the time limit, or left out: {names}. The plan may be worse "
        "than what the paper's algorithms make when they run to their end."
    }


def jsonable(value: Any) -> Any:
    """Turn NumPy scalars into Python's, and what is not finite into null."""
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
