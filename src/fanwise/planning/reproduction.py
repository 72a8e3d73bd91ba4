"""A paper's experiments done again: what was measured, beside what the paper says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fanwise.planning.explanation import Passage

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Comparison:
    """One number of the paper and ours.

    Attributes
    ----------
    paper
        As the paper gives it; it may be a range.
    remark
        Why they differ, or that they agree.
    """

    figure: str
    quantity: str
    ours: float
    paper: str
    remark: str


@dataclass(frozen=True)
class Reproduction:
    """Everything that a reproduction made.

    Attributes
    ----------
    notes
        What was run on what: paragraphs.
    columns, rows
        Every measured number, one a row.
    figures
        Caption and picture, by file name without suffix.
    """

    title: str
    source: str
    notes: Sequence[str]
    comparisons: Sequence[Comparison]
    passages: Sequence[Passage]
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    figures: Mapping[str, tuple[str, Figure]]
