"""``fanwise generate``: synthetic workloads and traces, a sub-command for each generator."""

from __future__ import annotations

import time
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from fanwise.cli import console, generate_content, generate_overlays, generate_priced
from fanwise.cli.generating import generator_command, save_topic_workload, show
from fanwise.cli.options import Json, Out, Overwrite, Seed

if TYPE_CHECKING:
    pass

Communities = Annotated[
    float,
    typer.Option(
        "--communities", min=0, max=1, help="Share of the pairs that lie inside a community."
    ),
]


class _Format(StrEnum):
    csv = "csv"
    parquet = "parquet"


_LARGE_BYTES = 2**28  # from here on a workload's needs are told before it is made

generate = typer.Typer(
    name="generate",
    invoke_without_command=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    target = "fanwise.workload.generators.spotify:spotify"
    generate.command()(generator_command(spotify, target, save_topic_workload))
    generate.command()(twitter)
    generate.command()(music_trace)
    generate_overlays.register(generate)
    generate_content.register(generate)
    generate_priced.register(generate)
    app.add_typer(generate)


@generate.callback()
def list_generators(context: typer.Context) -> None:
    """Synthetic workloads and traces, the papers' and more.

    The same seed gives the same output.

    Example: [bold]fanwise generate spotify --scale 0.01 --out spotify/[/bold]
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def spotify(
    scale: Annotated[
        float, typer.Option(help="Size against the real trace; 1 is 12 million pairs.")
    ] = 1.0,
    topics: Annotated[
        int | None, typer.Option(min=1, help="Topics, instead of scale x 1,100,000.")
    ] = None,
    subscribers: Annotated[
        int | None, typer.Option(min=1, help="Subscribers, instead of scale x 4,900,000.")
    ] = None,
    pairs: Annotated[
        int | None, typer.Option(min=1, help="Pairs, instead of scale x 12,000,000.")
    ] = None,
    communities: Communities = 0.5,
    message_bytes: Annotated[float, typer.Option(min=0, help="Size of every message.")] = 200.0,
) -> None:
    """A workload like ten days of Spotify's.

    Rates (2,763 on average), followers and followings are heavy-tailed, and
    calibrated on what the papers report: at tau 27 and capacity 10% their
    bound covers about 86% of the subscribers, and greedy satisfies about 72%.

    Example: [bold]fanwise generate spotify --scale 0.1 --seed 1 --out spotify/[/bold]
    """


def twitter(
    out: Out,
    scale: Annotated[
        float, typer.Option(help="Size against the real trace; 1 is 683.5 million pairs.")
    ] = 0.01,
    message_bytes: Annotated[float, typer.Option(min=0, help="Size of every message.")] = 200.0,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """A follow graph like ten days of Twitter's, of any size.

    Followers, followings and rates as the paper's appendix tells, with
    glitches at 20 and 2,000 followings. It is written in chunks: the real
    size takes about 1 GiB of memory, 3 GiB of disk and some minutes.

    Example: [bold]fanwise generate twitter --scale 0.1 --seed 1 --out twitter/[/bold]
    """
    from fanwise.workload.folders import refuse_existing
    from fanwise.workload.generators.twitter import PERIOD_SECONDS, estimate_needs, write_twitter
    from fanwise.workload.outputs import WORKLOAD

    refuse_existing(out, WORKLOAD, overwrite=overwrite)
    needs = estimate_needs(scale)
    if needs.disk > _LARGE_BYTES:
        gib = 2**30
        console.warn(
            f"twitter at scale {scale:g} takes about {needs.memory / gib:.1f} GiB of memory "
            f"and {needs.disk / gib:.1f} GiB of disk"
        )
    begun = time.perf_counter()
    with console.progress() as progress:
        written = write_twitter(
            out,
            scale=scale,
            message_bytes=message_bytes,
            seed=seed,
            overwrite=overwrite,
            progress=progress,
        )
    facts = {
        "out": str(out),
        "generator": "twitter",
        "scale": scale,
        "seed": seed,
        "topics": written.topics,
        "subscribers": written.subscribers,
        "pairs": written.pairs,
        "period_seconds": PERIOD_SECONDS,
        "mean_rate": written.events / written.topics,
    }
    show(facts, out, begun, json=json)


def music_trace(
    out: Out,
    topics: Annotated[int, typer.Option(min=1, help="Artists, playlists and friends.")] = 2_000,
    subscribers: Annotated[int, typer.Option(min=1, help="Listeners.")] = 10_000,
    events: Annotated[int, typer.Option(min=1, help="Rows of publications.")] = 200_000,
    pairs: Annotated[int, typer.Option(min=1, help="Who follows what.")] = 40_000,
    days: Annotated[int, typer.Option(min=1, help="Length of the span.")] = 10,
    start: Annotated[
        str, typer.Option(help="First day or instant in ISO 8601, UTC.")
    ] = "2026-03-02",
    churn: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the pairs that begin or end in the span.")
    ] = 0.1,
    bad_rows: Annotated[
        int, typer.Option(min=0, help="Rows to add that cannot be used, to try the quarantine.")
    ] = 0,
    file_format: Annotated[_Format, typer.Option("--format", help="Kind of file.")] = _Format.csv,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Raw traces of a small music service, for [bold]fanwise ingest[/bold].

    A log of publications with timestamps, in the rhythm of days and weeks,
    and the subscriptions, some of which begin or end meanwhile. trace.json
    says what is in them.

    Example: [bold]fanwise generate music-trace --events 1000000 --out trace/[/bold]
    """
    from fanwise.workload.generators.music_trace import music_trace

    begun = time.perf_counter()
    with console.progress() as progress:
        summary = music_trace(
            out,
            topics=topics,
            subscribers=subscribers,
            events=events,
            pairs=pairs,
            days=days,
            start=start,
            churn=churn,
            bad_rows=bad_rows,
            file_format=file_format.value,
            seed=seed,
            overwrite=overwrite,
            progress=progress,
        )
    facts = {"out": str(out), "generator": "music-trace", **asdict(summary)}
    if json:
        show(facts, out, begun, json=True)
        return
    num_bad = sum(sum(reasons.values()) for reasons in summary.bad_rows.values())
    show({**facts, "bad_rows": num_bad}, out, begun, json=False)
    console.out().print(
        f"Next: fanwise ingest --publications {out / summary.publications} "
        f"--subscriptions {out / summary.subscriptions} --from {summary.start} "
        f"--to {summary.end} --out workload/" + (f" --max-bad-rows {num_bad}" if num_bad else ""),
        markup=False,
    )
