"""``fanwise wire``."""

from __future__ import annotations

import typer

from fanwise.cli.planning_command import Request, planning_command
from fanwise.cli.solving import solve_and_save


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("wire")(planning_command("wire", wire))


def wire(request: Request) -> None:
    """Attach users of a content workload to brokers so that carrying all traffic costs least.

    Users publish on channels and want those that their rectangle overlaps. The
    plan says who is attached where, and what each link between brokers
    carries: a message crosses a link at most once. No broker should carry
    more than its capacity.

    Example: [bold]fanwise wire sensors/ --out plan/[/bold]
    """
    solve_and_save(request)
