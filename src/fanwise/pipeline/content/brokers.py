"""The table of brokers: small, so it is collected; and any bad row of it stops the run."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.errors import InputError
from fanwise.pipeline.content.checks import count_axes, name_column
from fanwise.pipeline.content.options import LARGEST_COORDINATE
from fanwise.pipeline.shared import schema as S
from fanwise.pipeline.shared import values
from fanwise.workload.content import validation as checks

MOST_BROKERS = 100_000


@dataclass(frozen=True, eq=False)
class Brokers:
    """Brokers in code-point order of their names; columns that the table lacks are None."""

    names: list[str]
    positions: FloatArray
    parent: IntArray | None
    share: list[float | None] | None
    capacity: list[float] | None

    def __len__(self) -> int:
        return len(self.names)

    @property
    def num_axes(self) -> int:
        return int(self.positions.shape[1])

    def columns(self) -> dict[str, list[Any]]:
        """Return the columns of ``brokers.parquet``."""
        table: dict[str, list[Any]] = {"broker": list(range(len(self))), "name": self.names}
        table |= {f"net_{axis}": self.positions[:, axis].tolist() for axis in range(self.num_axes)}
        if self.parent is not None:
            table["parent"] = self.parent.tolist()
        if self.share is not None:
            table["share"] = self.share
        if self.capacity is not None:
            table["capacity"] = self.capacity
        return table


def read_brokers(frame: DataFrame, place: str = "brokers") -> Brokers:
    """Collect and check the table of brokers.

    It has ``broker`` (or ``name``), ``net_0``, …, optional ``parent``, ``share``, ``capacity``. A
    parent is the name of another broker; empty, or -1 where no broker has that name, for one
    attached to the publisher.
    """
    rows = _collect(frame, place)
    names = [row["name"] for row in rows]
    for earlier, later in pairwise(names):
        if earlier == later:
            raise InputError(f"{place}: broker {later!r} is there twice; remove one of the rows.")

    def where(column: str, row: int | None = None) -> str:
        name = f", broker {names[row]!r}" if row is not None else ""
        return f"{place}{name}, column {column!r}"

    num_axes = count_axes(frame, place)
    points = [[_number(row, f"net_{axis}", place) for axis in range(num_axes)] for row in rows]
    parent = _parents(rows, names, place) if "parent" in rows[0] else None
    if parent is not None:
        checks.check_parents(parent, where)
    share = None
    if "share" in rows[0]:
        share = [_number(row, "share", place, optional=True) for row in rows]
        known = np.array([np.nan if value is None else value for value in share])
        checks.check_shares(known, np.isnan(known), parent, where)
    capacity = None
    if "capacity" in rows[0]:
        capacity = [_number(row, "capacity", place) or 0.0 for row in rows]
        negative = [row["name"] for row, value in zip(rows, capacity, strict=True) if value < 0]
        if negative:
            raise InputError(f"{place}: broker {negative[0]!r}: capacity must be >= 0.")
    return Brokers(names, np.array(points, dtype=np.float64), parent, share, capacity)


def _collect(frame: DataFrame, place: str) -> list[Row]:
    name = name_column(frame, ("broker", "name"), place)
    numeric = [f"net_{axis}" for axis in range(count_axes(frame, place))]
    numeric += [column for column in ("share", "capacity") if S.has_column(frame, column)]
    columns = [values.identifier(frame, name, place).alias("name")]
    for column in numeric:
        columns.append(values.number(frame, column, place).alias(column))
        columns.append(values.is_missing(frame, column).alias(f"no {column}"))
    if S.has_column(frame, "parent"):
        columns.append(values.identifier(frame, "parent", place).alias("parent"))
    malformed = F.col(S.MALFORMED) if S.MALFORMED in frame.columns else F.lit(None).cast("string")
    found = frame.select(*columns, malformed.alias("malformed")).limit(MOST_BROKERS + 1).collect()
    if not found or len(found) > MOST_BROKERS:
        count = f"more than {MOST_BROKERS}" if found else "no"
        raise InputError(f"{place}: {count} brokers; give a table with one row each.")
    for row in found:
        if row["malformed"] is not None:
            raise InputError(f"{place}: malformed row {row['malformed']!r}; repair it.")
        if row["name"] is None:
            raise InputError(f"{place}: a row without a broker's name; name it or remove it.")
    return sorted(found, key=lambda row: str(row["name"]))


def _number(row: Row, column: str, place: str, *, optional: bool = False) -> float | None:
    value = row[column]
    if value is None and optional and row[f"no {column}"]:
        return None
    if value is None or abs(value) > LARGEST_COORDINATE:
        problem = "missing" if row[f"no {column}"] else "not a number"
        raise InputError(f"{place}: broker {row['name']!r}: {column} is {problem}; repair it.")
    return float(value)


def _parents(rows: list[Row], names: list[str], place: str) -> IntArray:
    ids = {"-1": -1} | {name: broker for broker, name in enumerate(names)}
    parent = np.full(len(rows), -1, dtype=np.int32)
    for broker, row in enumerate(rows):
        name = row["parent"]
        if name is not None and name not in ids:
            raise InputError(
                f"{place}: broker {row['name']!r}: its parent {name!r} is no broker; name one, or "
                "leave the cell empty for a broker attached to the publisher."
            )
        if name is not None:
            parent[broker] = ids[name]
    return parent
