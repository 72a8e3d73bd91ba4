"""``fanwise generate quadratic`` and ``sparse``: content workloads with channels and prices."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from fanwise.cli.generating import generator_command, save_content_workload


class _CostLaw(StrEnum):
    euclidean = "euclidean"
    uniform = "uniform"


Users = Annotated[int, typer.Option("--subscribers", min=1, help="Users: all subscribe.")]
Brokers = Annotated[
    int | None,
    typer.Option(min=1, help="Brokers, instead of a number for each user.", show_default=False),
]
PerBroker = Annotated[
    int, typer.Option("--subscribers-per-broker", min=1, help="Users for each broker.")
]
Channels = Annotated[int, typer.Option(min=1, help="Equal cells of the content space.")]
Dims = Annotated[int, typer.Option(min=1, max=6, help="Dimensions of the content space.")]
CostLaw = Annotated[
    _CostLaw,
    typer.Option(
        help="Links cost the distance of uniform places in the unit square, or independent uniform "
        "numbers in tables."
    ),
]
CoreRatio = Annotated[
    float, typer.Option(min=0, help="Mean cost of a link between brokers over an access link's.")
]
CapacityFactor = Annotated[
    float, typer.Option(min=1, help="Capacity of all brokers over the demand of all users.")
]


def register(generate: typer.Typer) -> None:
    """Add the commands."""
    for command in (quadratic, sparse):
        target = f"fanwise.workload.generators.{command.__name__}:{command.__name__}"
        generate.command()(generator_command(command, target, save_content_workload))


def quadratic(
    subscribers: Users = 10_000,
    brokers: Brokers = None,
    subscribers_per_broker: PerBroker = 100,
    channels: Channels = 100,
    dims: Dims = 1,
    cost_law: CostLaw = _CostLaw.euclidean,
    core_ratio: CoreRatio = 1.0,
    capacity_factor: CapacityFactor = 2.0,
) -> None:
    """Random intervals, and publishers with quadratic generating functions.

    The networks of the paper on minimum cost overlays, for [bold]fanwise wire[/bold].

    Example: [bold]fanwise generate quadratic --subscribers 1000 --core-ratio 2 --out q/[/bold]
    """


def sparse(
    subscribers: Users = 1000,
    brokers: Brokers = None,
    subscribers_per_broker: PerBroker = 20,
    channels: Channels = 100,
    audience: Annotated[
        float,
        typer.Option(min=0, help="Mean subscribers for each broker and channel, spread evenly."),
    ] = 2.0,
    publishers: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the users who publish.")
    ] = 1.0,
    dims: Dims = 1,
    cost_law: CostLaw = _CostLaw.euclidean,
    core_ratio: CoreRatio = 50.0,
    capacity_factor: CapacityFactor = 2.0,
) -> None:
    """One to ten subscribers for each broker and channel, and an expensive core.

    Who is attached where decides which brokers a channel must reach.

    Example: [bold]fanwise generate sparse --audience 3 --core-ratio 50 --out sparse/[/bold]
    """
