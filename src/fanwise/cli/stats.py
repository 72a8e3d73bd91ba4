"""``fanwise stats``: what a workload looks like."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fanwise.cli import console
from fanwise.cli.options import Json, Overwrite, Workload


class _Format(StrEnum):
    png = "png"
    svg = "svg"
    pdf = "pdf"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(stats)


def stats(
    workload: Workload,
    plots: Annotated[
        Path | None,
        typer.Option(help="Folder to write the pictures to; must not exist.", show_default=False),
    ] = None,
    image_format: Annotated[
        _Format, typer.Option("--format", help="Kind of picture.")
    ] = _Format.png,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Tables and plots of a workload.

    Counts; how followers, followings, rates and received events spread; and
    subscription cardinality (SC): the share of all events that a subscriber
    receives. With --plots also pictures for a paper.

    Example: [bold]fanwise stats spotify/ --plots plots/ --format pdf[/bold]
    """
    from fanwise.workload.files import read_workload
    from fanwise.workload.folders import refuse_existing
    from fanwise.workload.statistics import workload_statistics

    if plots is not None:
        refuse_existing(plots, overwrite=overwrite)
    with console.progress() as progress:
        with progress.step("Reading the workload"):
            loaded = read_workload(workload)
        statistics = workload_statistics(loaded, progress=progress)
        written = []
        if plots is not None:
            from fanwise.workload.look import save_figures
            from fanwise.workload.plots import figures_by_file

            with progress.step("Drawing"):
                written = save_figures(
                    figures_by_file(statistics),
                    plots,
                    image_format=image_format.value,
                    overwrite=overwrite,
                )
    if json:
        result = statistics.to_dict()
        if plots is not None:
            result["plots"] = written
        console.print_json(result)
        return

    from fanwise.workload.tables import counts, tables

    out = console.out()
    out.print(console.facts(str(workload), counts(statistics)))
    for table in tables(statistics):
        out.print(console.table(*table))
    if plots is not None:
        out.print(console.table(f"Written to {plots}", ["picture"], [[name] for name in written]))
