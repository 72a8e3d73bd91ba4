"""Plans that lie, made from plans that do not: one false statement each, fingerprint and all.

Every mutation is a statement that is false by construction, so that verification must refuse it:
numbers moved away from what was measured, bounds beyond the known optimum whatever becomes of the
certificate, tables that no longer give the stated numbers, values of kinds that cannot be right.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

import fanwise as fw
from fanwise.planning.families import FAMILIES
from fanwise.planning.plan import certified_gap
from fanwise.planning.problem import Problem
from fanwise.planning.proof import Proof

HOSTILE = ("x", [1], 2**70, -(2**70), True, {"a": 1}, math.nan, math.inf)
"""Values that no number, name or flag of a plan can be replaced by."""


@dataclass(frozen=True)
class Lie:
    """A false plan, what is false about it, and whether it lies about the bound alone."""

    name: str
    plan: fw.Plan
    is_about_bound: bool = False


def restamp(plan: fw.Plan) -> fw.Plan:
    """Give a changed plan the fingerprint of its contents, where it has one."""
    try:
        return replace(plan, id=plan.compute_id())
    except Exception:  # what cannot be hashed keeps its old fingerprint
        return plan


def with_bound(plan: fw.Plan, bound: float) -> fw.Plan:
    gap = certified_gap(plan.objective, bound, is_feasible=plan.feasible)
    return replace(plan, bound=bound, gap=gap)


def lies(problem: Problem, plan: fw.Plan, optimum: float, seed: int) -> Iterator[Lie]:
    """Yield false plans; ``optimum`` is known from elsewhere."""
    rng = random.Random(seed)
    yield from _about_entries(plan)
    yield from _about_metrics(plan)
    yield from _about_parameters(plan)
    yield from _about_tables(problem, plan, rng)
    yield from _about_bounds(plan, optimum, rng)


def _about_entries(plan: fw.Plan) -> Iterator[Lie]:
    for factor in (0.5, 1.001, 2.0, -1.0):
        objective = plan.objective * factor + (0.1 if plan.objective == 0 else 0.0)
        if objective != plan.objective:
            yield Lie(f"objective x {factor}", replace(plan, objective=objective))
    if plan.gap is not None:
        for gap in (None, plan.gap + 0.01, plan.gap / 2 + 1e-3, -0.1, 2.0):
            if gap is None or abs(gap - plan.gap) > 1e-8:
                yield Lie(f"gap {gap}", replace(plan, gap=gap))
    yield Lie("feasible turned round", replace(plan, feasible=not plan.feasible))
    for algorithm in ("other", "", "best+other", plan.algorithm + "+best", plan.algorithm.upper()):
        yield Lie(f"algorithm {algorithm!r}", restamp(replace(plan, algorithm=algorithm)))
    yield Lie("stopped", replace(plan, stopped="tired"))
    yield Lie("seconds", replace(plan, seconds={"total": -1.0}))
    yield Lie("workload", replace(plan, workload="0" * 64))
    yield Lie("id", replace(plan, id="0" * 64))


def _about_metrics(plan: fw.Plan) -> Iterator[Lie]:
    unchecked = FAMILIES[plan.problem].unchecked
    yield Lie("a metric nobody knows", replace(plan, metrics={**plan.metrics, "glory": 1}))
    for name, value in plan.metrics.items():
        if name in unchecked:
            continue
        others = [*HOSTILE, "", None, -1, 0.5]
        if isinstance(value, int | float):
            others += [value + 1, value * 1.01 + 1e-3, -value - 1]
        for other in others:
            if type(other) is type(value) and other == value:
                continue
            if isinstance(value, int | float) and not isinstance(value, bool):
                is_number = isinstance(other, int | float) and not isinstance(other, bool)
                if is_number and math.isclose(value, other, rel_tol=1e-8, abs_tol=1e-11):
                    continue
            changed = {**plan.metrics, name: other}
            yield Lie(f"metrics.{name} = {other!r}", replace(plan, metrics=changed))
        left = {key: kept for key, kept in plan.metrics.items() if key != name}
        yield Lie(f"no metrics.{name}", replace(plan, metrics=left))


FREE_TEXT = ("previous",)
"""Parameters that may be any text: they name something that verification does not have."""


def _about_parameters(plan: fw.Plan) -> Iterator[Lie]:
    changed = {**plan.parameters, "glory": 1}
    yield Lie("a parameter nobody knows", restamp(replace(plan, parameters=changed)))
    for name, value in plan.parameters.items():
        for other in HOSTILE:
            is_same = type(other) is type(value) and other == value
            if is_same or (name in FREE_TEXT and isinstance(other, str)):
                continue
            if isinstance(value, bool) and isinstance(other, bool):
                continue
            changed = {**plan.parameters, name: other}
            yield Lie(f"parameters.{name} = {other!r}", restamp(replace(plan, parameters=changed)))


def _about_tables(problem: Problem, plan: fw.Plan, rng: random.Random) -> Iterator[Lie]:
    for name, table in plan.tables.items():
        for what, other in other_tables(table, rng):
            changed = restamp(replace(plan, tables={**plan.tables, name: other}))
            if not _is_as_true(problem, plan, changed):
                yield Lie(f"{name}: {what}", changed)


def _is_as_true(problem: Problem, plan: fw.Plan, changed: fw.Plan) -> bool:
    """Whether other tables give the very numbers that the plan states: then it does not lie."""
    if any(changed.tables[name].schema != table.schema for name, table in plan.tables.items()):
        return False
    if any(_has_wild_ids(table) for table in changed.tables.values()):
        return False
    try:
        measured = problem.measure(changed.tables)
        has_doubles = any(
            len({tuple(row.items()) for row in table.to_pylist()}) != table.num_rows
            for table in changed.tables.values()
        )
    except Exception:  # tables that cannot be measured are no plan
        return False
    return (
        not has_doubles
        and measured.is_feasible == plan.feasible
        and math.isclose(measured.objective, plan.objective, rel_tol=1e-9, abs_tol=1e-12)
        and all(
            measured.metrics[key] == plan.metrics.get(key)
            or (
                isinstance(value, float)
                and isinstance(plan.metrics.get(key), int | float)
                and math.isclose(value, plan.metrics[key], rel_tol=1e-9, abs_tol=1e-12)
            )
            for key, value in measured.metrics.items()
        )
    )


def _has_wild_ids(table: pa.Table) -> bool:
    """Whether a whole number is negative or far above every id: measuring such is no use."""
    whole = [column for column in table.columns if pa.types.is_integer(column.type)]
    return any(
        value is None or not 0 <= value < 10_000 for column in whole for value in column.to_pylist()
    )


def other_tables(table: pa.Table, rng: random.Random) -> Iterator[tuple[str, pa.Table]]:
    if table.num_rows:
        row = rng.randrange(table.num_rows)
        yield "a row is missing", pa.concat_tables([table.slice(0, row), table.slice(row + 1)])
        yield "a row stands twice", pa.concat_tables([table, table.slice(row, 1)])
    for index, name in enumerate(table.column_names):
        yield f"no column {name}", table.drop_columns([name])
        values = table.column(name)
        for what, other in _other_columns(values, rng):
            yield f"{name}: {what}", table.set_column(index, name, other)
    extra = pa.array([0] * table.num_rows, pa.int32())
    yield "a column too many", table.append_column("glory", extra)


def _other_columns(values: pa.ChunkedArray, rng: random.Random) -> Iterator[tuple[str, pa.Array]]:
    size = len(values)
    yield "text", pa.array(["x"] * size, pa.string())
    yield "lists", pa.array([[1]] * size, pa.list_(pa.int32()))
    yield "bytes", pa.array([b"x"] * size, pa.binary())
    yield "nothing", pa.nulls(size, values.type)
    yield "times", pa.array([0] * size, pa.timestamp("s"))
    if size == 0:
        return
    row = rng.randrange(size)
    plain = values.to_pylist()
    if plain[row] is None:
        return
    if pa.types.is_boolean(values.type):
        others: list[Any] = [not plain[row], None]
    elif pa.types.is_integer(values.type):
        whole = np.iinfo(values.type.to_pandas_dtype())
        others = [plain[row] + 1, plain[row] - 1, -1, 2**31 - 1]
        others = [*(other for other in others if whole.min <= other <= whole.max), None]
    elif pa.types.is_floating(values.type):
        others = [plain[row] * 1.01 + 1e-3, -plain[row] - 1, math.nan, math.inf, 1e308, None]
    else:
        others = ["x", None]
    for other in others:
        if other != plain[row]:
            changed = [*plain[:row], other, *plain[row + 1 :]]
            yield f"{other!r} in row {row}", pa.array(changed, values.type)
    if pa.types.is_integer(values.type):
        yield "numbers with a point", values.cast(pa.float64()).combine_chunks()


def _about_bounds(plan: fw.Plan, optimum: float, rng: random.Random) -> Iterator[Lie]:
    """Yield bounds that are better than the optimum, with every kind of certificate."""
    is_max = FAMILIES[plan.problem].sense == "max"
    slack = 1e-6 * max(1.0, abs(optimum))
    false = [plan.objective]
    false += [optimum + share * (plan.objective - optimum) for share in (0.3, 0.6)]
    false = [
        bound for bound in false if (bound < optimum - slack if is_max else bound > optimum + slack)
    ]
    for bound in false:
        for what, proof in other_proofs(plan.proof, bound, rng):
            lie = replace(with_bound(plan, bound), proof=proof)
            yield Lie(f"bound {bound:.6g}, optimum {optimum:.6g}: {what}", lie, is_about_bound=True)


def other_proofs(
    proof: Proof | None, bound: float, rng: random.Random
) -> Iterator[tuple[str, Proof | None]]:
    """Yield certificates that claim a bound: the given one, and what becomes of it by changes."""
    yield "no certificate", None
    if proof is None:
        return
    for kind in ("duals", "leaves", "solver"):
        yield f"called {kind}", replace(proof, kind=kind, proves=bound)
        yield f"called {kind}, with no tables", Proof(kind=kind, tables={}, proves=bound)
    for name, table in proof.tables.items():
        left = {key: kept for key, kept in proof.tables.items() if key != name}
        yield f"without {name}", replace(proof, tables=left, proves=bound)
        for what, other in (*other_tables(table, rng), *_scaled(table)):
            tables = {**proof.tables, name: other}
            yield f"{name}: {what}", replace(proof, tables=tables, proves=bound)


def _scaled(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    for index, name in enumerate(table.column_names):
        values = table.column(name)
        if pa.types.is_floating(values.type):
            numbers = values.to_numpy().astype(np.float64)
            for factor in (-1.0, 0.0, 0.5, 2.0, 1e30):
                with np.errstate(over="ignore"):
                    scaled = (numbers * factor).astype(values.type.to_pandas_dtype())
                yield f"{name} x {factor}", table.set_column(index, name, pa.array(scaled))
