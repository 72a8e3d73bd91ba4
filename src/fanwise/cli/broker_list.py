"""``fanwise broker list``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import typer

from fanwise.cli import broker_options as shared
from fanwise.cli import console, options

if TYPE_CHECKING:
    from fanwise.brokers.network.endpoint import Admission


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list")(list_brokers)


def list_brokers(
    directory: shared.Directory,
    tls_ca: shared.TlsCa = None,
    peer_tokens: shared.PeerTokens = None,
    as_json: options.Json = False,
) -> None:
    """List the brokers that have joined and not left: where, with what load, whether they live.

    Example: [bold]fanwise broker list --directory 127.0.0.1:7400[/bold]
    """
    shared.require_extra()
    address = shared.read_address(directory, "--directory")
    admission = shared.read_admission(None, None, tls_ca, None, peer_tokens)
    print_view(asyncio.run(_look(address, admission)), as_json=as_json)


async def _look(address: str, admission: Admission) -> Any:
    from fanwise.brokers.messages import View
    from fanwise.brokers.network.asking import Asker

    async with Asker(address, admission) as asker:
        return await asker.hear(View)


def print_view(view: Any, *, as_json: bool) -> None:
    """Show what the directory knows."""
    if as_json:
        rows = [
            {
                "name": name, "address": address, "position": list(position),
                "capacity": None if capacity == float("inf") else capacity,
                "load": load, "alive": is_alive,
            }
            for name, address, position, capacity, load, is_alive, _ in view.brokers
        ]  # fmt: skip
        console.print_json({"epoch": view.epoch, "brokers": rows})
        return
    if not view.brokers:
        console.out().print("No broker has joined yet; start one: fanwise broker run.")
        return
    columns = ("broker", "address", "position", "load", "capacity", "alive")
    table = [
        [
            name, address, ", ".join(f"{one:g}" for one in position), load,
            "unlimited" if capacity == float("inf") else capacity, "yes" if is_alive else "no",
        ]
        for name, address, position, capacity, load, is_alive, _ in view.brokers
    ]  # fmt: skip
    console.out().print(console.table("Brokers", columns, table))
