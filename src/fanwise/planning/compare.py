"""All algorithms on one problem, side by side, against the best bound that any of them proved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fanwise.errors import ParameterError
from fanwise.planning.families import find_family
from fanwise.planning.family import Algorithm, Sense
from fanwise.planning.plan import Plan, as_pandas, certified_gap
from fanwise.progress import SILENT, Progress

if TYPE_CHECKING:
    from fanwise.planning.problem import Problem


@dataclass(frozen=True)
class Comparison:
    """Plans for one problem, the best first, and the tightest bound known.

    Attributes
    ----------
    plans
        Feasible ones first, then by objective; equal ones in the order they were run.
    bound
        The tightest bound that any of the runs proved; None if none did, or if limits that follow
        the algorithm (a budget ratio) leave no bound that holds for all.
    skipped
        Algorithms that were left out, and why.
    is_interrupted
        Whether Ctrl-C ended it early, with the plans made so far.
    """

    problem: str
    sense: Sense
    parameters: Mapping[str, Any]
    plans: tuple[Plan, ...]
    bound: float | None
    skipped: Mapping[str, str]
    is_interrupted: bool = False

    def bound_for(self, plan: Plan) -> float | None:
        """Return the tightest bound that any run proved under the limits of a plan."""
        limits = [plan.parameters.get(name) for name in self.parameters]
        alike = [
            other
            for other in self.plans
            if [other.parameters.get(name) for name in self.parameters] == limits
        ]
        return best_bound(alike, self.sense)

    def gap(self, plan: Plan) -> float | None:
        """Return how far a plan can be from the optimum, by the tightest bound for it."""
        return certified_gap(plan.objective, self.bound_for(plan), is_feasible=plan.feasible)

    @property
    def best(self) -> Plan:
        """The first plan."""
        return self.plans[0]

    def to_arrow(self) -> pa.Table:
        """Return a row for each plan, the best first."""
        rows = [
            {
                "algorithm": plan.algorithm,
                "objective": plan.objective,
                "best_bound": self.bound_for(plan),
                "gap": self.gap(plan),
                "seconds": plan.seconds["solve"],
                "feasible": plan.feasible,
            }
            for plan in self.plans
        ]
        return pa.Table.from_pylist(rows)

    def to_pandas(self) -> Any:
        """Return the same as a pandas frame."""
        return as_pandas(self.to_arrow())

    def __repr__(self) -> str:
        names = ", ".join(plan.algorithm for plan in self.plans)
        return f"Comparison({self.problem}, best first: {names})"

    def _repr_html_(self) -> str:
        from fanwise.planning.showing import comparison_as_html

        return comparison_as_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the plans' tables as JSON.

        Gaps are to the best bound. Seconds are those of the algorithm alone: the problem's own
        bound is proven once and would count against whoever comes first.
        """
        return {
            "problem": self.problem,
            "parameters": dict(self.parameters),
            "bound": self.bound,
            "plans": [
                {
                    "algorithm": plan.algorithm,
                    "objective": plan.objective,
                    "gap": self.gap(plan),
                    "own_bound": plan.bound,
                    "seconds": plan.seconds["solve"],
                    "feasible": plan.feasible,
                    "metrics": dict(plan.metrics),
                    "id": plan.id,
                }
                for plan in self.plans
            ],
            "skipped": dict(self.skipped),
        }


def compare(
    problem: Problem,
    algorithms: Iterable[str] | None = None,
    *,
    seed: int = 0,
    time_limit: float | None = None,
    keep_tables: bool = True,
    progress: Progress = SILENT,
) -> Comparison:
    """Solve a problem with several algorithms.

    Parameters
    ----------
    algorithms
        Names from the family's table; None for all that the instance is not too large for.
    time_limit
        Seconds for each algorithm that can stop early. None leaves it to the algorithm; exact ones
        get ten seconds unless they are asked for by name.
    keep_tables
        Whether plans keep what they decided; without, many plans of a large workload fit memory.

    Raises
    ------
    ParameterError
        For an unknown algorithm, before any work, and for one that was asked for by name and
        refuses this problem; others that refuse it are listed as skipped.
    InfeasibleError
        When no plan at all exists.

    Examples
    --------
    >>> import fanwise as fw
    >>> workload = fw.TopicWorkload.from_edges(
    ...     [("ann", "rock"), ("ann", "jazz"), ("bob", "jazz")], rate={"rock": 30, "jazz": 10}
    ... )
    >>> question = fw.Selection(workload, tau=10, capacity=20)
    >>> comparison = fw.compare(question, ["greedy", "cheapest"])
    >>> comparison.to_pandas()[["algorithm", "objective", "best_bound"]]
      algorithm  objective  best_bound
    0    greedy        2.0         2.0
    1  cheapest        2.0         2.0
    """
    family = find_family(problem.family)
    skipped: dict[str, str] = {}
    is_asked_for = algorithms is not None
    if algorithms is None:
        names, skipped = default_algorithms(problem)
    else:
        names = list(dict.fromkeys(algorithms))
        if not names:
            raise ParameterError("algorithms", "at least one name", "")
    for name in names:
        family.algorithms(name)  # raises for an unknown one

    plans: list[Plan] = []
    is_interrupted = False
    with progress.step("comparing", total=len(names)) as step:
        for name in names:
            step.note(name)
            limit = time_limit
            if limit is None and not is_asked_for:
                limit = _seconds_for(family.algorithms(name))
            try:
                plan = problem.solve(
                    name, seed=seed, time_limit=limit, progress=progress, proof=False
                )
            except ParameterError as error:
                if is_asked_for:
                    raise
                skipped[name] = str(error).rstrip(".")
                step.advance()
                continue
            except KeyboardInterrupt:
                if not plans:
                    raise
                is_interrupted = True
                break
            plans.append(plan if keep_tables else replace(plan, tables={}, source=None))
            step.advance()
            if plan.is_interrupted:
                is_interrupted = True
                break
    sign = -1.0 if family.sense == "max" else 1.0
    return Comparison(
        problem=family.name,
        sense=family.sense,
        parameters=problem.parameters(),
        plans=tuple(sorted(plans, key=lambda plan: (not plan.feasible, sign * plan.objective))),
        bound=best_bound(plans, family.sense) if _have_same_limits(problem, plans) else None,
        skipped=skipped,
        is_interrupted=is_interrupted,
    )


def default_algorithms(problem: Problem) -> tuple[list[str], dict[str, str]]:
    """Return the algorithms that an instance of this size is not too large for, and the others."""
    num_pairs = problem.num_pairs
    family = find_family(problem.family)
    names, skipped = [], {}
    for parts in product(*family.stages.values()):
        name = "+".join(parts)
        limits = (entry.compared_to for entry in family.algorithms(name))
        limit = min((each for each in limits if each is not None), default=num_pairs)
        if num_pairs <= limit:
            names.append(name)
        else:
            skipped[name] = (
                f"left out above {limit:,} pairs (here {num_pairs:,}); name it in --algorithms to "
                "run it"
            )
    return names, skipped


def _seconds_for(algorithms: tuple[Algorithm, ...]) -> float | None:
    """Return the least time that the algorithms of the stages are given, None for no limit."""
    limits = (entry.compared_for for entry in algorithms)
    return min((each for each in limits if each is not None), default=None)


def _have_same_limits(problem: Problem, plans: Sequence[Plan]) -> bool:
    names = problem.parameters()
    limits = [[plan.parameters.get(name) for name in names] for plan in plans]
    return all(one == limits[0] for one in limits)


def best_bound(plans: Sequence[Plan], sense: Sense) -> float | None:
    """Return the tightest bound: each holds for every plan, whichever run proved it."""
    bounds = [plan.bound for plan in plans if plan.bound is not None]
    if not bounds:
        return None
    return min(bounds) if sense == "max" else max(bounds)
