"""``fanwise explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fanwise.cli import console, options
from fanwise.cli.solving import load_workload
from fanwise.errors import InputError


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
    """Say why a plan is what it is: what capacity buys, who goes without, one topic's case.

    With --topic: its cost and benefit, how it ranks among the offloaded
    topics, and how many subscribers serving it adds or dropping it loses.
    Without: what the next and the last 1% of the capacity are worth, who
    stays unsatisfied and by how much, and the topics next in line. For plans
    of select.

    Example: [bold]fanwise explain plan/ --workload spotify/ --topic t42[/bold]
    """
    from fanwise.planning.explanation import Listing
    from fanwise.planning.plan import read_plan

    found = read_plan(plan)
    if found.problem != "select":
        raise InputError(
            f"{plan}: is a {found.problem} plan; explain knows select plans only. "
            "fanwise report shows the others."
        )
    loaded = load_workload(workload)
    from fanwise.select.explaining.explain import explain_plan, explain_topic, passages
    from fanwise.select.explaining.wording import topic_passages

    with console.progress() as progress, progress.step("explaining"):
        if as_json:
            case = explain_plan(loaded, found) if topic is None else explain_topic(
                loaded, found, topic
            )  # fmt: skip
            result = case.to_dict()
        elif topic is None:
            shown = passages(loaded, found)
        else:
            shown = topic_passages(explain_topic(loaded, found, topic))
    if as_json:
        console.print_json({"plan": found.id, **result})
        return
    terminal = console.out()
    for passage in shown:
        if isinstance(passage, Listing):
            terminal.print(console.table(passage.title, passage.columns, passage.rows))
            if passage.note:
                terminal.print(passage.note, style="dim", markup=False)
        else:
            terminal.print(console.facts(passage.title, passage.pairs))
