"""``fanwise broker collect``."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from fanwise.cli import broker_options as shared
from fanwise.cli import console, options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("collect")(collect)


def collect(
    directory: shared.Directory,
    workload: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="The workload that brokers were started with.", show_default=False
        ),
    ],
    out: options.Out,
    overwrite: options.Overwrite = False,
    tls_ca: shared.TlsCa = None,
    peer_tokens: shared.PeerTokens = None,
    as_json: options.Json = False,
) -> None:
    """Make a content workload of what brokers have seen: who wants what, and publishes how much.

    Rates are events per second, as brokers summarize them; a client's
    rectangles become the one that holds them all. Plan with it, and carry the
    plan out: fanwise wire, then fanwise broker apply.

    Example: [bold]fanwise broker collect --directory 127.0.0.1:7400 --workload a/ -o now/[/bold]
    """
    shared.require_extra()
    address = shared.read_address(directory, "--directory")
    admission = shared.read_admission(None, None, tls_ca, None, peer_tokens)
    from fanwise.brokers.moving.carrying_out import collect as ask
    from fanwise.brokers.moving.view import Scene
    from fanwise.workload.content.files import read_content_workload, write_content_workload
    from fanwise.workload.folders import refuse_existing
    from fanwise.workload.outputs import WORKLOAD

    refuse_existing(out, WORKLOAD, overwrite=overwrite, inputs=[workload])
    scene = Scene(read_content_workload(workload))
    view = scene.view(asyncio.run(ask(address, admission)))
    write_content_workload(view.workload, out, overwrite=overwrite)
    access, core = (float(part) for part in view.state().totals)
    if as_json:
        console.print_json(
            {"clients": len(view.clients), "brokers": len(view.brokers), "access": access,
             "core": core, "cost": access + core}
        )  # fmt: skip
        return
    pairs = [
        ("clients", len(view.clients)),
        ("brokers", len(view.brokers)),
        ("access", f"{access:,.6g}"),
        ("core", f"{core:,.6g}"),
        ("cost as things are", f"{access + core:,.6g}"),
    ]
    console.out().print(console.facts(str(out), pairs))
