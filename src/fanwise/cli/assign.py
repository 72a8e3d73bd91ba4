"""``fanwise assign``."""

from __future__ import annotations

import typer

from fanwise.cli.planning_command import Request, planning_command
from fanwise.cli.solving import solve_and_save


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("assign")(planning_command("assign", assign))


def assign(request: Request) -> None:
    """Assign subscribers of a content workload to brokers, and give brokers filters.

    Each broker lets through a union of at most alpha rectangles of the event
    space; the plan says which subscribers it serves. What travels to all
    brokers together should be little, nobody late, no broker overloaded. A
    plan that cannot keep a limit says why, and what would help.

    Example: [bold]fanwise assign groups/ --alpha 3 --out plan/[/bold]
    """
    solve_and_save(request)
