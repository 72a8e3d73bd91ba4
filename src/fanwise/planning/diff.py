"""What changes from one plan to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.errors import ParameterError
from fanwise.planning.families import find_family
from fanwise.planning.identity import sort_rows
from fanwise.planning.plan import Plan


@dataclass(frozen=True)
class TableDiff:
    """Rows of one table by key: gone, new, and there in both with other values."""

    name: str
    keys: tuple[str, ...]
    removed: pa.Table
    added: pa.Table
    changed_before: pa.Table
    changed_after: pa.Table
    num_same: int

    @property
    def is_empty(self) -> bool:
        return not (len(self.removed) or len(self.added) or len(self.changed_after))

    def summary(self) -> dict[str, int]:
        """Count rows."""
        return {
            "removed": len(self.removed),
            "added": len(self.added),
            "changed": len(self.changed_after),
            "same": self.num_same,
        }


@dataclass(frozen=True)
class PlanDiff:
    """Everything that differs between two plans of one family."""

    before: Plan
    after: Plan
    parameters: dict[str, tuple[Any, Any]]
    tables: tuple[TableDiff, ...]

    @property
    def is_empty(self) -> bool:
        return not self.parameters and all(table.is_empty for table in self.tables)

    def __repr__(self) -> str:
        counts = [
            f"{table.name} -{len(table.removed)} +{len(table.added)} ~{len(table.changed_after)}"
            for table in self.tables
        ]
        return f"PlanDiff({self.after.problem}: {', '.join(counts)})"

    def _repr_html_(self) -> str:
        from fanwise.planning.showing import diff_as_html

        return diff_as_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return counts and values as JSON."""
        return {
            "problem": self.after.problem,
            "same": self.is_empty,
            "same_workload": self.before.workload == self.after.workload,
            "algorithm": [self.before.algorithm, self.after.algorithm],
            "objective": [self.before.objective, self.after.objective],
            "bound": [self.before.bound, self.after.bound],
            "gap": [self.before.gap, self.after.gap],
            "parameters": {key: list(pair) for key, pair in self.parameters.items()},
            "tables": {table.name: table.summary() for table in self.tables},
        }


def diff_plans(before: Plan, after: Plan) -> PlanDiff:
    """Compare two plans of the same family row by row.

    Rows are matched by id, so both plans should be for one workload, or for workloads whose ids
    mean the same.
    """
    if before.problem != after.problem:
        raise ParameterError("plans", f"of one problem, here {before.problem!r}", after.problem)
    keys = find_family(after.problem).keys
    names = sorted({*before.parameters, *after.parameters})
    changed = {
        name: (before.parameters.get(name), after.parameters.get(name))
        for name in names
        if before.parameters.get(name) != after.parameters.get(name)
    }
    tables = tuple(
        _diff_tables(name, key, before.tables[name], after.tables[name])
        for name, key in keys.items()
    )
    return PlanDiff(before, after, changed, tables)


def _diff_tables(name: str, keys: tuple[str, ...], before: pa.Table, after: pa.Table) -> TableDiff:
    before, after = sort_rows(before, keys), sort_rows(after, keys)
    left, right = _codes(before, after, keys)
    left, right = _tell_apart(left), _tell_apart(right)
    in_both_left = np.isin(left, right)
    in_both_right = np.isin(right, left)
    same_left = before.filter(pa.array(in_both_left))
    same_right = after.filter(pa.array(in_both_right))
    differs = np.zeros(len(same_left), dtype=bool)
    values = [column for column in after.column_names if column in before.column_names]
    for column in values:
        if column not in keys:
            one = same_left.column(column).to_numpy(zero_copy_only=False)
            other = same_right.column(column).to_numpy(zero_copy_only=False)
            differs |= one != other
    return TableDiff(
        name=name,
        keys=keys,
        removed=before.filter(pa.array(~in_both_left)),
        added=after.filter(pa.array(~in_both_right)),
        changed_before=same_left.filter(pa.array(differs)),
        changed_after=same_right.filter(pa.array(differs)),
        num_same=int(np.count_nonzero(~differs)),
    )


def _tell_apart(codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Number sorted rows with the same key: the first of each keep a number of their own."""
    first = np.searchsorted(codes, codes, side="left")
    return codes * (1 << 31) + np.arange(len(codes)) - first


def _codes(
    before: pa.Table, after: pa.Table, keys: tuple[str, ...]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Number the keys of two tables alike, so that equal keys get equal numbers."""
    codes = np.zeros(len(before) + len(after), dtype=np.int64)
    for key in keys:
        column = np.concatenate([before.column(key).to_numpy(), after.column(key).to_numpy()])
        _, column = np.unique(column, return_inverse=True)
        codes = codes * (column.max(initial=0) + 1) + column
        _, codes = np.unique(codes, return_inverse=True)
    return codes[: len(before)], codes[len(before) :]
