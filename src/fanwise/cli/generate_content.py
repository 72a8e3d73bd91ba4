"""``fanwise generate groups``, ``rss``, ``grid`` and ``difficult``: content workloads."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanwise.cli import console
from fanwise.cli.generate import show
from fanwise.cli.options import Json, Out, Overwrite, Seed
from fanwise.errors import ParameterError

if TYPE_CHECKING:
    from fanwise.progress import Progress
    from fanwise.workload.content import ContentWorkload


class _Knob(StrEnum):
    low = "L"
    high = "H"


class _Placement(StrEnum):
    like = "like"
    uniform = "uniform"
    publisher = "publisher"


Subscribers = Annotated[int, typer.Option(min=1, help="Subscribers.")]
Brokers = Annotated[int, typer.Option(min=1, help="Brokers, inner ones of the tree included.")]
Placement = Annotated[
    _Placement,
    typer.Option(
        help="Where brokers are: like the subscribers, uniform in the space they span, or halfway "
        "towards the publisher."
    ),
]
OutDegree = Annotated[
    int | None,
    typer.Option(
        min=2,
        help="Most children of a broker, in a tree of several levels. Default: one level.",
        show_default=False,
    ),
]
NetworkDims = Annotated[
    int | None,
    typer.Option(min=1, help="Dimensions of the network space. Default: 5.", show_default=False),
]
Coordinates = Annotated[
    Path | None,
    typer.Option(
        help="CSV (.gz) of measured network coordinates to take places from.", show_default=False
    ),
]
Alpha = Annotated[int, typer.Option(min=1, help="Rectangles of a filter it is meant for.")]
MaxDelay = Annotated[float, typer.Option(min=0, help="Delay it is meant for.")]
Lbf = Annotated[
    float | None,
    typer.Option(
        min=1, help="Desired load-balance factor. Default: the paper's.", show_default=False
    ),
]
LbfMax = Annotated[
    float | None,
    typer.Option(
        min=1,
        help="Largest load-balance factor, certified to be possible. Default: the paper's, or the "
        "least possible.",
        show_default=False,
    ),
]


def register(generate: typer.Typer) -> None:
    """Add the commands."""
    for command in (groups, rss, grid, difficult):
        generate.command()(command)


def groups(
    out: Out,
    subscribers: Subscribers = 100_000,
    brokers: Brokers = 100,
    interest_skew: Annotated[_Knob, typer.Option(help="IS: skew of topics' popularity.")] = (
        _Knob.high
    ),
    broad_interests: Annotated[_Knob, typer.Option(help="BI: how many want broad topics.")] = (
        _Knob.low
    ),
    depth: Annotated[int, typer.Option(min=1, help="Levels of topics.")] = 5,
    branching: Annotated[int, typer.Option(min=2, help="Subtopics of a topic.")] = 7,
    exponent: Annotated[
        float,
        typer.Option(
            help="Zipf exponent of popularity at the first level; a k-th of it at level k."
        ),
    ] = 10.0,
    removed: Annotated[int, typer.Option(min=0, help="Hottest topics to leave out.")] = 100,
    extent: Annotated[float, typer.Option(help="Side of the event space.")] = 20_000.0,
    placement: Placement = _Placement.like,
    out_degree: OutDegree = None,
    network_dims: NetworkDims = None,
    coordinates: Coordinates = None,
    alpha: Alpha = 3,
    max_delay: MaxDelay = 0.3,
    lbf: Lbf = None,
    lbf_max: LbfMax = None,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Subscriptions to nested topics from three continents (set #1).

    Example: [bold]fanwise generate groups --subscribers 100000 --seed 1 --out groups/[/bold]
    """

    def make(progress: Progress) -> ContentWorkload:
        from fanwise.workload.generators.groups import groups

        return groups(
            subscribers,
            interest_skew=interest_skew.value,
            broad_interests=broad_interests.value,
            depth=depth,
            branching=branching,
            exponent=exponent,
            removed=removed,
            extent=extent,
            brokers=brokers,
            placement=placement.value,
            out_degree=out_degree,
            network_dims=network_dims,
            coordinates=coordinates,
            alpha=alpha,
            max_delay=max_delay,
            lbf=lbf,
            lbf_max=lbf_max,
            seed=seed,
            progress=progress,
        )

    write_content(make, out, overwrite=overwrite, json=json)


def rss(
    out: Out,
    subscribers: Subscribers = 100_000,
    brokers: Brokers = 100,
    interests: Annotated[int, typer.Option(min=1, help="Different interests.")] = 50,
    exponent: Annotated[float, typer.Option(help="Zipf exponent of their popularity.")] = 0.5,
    locations: Annotated[int, typer.Option(min=1, help="Places of an interest.")] = 10,
    extent: Annotated[float, typer.Option(help="Side of the event space.")] = 4000.0,
    placement: Placement = _Placement.like,
    out_degree: OutDegree = None,
    network_dims: NetworkDims = None,
    coordinates: Coordinates = None,
    alpha: Alpha = 3,
    max_delay: MaxDelay = 0.3,
    lbf: Lbf = None,
    lbf_max: LbfMax = None,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Few interests, each wanted from few places (set #2).

    Example: [bold]fanwise generate rss --subscribers 100000 --seed 1 --out rss/[/bold]
    """

    def make(progress: Progress) -> ContentWorkload:
        from fanwise.workload.generators.rss import rss

        return rss(
            subscribers,
            interests=interests,
            exponent=exponent,
            locations=locations,
            extent=extent,
            brokers=brokers,
            placement=placement.value,
            out_degree=out_degree,
            network_dims=network_dims,
            coordinates=coordinates,
            alpha=alpha,
            max_delay=max_delay,
            lbf=lbf,
            lbf_max=lbf_max,
            seed=seed,
            progress=progress,
        )

    write_content(make, out, overwrite=overwrite, json=json)


def grid(
    out: Out,
    subscribers: Subscribers = 100_000,
    brokers: Brokers = 100,
    cells_per_side: Annotated[int, typer.Option(min=1, help="Cells along each axis.")] = 10,
    exponent: Annotated[float, typer.Option(help="Zipf exponent of the cells.")] = 0.5,
    widths: Annotated[
        str, typer.Option(help="Widths of subscriptions, the most popular first.")
    ] = "500,1000,2500,6000",
    width_exponent: Annotated[float, typer.Option(help="Zipf exponent of the widths.")] = 0.5,
    locations: Annotated[int, typer.Option(min=1, help="Places of subscribers.")] = 1000,
    extent: Annotated[float, typer.Option(help="Side of the event space.")] = 25_000.0,
    event_dims: Annotated[int, typer.Option(min=1, help="Its dimensions.")] = 2,
    placement: Placement = _Placement.like,
    out_degree: OutDegree = None,
    network_dims: NetworkDims = None,
    coordinates: Coordinates = None,
    alpha: Alpha = 3,
    max_delay: MaxDelay = 0.3,
    lbf: Lbf = None,
    lbf_max: LbfMax = None,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Subscriptions around the centres of a grid, from anywhere (set #3).

    Example: [bold]fanwise generate grid --subscribers 100000 --seed 1 --out grid/[/bold]
    """
    sizes = _numbers(widths, "widths")

    def make(progress: Progress) -> ContentWorkload:
        from fanwise.workload.generators.grid import grid

        return grid(
            subscribers,
            cells_per_side=cells_per_side,
            exponent=exponent,
            widths=sizes,
            width_exponent=width_exponent,
            locations=locations,
            extent=extent,
            event_dims=event_dims,
            brokers=brokers,
            placement=placement.value,
            out_degree=out_degree,
            network_dims=network_dims,
            coordinates=coordinates,
            alpha=alpha,
            max_delay=max_delay,
            lbf=lbf,
            lbf_max=lbf_max,
            seed=seed,
            progress=progress,
        )

    write_content(make, out, overwrite=overwrite, json=json)


def difficult(
    out: Out,
    subscribers: Subscribers = 1200,
    brokers: Annotated[int, typer.Option(min=2, help="Brokers.")] = 3,
    alpha: Alpha = 3,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """An instance that misleads the offline greedy algorithm by orders of magnitude.

    Example: [bold]fanwise generate difficult --brokers 10 --out difficult/[/bold]
    """

    def make(progress: Progress) -> ContentWorkload:
        from fanwise.workload.generators.difficult import difficult

        return difficult(subscribers, brokers=brokers, alpha=alpha, seed=seed)

    write_content(make, out, overwrite=overwrite, json=json)


def _numbers(text: str, name: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(name, "numbers apart by commas", text) from None


def write_content(
    make: Callable[[Progress], ContentWorkload], out: Path, *, overwrite: bool, json: bool
) -> None:
    """Generate, write and show a content workload: what all its generators share."""
    from fanwise.workload.content_files import write_content_workload
    from fanwise.workload.folders import refuse_existing
    from fanwise.workload.outputs import WORKLOAD

    refuse_existing(out, WORKLOAD, overwrite=overwrite)
    begun = time.perf_counter()
    with console.progress() as progress:
        workload = make(progress)
        with progress.step("Writing"):
            write_content_workload(workload, out, overwrite=overwrite)
    facts: dict[str, Any] = {
        "out": str(out),
        **workload.origin,
        "subscribers": workload.num_subscribers,
        "brokers": workload.num_brokers,
        "leaves": len(workload.leaves),
        "event_dims": workload.event_dims,
        "network_dims": workload.network_dims,
    }
    show(facts, out, begun, json=json)
