"""``fanwise generate groups``, ``rss``, ``grid`` and ``difficult``: content workloads."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanwise.cli.generating import generator_command, save_content_workload
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
Alpha = Annotated[int, typer.Option(min=1, help="Rectangles of a filter it is meant for.")]


def register(generate: typer.Typer) -> None:
    """Add the commands."""
    for command in (groups, rss, grid):
        target = f"fanwise.workload.generators.{command.__name__}:{command.__name__}"
        generate.command()(generator_command(command, target, save_content_workload, _setup))
    generate.command()(difficult)


def _setup(
    placement: Annotated[
        _Placement,
        typer.Option(
            help="Where brokers are: like the subscribers, uniform in the space they span, or "
            "halfway towards the publisher."
        ),
    ] = _Placement.like,
    out_degree: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Most children of a broker, in a tree of several levels. Default: one level.",
            show_default=False,
        ),
    ] = None,
    network_dims: Annotated[
        int | None,
        typer.Option(
            min=1, help="Dimensions of the network space. Default: 5.", show_default=False
        ),
    ] = None,
    coordinates: Annotated[
        Path | None,
        typer.Option(
            help="CSV (.gz) of measured network coordinates to take places from.",
            show_default=False,
        ),
    ] = None,
    alpha: Alpha = 3,
    max_delay: Annotated[float, typer.Option(min=0, help="Delay it is meant for.")] = 0.3,
    lbf: Annotated[
        float | None,
        typer.Option(
            min=1, help="Desired load-balance factor. Default: the paper's.", show_default=False
        ),
    ] = None,
    lbf_max: Annotated[
        float | None,
        typer.Option(
            min=1,
            help="Largest load-balance factor, certified to be possible. Default: the paper's, or "
            "the least possible.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Say how brokers and the network are, and what the instance is meant for."""


def groups(
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
) -> None:
    """Subscriptions to nested topics from three continents (set #1).

    Example: [bold]fanwise generate groups --subscribers 100000 --seed 1 --out groups/[/bold]
    """


def rss(
    subscribers: Subscribers = 100_000,
    brokers: Brokers = 100,
    interests: Annotated[int, typer.Option(min=1, help="Different interests.")] = 50,
    exponent: Annotated[float, typer.Option(help="Zipf exponent of their popularity.")] = 0.5,
    locations: Annotated[int, typer.Option(min=1, help="Places of an interest.")] = 10,
    extent: Annotated[float, typer.Option(help="Side of the event space.")] = 4000.0,
) -> None:
    """Few interests, each wanted from few places (set #2).

    Example: [bold]fanwise generate rss --subscribers 100000 --seed 1 --out rss/[/bold]
    """


def grid(
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
) -> Mapping[str, Any]:
    """Subscriptions around the centres of a grid, from anywhere (set #3).

    Example: [bold]fanwise generate grid --subscribers 100000 --seed 1 --out grid/[/bold]
    """
    return {"widths": _numbers(widths, "widths")}


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

    save_content_workload(make, out, overwrite=overwrite, json=json)


def _numbers(text: str, name: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(name, "numbers apart by commas", text) from None
