"""``fanwise report``: a workload and its plans as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fanwise.cli import console
from fanwise.cli.options import Json, Overwrite


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(report)


def report(
    workload: Annotated[
        Path, typer.Option(metavar="DIR", help="A workload folder.", show_default=False)
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="Page to write; must not exist.",
                     show_default=False),
    ],
    plans: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PLAN...", help="Plan folders.", show_default=False),
    ] = None,
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "Pub/sub plan report",
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:  # fmt: skip
    """A workload and its plans as one self-contained HTML page.

    Shows statistics and pictures of the workload, then for each plan its
    objective, proven bound and certified gap, whether it passes verification,
    its parameters, metrics and pictures. The page is written even when a plan
    fails verification; the exit status is 1 then.

    Example: [bold]fanwise report --workload spotify/ plan/ --out report.html[/bold]
    """
    from fanwise.planning.plan import read_plan
    from fanwise.report.page import PAGE
    from fanwise.report.writing import build_report, refuse_failures
    from fanwise.workload.folders import refuse_existing
    from fanwise.workload.reading import read_workload

    refuse_existing(out, PAGE, overwrite=overwrite, inputs=[workload, *(plans or ())])
    with console.progress() as progress:
        with progress.step("Reading"):
            loaded = read_workload(workload)
            read = [read_plan(path, loaded) for path in plans or ()]
        page = build_report(
            loaded, read, title=title, subtitle=f"Workload {workload}", progress=progress
        )
        with progress.step("Writing the page"):
            page.save(out, overwrite=overwrite)
    if json:
        result = {"out": str(out), "plans": [plan.id for plan in read], "failures": page.failures}
        console.print_json(result)
    else:
        console.out().print(f"wrote {out}", markup=False)
    refuse_failures(page, out)
