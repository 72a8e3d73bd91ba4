"""Traces as tables in memory: the columns of all files, rows that cannot be taken apart, files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.errors import InputError


class NeedsSparkError(InputError):
    """Something that only Spark reads; the message says what."""


@dataclass
class Part:
    """The rows of one file: columns by name, and the text of rows that have none."""

    columns: dict[str, pa.Array]
    malformed: pa.Array | None = None
    rows: int = 0


@dataclass
class LocalTrace:
    """A trace in memory.

    Attributes
    ----------
    columns
        By name, all of the same length.
    malformed
        The raw text of rows that could not be taken apart, null for the others; None where the
        format has no such rows.
    file_of_row
        Index into ``files``.
    unreadable
        Files set aside, each with the reason.
    unmatched
        Renames whose old name no file has.
    kind
        The format.
    """

    kind: str
    files: list[str]
    columns: dict[str, pa.Array]
    malformed: pa.Array | None
    file_of_row: npt.NDArray[np.int32]
    rows: int
    unreadable: dict[str, str] = field(default_factory=dict)
    unmatched: list[str] = field(default_factory=list)

    def find(self, name: str) -> pa.Array | None:
        """Return a column; like Spark, blind to upper and lower case."""
        for column, values in self.columns.items():
            if column.lower() == name.lower():
                return values
        return None

    def has(self, name: str) -> bool:
        return self.find(name) is not None


def joined(kind: str, files: Sequence[str], parts: Sequence[Part | None]) -> LocalTrace:
    """Put the rows of files together; columns that a file lacks are null there.

    ``parts`` are in the order of ``files``, None for files set aside.
    """
    names: dict[str, str] = {}
    for part in parts:
        for name in part.columns if part is not None else ():
            names.setdefault(name.lower(), name)
    present = [part for part in parts if part is not None]
    columns = {}
    for low, name in names.items():
        arrays = []
        for part in present:
            own = next((part.columns[column] for column in part.columns if column.lower() == low),
                       None)  # fmt: skip
            arrays.append(pa.nulls(part.rows) if own is None else own)
        columns[name] = _concatenated(arrays)
    malformed = None
    if any(part.malformed is not None for part in present):
        malformed = _concatenated(
            [
                pa.nulls(part.rows, pa.string()) if part.malformed is None else part.malformed
                for part in present
            ]
        )
    counts = [0 if part is None else part.rows for part in parts]
    file_of_row = np.repeat(np.arange(len(parts), dtype=np.int32), counts)
    return LocalTrace(kind, list(files), columns, malformed, file_of_row, sum(counts))


def _concatenated(arrays: Sequence[pa.Array]) -> pa.Array:
    kinds = {array.type for array in arrays if not pa.types.is_null(array.type)}
    if len(kinds) > 1:
        tables = [pa.table({"a": array}) for array in arrays]
        column = pa.concat_tables(tables, promote_options="permissive").column("a")
        return column.combine_chunks()
    kind = next(iter(kinds), pa.null())
    flat = [array if array.type == kind else pa.nulls(len(array), kind) for array in arrays]
    return pa.concat_arrays(flat) if flat else pa.nulls(0)
