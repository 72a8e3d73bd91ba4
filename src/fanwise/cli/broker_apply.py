"""``fanwise broker apply``."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanwise.cli import broker_options as shared
from fanwise.cli import console, options

if TYPE_CHECKING:
    from fanwise.brokers.moving.carrying_out import Outcome
    from fanwise.brokers.network.endpoint import Admission

SHOWN = 10
"""Clients that are named one by one."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("apply")(apply)


def apply(
    plan: options.PlanFolder,
    workload: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="The workload that the plan was made for.", show_default=False
        ),
    ],
    directory: shared.Directory,
    at_once: Annotated[int, typer.Option(min=1, help="Most clients on the way at a time.")] = 4,
    tls_ca: shared.TlsCa = None,
    peer_tokens: shared.PeerTokens = None,
    as_json: options.Json = False,
) -> None:
    """Carry a plan of fanwise wire out on a running network, a few clients at a time.

    Clients are asked as brokers ask them, and may decline. No broker gets above
    its capacity on the way; where clients wait for each other's room, one goes by
    way of a third broker. Ctrl-C stops it after the moves that are on their way;
    begun again, it goes on from where things are.

    Exit status: 0 all clients are where the plan has them; 1 some are not.

    Example: [bold]fanwise broker apply plan/ --workload now/ --directory 127.0.0.1:7400[/bold]
    """
    shared.require_extra()
    address = shared.read_address(directory, "--directory")
    admission = shared.read_admission(None, None, tls_ca, None, peer_tokens)
    from fanwise.brokers.moving.central import read_targets

    targets = read_targets(workload, plan)
    outcome, number = asyncio.run(_carry(address, admission, targets, at_once, as_json=as_json))
    _report(outcome, as_json=as_json)
    if number is not None:
        raise SystemExit(128 + number)
    if not outcome.is_done:
        raise SystemExit(1)


async def _carry(
    address: str, admission: Admission, targets: dict[str, str], at_once: int, *, as_json: bool
) -> tuple[Outcome, int | None]:
    from fanwise.brokers.moving.carrying_out import Carrying, Network, Progress

    def show(progress: Progress) -> None:
        if console.err().is_terminal and not as_json:
            console.err().print(f"{progress.moved} moves, {progress.to_go} to go", end="\r")

    network = await Network.find(address, admission)
    carrying = Carrying(network, targets, at_once=at_once, show=show)
    heard: list[int] = []

    def stop(number: int) -> None:
        heard.append(number)
        carrying.stop()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    outcome = await carrying.run()
    return outcome, int(heard[0]) if heard and outcome.is_stopped else None


def _report(outcome: Any, *, as_json: bool) -> None:
    if as_json:
        console.print_json(
            {"moved": outcome.moved, "in_place": outcome.in_place,
             "kept_back": dict(outcome.kept_back), "stuck": list(outcome.stuck),
             "missing": list(outcome.missing), "stopped": outcome.is_stopped}
        )  # fmt: skip
        return
    pairs: list[tuple[str, Any]] = [("moves", outcome.moved), ("in place", outcome.in_place)]
    kept = [f"{name}: {why}" for name, why in sorted(outcome.kept_back.items())]
    for label, names in (
        ("kept back", kept), ("no room", list(outcome.stuck)), ("not there", list(outcome.missing))
    ):  # fmt: skip
        if names:
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            pairs.append((label, "; ".join(names[:SHOWN]) + more))
    if outcome.is_stopped:
        pairs.append(("stopped", "begin it again to go on"))
    console.out().print(console.facts("Plan carried out", pairs))
