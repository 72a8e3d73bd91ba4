"""``fanwise explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fanwise.cli import console, options
from fanwise.errors import InputError
from fanwise.planning.families import FAMILIES, find_family

WHOLE = "plan"
"""The entry of a family's explanations for when nothing is singled out."""
ABOUT = """Say why a plan is what it is: what it buys, who goes without, a single item.

{}

Example: [bold]fanwise explain plan/ --workload spotify/ --topic t42[/bold]
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain", help=ABOUT.format(_explanations()))(explain)


def _explanations() -> str:
    """Say for each family what its explanations tell."""
    told = []
    for family in FAMILIES.values():
        single = [f"with --{key} {words}" for key, words in family.explains.items() if key != WHOLE]
        told.append(
            f"Plans of {family.name}: {'; '.join([*single, f'without, {family.explains[WHOLE]}'])}."
        )
    return " ".join(told)


def explain(
    plan: options.PlanFolder,
    workload: Annotated[
        Path,
        typer.Option(help="The workload the plan was made for.", metavar="DIR", show_default=False),
    ],
    topic: Annotated[
        str | None,
        typer.Option(help="Explain this topic instead of the whole plan.", show_default=False),
    ] = None,
    subscriber: Annotated[
        str | None,
        typer.Option(help="Explain this subscriber instead of the whole plan.", show_default=False),
    ] = None,
    machine: Annotated[
        int | None,
        typer.Option(
            help="Explain the machine of this number instead of the whole plan.",
            metavar="N",
            show_default=False,
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Say why a plan is what it is."""
    from fanwise.planning.explanation import Listing
    from fanwise.planning.inputs import open_both
    from fanwise.planning.plan import read_plan_header
    from fanwise.workload.files import local_path

    problem = read_plan_header(local_path(plan))["problem"]
    explains = find_family(problem).explains
    given = {"topic": topic, "subscriber": subscriber, "machine": machine}
    about = {key: item for key, item in given.items() if item is not None}
    known = " or ".join(f"--{kind}" for kind in explains if kind != WHOLE)
    for key in about.keys() - explains.keys():
        raise InputError(f"--{key} is not for {problem} plans; use {known}, or leave it out.")
    if len(about) > 1:
        raise InputError(f"one item is explained at a time; give one of {known}.")
    with (
        console.progress() as progress,
        open_both(workload, plan, progress) as (loaded, found),
        progress.step("explaining"),
    ):
        explanation = found.explain(None, loaded, **about)
    if as_json:
        console.print_json({"plan": found.id, **explanation.facts})
        return
    terminal = console.out()
    for passage in explanation.passages:
        if isinstance(passage, Listing):
            terminal.print(console.table(passage.title, passage.columns, passage.rows))
            if passage.note:
                terminal.print(passage.note, style="dim", markup=False)
        else:
            terminal.print(console.facts(passage.title, passage.pairs))
