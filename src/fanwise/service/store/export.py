"""The history as Parquet: decisions, changes, windows and audit trail in one folder.

``history.json`` says what the folder is; times are timestamps in UTC. Tokens stay in the store.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import Connection, Row, Select, select

from fanwise.service.store import tables
from fanwise.service.store.database import Database
from fanwise.service.store.reading import to_change
from fanwise.workload.folders import atomic_folder
from fanwise.workload.outputs import Contents, FolderKind, matching, read_object, tables_pattern

HISTORY_FORMAT = "fanwise.history"
HISTORY_VERSION = 1
_BATCH = 500
"""Rows of the store read at a time; a decision may have thousands of changes."""
_TIME = pa.timestamp("us", tz="UTC")
_DECISIONS = pa.schema(
    {
        "number": pa.int64(),
        "hash": pa.string(),
        "window_start": _TIME,
        "window_end": _TIME,
        "state": pa.string(),
        "value": pa.float64(),
        "bound": pa.float64(),
        "gap": pa.float64(),
        "changes": pa.int64(),
        "workload": pa.string(),
        "made_at": _TIME,
        "previous": pa.string(),
        "forecast": pa.string(),
        "predicted": pa.float64(),
        "delivered": pa.float64(),
        "facts": pa.string(),
        "seconds": pa.string(),
        "why": pa.string(),
        "in_force_at": _TIME,
    }
)
_CHANGES = pa.schema(
    {
        "decision": pa.int64(),
        "topic": pa.string(),
        "served": pa.bool_(),
        "cost": pa.float64(),
        "followers": pa.int64(),
        "reason": pa.string(),
    }
)
_WINDOWS = pa.schema(
    {
        "start": _TIME,
        "end": _TIME,
        "events": pa.int64(),
        "late": pa.int64(),
        "bad": pa.int64(),
        "closed_by": pa.string(),
        "closed_at": _TIME,
    }
)
_AUDIT = pa.schema(
    {
        "number": pa.int64(),
        "at": _TIME,
        "who": pa.string(),
        "what": pa.string(),
        "about": pa.string(),
        "note": pa.string(),
        "token": pa.string(),
    }
)
Record = dict[str, Any]


def _in_history(contents: Contents) -> Callable[[str], bool] | None:
    header = read_object(contents, "history.json")
    if not isinstance(header, dict) or header.get("format") != HISTORY_FORMAT:
        return None
    names = ("decisions", "changes", "windows", "audit")
    return matching(rf"history\.json|{tables_pattern(names)}")


HISTORY = FolderKind("an exported history", "no history.json that says so", _in_history)


def export_history(
    store: Database, destination: str | Path, *, overwrite: bool = False
) -> dict[str, int]:
    """Write the whole history into a folder, as it is at one moment; return rows by table.

    Raises
    ------
    OutputExistsError
        If something is there that must stay.
    """
    with (
        atomic_folder(destination, HISTORY, overwrite=overwrite) as folder,
        store.reading() as connection,
    ):
        decisions = _read(connection, select(tables.decisions).order_by(tables.decisions.c.number))
        windows = select(tables.windows).order_by(tables.windows.c.start, tables.windows.c.end)
        audit = select(tables.audit).order_by(tables.audit.c.number)
        counts = {
            "decisions": _write(folder, "decisions", _DECISIONS, map(_decision, decisions)),
            "changes": _write(folder, "changes", _CHANGES, _changes(connection)),
            "windows": _write(folder, "windows", _WINDOWS, map(_plain, _read(connection, windows))),
            "audit": _write(folder, "audit", _AUDIT, map(_plain, _read(connection, audit))),
        }
        header = {"format": HISTORY_FORMAT, "version": HISTORY_VERSION, "rows": counts}
        (folder / "history.json").write_text(json.dumps(header, indent=2) + "\n")
    return counts


def _read(connection: Connection, query: Select[Any]) -> Iterator[Row[Any]]:
    """Yield rows without holding all of them."""
    with connection.execution_options(yield_per=_BATCH).execute(query) as rows:
        yield from rows


def _plain(row: Row[Any]) -> Record:
    return dict(row._mapping)


def _decision(row: Row[Any]) -> Record:
    texts = {name: json.dumps(getattr(row, name)) for name in ("facts", "seconds")}
    return _plain(row) | texts


def _changes(connection: Connection) -> Iterator[Record]:
    for row in _read(connection, select(tables.changes).order_by(tables.changes.c.number)):
        for packed in row.packed:
            yield {"decision": row.number, **vars(to_change(packed))}


def _write(folder: Path, name: str, schema: pa.Schema, records: Iterable[Record]) -> int:
    count = 0
    with pq.ParquetWriter(folder / f"{name}.parquet", schema, compression="zstd") as writer:
        batch: list[Record] = []
        for record in records:
            batch.append(record)
            if len(batch) == 100 * _BATCH:
                writer.write_table(pa.Table.from_pylist(batch, schema=schema))
                count += len(batch)
                batch = []
        writer.write_table(pa.Table.from_pylist(batch, schema=schema))
    return count + len(batch)
