"""``fanwise broker run``."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from fanwise.cli import broker_options as shared
from fanwise.cli import options
from fanwise.durations import parse_duration
from fanwise.errors import FanwiseError, ParameterError

if TYPE_CHECKING:
    from fanwise.brokers.moving.settings import MovingSettings
    from fanwise.brokers.network.broker import BrokerOptions
    from fanwise.brokers.network.server import ServerOptions


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(run)


def run(
    name: Annotated[str, typer.Option(help="What it is called; each has its own.")],
    data: shared.Data,
    directory: shared.Directory,
    listen: shared.Listen = "127.0.0.1:0",
    advertise: shared.Advertise = None,
    capacity: Annotated[
        float | None,
        typer.Option(help="Load that it takes at most, as clients say it.", show_default=False),
    ] = None,
    position: Annotated[
        str | None,
        typer.Option(help="Where it is, as in 0.2,0.7: near clients come.", show_default=False),
    ] = None,
    dimensions: Annotated[int, typer.Option(min=1, help="Of the event space.")] = 2,
    redirect: Annotated[
        str, typer.Option(metavar="TIME", help="How long at least it redirects after a move.")
    ] = "5s",
    absent: Annotated[
        str, typer.Option(metavar="TIME", help="How long it collects for a client that is away.")
    ] = "1h",
    workload: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Content workload with the brokers, their prices and, for moves, the channels: "
            "routes go by costs, and clients are asked to move where that saves.",
            show_default=False,
        ),
    ] = None,
    wire_plan: Annotated[
        Path | None,
        typer.Option(
            metavar="PLAN",
            help="Route along the trees of this plan of the workload.",
            show_default=False,
        ),
    ] = None,
    assign_plan: Annotated[
        Path | None,
        typer.Option(
            metavar="PLAN",
            help="Route along the workload's broker tree, and filter by this plan's rectangles.",
            show_default=False,
        ),
    ] = None,
    moves_per_minute: Annotated[
        float, typer.Option(min=0, help="Most clients that it asks to move; 0: none.")
    ] = 60.0,
    least_gain: Annotated[
        float,
        typer.Option(min=0, help="What a move must save, as a share of what a client costs."),
    ] = 0.02,
    half_life: Annotated[
        str, typer.Option(metavar="TIME", help="After which a publication counts half.")
    ] = "5min",
    summary_every: Annotated[
        str, typer.Option(metavar="TIME", help="Between two summaries of its clients.")
    ] = "5s",
    turn_every: Annotated[
        str, typer.Option(metavar="TIME", help="Between two looks at what could move.")
    ] = "10s",
    rest: Annotated[
        str, typer.Option(metavar="TIME", help="How long a client that was asked is left alone.")
    ] = "1min",
    look: Annotated[
        float,
        typer.Option(
            min=0,
            help="Changes tried for each client when looking for a rearrangement; 0: single "
            "moves alone, as in the paper.",
        ),
    ] = 4.0,
    metrics: shared.Metrics = None,
    tls_certificate: shared.TlsCertificate = None,
    tls_key: shared.TlsKey = None,
    tls_ca: shared.TlsCa = None,
    client_tokens: shared.ClientTokens = None,
    peer_tokens: shared.PeerTokens = None,
    exposed: shared.Exposed = False,
    heartbeat: shared.Heartbeat = "2s",
    disk_limit: shared.DiskLimit = 4_000,
    least_free: shared.LeastFree = 16,
    as_json: options.Json = False,
) -> None:
    """Run a broker: it serves clients, and sends what they publish where it is wanted.

    What it has acknowledged is on its disk: killed at any time, it comes back where it
    was. SIGTERM stops it, and its clients go to other brokers until it is back. SIGUSR1
    has it leave for good: it asks its clients to move, hands over what waits, and ends.

    Example: [bold]fanwise broker run --name east --data east/ --directory 127.0.0.1:7400[/bold]
    """
    shared.require_extra()
    admission = shared.read_admission(tls_certificate, tls_key, tls_ca, client_tokens, peer_tokens)
    server = shared.read_server(
        data, listen, advertise, metrics, admission, heartbeat, disk_limit, least_free,
        is_exposed=exposed,
    )  # fmt: skip
    moving = None
    if workload is not None:
        moving = _moving(
            moves_per_minute=moves_per_minute, least_gain=least_gain, changes=look,
            half_life=float(parse_duration(half_life, "--half-life")),
            summary_seconds=float(parse_duration(summary_every, "--summary-every")),
            turn_seconds=float(parse_duration(turn_every, "--turn-every")),
            wait_seconds=1.5 * float(parse_duration(turn_every, "--turn-every")),
            rest_seconds=float(parse_duration(rest, "--rest", may_be_zero=True)),
        )  # fmt: skip
    found = _options(
        server, _Plans(workload, wire_plan, assign_plan), moving, name=name,
        directory=shared.read_address(directory, "--directory"),
        capacity=float("inf") if capacity is None else capacity,
        position=read_position(position), dimensions=dimensions,
        redirect_seconds=float(parse_duration(redirect, "--redirect", may_be_zero=True)),
        absent_seconds=float(parse_duration(absent, "--absent")),
    )  # fmt: skip
    from fanwise.brokers.network.broker import run_broker
    from fanwise.brokers.warming import warm_up

    shared.begin()
    warm_up(logging.getLogger("fanwise.brokers").info, is_moving=found.companion is not None)
    number = run_broker(found, lambda facts: shared.announce("broker", facts, as_json=as_json))
    shared.end(number)


class _Plans(NamedTuple):
    """Where routes come from."""

    workload: Path | None
    wire_plan: Path | None
    assign_plan: Path | None


def _moving(**settings: float) -> MovingSettings:
    from fanwise.brokers.moving.settings import MovingSettings

    return MovingSettings(**settings)


def _options(
    server: ServerOptions, plans: _Plans, moving: MovingSettings | None, *, name: str, **more: Any
) -> BrokerOptions:
    from fanwise.brokers.matching.rectangle_index import RectangleIndex
    from fanwise.brokers.network.broker import PACE, BrokerOptions
    from fanwise.brokers.protocol.settings import BrokerSettings
    from fanwise.brokers.routing.planned import read_routing

    router, covers = read_routing(*plans, name)
    companion = None
    if plans.workload is not None:
        from fanwise.brokers.moving.companion import make_companion
        from fanwise.workload.content.files import read_content_workload

        workload = read_content_workload(plans.workload)
        if workload.event_dims != more["dimensions"]:
            raise FanwiseError(
                f"--dimensions {more['dimensions']}: {plans.workload} has {workload.event_dims}; "
                "give the same."
            )
        if workload.channels is not None and moving is not None:
            companion = make_companion(workload, name, moving)
    try:
        made = BrokerSettings(name=name, address="", covers=covers, **PACE, **more)
    except ParameterError as error:
        raise FanwiseError(f"--{error.name}: {error}") from None
    matcher = partial(RectangleIndex, made.dimensions)
    return BrokerOptions(server, made, matcher, router, companion)


def read_position(text: str | None) -> tuple[float, ...]:
    """Return the coordinates of a position."""
    try:
        return () if text is None else tuple(float(one) for one in text.split(","))
    except ValueError:
        raise FanwiseError(f"--position: {text!r} is no position as in 0.2,0.7.") from None
