"""What a family has to say about a plan beyond its numbers, in a form that any page can show."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from fanwise.errors import InputError

if TYPE_CHECKING:
    from fanwise.workload.topic import TopicWorkload

MAX_CANDIDATES = 20_000
"""Names compared with a misspelt one; comparing a million takes a minute."""


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


@dataclass(frozen=True)
class Explanation:
    """The same for programs and for people."""

    facts: Mapping[str, Any]
    passages: Sequence[Passage]


def find_topic(workload: TopicWorkload, name: str) -> int:
    """Return the id of a topic, or suggest names like it."""
    return find_name(workload.topic_names, name, "topic")


def find_name(names: Any, name: str, kind: str) -> int:
    """Return where a name is among others, or suggest names like it."""
    position: int = pc.index(names, name).as_py()
    if position >= 0:
        return position
    candidates = names
    if len(names) > MAX_CANDIDATES:
        candidates = names.filter(pc.starts_with(names, name[:2]))[:MAX_CANDIDATES]
    close = difflib.get_close_matches(name, candidates.to_pylist(), n=3)
    hint = f"did you mean {', '.join(map(repr, close))}?" if close else "no name is close to it."
    raise InputError(f"{kind} {name!r} is not in the workload; {hint}")
