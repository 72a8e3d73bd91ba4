"""The fingerprint of a plan: sha256 of problem, algorithm, parameters and sorted tables."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanwise.planning.families import find_family


def plan_id(
    problem: str, algorithm: str, parameters: Mapping[str, Any], tables: Mapping[str, pa.Table]
) -> str:
    """Hash what makes a plan this plan; row order and timings do not count."""
    digest = begin_digest(problem, algorithm, parameters)
    keys = find_family(problem).keys
    for name in sorted(tables):
        add_table(digest, name, tables[name], keys[name])
    return str(digest.hexdigest())


def begin_digest(problem: str, algorithm: str, parameters: Mapping[str, Any]) -> Any:
    """Return a digest of all but the tables, which follow by name."""
    head = {"problem": problem, "algorithm": algorithm, "parameters": plain(parameters)}
    text = json.dumps(head, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode())


def add_table(digest: Any, name: str, table: pa.Table, keys: tuple[str, ...]) -> None:
    """Add a table, its rows sorted by key, to a digest."""
    table = sort_rows(table, keys)
    digest.update(f"\n{name} {table.num_rows}".encode())
    for column in sorted(table.column_names):
        digest.update(f"\n{column} ".encode())
        add_column(digest, table.column(column))


def sort_rows(table: pa.Table, keys: tuple[str, ...]) -> pa.Table:
    """Sort rows by their key, which costs one look where they are sorted already.

    Rows with the same key are sorted by their other columns.
    """
    if table.num_rows < 2:
        return table
    is_sorted, has_ties = _inspect_order(table, keys)
    if not is_sorted:
        table = table.sort_by([(key, "ascending") for key in keys])
        _, has_ties = _inspect_order(table, keys)
    if has_ties:
        columns = [*keys, *sorted(set(table.column_names) - set(keys))]
        table = table.sort_by([(name, "ascending") for name in columns])
    return table


def _inspect_order(table: pa.Table, keys: tuple[str, ...]) -> tuple[bool, bool]:
    """Whether rows ascend by their key, and then whether any two have the same."""
    undecided = np.ones(table.num_rows - 1, dtype=bool)
    for key in keys:
        values = table.column(key).to_numpy()
        if np.any(values[1:][undecided] < values[:-1][undecided]):
            return False, False
        undecided &= values[1:] == values[:-1]
    return True, bool(undecided.any())


def add_column(digest: Any, column: pa.ChunkedArray) -> None:
    """Add a column's type and values to a digest."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        lengths = np.ascontiguousarray(pc.binary_length(column).to_numpy(), dtype=np.int64)
        digest.update(b"string")
        digest.update(lengths.tobytes())
        for chunk in column.chunks:
            digest.update("".join(chunk.to_pylist()).encode())
    else:
        values = np.ascontiguousarray(column.to_numpy())
        digest.update(values.dtype.str.encode())
        digest.update(values.tobytes())


def plain(value: Any) -> Any:
    """Write 27 and 27.0 alike."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
