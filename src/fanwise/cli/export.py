"""``fanwise export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fanwise.cli import console, options
from fanwise.cli.solving import load_workload


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export")(export)


def export(
    plan: options.PlanFolder,
    workload: Annotated[
        Path,
        typer.Option(help="The workload the plan was made for.", metavar="DIR", show_default=False),
    ],
    csv: Annotated[
        Path, typer.Option("--csv", help="Folder to write.", metavar="DIR", show_default=False)
    ],
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Write a plan's tables as CSV with names instead of ids.

    Example: [bold]fanwise export plan/ --workload spotify/ --csv tables/[/bold]
    """
    from fanwise.planning.export import export_csv
    from fanwise.planning.plan import read_plan
    from fanwise.workload.folders import refuse_existing

    refuse_existing(csv, overwrite=overwrite)
    rows = export_csv(read_plan(plan), load_workload(workload), csv, overwrite=overwrite)
    if as_json:
        console.print_json({"csv": str(csv), "rows": rows})
        return
    files = [(f"{name}.csv", count) for name, count in rows.items()]
    console.out().print(console.table(f"Written to {csv}", ("file", "rows"), files))
