"""What-if curves: the same problem with one parameter changed, one run per point."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from fanwise.errors import InfeasibleError, ParameterError
from fanwise.planning.families import find_family
from fanwise.planning.family import load
from fanwise.planning.plan import Plan, as_pandas, certified_gap
from fanwise.progress import SILENT, Progress

if TYPE_CHECKING:
    from fanwise.planning.problem import Problem


@dataclass(frozen=True)
class Point:
    """One point of a curve.

    Attributes
    ----------
    parameters
        What varies, resolved, as in a plan.
    value, bound, gap
        The objective of the plan at this point, a proven bound on any plan's, and their distance;
        the value is None where no plan exists.
    is_exact
        Whether the value is what the algorithm reaches at this point; else it is a lower bound
        on that.
    metrics
        What else is known of the plan.
    seconds
        None for a point without a run of its own.
    """

    parameters: Mapping[str, Any]
    value: float | None
    bound: float | None
    feasible: bool
    is_exact: bool
    algorithm: str
    metrics: Mapping[str, Any] = field(default_factory=dict)
    seconds: float | None = None

    @property
    def gap(self) -> float | None:
        if self.value is None:
            return None
        return certified_gap(self.value, self.bound, is_feasible=self.feasible)

    def to_dict(self) -> dict[str, Any]:
        """Return the point as one flat row."""
        return {
            **self.parameters,
            **self.metrics,
            "value": self.value,
            "bound": self.bound,
            "gap": self.gap,
            "feasible": self.feasible,
            "is_exact": self.is_exact,
            "algorithm": self.algorithm,
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class Sweep:
    """Points in the order asked for, and whether Ctrl-C ended the sweep early.

    Attributes
    ----------
    problem, parameters, varied
        The family and the parameters of the question that was changed, and the names of those that
        vary.
    """

    points: tuple[Point, ...]
    is_interrupted: bool = False
    problem: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    varied: tuple[str, ...] = ()

    def to_arrow(self) -> pa.Table:
        """Return a row for each point: what varies, what is known of the plan, value and bound."""
        return pa.Table.from_pylist([point.to_dict() for point in self.points])

    def to_pandas(self) -> Any:
        """Return the same as a pandas frame."""
        return as_pandas(self.to_arrow())

    def _repr_html_(self) -> str:
        from fanwise.planning.showing import sweep_as_html

        return sweep_as_html(self)


def sweep(
    problem: Problem,
    changes: Sequence[Mapping[str, Any]],
    algorithm: str | None = None,
    *,
    seed: int = 0,
    time_limit: float | None = None,
    progress: Progress = SILENT,
) -> Sweep:
    """Solve a problem again for each change of its parameters.

    Parameters
    ----------
    changes
        Attributes of the problem by name, one mapping per point: ``[{"tau": 10}, {"tau": 27}]``.
    algorithm
        A name from the family's table; None for its default.
    time_limit
        Seconds for each point.

    Returns
    -------
    Sweep
        A point without any plan says ``feasible=False`` and has no value.
    """
    for change in changes:
        change_problem(problem, change)  # refuses a bad value before any work
    points: list[Point] = []
    question = _question(problem, {name: None for change in changes for name in change})
    with progress.step("sweeping", total=len(changes)) as step:
        for change in changes:
            variant = change_problem(problem, change)
            step.note(", ".join(f"{name} {value}" for name, value in change.items()))
            try:
                plan = variant.solve(
                    algorithm, seed=seed, time_limit=time_limit, progress=progress, proof=False
                )
            except InfeasibleError:
                points.append(_no_plan(variant, change, algorithm))
            except KeyboardInterrupt:
                if not points:
                    raise
                return Sweep(tuple(points), is_interrupted=True, **question)
            else:
                points.append(_point(plan, change))
                if plan.is_interrupted:
                    return Sweep(tuple(points), is_interrupted=True, **question)
            step.advance()
    return Sweep(tuple(points), **question)


def sweep_from_one_run(
    problem: Problem, axes: Mapping[str, Sequence[Any]], *, progress: Progress = SILENT
) -> Sweep:
    """Return the points of whole curves, each from a single run.

    Parameters
    ----------
    axes
        The values to try by parameter: that of the family's curve, and any others, which have one
        curve for each combination.
    """
    curve = find_family(problem.family).curve
    assert curve is not None
    others = {name: values for name, values in axes.items() if name != curve.along}
    changes = [dict(zip(others, values, strict=True)) for values in product(*others.values())]
    for change in changes:
        change_problem(problem, change)  # refuses a bad value before any work
    points: list[Point] = []
    question = _question(problem, axes)
    for change in changes:
        variant = change_problem(problem, change)
        found: Sweep = load(curve.target)(variant, axes[curve.along], progress=progress)
        points += [
            replace(point, parameters={**change, **point.parameters}) for point in found.points
        ]
        if found.is_interrupted:
            return Sweep(tuple(points), is_interrupted=True, **question)
    return Sweep(tuple(points), **question)


def changes_along(problem: Problem, axes: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Return a change for each combination of values; names that a problem has not are refused.

    Parameters
    ----------
    axes
        Values to try, by attribute of the problem.
    """
    known = [one.name for one in fields(cast(Any, problem)) if one.name != "workload"]
    tried: dict[str, list[Any]] = {}
    for name, values in axes.items():
        if name not in known:
            raise ParameterError(name, f"one of {', '.join(known)}", values)
        is_list = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping)
        tried[name] = [_plain(value) for value in values] if is_list else []
        if not tried[name]:
            raise ParameterError(name, "a list of values to try", values)
    if not tried:
        raise ParameterError("axes", f"given, as in {known[0]}=[…], for something to vary", None)
    return [dict(zip(tried, values, strict=True)) for values in product(*tried.values())]


def _plain(value: Any) -> Any:
    """Return a number of NumPy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _question(problem: Problem, names: Iterable[str]) -> dict[str, Any]:
    """Return what a sweep keeps of the question."""
    return {
        "problem": problem.family,
        "parameters": problem.parameters(),
        "varied": tuple(names),
    }


def change_problem(problem: Problem, change: Mapping[str, Any]) -> Problem:
    """Return the problem with other parameters, checked anew."""
    return problem.changed(change)


def varied(parameters: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a change resolves to among a problem's parameters."""
    return {
        name: value
        for name, value in parameters.items()
        if name in change or name.removesuffix("_percent") in change
    }


def _point(plan: Plan, change: Mapping[str, Any]) -> Point:
    return Point(
        parameters=varied(plan.parameters, change),
        value=plan.objective,
        bound=plan.bound,
        feasible=plan.feasible,
        is_exact=True,
        algorithm=plan.algorithm,
        metrics={name: plan.metrics[name] for name in find_family(plan.problem).curve_metrics},
        seconds=plan.seconds["total"],
    )


def _no_plan(problem: Problem, change: Mapping[str, Any], algorithm: str | None) -> Point:
    return Point(
        parameters=varied(problem.parameters(), change),
        value=None,
        bound=None,
        feasible=False,
        is_exact=True,
        algorithm=algorithm or find_family(problem.family).default,
        metrics=dict.fromkeys(find_family(problem.family).curve_metrics),
    )


def write_points(points: Sequence[Point], file: Path) -> None:
    """Write points as CSV; what is not known is an empty cell."""
    rows = [point.to_dict() for point in points]
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, list(rows[0]) if rows else ["value"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
