"""``fanwise explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fanwise.cli import console, options
from fanwise.cli.solving import load_workload
from fanwise.errors import InputError
from fanwise.planning.families import FAMILIES, find_family, load


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(explain)


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
    as_json: options.Json = False,
) -> None:
    """Say why a plan is what it is: what it buys, who goes without, one topic's case.

    Plans of select: with --topic its cost and benefit, how it ranks among the
    offloaded topics, and how many subscribers serving it adds or dropping it
    loses; without, what the next and the last 1% of the capacity are worth, who
    stays unsatisfied and by how much, and the topics next in line. Plans of
    connect: with --topic its components, who is cut off from the largest and
    whether links are left there, and how many hops a message takes; without,
    the topics and nodes that are cut off most, and what the first links buy.

    Example: [bold]fanwise explain plan/ --workload spotify/ --topic t42[/bold]
    """
    from fanwise.planning.explanation import Listing
    from fanwise.planning.plan import read_plan

    found = read_plan(plan)
    target = find_family(found.problem).explain
    if target is None:
        known = " and ".join(sorted(name for name, entry in FAMILIES.items() if entry.explain))
        raise InputError(
            f"{plan}: is a {found.problem} plan; explain knows {known} plans only. "
            "fanwise report shows the others."
        )
    loaded = load_workload(workload)
    with console.progress() as progress, progress.step("explaining"):
        explanation = load(target)(loaded, found, topic)
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
