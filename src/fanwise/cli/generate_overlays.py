"""``fanwise generate expo``, ``zipf``, ``unif`` and ``follow``: workloads for overlay design."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from fanwise.cli.generate import write_topic_workload
from fanwise.cli.options import Json, Out, Overwrite, Seed

if TYPE_CHECKING:
    from fanwise.progress import Progress
    from fanwise.workload.topic import TopicWorkload


class _SizeLaw(StrEnum):
    power = "power"
    uniform = "uniform"


Nodes = Annotated[int, typer.Option(min=1, help="Nodes, the workload's subscribers.")]
Topics = Annotated[int, typer.Option(min=1, help="Topics.")]
SizeLaw = Annotated[
    _SizeLaw,
    typer.Option(help="Law of how many topics a node wants: a truncated power law, or uniform."),
]
MinSize = Annotated[
    int | None,
    typer.Option(min=0, help="Least topics of a node. Default: 20.", show_default=False),
]
MaxSize = Annotated[
    int | None,
    typer.Option(min=0, help="Most topics of a node. Default: 600, or all.", show_default=False),
]
SizeExponent = Annotated[float, typer.Option(min=0, help="Exponent of the power law of sizes.")]
NetDims = Annotated[
    int, typer.Option(min=0, help="Give nodes positions net_0, … in so many dimensions.")
]
MessageBytes = Annotated[float, typer.Option(min=0, help="Size of every message.")]


def register(generate: typer.Typer) -> None:
    """Add the commands."""
    for command in (expo, zipf, unif, follow):
        generate.command()(command)


def expo(
    out: Out,
    nodes: Nodes = 1000,
    topics: Topics = 1000,
    decay: Annotated[
        float, typer.Option(help="Rate of the fall: q(t) ~ exp(-decay t / topics).")
    ] = 9.0,
    size_law: SizeLaw = _SizeLaw.power,
    min_size: MinSize = None,
    max_size: MaxSize = None,
    size_exponent: SizeExponent = 2.0,
    net_dims: NetDims = 0,
    message_bytes: MessageBytes = 200.0,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Overlay nodes whose topics' popularity falls exponentially.

    Example: [bold]fanwise generate expo --nodes 10000 --seed 1 --out expo/[/bold]
    """

    def make(progress: Progress) -> TopicWorkload:
        from fanwise.workload.generators.overlays import expo

        return expo(
            nodes,
            topics,
            decay=decay,
            size_law=size_law.value,
            min_size=min_size,
            max_size=max_size,
            size_exponent=size_exponent,
            net_dims=net_dims,
            message_bytes=message_bytes,
            seed=seed,
            progress=progress,
        )

    write_topic_workload(make, out, overwrite=overwrite, json=json)


def zipf(
    out: Out,
    nodes: Nodes = 1000,
    topics: Topics = 1000,
    alpha: Annotated[float, typer.Option(help="Exponent: q(t) ~ (t + 1) ** -alpha.")] = 2.0,
    size_law: SizeLaw = _SizeLaw.power,
    min_size: MinSize = None,
    max_size: MaxSize = None,
    size_exponent: SizeExponent = 2.0,
    net_dims: NetDims = 0,
    message_bytes: MessageBytes = 200.0,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Overlay nodes whose topics' popularity is Zipfian.

    Example: [bold]fanwise generate zipf --nodes 10000 --seed 1 --out zipf/[/bold]
    """

    def make(progress: Progress) -> TopicWorkload:
        from fanwise.workload.generators.overlays import zipf

        return zipf(
            nodes,
            topics,
            alpha=alpha,
            size_law=size_law.value,
            min_size=min_size,
            max_size=max_size,
            size_exponent=size_exponent,
            net_dims=net_dims,
            message_bytes=message_bytes,
            seed=seed,
            progress=progress,
        )

    write_topic_workload(make, out, overwrite=overwrite, json=json)


def unif(
    out: Out,
    nodes: Nodes = 1000,
    topics: Topics = 1000,
    size_law: SizeLaw = _SizeLaw.power,
    min_size: MinSize = None,
    max_size: MaxSize = None,
    size_exponent: SizeExponent = 2.0,
    net_dims: NetDims = 0,
    message_bytes: MessageBytes = 200.0,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Overlay nodes whose topics are all equally popular.

    Example: [bold]fanwise generate unif --nodes 2000 --max-size 90 --min-size 10 --out unif/[/bold]
    """

    def make(progress: Progress) -> TopicWorkload:
        from fanwise.workload.generators.overlays import unif

        return unif(
            nodes,
            topics,
            size_law=size_law.value,
            min_size=min_size,
            max_size=max_size,
            size_exponent=size_exponent,
            net_dims=net_dims,
            message_bytes=message_bytes,
            seed=seed,
            progress=progress,
        )

    write_topic_workload(make, out, overwrite=overwrite, json=json)


def follow(
    out: Out,
    nodes: Annotated[
        int, typer.Option(min=1, help="Users; each is a topic and a subscriber.")
    ] = 10_000,
    mean_followings: Annotated[
        float, typer.Option(min=0, help="How many others a user follows, on average.")
    ] = 20.0,
    mutual: Annotated[
        bool, typer.Option("--mutual", help="Every link holds both ways, as among friends.")
    ] = False,
    reciprocity: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Share of linked pairs that follow each other. Default: 0.22.",
            show_default=False,
        ),
    ] = None,
    clustering: Annotated[
        float, typer.Option(min=0, max=1, help="Share of links to friends of friends.")
    ] = 0.7,
    net_dims: NetDims = 0,
    message_bytes: MessageBytes = 200.0,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """A social follow graph: users subscribe to those they follow.

    Followers and followings are heavy-tailed, and friends of friends are
    often friends: like Twitter's, or with --mutual like Facebook's.

    Example: [bold]fanwise generate follow --nodes 10000 --mutual --seed 1 --out friends/[/bold]
    """

    def make(progress: Progress) -> TopicWorkload:
        from fanwise.workload.generators.follow import follow

        return follow(
            nodes,
            mean_followings=mean_followings,
            mutual=mutual,
            reciprocity=reciprocity,
            clustering=clustering,
            net_dims=net_dims,
            message_bytes=message_bytes,
            seed=seed,
            progress=progress,
        )

    write_topic_workload(make, out, overwrite=overwrite, json=json)
