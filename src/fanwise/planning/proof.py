"""Certificates: what a bound follows from, kept beside the plan so that anyone can check it.

A proof is a few small tables: prices, shares, the leaves of a search. They are hints and no more.
What they prove is computed from the workload by the family's ``verify_proof`` module, which shares
no code with the solver, so that no content of the tables can prove what is false.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import pyarrow as pa
import pyarrow.parquet as pq

from fanwise.errors import PlanError, VerificationError

Kind = Literal["duals", "leaves", "solver"]
KINDS: tuple[str, ...] = get_args(Kind)
FOLDER = "proof"
_FILE = re.compile(rf"{FOLDER}/([a-z][a-z0-9_]*)\.parquet")


class ProofError(VerificationError):
    """A certificate that is malformed or proves nothing; the message is one line."""


@dataclass(frozen=True, eq=False)
class Proof:
    """What a bound follows from.

    Attributes
    ----------
    kind
        ``duals``: prices whose weighted sum of inequalities is the bound. ``leaves``: the leaves of
        a search that covers every case, each with its bound. ``solver``: the bound is the word of
        a solver; the tables prove a weaker one.
    tables
        By name; each is written as ``proof/NAME.parquet``.
    proves
        The bound that evaluating the tables gives, as claimed by whoever made them.
    """

    kind: Kind
    tables: Mapping[str, pa.Table] = field(repr=False)
    proves: float

    def to_dict(self) -> dict[str, Any]:
        """Return the entry ``proof`` of ``plan.json``."""
        files = [f"{FOLDER}/{name}.parquet" for name in self.tables]
        return {"kind": self.kind, "files": files, "proves": self.proves}

    def table(self, name: str, columns: Mapping[str, str]) -> pa.Table:
        """Return a table after a look at its columns.

        Parameters
        ----------
        columns
            Name and kind of each column that is needed: ``"id"`` for integers, ``"number"`` for
            integers or floating-point numbers, ``"flag"`` for truth values.

        Raises
        ------
        ProofError
            Where the table or a column is missing, of another kind, or has empty cells.
        """
        if name not in self.tables:
            raise ProofError(f"the proof has no table {name!r}")
        table = self.tables[name]
        for column, kind in columns.items():
            if column not in table.column_names:
                raise ProofError(f"proof/{name}.parquet has no column {column!r}")
            values = table.column(column)
            if not KIND_TESTS[kind](values.type):
                raise ProofError(f"proof/{name}.parquet: column {column!r} is {values.type}")
            if values.null_count:
                raise ProofError(f"proof/{name}.parquet: column {column!r} has an empty cell")
        return table


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


KIND_TESTS: Mapping[str, Any] = {
    "id": pa.types.is_integer,
    "number": _is_number,
    "flag": pa.types.is_boolean,
    "text": lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind),
}
"""What a column must be: ids, numbers, truth values, text."""


class StoredTables(Mapping[str, pa.Table]):
    """Tables of a proof that are read when they are asked for."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files

    def __getitem__(self, name: str) -> pa.Table:
        path = self._files[name]
        if not path.is_file():
            raise PlanError(f"{path}: not there, but plan.json lists it under proof.")
        try:
            return pq.read_table(path)
        except (pa.ArrowException, OSError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise PlanError(
                f"{path}: not readable as Parquet, cut or damaged ({reason})."
            ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def write_proof(folder: Path, proof: Proof | None) -> None:
    """Write the tables of a proof below the folder of its plan."""
    if proof is None or not proof.tables:
        return
    target = folder / FOLDER
    target.mkdir()
    for name, table in proof.tables.items():
        pq.write_table(table, target / f"{name}.parquet", compression="zstd")


def read_proof(folder: Path, entry: Any) -> Proof | None:
    """Return the proof that ``plan.json`` lists; its tables are read when they are used.

    Raises
    ------
    PlanError
        Where the entry is not of the form that :meth:`Proof.to_dict` gives.
    """
    if entry is None:
        return None
    place = f"{folder / 'plan.json'}: proof"
    if not isinstance(entry, dict) or set(entry) != {"kind", "files", "proves"}:
        raise PlanError(f"{place} must be null or have kind, files and proves.")
    if entry["kind"] not in KINDS:
        raise PlanError(f"{place}.kind must be one of {', '.join(KINDS)}, got {entry['kind']!r}.")
    proves = entry["proves"]
    if isinstance(proves, bool) or not isinstance(proves, int | float):
        raise PlanError(f"{place}.proves must be a number, got {proves!r}.")
    files = entry["files"]
    if not isinstance(files, list):
        raise PlanError(f"{place}.files must be a list of names such as proof/prices.parquet.")
    found: dict[str, Path] = {}
    for name in files:
        match = _FILE.fullmatch(name) if isinstance(name, str) else None
        if match is None or match[1] in found:
            raise PlanError(
                f"{place}.files must be different names such as proof/prices.parquet, got {name!r}."
            )
        found[match[1]] = folder / name
    return Proof(kind=entry["kind"], tables=StoredTables(found), proves=float(proves))
