"""Puts the commands together and turns errors into exit statuses."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from fanwise import __version__
from fanwise.cli.main import COMMANDS, complain
from fanwise.errors import FanwiseError

app = typer.Typer(
    name="fanwise",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"fanwise {__version__}")
        raise typer.Exit


@app.callback()
def fanwise(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Plan publish/subscribe systems, with proof of how good each plan is.

    Traces become a workload ([bold]ingest[/bold], or [bold]generate[/bold] one), a workload
    becomes a plan ([bold]select[/bold], [bold]provision[/bold], [bold]connect[/bold],
    [bold]assign[/bold], [bold]wire[/bold]), and [bold]verify[/bold] checks a plan from scratch.

    Exit status: 0 done; 1 the answer is no (a plan breaks a limit, verification failed); 2 what was
    asked or given is wrong; 130 after Ctrl-C, 143 after SIGTERM.
    """


for _name in COMMANDS:
    import_module(f"fanwise.cli.{_name}").register(app)


def run(arguments: list[str] | None) -> int:
    """Run a command; return its exit status."""
    try:
        status: Any = app(args=arguments, standalone_mode=False)
    except TyperException as error:
        complain(f"{error.format_message()} (fanwise COMMAND --help shows what is possible)")
        return 2
    except FanwiseError as error:
        complain(str(error))
        return error.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    return status if isinstance(status, int) else 0
