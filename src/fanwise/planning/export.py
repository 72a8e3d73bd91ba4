"""Plans for other programs: the tables with names instead of ids, and what families add."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv as pa_csv

from fanwise.errors import PlanError
from fanwise.planning.families import FAMILIES, find_family
from fanwise.planning.family import load
from fanwise.planning.outputs import TABLES, TABLES_FILE, TABLES_FORMAT
from fanwise.planning.plan import Plan
from fanwise.workload.folders import atomic_folder

if TYPE_CHECKING:
    from fanwise.workload.topic import TopicWorkload

NAMED_COLUMNS = {
    "topic": "topic",
    "subscriber": "subscriber",
    "broker": "broker",
    "other": "broker",
    "u": "subscriber",
    "v": "subscriber",
}
"""What columns of ids are ids of: ends of links are subscribers (u, v) or brokers."""


def named_tables(plan: Plan, workload: TopicWorkload) -> dict[str, pa.Table]:
    """Return the plan's tables with names in place of ids."""
    plan.check_made_for(workload)
    name_of = {
        column: getattr(workload, f"{kind}_names")
        for column, kind in NAMED_COLUMNS.items()
        if hasattr(workload, f"{kind}_names")
    }
    tables = {}
    for name, table in plan.tables.items():
        for column, known in name_of.items():
            if column in table.column_names:
                index = table.column_names.index(column)
                try:
                    named = known.take(table.column(column).combine_chunks())
                except pa.ArrowException:
                    raise PlanError(
                        f"{name}.parquet: column {column!r} has an id the workload does not know."
                    ) from None
                table = table.set_column(index, column, named)
        tables[name] = table
    return tables


def export_csv(
    plan: Plan, workload: TopicWorkload, path: str | Path, *, overwrite: bool = False
) -> dict[str, int]:
    """Write one CSV per table into a new folder; return the rows of each.

    Beside them ``tables.json`` says which plan they are of.
    """
    tables = named_tables(plan, workload)
    origin = {
        "format": TABLES_FORMAT,
        "plan": plan.id,
        "workload": plan.workload,
        "tables": list(tables),
    }
    with atomic_folder(path, TABLES, overwrite=overwrite) as folder:
        for name, table in tables.items():
            pa_csv.write_csv(table, folder / f"{name}.csv")
        (folder / TABLES_FILE).write_text(json.dumps(origin, indent=2) + "\n", encoding="utf-8")
    return {name: table.num_rows for name, table in tables.items()}


def export_as(
    kind: str, plan: Plan, workload: TopicWorkload, path: str | Path, *, overwrite: bool = False
) -> int:
    """Write a plan in a format of its family; return the number of rows or links."""
    target = find_family(plan.problem).exports.get(kind)
    if target is None:
        able = [name for name, family in FAMILIES.items() if kind in family.exports]
        raise PlanError(
            f"a {plan.problem} plan cannot be written as {kind}, only plans of "
            f"{' and '.join(able)}; --csv writes any."
        )
    rows: int = load(target)(workload, plan, path, overwrite=overwrite)
    return rows
