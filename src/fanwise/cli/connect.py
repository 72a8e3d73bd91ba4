"""``fanwise connect``."""

from __future__ import annotations

import typer

from fanwise.cli.planning_command import Request, planning_command
from fanwise.cli.solving import solve_and_save


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("connect")(planning_command("connect", connect))


def connect(request: Request) -> None:
    """Link subscribers so that every topic is connected over those who want it.

    Each topic should reach its subscribers over links between them alone. The
    plan lists the links in the order chosen, with how much of that they
    support, a proven bound on the most that any links within the budget do,
    and the gap between the two.

    gpa takes a number of links, gpm, spidercast, random-maximum and gossip a
    degree, gm and minmax-oda no budget; best takes either, both or none.

    Example: [bold]fanwise connect follow/ --max-degree 4 --out plan/[/bold]
    """
    solve_and_save(request)
