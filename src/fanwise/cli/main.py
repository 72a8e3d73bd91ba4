"""The ``fanwise`` command: puts the commands together and turns errors into exit statuses."""

from __future__ import annotations

import signal
import sys
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.exceptions import TyperException

from fanwise import __version__
from fanwise.errors import FanwiseError

INTERRUPTED = 130

COMMANDS = (
    "ingest",
    "generate",
    "sample",
    "stats",
    "select",
    "provision",
    "connect",
    "assign",
    "wire",
    "compare",
    "sweep",
    "verify",
    "explain",
    "diff",
    "plot",
    "report",
    "reproduce",
    "export",
    "doctor",
)

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
    """


for _name in COMMANDS:
    import_module(f"fanwise.cli.{_name}").register(app)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with the contract's status: 0, 1, 2 or 130."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        status: Any = app(args=arguments, standalone_mode=False)
    except TyperException as error:
        _complain(f"{error.format_message()} (fanwise COMMAND --help shows what is possible)")
        sys.exit(2)
    except FanwiseError as error:
        _complain(str(error))
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    if status == INTERRUPTED:  # Typer's way of passing Ctrl-C on
        _complain("interrupted")
    sys.exit(status if isinstance(status, int) else 0)


def _complain(message: str) -> None:
    sys.stderr.write("fanwise: " + " ".join(message.split()) + "\n")


def _terminate(signum: int, frame: object) -> NoReturn:
    sys.exit(128 + signum)
