"""What a family has to say about a plan beyond its numbers, in a form that any page can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Lines:
    """Names with values."""

    title: str
    pairs: Sequence[tuple[str, Any]]


@dataclass(frozen=True)
class Listing:
    """Named columns and rows."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""


Passage = Lines | Listing
