"""What a family has to say about a plan beyond its numbers, in a form that any page can show.

Every family says it in a package ``<family>/explain`` with the same division: ``explain.py`` is the
way in, ``facts.py`` holds what is said as plain numbers, one module for the plan and for each kind
of item finds these numbers, and ``sentences.py`` writes them for people. Here is what they share.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from fanwise.errors import InputError
from fanwise.formatting import number, percent

if TYPE_CHECKING:
    import numpy.typing as npt

    from fanwise.workload.topic import TopicWorkload

MOST_LISTED = 8
"""Rows of a listing."""
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

    @classmethod
    def of(cls, facts: Any, passages: Sequence[Passage]) -> Explanation:
        """Return an explanation whose facts are a dataclass."""
        return cls(asdict(facts), passages)

    def __str__(self) -> str:
        from fanwise.planning.showing import explanation_in_words

        return explanation_in_words(self)

    def _repr_html_(self) -> str:
        from fanwise.planning.showing import explanation_as_html

        return explanation_as_html(self)


def find_kind(workload: Any, item: str | int, kinds: Sequence[str]) -> dict[str, str | int]:
    """Return what kind of item is meant, and the item; names that fit two kinds are refused.

    Parameters
    ----------
    kinds
        Those of which the family explains single items.
    """
    if isinstance(item, int) and "machine" in kinds:
        return {"machine": item}
    named = [kind for kind in kinds if hasattr(workload, f"{kind}_names")]
    name = str(item)
    found = [
        kind for kind in named if pc.index(getattr(workload, f"{kind}_names"), name).as_py() >= 0
    ]
    if len(found) > 1:
        ways = " or ".join(f"{kind}={name!r}" for kind in found)
        raise InputError(f"{name!r} is the name of a {' and of a '.join(found)}; give {ways}.")
    if not found and len(named) > 1:
        ways = " or ".join(f"{kind}={name!r}" for kind in named)
        raise InputError(
            f"{name!r} is neither a {' nor a '.join(named)} of the workload; for names like it, "
            f"ask for {ways}."
        )
    return {(found or named)[0]: name}  # of a name that is not there, the family names alike ones


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


def largest(values: npt.NDArray[np.floating[Any] | np.integer[Any]]) -> list[int]:
    """Return where the largest values are, of those above 0, as many as a listing shows."""
    order = np.argsort(-values, kind="stable")[:MOST_LISTED]
    found: list[int] = order[values[order] > 0].tolist()
    return found


def finite(value: float) -> float | None:
    """Return a number, or None where it is infinite: JSON has no infinity."""
    return float(value) if np.isfinite(value) else None


def share(part: float, total: float) -> float:
    """Return a part as a share of a total; of nothing, none."""
    return part / total if total else 0.0


def with_share(part: float, total: float) -> str:
    """Write an amount with its share of a total: ``12 (3%)``."""
    return f"{number(part)} ({percent(share(part, total))})"


def out_of(count: int, total: int) -> str:
    """Write a count out of a total: ``3 of 12``."""
    return f"{number(count)} of {number(total)}"


def some_names(names: Sequence[str], count: int) -> str:
    """Write a count with the first names of what is counted: ``9: a, b, …``."""
    return f"{number(count)}: {', '.join(names)}{', …' if count > len(names) else ''}"


def first_of(shown: int, count: int, what: str) -> str:
    """Write the note below a listing that shows only some of its rows; nothing if it shows all."""
    return f"The first {number(shown)} of {number(count)} {what}." if count > shown else ""


def write_box(box: Sequence[Sequence[float]]) -> str:
    """Write a rectangle by its sides: ``[0, 1] x [2, 3]``."""
    return " x ".join(f"[{number(lo)}, {number(hi)}]" for lo, hi in box)
