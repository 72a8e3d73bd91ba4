"""A report: sections of text, facts, tables and pictures on one HTML page.

The page carries everything with it (style and pictures are inline, scripts there are none), so it
can be mailed, archived and printed. All text is escaped.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import jinja2
from matplotlib.figure import Figure

from fanwise._version import __version__
from fanwise.formatting import looks_numeric, number
from fanwise.workload.folders import atomic_file
from fanwise.workload.outputs import PROGRAM, FileKind, Head
from fanwise.workload.plot_style import WIDTH, encode

HEAD = Head(b"<!DOCTYPE html>", f'<meta name="generator" content="{PROGRAM} '.encode())
PAGE = FileKind("a report", HEAD.is_of)
MAX_SVG_BYTES = 300_000
"""Above this a picture is stored as PNG: dense clouds are smaller and quicker to show that way."""


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Verdict:
    """Whether something holds, and the sentence that says so."""

    holds: bool
    text: str


@dataclass(frozen=True)
class Facts:
    """Names with values: a list, or large tiles for the few that matter most."""

    pairs: Iterable[tuple[str, Any]]
    title: str = ""
    is_prominent: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "pairs", tuple(self.pairs))

    def cells(self) -> list[tuple[str, str]]:
        return [(name, cell(value)) for name, value in self.pairs]


@dataclass(frozen=True)
class Table:
    """Named columns and rows of cells; columns of numbers stand to the right."""

    columns: Sequence[str]
    rows: Iterable[Sequence[Any]]
    title: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(self.rows))

    def cells(self) -> list[list[str]]:
        return [[cell(value) for value in row] for row in self.rows]

    def alignment(self, cells: list[list[str]]) -> list[str]:
        """Return the class of each column: ``number`` or ``text``."""
        return [
            "number" if cells and all(looks_numeric(row[index]) for row in cells) else "text"
            for index in range(len(self.columns))
        ]


@dataclass(frozen=True)
class Picture:
    """A figure with its caption."""

    caption: str
    figure: Figure

    def is_wide(self) -> bool:
        """Whether the picture wants the whole width of a page."""
        return bool(self.figure.get_figwidth() > 1.5 * WIDTH)

    def address(self) -> str:
        """Return the picture as a ``data:`` address: SVG, or PNG where that is smaller by far."""
        kind, content = "svg+xml", encode(self.figure, "svg")
        if len(content) > MAX_SVG_BYTES:
            kind, content = "png", encode(self.figure, "png")
        return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"


Item = Text | Verdict | Facts | Table | Picture


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    title: str
    items: Sequence[Item]

    def groups(self) -> list[tuple[str, list[Item]]]:
        """Return runs of items of one kind, so that pictures can stand side by side."""
        runs = groupby(self.items, key=lambda item: type(item).__name__.lower())
        return [(kind, list(items)) for kind, items in runs]


@dataclass
class Report:
    """A page that grows section by section.

    Examples
    --------
    >>> report = Report("Two topics")
    >>> report.section("Sizes", [Facts([("topics", 2)])]).save("report.html")  # doctest: +SKIP
    """

    title: str
    subtitle: str = ""
    sections: list[Section] = field(default_factory=list)

    def section(self, title: str, items: Iterable[Item]) -> Report:
        """Add a section; returns the report, for chaining."""
        return self.add(Section(title, list(items)))

    def add(self, *sections: Section) -> Report:
        """Add ready sections; returns the report, for chaining."""
        self.sections.extend(sections)
        return self

    @property
    def failures(self) -> list[str]:
        """The verdicts that do not hold."""
        return [
            item.text
            for section in self.sections
            for item in section.items
            if isinstance(item, Verdict) and not item.holds
        ]

    def html(self) -> str:
        """Return the whole page."""
        return _template().render(report=self, version=__version__)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the page so that the file appears whole or not at all; return its path."""
        page = self.html()
        with atomic_file(path, PAGE, overwrite=overwrite) as staging:
            staging.write_text(page, encoding="utf-8")
        return Path(path)


def cell(value: Any) -> str:
    """Write any value as text: numbers for people, structures as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)
    return number(value)


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fanwise.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html")
