"""``fanwise export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fanwise.cli import console, options
from fanwise.cli.stating import load_workload
from fanwise.errors import InputError
from fanwise.planning.families import find_family


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
        Path | None,
        typer.Option("--csv", help="Folder for one CSV a table.", metavar="DIR"),
    ] = None,
    graphml: Annotated[
        Path | None,
        typer.Option(help="An overlay as GraphML.", metavar="FILE"),
    ] = None,
    dot: Annotated[
        Path | None,
        typer.Option(help="An overlay for Graphviz.", metavar="FILE"),
    ] = None,
    forests: Annotated[
        Path | None,
        typer.Option(
            help="A tree for every component of every topic of an overlay, .csv or .parquet.",
            metavar="FILE",
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Write a plan for other programs, with names instead of ids.

    --csv writes the tables of any plan. Plans of connect are also written as
    a graph (--graphml, --dot), and as loop-free trees (--forests): a bridge
    that forwards a topic along its rows alone sends nobody a message twice.

    Example: [bold]fanwise export plan/ --workload spotify/ --csv tables/[/bold]
    """
    from fanwise.planning.export import export_as, export_csv
    from fanwise.planning.outputs import EXPORTS, TABLES
    from fanwise.planning.plan import read_plan
    from fanwise.workload.folders import refuse_existing

    files = {
        kind: path
        for kind, path in (("forests", forests), ("graphml", graphml), ("dot", dot))
        if path is not None
    }
    if csv is None and not files:
        raise InputError("nothing to write: give --csv, --graphml, --dot or --forests.")
    if csv is not None:
        refuse_existing(csv, TABLES, overwrite=overwrite, inputs=[plan, workload])
    for kind, path in files.items():
        refuse_existing(path, EXPORTS[kind], overwrite=overwrite, inputs=[plan, workload])
    found = read_plan(plan)
    loaded = load_workload(workload, find_family(found.problem))
    written: dict[str, Any] = {}
    counts: list[tuple[str, int]] = []
    for kind, path in files.items():
        count = export_as(kind, found, loaded, path, overwrite=overwrite)
        written[kind] = {"file": str(path), "rows": count}
        counts.append((str(path), count))
    if csv is not None:
        rows = export_csv(found, loaded, csv, overwrite=overwrite)
        written |= {"csv": str(csv), "rows": rows}
        counts += [(str(csv / f"{name}.csv"), count) for name, count in rows.items()]
    if as_json:
        console.print_json(written)
        return
    console.out().print(console.table("Written", ("file", "rows"), counts))
