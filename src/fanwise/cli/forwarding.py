"""``fanwise serve forward``."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fanwise.cli import console, options
from fanwise.errors import FanwiseError, MissingDependencyError

if TYPE_CHECKING:
    from fanwise.service.forwarding.forwarder import Forwarder

DEFAULT = Path("forwarder.toml")
COMMAND = "fanwise serve forward"


def register(app: typer.Typer) -> None:
    """Add the command below ``serve``."""
    app.command("forward")(forward)


def forward(
    config: Annotated[
        Path | None,
        typer.Option("--config", help="The configuration; --init writes one.", show_default=False),
    ] = None,
    init: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a commented configuration.", show_default=False),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Check the configuration, and start nothing.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Take messages at the ingress, and send each to the back end or to the edge brokers.

    Which topics the back end serves is what the decision service announces. Every
    message is in a durable log before it is acknowledged: a forwarder that was
    killed goes on where it was, under the same message ids.

    Example: [bold]fanwise serve forward --init forwarder.toml[/bold]
    """
    _require_extra()
    if init is not None and check:
        raise FanwiseError("--init and --check exclude each other: give one of them.")
    if init is not None:
        write_configuration(init, as_json=as_json)
    elif check:
        check_configuration(config or DEFAULT, as_json=as_json)
    else:
        run(config or DEFAULT, as_json=as_json)


def _require_extra() -> None:
    try:
        import paho.mqtt
        import pydantic
    except ImportError as error:
        raise MissingDependencyError(
            f"the forwarder needs more packages ({error.name} is missing); "
            "pip install 'fanwise[serve]'."
        ) from None
    del paho, pydantic


def write_configuration(path: Path, *, as_json: bool) -> None:
    """Write the commented configuration."""
    from fanwise.service.configuration.template import write_template
    from fanwise.service.forwarding.settings import ForwarderConfiguration

    if path.exists():
        raise FanwiseError(f"{path}: is there already; give another name.")
    text = write_template(ForwarderConfiguration, "a fanwise forwarder", COMMAND)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FanwiseError(f"{path}: cannot be written: {error.strerror}.") from None
    if as_json:
        console.print_json({"file": str(path)})
    else:
        console.warn(f"wrote {path}; {COMMAND} --config {path} --check checks it.")


def check_configuration(path: Path, *, as_json: bool) -> None:
    """Say everything that is wrong with a configuration; exit status 2 if something is."""
    from fanwise.service.configuration.reading import ConfigurationError, read_as
    from fanwise.service.forwarding.routing import read_network
    from fanwise.service.forwarding.settings import ForwarderConfiguration

    mistakes = []
    try:
        found = read_as(ForwarderConfiguration, path, COMMAND)
        if found.offload is not None:
            read_network(found.offload.folder)
    except ConfigurationError as error:
        mistakes = [{"line": one.line, "text": one.text} for one in error.mistakes]
    except FanwiseError as error:
        mistakes = [{"line": 0, "text": str(error)}]
    if as_json:
        console.print_json({"file": str(path), "valid": not mistakes, "mistakes": mistakes})
    elif mistakes:
        for one in mistakes:
            line = f"line {one['line']}: " if one["line"] else ""
            sys.stderr.write(f"{path}: {line}{one['text']}\n")
    else:
        console.out().print(f"{path}: nothing is wrong with it.", markup=False)
    if mistakes:
        raise typer.Exit(2)


def run(path: Path, *, as_json: bool) -> None:
    """Run the forwarder until a signal ends it."""
    from fanwise.service.configuration.reading import read_as
    from fanwise.service.forwarding.running import run_forwarder
    from fanwise.service.forwarding.settings import ForwarderConfiguration

    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s"
    )
    logging.getLogger("fanwise").setLevel(logging.INFO)
    settings = read_as(ForwarderConfiguration, path, COMMAND)

    def ready(forwarder: Forwarder) -> None:
        state = forwarder.state()
        told = {name: state[name] for name in ("name", "log", "epoch", "position")}
        if as_json:
            sys.stdout.write(json.dumps(told | {"state": str(settings.state)}) + "\n")
            sys.stdout.flush()
            return
        ingress = settings.ingress
        terminal = console.out()
        terminal.print(
            f"{settings.name} takes messages at {ingress.host}:{ingress.port}, log in "
            f"{settings.state}. Stop it with Ctrl-C.",
            markup=False,
        )

    number = run_forwarder(settings, ready)
    raise SystemExit(128 + number)
