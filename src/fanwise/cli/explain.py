"""``fanwise explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fanwise.cli import console, options
from fanwise.cli.solving import load_workload
from fanwise.errors import InputError
from fanwise.planning.families import FAMILIES, find_family
from fanwise.planning.family import load


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
    subscriber: Annotated[
        str | None,
        typer.Option(help="Explain this subscriber instead of the whole plan.", show_default=False),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Say why a plan is what it is: what it buys, who goes without, a single case.

    Plans of select: with --topic its cost and benefit, how it ranks among the
    offloaded topics, and how many subscribers serving it adds or dropping it
    loses; without, what the next and the last 1% of the capacity are worth, who
    stays unsatisfied and by how much, and the topics next in line. Plans of
    connect: with --topic its components, who is cut off from the largest and
    whether links are left there, and how many hops a message takes; without,
    the topics and nodes that are cut off most, and what the first links buy.
    Plans of assign: with --subscriber why it is on its broker, and what each
    other one would cost; without, which brokers are full, what keeps subscribers
    where they are, which limits bind or are broken and why, and how much is
    carried that nobody wants. Plans of wire: with --subscriber why it is on its
    broker, and how access and core would change on each other one; without, which
    channels, links and brokers cost most, and what keeps users where they are.

    Example: [bold]fanwise explain plan/ --workload spotify/ --topic t42[/bold]
    """
    from fanwise.planning.explanation import Listing
    from fanwise.planning.plan import read_plan

    found = read_plan(plan)
    family = find_family(found.problem)
    target = family.explain
    if target is None:
        known = ", ".join(sorted(name for name, entry in FAMILIES.items() if entry.explain))
        raise InputError(
            f"{plan}: is a {found.problem} plan; explain knows {known} plans only. "
            "fanwise report shows the others."
        )
    about = {"topic": topic, "subscriber": subscriber}
    about = {key: name for key, name in about.items() if name is not None}
    for key in about.keys() - set(family.explains):
        known = " or ".join(f"--{word}" for word in family.explains)
        raise InputError(f"--{key} is not for {found.problem} plans; use {known}, or leave it out.")
    loaded = load_workload(workload, found.problem)
    with console.progress() as progress, progress.step("explaining"):
        explanation = load(target)(loaded, found, **about)
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
