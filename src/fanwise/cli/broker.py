"""``fanwise broker``: the content-based broker network; a module for each of its commands."""

from __future__ import annotations

from importlib import import_module

import typer

COMMANDS = ("run", "directory", "list", "forget", "collect", "apply", "demo")
broker_app = typer.Typer(no_args_is_help=True)


@broker_app.callback()
def broker() -> None:
    """Run brokers that match points with rectangles, and move their users where they cost least.

    Begin with a directory, then brokers, each a process with a folder of its own;
    programs connect by [bold]fanwise.brokers.library[/bold].

    Example: [bold]fanwise broker directory --data directory/ --listen 127.0.0.1:7400[/bold]
    """


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for name in COMMANDS:
        import_module(f"fanwise.cli.broker_{name}").register(broker_app)
    app.add_typer(broker_app, name="broker")
