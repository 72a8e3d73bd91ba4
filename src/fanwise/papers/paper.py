"""What a paper's data file says: settings, printed numbers, series, and words.

A file has

``title``, ``source``, ``columns``
    What the page is called, where the experiments are from, the columns of ``table.csv``.
``settings``
    Of the experiments; those in its tables ``small`` and ``paper`` hold below the paper's size and
    at it.
``numbers``
    What the paper prints.
``series``
    What curves and bars are of: label, algorithm, colour, line, marker.
``notes``
    What was run on what: paragraphs.
``comparisons``
    Rows of the page: figure, quantity, what the paper gives, remark; decimals of our number.
``captions``, ``curves``, ``axes``, ``tables``
    Captions of pictures; pictures that follow from cases alone; what axes have beside their label;
    titles, columns and notes of tables.
``phrases``
    Words that templates, or what makes the page, use by name.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from types import SimpleNamespace
from typing import Any

from fanwise.papers.words import Words, Writer
from fanwise.planning.explanation import Listing

DIGITS = 3
"""Digits of a compared number, unless its entry says how many decimals it has."""


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
class Series:
    """What a curve or bar is of.

    Attributes
    ----------
    algorithm
        Its name in the family's table.
    settings
        Its knobs.
    style
        Colour, line and marker, with spaces between them.
    budget
        What limits it, where algorithms differ in that.
    is_random
        Whether it is run several times.
    """

    label: str
    algorithm: str = ""
    style: str = "ink"
    settings: Mapping[str, Any] = field(default_factory=dict)
    budget: str = ""
    is_random: bool = False


@dataclass(frozen=True)
class Paper:
    """A paper's data file."""

    name: str
    content: Mapping[str, Any]

    @property
    def title(self) -> str:
        return str(self.content["title"])

    @property
    def source(self) -> str:
        return str(self.content["source"])

    @property
    def columns(self) -> Sequence[str]:
        columns: Sequence[str] = self.content["columns"]
        return columns

    @property
    def numbers(self) -> Mapping[str, Any]:
        """What the paper prints."""
        numbers: Mapping[str, Any] = self.content["numbers"]
        return numbers

    @property
    def series(self) -> dict[str, Series]:
        """What curves and bars are of, by name."""
        found = self.content.get("series", {})
        return {name: Series(**{"algorithm": name, **entry}) for name, entry in found.items()}

    @property
    def writer(self) -> Writer:
        return Writer(self.content.get("phrases", {}))

    def settings(self, scale: float, changes: Mapping[str, Any]) -> SimpleNamespace:
        """Return the settings at a share of the paper's size, some of them changed."""
        found = dict(self.content["settings"])
        sizes = {size: found.pop(size, {}) for size in ("small", "paper")}
        return SimpleNamespace(**{**found, **sizes["paper" if scale >= 1 else "small"], **changes})

    def entry(self, kind: str, name: str) -> Any:
        """Return one of the ``comparisons``, ``captions``, ``phrases``, or of the like."""
        return self.content[kind][name]

    def notes(self, **values: Any) -> list[str]:
        """Return what is said on what was run."""
        said = (self.writer.say(words, values) for words in self.content["notes"])
        return [paragraph for paragraph in said if paragraph]

    def compare(self, name: str, ours: float, /, **values: Any) -> Comparison:
        """Put a number of ours next to the paper's, with what there is to say about it.

        Parameters
        ----------
        name
            Of the entry among ``comparisons``.
        values
            What its templates and conditions use beside ``ours``.
        """
        figure, quantity, by_paper, remark, *decimals = self.entry("comparisons", name)
        values = {"ours": ours, **values}
        return Comparison(
            figure=self.say(figure, **values),
            quantity=self.say(quantity, **values),
            ours=rounded(ours, *decimals),
            paper=self.say(by_paper, **values),
            remark=self.say(remark, **values),
        )

    def phrase(self, name: str, /, **values: Any) -> str:
        """Return what one of the ``phrases`` says of values."""
        return self.say(self.entry("phrases", name), **values)

    def caption(self, name: str, /, **values: Any) -> str:
        """Return the caption of a figure."""
        return self.say(self.entry("captions", name), **values)

    def table(
        self, name: str, rows: Sequence[Sequence[Any]], /, *more: str, **values: Any
    ) -> Listing:
        """Return a table; ``more`` are columns after those of its entry."""
        entry = self.entry("tables", name)
        columns = [*(self.say(column, **values) for column in entry.get("columns", ())), *more]
        title, note = (self.say(entry.get(part, ""), **values) for part in ("title", "note"))
        return Listing(title, columns, rows, note)

    def say(self, words: Words, /, **values: Any) -> str:
        """Return what words of this file say of values."""
        return self.writer.say(words, values)


def rounded(value: float, decimals: int | None = None) -> float:
    """Return a number with three digits, or with so many decimals; counts remain as they are."""
    if isinstance(value, int):
        return value
    # No minus before a zero.
    return (float(f"{value:.{DIGITS}g}") if decimals is None else round(value, decimals)) + 0.0


@cache
def read_paper(name: str) -> Paper:
    """Return the data file of a paper."""
    text = (files("fanwise.papers") / "data" / f"{name}.toml").read_text(encoding="utf-8")
    return Paper(name, tomllib.loads(text))
