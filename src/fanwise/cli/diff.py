"""``fanwise diff``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fanwise.cli import console, options

SHOWN = 10


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("diff")(diff)


def diff(
    before: Annotated[Path, typer.Argument(metavar="PLAN", help="The old plan.")],
    after: Annotated[Path, typer.Argument(metavar="PLAN", help="The new plan.")],
    as_json: options.Json = False,
) -> None:
    """Show what changes from one plan to another: parameters, value, and rows of each table.

    Example: [bold]fanwise diff monday/ tuesday/[/bold]
    """
    from fanwise.planning.diff import diff_plans
    from fanwise.planning.plan import read_plan

    difference = diff_plans(read_plan(before), read_plan(after))
    if as_json:
        console.print_json(difference.to_dict())
        return
    terminal = console.out()
    if before_and_after := _header_rows(difference.to_dict()):
        terminal.print(console.table(None, ("", "before", "after"), before_and_after))
    rows = [(table.name, *table.summary().values()) for table in difference.tables]
    terminal.print(console.table(None, ("table", "removed", "added", "changed", "same"), rows))
    for table in difference.tables:
        for what, changed in (
            ("removed", table.removed),
            ("added", table.added),
            ("changed", table.changed_after),
        ):
            if len(changed):
                title = f"{table.name}: {what}"
                if len(changed) > SHOWN:
                    title += f" (the first {SHOWN} of {len(changed):,})"
                shown = changed.slice(0, SHOWN).to_pylist()
                terminal.print(
                    console.table(
                        title, changed.column_names, [list(row.values()) for row in shown]
                    )
                )
    if difference.is_empty:
        terminal.print("The two plans decide the same.")
    if difference.before.workload != difference.after.workload:
        console.warn("the plans are for different workloads; rows were matched by id.")


def _header_rows(difference: dict[str, Any]) -> list[tuple[str, str, str]]:
    pairs = {name: difference[name] for name in ("algorithm", "objective", "bound", "gap")}
    pairs.update(difference["parameters"])
    return [
        (name, console.number(old), console.number(new))
        for name, (old, new) in pairs.items()
        if old != new
    ]
