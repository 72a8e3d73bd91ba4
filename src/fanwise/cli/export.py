"""``fanwise export``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanwise.cli import console, options
from fanwise.cli.stating import load_workload
from fanwise.errors import InputError
from fanwise.planning.families import find_family

if TYPE_CHECKING:
    from fanwise.offload.export import Exported
    from fanwise.planning.plan import Plan

SHOWN = 12
"""Names in a list for people."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export")(export)


def export(
    plan: options.PlanFolder,
    workload: Annotated[
        Path,
        typer.Option(help="The workload the plan was made for.", metavar="DIR", show_default=False),
    ],
    csv: Annotated[
        Path | None,
        typer.Option("--csv", help="Folder for one CSV a table.", metavar="DIR"),
    ] = None,
    graphml: Annotated[
        Path | None,
        typer.Option(help="An overlay as GraphML.", metavar="FILE"),
    ] = None,
    dot: Annotated[
        Path | None,
        typer.Option(help="An overlay for Graphviz.", metavar="FILE"),
    ] = None,
    forests: Annotated[
        Path | None,
        typer.Option(
            help="A tree for every component of every topic of an overlay, .csv or .parquet.",
            metavar="FILE",
        ),
    ] = None,
    mosquitto: Annotated[
        Path | None,
        typer.Option(
            help="Folder for an overlay as a network of Mosquitto brokers: a configuration for "
            "each node.",
            metavar="DIR",
        ),
    ] = None,
    first_port: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65535,
            help="Port of the first broker with --mosquitto.",
            show_default="18830",
        ),
    ] = None,
    mosquitto_options: Annotated[
        Path | None,
        typer.Option(
            help="Hosts, ports, TLS and passwords for --mosquitto, in TOML.", metavar="FILE"
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Write a plan for other programs, with names instead of ids.

    --csv writes the tables of any plan. Plans of connect are also written as
    a graph (--graphml, --dot), and as loop-free trees (--forests): a bridge
    that forwards a topic along its rows alone sends nobody a message twice.
    --mosquitto writes them as brokers with such bridges, which [bold]fanwise
    deploy local[/bold] starts; with --overwrite few brokers need a restart.

    Example: [bold]fanwise export plan/ --workload spotify/ --csv tables/[/bold]
    """
    from fanwise.offload.files import NETWORK
    from fanwise.planning.export import export_as, export_csv
    from fanwise.planning.outputs import EXPORTS, TABLES
    from fanwise.planning.plan import read_plan
    from fanwise.workload.folders import refuse_existing

    files = {
        kind: path
        for kind, path in (("forests", forests), ("graphml", graphml), ("dot", dot))
        if path is not None
    }
    if csv is None and mosquitto is None and not files:
        raise InputError(
            "nothing to write: give --csv, --graphml, --dot, --forests or --mosquitto."
        )
    if mosquitto is None and (first_port is not None or mosquitto_options is not None):
        raise InputError("--first-port and --mosquitto-options are for --mosquitto; give it, too.")
    if mosquitto is not None:
        refuse_existing(mosquitto, NETWORK, overwrite=overwrite, inputs=[plan, workload])
    if csv is not None:
        refuse_existing(csv, TABLES, overwrite=overwrite, inputs=[plan, workload])
    for kind, path in files.items():
        refuse_existing(path, EXPORTS[kind], overwrite=overwrite, inputs=[plan, workload])
    found = read_plan(plan)
    loaded = load_workload(workload, find_family(found.problem))
    written: dict[str, Any] = {}
    counts: list[tuple[str, int]] = []
    for kind, path in files.items():
        count = export_as(kind, found, loaded, path, overwrite=overwrite)
        written[kind] = {"file": str(path), "rows": count}
        counts.append((str(path), count))
    if csv is not None:
        rows = export_csv(found, loaded, csv, overwrite=overwrite)
        written |= {"csv": str(csv), "rows": rows}
        counts += [(str(csv / f"{name}.csv"), count) for name, count in rows.items()]
    if mosquitto is not None:
        exported = _export_network(
            found, loaded, mosquitto, mosquitto_options, first_port, overwrite=overwrite
        )
        written["mosquitto"] = _describe(mosquitto, exported)
    if as_json:
        console.print_json(written)
        return
    if counts:
        console.out().print(console.table("Written", ("file", "rows"), counts))
    if mosquitto is not None:
        _tell(mosquitto, exported)


def _export_network(
    plan: Plan,
    workload: Any,
    out: Path,
    options_file: Path | None,
    first_port: int | None,
    *,
    overwrite: bool,
) -> Exported:
    from fanwise.offload.export import export_network
    from fanwise.offload.options import Options, read_options

    given = Options() if options_file is None else read_options(options_file)
    return export_network(
        plan, workload, out, given.with_first_port(first_port), overwrite=overwrite
    )


def _describe(out: Path, exported: Exported) -> dict[str, Any]:
    folder, change = exported.folder, exported.change
    return {
        "folder": str(out),
        "generation": folder.generation,
        "number": folder.number,
        "brokers": len(folder.network.nodes),
        "bridges": len(folder.network.bridges),
        "divided": folder.network.divided,
        "started": change.started,
        "stopped": change.stopped,
        "restarted": change.restarted,
        "reloaded": change.reloaded,
        "unchanged": len(change.unchanged),
        "fewest_restarts": exported.is_least,
    }


def _tell(out: Path, exported: Exported) -> None:
    """Say what was written in words."""
    folder, change = exported.folder, exported.change
    terminal = console.out()
    facts = [
        ("brokers", len(folder.network.nodes)),
        ("bridges", len(folder.network.bridges)),
        ("generation", f"{folder.generation[:12]}, number {folder.number}"),
    ]
    if folder.number > 1 or not change.started:
        facts += [
            ("start", _list(change.started)),
            ("stop", _list(change.stopped)),
            ("restart", _list(change.restarted)),
            ("reload", _list(change.reloaded)),
            ("unchanged", len(change.unchanged)),
            (
                "ends of bridges",
                "fewest restarts" if exported.is_least else "few restarts, perhaps not the fewest",
            ),
        ]
    terminal.print(console.facts(str(out), facts))
    divided = folder.network.divided
    if divided:
        some = [f"{topic} in {count}" for topic, count in list(divided.items())[:SHOWN]]
        terminal.print(
            f"The plan leaves {len(divided)} {'topic' if len(divided) == 1 else 'topics'} in "
            "several components, and a message must be published in each (entries.csv): "
            f"{_list(some, len(divided))}.",
            markup=False,
            soft_wrap=True,
        )


def _list(names: Sequence[str], total: int | None = None) -> str:
    total = len(names) if total is None else total
    if not total:
        return "none"
    shown = ", ".join(names[:SHOWN])
    return shown if total <= SHOWN else f"{shown} and {total - SHOWN} more"
