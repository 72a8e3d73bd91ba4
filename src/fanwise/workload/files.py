"""Parquet tables of workloads on disk, read and named alike by whoever reads them.

Each table is one file or a folder of part files, as Spark writes them; row order is free.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fanwise.arrays.csr import FloatArray
from fanwise.errors import WorkloadError
from fanwise.workload import remote, validation


def local_path(path: str | Path) -> Path:
    """Return a local path to read from: of a ``file:`` address, or of a copy of any other one."""
    address = remote.address_of(path)
    if address is not None:
        return remote.fetch(address)
    if isinstance(path, str) and path.startswith("file:"):
        return Path(unquote(urlparse(path).path))
    return Path(path)


def output_path(path: str | Path) -> str | Path:
    """Return a path to write to: a local one, or an address elsewhere as it is."""
    return local_path(path) if remote.address_of(path) is None else path


def require_columns(file: Path, needed: Iterable[str], present: Sequence[str]) -> None:
    """Refuse a table that lacks columns, naming them together with the present ones."""
    missing = [name for name in needed if name not in present]
    if missing:
        raise WorkloadError(
            f"{file}: no column {', '.join(map(repr, missing))}; "
            f"it has {', '.join(map(repr, present)) or 'none'}."
        )


def not_readable(part: Path, error: Exception) -> WorkloadError:
    """Return the error of a file that is no Parquet."""
    reason = str(error).splitlines()[0]
    return WorkloadError(
        f"{part}: not readable as Parquet, cut or damaged ({reason}); write it again."
    )


class ParquetTable:
    """A Parquet file or folder of part files, read column by column."""

    def __init__(self, path: Path, needed: tuple[str, ...], optional: tuple[str, ...]) -> None:
        self.path = path
        parts = part_files(path)
        tables = []
        for part in parts:
            try:
                file = pq.ParquetFile(part, memory_map=True)
                present = file.schema_arrow.names
                require_columns(part, needed, present)
                wanted = [name for name in present if _matches(name, (*needed, *optional))]
                tables.append(file.read(columns=wanted))
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                raise not_readable(part, error) from None
        self._parts = parts
        self._starts = np.cumsum([0, *(table.num_rows for table in tables)])
        try:
            self._table = pa.concat_tables(tables, promote_options="none")
        except pa.ArrowException:
            try:
                self._table = pa.concat_tables(tables, promote_options="permissive")
            except pa.ArrowException as error:
                reason = str(error).splitlines()[0]
                raise WorkloadError(
                    f"{path}: part files do not agree on columns and types ({reason})."
                ) from None

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def place(self, column: str, row: int | None = None) -> str:
        """Name a column, or one of its rows: the part file and the row in it, from 0."""
        if row is None:
            return f"{self.path}: column {column!r}"
        part = int(np.searchsorted(self._starts, row, side="right")) - 1
        return f"{self._parts[part]}: column {column!r}, row {row - self._starts[part]}"

    def _column(self, name: str) -> pa.ChunkedArray:
        return self._table.column(name)

    def ids(self, name: str) -> Any:
        return validation.ids(self._column(name), name, self.place)

    def order(self, name: str) -> Any:
        return validation.dense_order(self.ids(name), len(self), name, self.place)

    def floats(self, name: str, order: Any = None) -> FloatArray:
        values = validation.numbers(self._column(name), name, self.place)
        return values if order is None else values[order]

    def not_negative(self, name: str, order: Any) -> FloatArray:
        validation.check_not_negative(self.floats(name), name, self.place)
        return self.floats(name, order)

    def names(self, order: Any) -> pa.Array:
        values = validation.names(self._column("name"), "name", self.place)
        return values if order is None else values.take(pa.array(order))

    def optional(self, name: str, order: Any) -> FloatArray | None:
        return self.not_negative(name, order) if name in self._table.column_names else None

    def optional_ids(self, name: str, order: Any) -> Any:
        if name not in self._table.column_names:
            return None
        values = self.ids(name)
        validation.refuse(values < 0, values, name, self.place, "must be >= 0")
        return values if order is None else values[order]

    def positions(self, order: Any) -> FloatArray | None:
        axes = [name for name in self._table.column_names if name.startswith("net_")]
        if not axes:
            return None
        expected = [f"net_{axis}" for axis in range(len(axes))]
        if sorted(axes) != sorted(expected):
            raise WorkloadError(
                f"{self.path}: columns {', '.join(sorted(axes))} where "
                f"{', '.join(expected)} are needed."
            )
        return np.column_stack([self.floats(name, order) for name in expected])


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(
        name == pattern or (pattern.endswith("*") and name.startswith(pattern[:-1]))
        for pattern in patterns
    )


def part_files(path: Path) -> list[Path]:
    """Return the Parquet files behind ``x.parquet``: itself, or the parts of a folder."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise WorkloadError(f"{path}: not there; a workload folder needs it.")
    parts = sorted(
        part
        for part in path.rglob("*.parquet")
        if part.is_file() and not part.name.startswith(("_", "."))
    )
    if not parts:
        raise WorkloadError(f"{path}: a folder without part files (*.parquet).")
    return parts
