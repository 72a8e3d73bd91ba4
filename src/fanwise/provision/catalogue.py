"""Catalogues: which machines can be rented, for how much, and what they carry."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from fanwise.errors import InputError, ParameterError

COLUMNS = ("instance", "usd_per_hour", "mbps")
LIMITS = ("max_topics", "max_connections")
AUTO = "auto"
"""In place of a type's name: whichever types are cheapest together."""


@dataclass(frozen=True)
class Instance:
    """A type of machine.

    Attributes
    ----------
    instance
        Its name.
    usd_per_hour
        Rent.
    mbps
        Bandwidth in megabits (1e6) per second, incoming and outgoing together.
    max_topics, max_connections
        How many different topics it takes in and how many pairs it serves at most; None: as many
        as its bandwidth allows.
    """

    instance: str
    usd_per_hour: float
    mbps: float
    max_topics: int | None = None
    max_connections: int | None = None

    def __post_init__(self) -> None:
        if not self.instance or self.instance == AUTO:
            raise ParameterError("instance", f"a name other than {AUTO!r}", self.instance)
        if not (math.isfinite(self.usd_per_hour) and self.usd_per_hour >= 0):
            raise ParameterError("usd_per_hour", "a finite number >= 0", self.usd_per_hour)
        if not (math.isfinite(self.mbps) and self.mbps > 0):
            raise ParameterError("mbps", "a finite number > 0", self.mbps)
        for name in LIMITS:
            limit = getattr(self, name)
            if limit is not None and not (_is_whole(limit) and limit >= 1):
                raise ParameterError(name, "a whole number >= 1, or none", limit)

    def capacity_bytes(self, period_seconds: float) -> float:
        """Bytes the machine moves in a period, incoming and outgoing together."""
        return self.mbps * 1e6 / 8 * period_seconds


Catalogue = tuple[Instance, ...]

BUILT_IN: Catalogue = (Instance("c3.large", 0.15, 64.0), Instance("c3.xlarge", 0.30, 128.0))
"""The two Amazon EC2 types that Setty et al. plan for, at their prices."""


def resolve_catalogue(catalogue: str | Path | Iterable[Instance] | None) -> Catalogue:
    """Return the built-in catalogue for None, a file's for a path, else the entries given."""
    if catalogue is None:
        return BUILT_IN
    if isinstance(catalogue, str | Path):
        return read_catalogue(catalogue)
    entries = tuple(catalogue)
    names = [entry.instance for entry in entries]
    if not entries or len(set(names)) < len(names):
        raise ParameterError("catalogue", "instances, each name once", names)
    return entries


def read_catalogue(path: str | Path) -> Catalogue:
    """Read a CSV with the columns ``instance,usd_per_hour,mbps``.

    The columns ``max_topics`` and ``max_connections`` may be there, and may be blank; others are
    ignored.

    Raises
    ------
    InputError
        Names the file, the line and what is wrong there.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            entries = tuple(_read_entries(file, str(path)))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: is not a CSV file in UTF-8 ({error}).") from None
    if not entries:
        raise InputError(f"{path}: has no instances; add lines below the header.")
    return entries


def describe_catalogue(catalogue: Catalogue) -> dict[str, dict[str, float]]:
    """Return a catalogue as JSON values, by the instances' names; limits only where there are."""
    described = {}
    for entry in catalogue:
        values = {name: getattr(entry, name) for name in (*COLUMNS[1:], *LIMITS)}
        described[entry.instance] = {
            name: value for name, value in values.items() if value is not None
        }
    return described


def restore_catalogue(described: Mapping[str, Mapping[str, Any]] | None) -> Catalogue:
    """Return the catalogue that :func:`describe_catalogue` described; the built-in one for None."""
    if described is None:
        return BUILT_IN
    return tuple(Instance(name, **values) for name, values in described.items())


def find_instance(catalogue: Catalogue, name: str) -> Instance:
    """Return the entry called ``name``."""
    for entry in catalogue:
        if entry.instance == name:
            return entry
    known = ", ".join(entry.instance for entry in catalogue)
    raise ParameterError("instance", f"one of {known}, or {AUTO}", name)


def _read_entries(file: TextIO, path: str) -> Iterator[Instance]:
    reader = csv.DictReader(file, skipinitialspace=True)
    header = [name.strip() for name in reader.fieldnames or ()]
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        present = ", ".join(map(repr, header)) or "none"
        raise InputError(f"{path}: no column {missing[0]!r}; it has {present}.")
    reader.fieldnames = header
    seen: set[str] = set()
    for row in reader:
        place = f"{path}, line {reader.line_num}"
        name = (row["instance"] or "").strip()
        if name in seen:
            raise InputError(f"{place}: instance {name!r} is there already; keep one.")
        seen.add(name)
        try:
            yield Instance(
                name,
                usd_per_hour=_number(row["usd_per_hour"], "usd_per_hour"),
                mbps=_number(row["mbps"], "mbps"),
                **{name: _limit(row.get(name), name) for name in LIMITS},
            )
        except ParameterError as error:
            raise InputError(f"{place}: {error}") from None


def _number(text: str | None, name: str) -> float:
    try:
        return float(text or "")
    except ValueError:
        raise ParameterError(name, "a number", text) from None


def _limit(text: str | None, name: str) -> int | None:
    if text is None or not text.strip():
        return None
    try:
        return int(text)
    except ValueError:
        raise ParameterError(name, "a whole number >= 1, or blank", text) from None


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
