"""``fanwise generate expo``, ``zipf``, ``unif`` and ``follow``: workloads for overlay design."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from fanwise.cli.generating import generator_command, save_topic_workload


class _SizeLaw(StrEnum):
    power = "power"
    uniform = "uniform"


Nodes = Annotated[int, typer.Option(min=1, help="Nodes, the workload's subscribers.")]
Topics = Annotated[int, typer.Option(min=1, help="Topics.")]


def register(generate: typer.Typer) -> None:
    """Add the commands."""
    overlays = "fanwise.workload.generators.overlays"
    for command in (expo, zipf, unif):
        target = f"{overlays}:{command.__name__}"
        generate.command()(
            generator_command(command, target, save_topic_workload, _interests, _nodes)
        )
    target = "fanwise.workload.generators.follow:follow"
    generate.command()(generator_command(follow, target, save_topic_workload, _nodes))


def _interests(
    size_law: Annotated[
        _SizeLaw,
        typer.Option(
            help="Law of how many topics a node wants: a truncated power law, or uniform."
        ),
    ] = _SizeLaw.power,
    min_size: Annotated[
        int | None,
        typer.Option(min=0, help="Least topics of a node. Default: 20.", show_default=False),
    ] = None,
    max_size: Annotated[
        int | None,
        typer.Option(
            min=0, help="Most topics of a node. Default: 600, or all.", show_default=False
        ),
    ] = None,
    size_exponent: Annotated[
        float, typer.Option(min=0, help="Exponent of the power law of sizes.")
    ] = 2.0,
) -> None:
    """Say how many topics nodes want."""


def _nodes(
    net_dims: Annotated[
        int, typer.Option(min=0, help="Give nodes positions net_0, … in so many dimensions.")
    ] = 0,
    message_bytes: Annotated[float, typer.Option(min=0, help="Size of every message.")] = 200.0,
) -> None:
    """Say what else nodes have."""


def expo(
    nodes: Nodes = 1000,
    topics: Topics = 1000,
    decay: Annotated[
        float, typer.Option(help="Rate of the fall: q(t) ~ exp(-decay t / topics).")
    ] = 9.0,
) -> None:
    """Overlay nodes whose topics' popularity falls exponentially.

    Example: [bold]fanwise generate expo --nodes 10000 --seed 1 --out expo/[/bold]
    """


def zipf(
    nodes: Nodes = 1000,
    topics: Topics = 1000,
    alpha: Annotated[float, typer.Option(help="Exponent: q(t) ~ (t + 1) ** -alpha.")] = 2.0,
) -> None:
    """Overlay nodes whose topics' popularity is Zipfian.

    Example: [bold]fanwise generate zipf --nodes 10000 --seed 1 --out zipf/[/bold]
    """


def unif(
    nodes: Nodes = 1000,
    topics: Topics = 1000,
) -> None:
    """Overlay nodes whose topics are all equally popular.

    Example: [bold]fanwise generate unif --nodes 2000 --max-size 90 --min-size 10 --out unif/[/bold]
    """


def follow(
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
) -> None:
    """A social follow graph: users subscribe to those they follow.

    Followers and followings are heavy-tailed, and friends of friends are
    often friends: like Twitter's, or with --mutual like Facebook's.

    Example: [bold]fanwise generate follow --nodes 10000 --mutual --seed 1 --out friends/[/bold]
    """
