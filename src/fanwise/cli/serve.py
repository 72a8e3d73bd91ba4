"""``fanwise serve``."""

from __future__ import annotations

import json
import logging
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanwise.cli import console, forwarding, options, signals
from fanwise.errors import FanwiseError, MissingDependencyError, ParameterError

if TYPE_CHECKING:
    from fanwise.service.configuration.model import Configuration, Server
    from fanwise.service.store.store import Store

DEFAULT = Path("fanwise.toml")
STOP_SECONDS = 30.0
"""From SIGTERM until the service ends in any case: Spark, outputs and requests come to an end."""

Config = Annotated[
    Path | None,
    typer.Option("--config", help="The configuration; --init writes one.", show_default=False),
]
serve_app = typer.Typer(invoke_without_command=True, no_args_is_help=False)
token_app = typer.Typer(no_args_is_help=True, help="Tokens that let people and programs in.")


def register(app: typer.Typer) -> None:
    """Add the command."""
    serve_app.add_typer(token_app, name="token")
    forwarding.register(serve_app)
    app.add_typer(serve_app, name="serve")


@serve_app.callback()
def serve(
    context: typer.Context,
    config: Config = None,
    init: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a commented configuration.", show_default=False),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Check the configuration, and start nothing.")
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Replay a made day; needs no configuration.")
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the history as Parquet.", show_default=False),
    ] = None,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on.", show_default=False)
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="Port to listen on; 0: a free one.", show_default=False
        ),
    ] = None,
    state: Annotated[
        Path | None, typer.Option(help="State folder instead of the one configured.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Watch traffic, decide every window which topics to serve, and carry decisions out.

    Begin with [bold]fanwise serve --demo[/bold], or write a configuration by
    --init, look at it, check it by --check, and run it. The service answers on
    loopback unless told otherwise; [bold]fanwise serve token create[/bold] makes
    tokens for people and programs, [bold]fanwise decisions[/bold] asks it.

    Example: [bold]fanwise serve --init fanwise.toml[/bold]
    """
    if context.invoked_subcommand is not None:
        _refuse_before_subcommand(
            context.invoked_subcommand,
            init=init, check=check, demo=demo, export=export, host=host, port=port, json=as_json,
        )  # fmt: skip
        context.obj = (config, state)
        return
    _require_extra()
    _refuse_several(init=init is not None, check=check, demo=demo, export=export is not None)
    if init is not None:
        write_configuration(init, as_json=as_json)
    elif check:
        check_configuration(config or DEFAULT, as_json=as_json)
    elif export is not None:
        export_history(config, state, export, as_json=as_json)
    else:
        run(config, demo, host, port, state, as_json=as_json)


def _refuse_several(**options: bool) -> None:
    given = [f"--{name}" for name, is_given in options.items() if is_given]
    if len(given) > 1:
        raise FanwiseError(f"{' and '.join(given)} exclude each other: give one of them.")


def _refuse_before_subcommand(subcommand: str, **options: Any) -> None:
    """Refuse what would be left aside; the configuration and the state folder are not."""
    given = [name for name, value in options.items() if value not in (None, False)]
    if given:
        raise FanwiseError(f"--{given[0]} does not go with {subcommand}: leave it out before it.")


def _require_extra() -> None:
    try:
        import alembic
        import fastapi
        import paho.mqtt
        import prometheus_client
        import sqlalchemy
        import uvicorn
    except ImportError as error:
        raise MissingDependencyError(
            f"the service needs more packages ({error.name} is missing); "
            "pip install 'fanwise[serve,spark]'."
        ) from None
    del alembic, fastapi, paho, prometheus_client, sqlalchemy, uvicorn


def write_configuration(path: Path, *, as_json: bool) -> None:
    """Write the commented configuration."""
    from fanwise.service.configuration.template import write_template

    if path.exists():
        raise FanwiseError(f"{path}: is there already; give another name.")
    try:
        path.write_text(write_template(), encoding="utf-8")
    except OSError as error:
        raise FanwiseError(f"{path}: cannot be written: {error.strerror}.") from None
    if as_json:
        console.print_json({"file": str(path)})
    else:
        console.warn(f"wrote {path}; fanwise serve --config {path} --check checks it.")


def check_configuration(path: Path, *, as_json: bool) -> None:
    """Say everything that is wrong with a configuration; exit status 2 if something is."""
    from fanwise.service.checking import find_wrong
    from fanwise.service.configuration.reading import (
        ConfigurationError,
        place_mistakes,
        read_configuration,
    )

    mistakes = []
    try:
        wrong = [(one.place, one.text) for one in find_wrong(read_configuration(path))]
        mistakes = [{"line": line, "text": text} for line, text in place_mistakes(path, wrong)]
    except ConfigurationError as error:
        mistakes = [{"line": one.line, "text": one.text} for one in error.mistakes]
    except FanwiseError as error:
        mistakes = [{"line": 0, "text": str(error)}]
    if as_json:
        console.print_json({"file": str(path), "valid": not mistakes, "mistakes": mistakes})
    elif mistakes:
        for one in mistakes:
            line = f"line {one['line']}: " if one["line"] else ""
            sys.stderr.write(console.printable(f"{path}: {line}{one['text']}") + "\n")
    else:
        console.out().print(f"{path}: nothing is wrong with it.", markup=False)
    if mistakes:
        raise typer.Exit(2)


def run(
    config: Path | None,
    demo: bool,
    host: str | None,
    port: int | None,
    state: Path | None,
    *,
    as_json: bool,
) -> None:
    """Run the service until a signal ends it."""
    from fanwise.service.running import run_service

    signals.be_patient(STOP_SECONDS)
    if demo and config is not None:
        raise ParameterError("config", "left out with --demo", str(config))
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s"
    )
    logging.getLogger("fanwise").setLevel(logging.INFO)
    settings = (
        _demo(host, port, state) if demo else _configured(config or DEFAULT, host, port, state)
    )

    def ready(url: str, folder: Path, token: str | None, link: str | None = None) -> None:
        if as_json:
            told = {"url": url, "state": str(folder)} | ({"token": token} if token else {})
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()
            return
        terminal = console.out()
        terminal.print(f"fanwise serves on {url}, state in {folder}", markup=False)
        if token is not None:
            terminal.print("A made day is replayed, an hour every few seconds. Look:", markup=False)
            terminal.print(f"  {link}   (signs you in, once)", markup=False, soft_wrap=True)
            terminal.print("or from a terminal:", markup=False)
            terminal.print(
                f"  FANWISE_TOKEN={token} fanwise decisions list --url {url}",
                markup=False,
                soft_wrap=True,
            )
            terminal.print(
                "and then approve one of them: fanwise decisions approve HASH", markup=False
            )
        terminal.print("Stop it with Ctrl-C.", markup=False)

    run_service(settings, ready, is_demo=demo)


def _configured(
    path: Path, host: str | None, port: int | None, state: Path | None
) -> Configuration:
    from fanwise.service.configuration.reading import read_configuration

    found = read_configuration(path)
    server = found.server.model_copy(
        update={
            name: value for name, value in (("host", host), ("port", port)) if value is not None
        }
    )
    _refuse_exposure(server)
    changed: dict[str, Any] = {"server": server}
    if state is not None:
        changed["state"] = state.absolute()
    return found.model_copy(update=changed)


def _refuse_exposure(server: Server) -> None:
    exposure = server.find_exposure()
    if exposure is not None:
        raise FanwiseError(f"--host: {exposure}.")


def _demo(host: str | None, port: int | None, state: Path | None) -> Configuration:
    import tempfile

    from fanwise.service.configuration.model import Server
    from fanwise.service.demo import demo_configuration
    from fanwise.service.state import StateFolder

    _refuse_exposure(Server().model_copy(update={"host": host or "127.0.0.1"}))
    if state is not None and StateFolder(state).ledger.exists():
        raise FanwiseError(
            f"{state}: a day was replayed there already; give a new folder, or leave --state out."
        )
    folder = Path(tempfile.mkdtemp(prefix="fanwise-demo-")) if state is None else state
    return demo_configuration(
        folder.absolute(), host or "127.0.0.1", 8731 if port is None else port
    )


def export_history(config: Path | None, state: Path | None, out: Path, *, as_json: bool) -> None:
    """Write the history as Parquet."""
    from fanwise.service.store.export import export_history as write_history

    store = _open_store(config, state)
    try:
        rows = write_history(store, out)
    finally:
        store.close()
    if as_json:
        console.print_json({"out": str(out), "rows": rows})
    else:
        console.out().print(console.facts(str(out), list(rows.items())))


def _open_store(config: Path | None, state: Path | None) -> Store:
    from fanwise.service.state import StateFolder
    from fanwise.service.store.store import Store

    _require_extra()
    if config is None and state is not None:
        if not state.is_dir():
            raise FanwiseError(f"{state}: there is no such state folder.")
        StateFolder(state).protect_store()
        return Store(StateFolder(state).store)
    settings = _configured(config or DEFAULT, None, None, state)
    if settings.store.url is not None:
        return Store(settings.store.url)
    folder = StateFolder(settings.state)
    folder.make()
    folder.protect_store()
    return Store(folder.store)


def _open_given(context: typer.Context, config: Path | None, state: Path | None) -> Store:
    """Open the store that options name, those of the subcommand before those before it."""
    if config is None and state is None and context.obj is not None:
        config, state = context.obj
    return _open_store(config, state)


State = Annotated[Path | None, typer.Option(help="State folder, where there is no configuration.")]


@token_app.command("create")
def create_token(
    context: typer.Context,
    role: Annotated[str, typer.Option(help="read, approve or admin.")],
    label: Annotated[
        str, typer.Option(help="Whose it is; the audit trail names it.", show_default=False)
    ] = "",
    config: Config = None,
    state: State = None,
    as_json: options.Json = False,
) -> None:
    """Make a token. It is shown once: only its digest is kept.

    Example: [bold]fanwise serve token create --role approve --label ann[/bold]
    """
    store = _open_given(context, config, state)
    try:
        token, text = store.create_token(
            role,  # type: ignore[arg-type]
            label or None,
            who="command line",
            at=time.time_ns() // 1000,
        )
    finally:
        store.close()
    if as_json:
        console.print_json(
            {"id": token.id, "role": token.role, "label": token.label, "token": text}
        )
    else:
        sys.stdout.write(f"{text}\n")


@token_app.command("list")
def list_tokens(
    context: typer.Context,
    config: Config = None,
    state: State = None,
    as_json: options.Json = False,
) -> None:
    """List tokens, without their secrets."""
    store = _open_given(context, config, state)
    try:
        tokens = store.tokens()
    finally:
        store.close()
    rows = [
        {
            "id": token.id,
            "role": token.role,
            "label": token.label,
            "revoked": token.revoked_at is not None,
        }
        for token in tokens
    ]
    if as_json:
        console.print_json({"tokens": rows})
    else:
        columns = ("id", "role", "label", "revoked")
        table = [[row[name] for name in columns] for row in rows]
        console.out().print(console.table("Tokens", columns, table))


@token_app.command("revoke")
def revoke_token(
    context: typer.Context,
    id: Annotated[str, typer.Argument(help="Its id, as token list shows it.")],
    config: Config = None,
    state: State = None,
    as_json: options.Json = False,
) -> None:
    """Make a token worthless."""
    store = _open_given(context, config, state)
    try:
        is_done = store.revoke_token(id, who="command line", at=time.time_ns() // 1000)
    finally:
        store.close()
    if not is_done:
        raise FanwiseError(f"no valid token has the id {id!r}; token list shows them.")
    if as_json:
        console.print_json({"id": id, "revoked": True})
    else:
        console.out().print(f"{id} is worthless now.", markup=False)
