"""Plans, comparisons, sweeps, differences and explanations as tables, for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fanwise import notebook
from fanwise.errors import PlanError
from fanwise.formatting import number, percent
from fanwise.planning.explanation import Explanation, Listing
from fanwise.planning.families import find_family
from fanwise.planning.family import Family, load
from fanwise.planning.parameter import Parameter
from fanwise.planning.plan import Plan
from fanwise.planning.values import TEXT

if TYPE_CHECKING:
    from fanwise.planning.compare import Comparison
    from fanwise.planning.diff import PlanDiff
    from fanwise.planning.sweep import Point, Sweep

Cells = tuple[tuple[str, ...], list[tuple[Any, ...]]]
"""The names of columns, and rows."""
MOST_ROWS = 8
"""Rows of a table of a plan that a notebook shows."""


def plan_in_words(plan: Plan) -> str:
    """Return what a plan is worth in one line."""
    family = find_family(plan.problem)
    name, write = family.objective.named(plan.parameters), family.objective.write
    parts = [f"{name} {write(plan.objective)}"]
    if not plan.feasible:
        parts.append("breaks a limit")
    elif "no-useful-bound" in plan.warnings or plan.bound is None:
        parts.append("no useful bound")
    else:
        side = "at most" if family.sense == "max" else "at least"
        parts += [f"{side} {write(plan.bound)} possible", f"gap {percent(plan.gap)}"]
    return f"Plan({plan.problem} by {plan.algorithm}: {', '.join(parts)})"


def plan_as_html(plan: Plan) -> str:
    """Return what a plan is worth, and the first rows of what it decides."""
    family = find_family(plan.problem)
    pairs = [*load(family.facts)(plan)]
    if "empty-question" in plan.warnings:
        pairs.append(("nothing to decide", plan.warnings["empty-question"]))
    else:
        side = "at most possible" if family.sense == "max" else "at least needed"
        pairs += [
            (side, family.objective.write(plan.bound)),
            (
                "certified gap",
                "no useful bound" if "no-useful-bound" in plan.warnings else percent(plan.gap),
            ),
            ("limits", "all kept" if plan.feasible else "broken"),
            ("stopped by", plan.stopped_by),
        ]
    parts = [notebook.facts(f"{plan.problem} by {plan.algorithm}", pairs)]
    for name, table in plan.tables.items():
        head = table.slice(0, MOST_ROWS)
        note = f"The first {MOST_ROWS} of {number(table.num_rows)} rows."
        parts.append(_rows(name, with_names(plan, name, head), note if table.num_rows > MOST_ROWS
                           else ""))  # fmt: skip
    return notebook.whole(*parts)


def with_names(plan: Plan, name: str, rows: pa.Table) -> pa.Table:
    """Return rows of a plan's table with names where the workload is at hand, else as they are."""
    from fanwise.planning.export import named_tables

    if plan.source is None:
        return rows
    try:
        return named_tables(replace(plan, tables={name: rows}), plan.source)[name]
    except PlanError:  # ids that the workload does not have: verification says so
        return rows


def comparison_cells(comparison: Comparison) -> Cells:
    """Return plans side by side, the best first."""
    objective = find_family(comparison.problem).objective
    rows = [
        (
            plan.algorithm,
            objective.write(plan.objective),
            objective.write(comparison.bound_for(plan)),
            percent(comparison.gap(plan)),
            f"{plan.seconds['solve']:.2f}",
            plan.feasible,
        )
        for plan in comparison.plans
    ]
    title = objective.title(comparison.parameters)
    return ("algorithm", title, "best bound", "gap to it", "seconds", "feasible"), rows


def comparison_as_html(comparison: Comparison) -> str:
    """Return plans side by side, and what was left out."""
    columns, rows = comparison_cells(comparison)
    skipped = [notebook.paragraph(f"{name}: {why}") for name, why in comparison.skipped.items()]
    title = f"{comparison.problem}: best first"
    return notebook.whole(notebook.table(title, columns, rows), *skipped)


def sweep_cells(
    points: Sequence[Point], family: Family, varied: Sequence[Parameter], objective: str
) -> Cells:
    """Return a row for each point: what varies, what else is known, value, bound and gap."""
    shown = [metric for metric in family.metrics if metric.in_curves and metric.in_tables]
    amount = family.objective.write
    rows = []
    for point in points:
        cells: list[Any] = [_setting(point, parameter) for parameter in varied]
        cells += [metric.write(point.metrics[metric.name]) for metric in shown]
        cells += [amount(point.value), amount(point.bound)]
        missing = "no plan" if point.value is None else "breaks a limit"
        cells += [percent(point.gap), point.is_exact if point.feasible else missing]
        rows.append(tuple(cells))
    named = (parameter.label for parameter in varied)
    middle = (metric.label for metric in shown)
    return (*named, *middle, objective, "bound", "gap", "exact"), rows


def sweep_as_html(sweep: Sweep) -> str:
    """Return the points as a table."""
    family = find_family(sweep.problem)
    named = {one.name: one for one in family.parameters}
    varied = [named.get(name, Parameter(name, TEXT, "")) for name in sweep.varied]
    columns, rows = sweep_cells(
        sweep.points, family, varied, family.objective.title(sweep.parameters)
    )
    return notebook.whole(notebook.table(f"{family.name}: what if", columns, rows))


def diff_as_html(difference: PlanDiff) -> str:
    """Return what changes from one plan to the other, by name where workloads are at hand."""
    before, after = difference.before, difference.after
    write = find_family(after.problem).objective.write
    values = [
        ("algorithm", before.algorithm, after.algorithm),
        ("objective", write(before.objective), write(after.objective)),
        ("bound", write(before.bound), write(after.bound)),
        ("gap", percent(before.gap), percent(after.gap)),
        *((name, number(old), number(new)) for name, (old, new) in difference.parameters.items()),
    ]
    rows = [(table.name, *table.summary().values()) for table in difference.tables]
    parts = [
        notebook.table(f"{after.problem}: before and after", ("", "before", "after"), values),
        notebook.table("Rows", ("table", "removed", "added", "changed", "same"), rows),
    ]
    for table in difference.tables:
        for what, plan, changed in (
            ("removed", before, table.removed),
            ("added", after, table.added),
            ("changed", after, table.changed_after),
        ):
            if len(changed):
                note = f"The first {MOST_ROWS} of {number(len(changed))} rows."
                head = with_names(plan, table.name, changed.slice(0, MOST_ROWS))
                parts.append(
                    _rows(f"{table.name}: {what}", head, note if len(changed) > MOST_ROWS else "")
                )
    if difference.is_empty:
        parts.append(notebook.paragraph("The two plans decide the same."))
    if before.workload != after.workload:
        parts.append(
            notebook.paragraph("The plans are for different workloads; rows were matched by id.")
        )
    return notebook.whole(*parts)


def explanation_as_html(explanation: Explanation) -> str:
    """Return the passages one below the other."""
    return notebook.whole(
        *(
            notebook.table(passage.title, passage.columns, passage.rows, passage.note)
            if isinstance(passage, Listing)
            else notebook.facts(passage.title, passage.pairs)
            for passage in explanation.passages
        )
    )


def explanation_in_words(explanation: Explanation) -> str:
    """Return the passages as plain text."""
    lines = []
    for passage in explanation.passages:
        lines.append(f"{passage.title}:")
        if isinstance(passage, Listing):
            lines += [
                "  " + ", ".join(f"{column} {number(cell)}" for column, cell in
                                 zip(passage.columns, row, strict=True))
                for row in passage.rows
            ]  # fmt: skip
            if passage.note:
                lines.append(f"  {passage.note}")
        else:
            lines += [f"  {name}: {number(value)}" for name, value in passage.pairs]
    return "\n".join(lines)


def _rows(title: str, table: pa.Table, note: str) -> str:
    columns = [column.to_pylist() for column in table.columns]
    return notebook.table(title, table.column_names, list(zip(*columns, strict=True)), note)


def _setting(point: Point, parameter: Parameter) -> str:
    share = point.parameters.get(f"{parameter.name}_percent")
    value = point.parameters.get(parameter.name)
    if share is not None:
        return f"{share:g}%"
    return number(value) if value is None or isinstance(value, str) else parameter.write(value)
