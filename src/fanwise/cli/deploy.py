"""``fanwise deploy``."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanwise.cli import console, options, signals
from fanwise.errors import FanwiseError

if TYPE_CHECKING:
    from fanwise.offload.files import Folder
    from fanwise.offload.local import LocalNetwork

STOP_SECONDS = 30.0
"""From SIGTERM until the process ends in any case."""
PAUSE = 0.1

deploy_app = typer.Typer(no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.add_typer(deploy_app, name="deploy")


@deploy_app.callback()
def deploy() -> None:
    """Run what a plan describes.

    Example: [bold]fanwise deploy local edges/[/bold]
    """


@deploy_app.command("local")
def local(
    network: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="A network that fanwise export --mosquitto wrote.",
            show_default=False,
        ),
    ],
    state: Annotated[
        Path | None,
        typer.Option(
            help="Folder for logs and for what brokers keep; it stays. Without it a temporary one.",
            show_default=False,
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Start the brokers of an offload network on loopback, until Ctrl-C.

    A broker that ends is started again. When the network is exported again
    with --overwrite, the change is applied: brokers that are new start, those
    that are gone stop, and only those whose bridges are others restart.

    Example: [bold]fanwise deploy local edges/[/bold]
    """
    from fanwise.offload.files import read_network
    from fanwise.offload.local import LocalNetwork

    signals.be_patient(STOP_SECONDS)
    folder = read_network(network)
    place = Path(tempfile.mkdtemp(prefix="fanwise-edges-")) if state is None else state.absolute()
    brokers = LocalNetwork(place, _teller(as_json))
    try:
        brokers.apply(folder)
        brokers.wait_for_bridges()
        _tell_ready(network, folder, brokers, place, as_json=as_json)
        _run(network, folder, brokers, as_json=as_json)
    finally:
        brokers.stop()
        if state is None:
            shutil.rmtree(place, ignore_errors=True)


@deploy_app.command("interests")
def interests(
    workload: options.Workload,
    edges: Annotated[
        Path,
        typer.Option(
            help="CSV with the columns subscriber and edge: at which edge broker each client is.",
            metavar="FILE",
            show_default=False,
        ),
    ],
    out: options.Out,
    served: Annotated[
        Path | None,
        typer.Option(
            help="A plan of select; topics that it serves are left out.",
            metavar="PLAN",
            show_default=False,
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Gather what clients want at their edge brokers: a workload for connect.

    Its subscribers are the edge brokers; each wants what one of its clients
    wants. Without --served it has all topics, so that decisions about which of
    them the back end serves change nothing in the network.

    Example: [bold]fanwise deploy interests clients/ --edges edges.csv --out edges/[/bold]
    """
    import fanwise as fw
    from fanwise.cli.stating import load_workload
    from fanwise.offload.interests import gather_interests, read_edges
    from fanwise.planning.families import find_family
    from fanwise.workload.folders import refuse_existing
    from fanwise.workload.outputs import WORKLOAD

    inputs = [workload, edges, served]
    refuse_existing(out, WORKLOAD, overwrite=overwrite, inputs=inputs)
    loaded = load_workload(workload, find_family("connect"))
    plan = None if served is None else fw.read_plan(served)
    gathered = gather_interests(loaded, read_edges(edges), plan)
    fw.write_workload(gathered, out, overwrite=overwrite)
    told = {
        "out": str(out),
        "edges": gathered.num_subscribers,
        "topics": gathered.num_topics,
        "pairs": gathered.num_pairs,
    }
    if as_json:
        console.print_json(told)
    else:
        console.out().print(console.facts(str(out), list(told.items())[1:]))


def _run(path: Path, folder: Folder, brokers: LocalNetwork, *, as_json: bool) -> None:
    """Look after brokers and apply changes, until a signal is raised."""
    from fanwise.offload.files import read_generation, read_network

    tried = folder.generation
    while True:
        time.sleep(PAUSE)
        brokers.tend()
        generation = read_generation(path)
        if generation is None or generation == tried:
            continue
        tried = generation
        try:
            folder = read_network(path)
            if read_generation(path) != generation:
                tried = ""  # replaced while it was read
                continue
            began = time.monotonic()
            change = brokers.apply(folder)
            brokers.wait_for_bridges()
        except FanwiseError as error:
            console.warn(f"the change is not applied as a whole: {error}")
            continue
        told: dict[str, Any] = {
            "event": "changed",
            "generation": generation,
            "number": folder.number,
            "started": change.started,
            "stopped": change.stopped,
            "restarted": change.restarted,
            "reloaded": change.reloaded,
            "unchanged": len(change.unchanged),
            "seconds": round(time.monotonic() - began, 3),
        }
        if as_json:
            _print_line(told)
        else:
            words = [
                f"{len(names)} {what} ({', '.join(names)})" if names else f"0 {what}"
                for what, names in (
                    ("started", change.started),
                    ("stopped", change.stopped),
                    ("restarted", change.restarted),
                    ("reloaded", change.reloaded),
                )
            ]
            console.warn(
                f"network {folder.number} is in place: {', '.join(words)}, "
                f"{told['unchanged']} unchanged, {told['seconds']} s"
            )


def _teller(as_json: bool) -> Callable[[str, str], None]:
    def tell(node: str, what: str) -> None:
        if as_json:
            _print_line({"event": "ended", "node": node, "what": what})
        else:
            console.warn(f"the broker of {node} {what}")

    return tell


def _tell_ready(
    path: Path, folder: Folder, brokers: LocalNetwork, state: Path, *, as_json: bool
) -> None:
    nodes = folder.network.nodes.values()
    pids = brokers.pids
    if as_json:
        _print_line(
            {
                "network": str(path),
                "state": str(state),
                "generation": folder.generation,
                "number": folder.number,
                "bridges": len(folder.network.bridges),
                "brokers": [
                    {"node": one.name, "host": one.host, "port": one.port, "pid": pids[one.name]}
                    for one in nodes
                ],
            }
        )
        return
    rows = [
        (
            one.name,
            one.host,
            str(one.port),
            str(pids[one.name]),
            sum(one.name in (bridge.node, bridge.other) for bridge in folder.network.bridges),
        )
        for one in nodes
    ]
    terminal = console.out()
    columns = ("node", "host", "port", "process", "links")
    terminal.print(console.table("Brokers", columns, rows))
    terminal.print(
        f"{len(rows)} brokers and {len(folder.network.bridges)} bridges are up. "
        "Stop them with Ctrl-C.",
        markup=False,
    )


def _print_line(told: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(told, ensure_ascii=False) + "\n")
    sys.stdout.flush()
