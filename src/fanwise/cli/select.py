"""``fanwise select``."""

from __future__ import annotations

import typer

from fanwise.cli import engines
from fanwise.cli.planning_command import Request, planning_command
from fanwise.cli.solving import solve_and_save


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("select")(planning_command("select", select))


def select(
    request: Request,
    engine: engines.Engine = engines.LOCAL,
    master: engines.Master = None,
    conf: engines.Conf = None,
) -> None:
    """Choose the topics to serve so that most subscribers are satisfied within a capacity.

    The plan lists every topic as served or offloaded, with the number of
    satisfied subscribers, a proven bound on the best possible number, and the
    gap between the two.

    With --previous the next plan stays near the one in force: at most
    --max-changes topics are switched, or every switch gains --change-price;
    what that gives up against the free plan is reported.

    Example: [bold]fanwise select spotify/ --tau 27 --capacity 10% --out plan/[/bold]
    """
    engines.check_engine(request, engine, master, conf)
    if engine == engines.LOCAL:
        solve_and_save(request)
        return
    solve_and_save(request, lambda: engines.EngineProblem(request, engine, master, conf))
