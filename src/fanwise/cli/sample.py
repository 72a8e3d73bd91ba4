"""``fanwise sample``."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Annotated

import typer

from fanwise.cli import console
from fanwise.cli.engines import Conf, Master
from fanwise.cli.options import Json, Out, Overwrite, Seed, Workload


class _Along(StrEnum):
    both = "both"
    followings = "followings"
    followers = "followers"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sample")(sample)


def sample(
    workload: Workload,
    nodes: Annotated[int, typer.Option(min=1, help="Users to visit.", show_default=False)],
    out: Out,
    start: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A user to start from; repeatable. Default: chosen by the seed.",
            show_default=False,
        ),
    ] = None,
    starts: Annotated[
        int, typer.Option(min=1, help="How many users to start from where none is named.")
    ] = 1,
    along: Annotated[
        _Along, typer.Option(help="Go to those a user follows, to its followers, or to both.")
    ] = _Along.both,
    keep_empty: Annotated[
        bool,
        typer.Option(
            "--keep-empty", help="Keep users left without followers, or without interests."
        ),
    ] = False,
    seed: Seed = 0,
    master: Master = None,
    conf: Conf = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Draw a breadth-first sample of a follow graph, on Spark.

    Users are topics and subscribers under one name. Visits users from the
    starting ones on until there are enough, and keeps all pairs among them.
    Where a part of the graph is exhausted, it goes on from other users.

    Example: [bold]fanwise sample twitter/ --nodes 10000 --seed 1 --out twitter-10k/[/bold]
    """
    from fanwise.workload.folders import refuse_existing
    from fanwise.workload.outputs import WORKLOAD
    from fanwise.workload.topic.files import write_workload
    from fanwise.workload.topic.sampling import Request

    request = Request(nodes, seed, tuple(start or ()), starts, along.value, keep_empty)
    refuse_existing(out, WORKLOAD, overwrite=overwrite, inputs=[workload])
    from fanwise.pipeline.shared.session import import_pyspark, parse_settings

    settings = parse_settings(conf)
    import_pyspark()
    from fanwise.pipeline.topic.sampling import sample as run

    begun = time.perf_counter()
    with console.progress() as progress:
        found = run(workload, request, master=master, conf=settings, progress=progress)
        with progress.step("Writing"):
            write_workload(found, out, overwrite=overwrite)
    told = found.origin["sample"]
    facts = {
        "out": str(out),
        **{name: told[name] for name in ("users", "start", "starts", "along", "seed")},
        "topics": found.num_topics,
        "subscribers": found.num_subscribers,
        "pairs": found.num_pairs,
        "of": told["of"],
        "seconds": round(time.perf_counter() - begun, 3),
    }
    if json:
        console.print_json(facts)
        return
    whole = told["of"]
    rows = [
        ("users visited", facts["users"]),
        (
            "started from",
            f"{told['start']}" + (f" and {told['starts'] - 1} more" if told["starts"] > 1 else ""),
        ),
        *(
            (name, f"{console.number(facts[name])} of {console.number(whole[name])}")
            for name in ("topics", "subscribers", "pairs")
        ),
        ("seconds", facts["seconds"]),
    ]
    console.out().print(console.facts(str(out), rows))
