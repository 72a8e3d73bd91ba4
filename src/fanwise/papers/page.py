"""A reproduction as a folder: a page, the pictures, and every number as CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from fanwise.papers.paper import Comparison
from fanwise.planning.explanation import Passage
from fanwise.report.page import HEAD, Picture, Report, Table, Text
from fanwise.report.plans import show_passage
from fanwise.workload.folders import atomic_folder
from fanwise.workload.outputs import Contents, FolderKind, is_picture
from fanwise.workload.plot_style import encode


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


def _in_reproduction(contents: Contents) -> Callable[[str], bool] | None:
    names = contents.names
    if "report.html" not in names or not HEAD.begins(contents.read("report.html")):
        return None
    return lambda name: name in ("report.html", "table.csv") or is_picture(contents, name)


REPRODUCTION = FolderKind("a reproduction", "no report.html of ours", _in_reproduction)


def save_reproduction(
    reproduction: Reproduction, path: str | Path, *, overwrite: bool = False
) -> list[str]:
    """Write ``report.html``, ``table.csv`` and the pictures; return the names of the files."""
    page = reproduction_page(reproduction).html()
    with atomic_folder(path, REPRODUCTION, overwrite=overwrite) as folder:
        (folder / "report.html").write_text(page, encoding="utf-8")
        with open(folder / "table.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(reproduction.columns)
            writer.writerows(reproduction.rows)
        for name, (_, figure) in reproduction.figures.items():
            (folder / f"{name}.png").write_bytes(encode(figure, "png"))
    return ["report.html", "table.csv", *(f"{name}.png" for name in reproduction.figures)]


def reproduction_page(reproduction: Reproduction) -> Report:
    """Put a reproduction on a page."""
    page = Report(reproduction.title, subtitle=reproduction.source)
    page.section("What was run", [Text(note) for note in reproduction.notes])
    columns = ["figure", "quantity", "ours", "paper", "remark"]
    rows = [list(asdict(comparison).values()) for comparison in reproduction.comparisons]
    page.section("Our numbers next to the paper's", [Table(columns, rows)])
    page.section(
        "Figures",
        [Picture(caption, figure) for caption, figure in reproduction.figures.values()],
    )
    page.section("Measured", [show_passage(passage) for passage in reproduction.passages])
    return page
