"""A reproduction as a folder: a page, the pictures, and every number as CSV."""

from __future__ import annotations

import csv
from dataclasses import asdict
from pathlib import Path

from fanwise.planning.reproduction import Reproduction
from fanwise.report.page import Picture, Report, Table, Text
from fanwise.report.plans import show_passage
from fanwise.workload.folders import atomic_folder
from fanwise.workload.look import encode


def save_reproduction(
    reproduction: Reproduction, path: str | Path, *, overwrite: bool = False
) -> list[str]:
    """Write ``report.html``, ``table.csv`` and the pictures; return the names of the files."""
    page = reproduction_page(reproduction).html()
    with atomic_folder(path, overwrite=overwrite) as folder:
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
