"""Stating a problem of any family from options: what ``compare`` and ``sweep`` share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanwise.cli import console, options
from fanwise.cli.solving import load_workload, resolve_tau
from fanwise.durations import parse_duration
from fanwise.errors import FanwiseError, ParameterError
from fanwise.planning.families import FAMILIES, find_family
from fanwise.wording import money

if TYPE_CHECKING:
    from fanwise.planning.problem import Problem
    from fanwise.workload.topic import TopicWorkload

ProblemName = Annotated[
    str, typer.Argument(metavar="PROBLEM", help=f"{', '.join(FAMILIES)}.", show_default=False)
]
Tau = options.Tau
Capacity = Annotated[
    str | None,
    typer.Option(
        help="select: cost units, or a percentage of the cost of serving everything.",
        show_default=False,
    ),
]
Metric = Annotated[
    str | None,
    typer.Option(help="select: binary (default) or fractional.", show_default=False),
]
Instance = Annotated[
    str | None,
    typer.Option(
        help="provision: type of machine, or 'auto' for the cheapest type or mix. "
        "Default: c3.large.",
        show_default=False,
    ),
]
Catalog = Annotated[
    Path | None,
    typer.Option(
        help="provision: CSV with instance,usd_per_hour,mbps and maybe max_topics,max_connections.",
        show_default=False,
    ),
]
Reserve = Annotated[
    str | None,
    typer.Option(
        help="provision: share of each machine's bandwidth to keep free: 20%. Default: 0.",
        show_default=False,
    ),
]
PriceGb = Annotated[
    float | None,
    typer.Option(
        help="provision: dollars per GB of traffic, in and out. Default: 0.12.", show_default=False
    ),
]
MessageBytes = Annotated[
    float | None,
    typer.Option(
        help="provision: one message size for all topics. Default: each topic's own.",
        show_default=False,
    ),
]
Horizon = Annotated[
    str | None,
    typer.Option(
        help="provision: how long the machines run: 1h30m, 10d. Default: the workload's period.",
        show_default=False,
    ),
]
MaxDegree = Annotated[
    str | None,
    typer.Option(help="connect: most links of a node, or 'column'.", show_default=False),
]
MaxEdges = Annotated[
    int | None, typer.Option(help="connect: most links in all.", show_default=False)
]
AvgDegree = Annotated[
    float | None,
    typer.Option(help="connect: most links in all, as a mean degree.", show_default=False),
]
BudgetRatio = Annotated[
    float | None,
    typer.Option(
        help="connect: budget as a share of the complete overlay of minmax-oda: 0.2.",
        show_default=False,
    ),
]
TopicWeight = Annotated[
    str | None, typer.Option(help="connect: one (default) or rate.", show_default=False)
]
LinkCost = Annotated[
    str | None,
    typer.Option(help="connect: distance; links cost nothing without it.", show_default=False),
]
MaxLinkCost = Annotated[
    float | None,
    typer.Option(help="connect: most that all links cost together.", show_default=False),
]
Alpha = Annotated[
    int | None,
    typer.Option(
        help="assign: most rectangles of a filter. Default: the workload's, or 3.",
        show_default=False,
    ),
]
MaxDelay = Annotated[
    float | None,
    typer.Option(
        help="assign: how much later than the quickest way a subscriber may be, as a share of it. "
        "Default: the workload's, or 0.3.",
        show_default=False,
    ),
]
Lbf = Annotated[
    float | None,
    typer.Option(
        help="assign: desired load-balance factor. Default: the workload's, or 1.5.",
        show_default=False,
    ),
]
LbfMax = Annotated[
    float | None,
    typer.Option(
        help="assign: largest load-balance factor. Default: the workload's, or 1.8.",
        show_default=False,
    ),
]
Latency = Annotated[
    str | None,
    typer.Option(
        help="assign: path (default) from the publisher, or last-hop from the broker alone.",
        show_default=False,
    ),
]

Topology = Annotated[
    str | None,
    typer.Option(
        help="wire: mesh (default), a tree for each flow, or tree, one for all of them.",
        show_default=False,
    ),
]
CoreFactor = Annotated[
    float | None,
    typer.Option(
        help="wire: what if costs between brokers were so many times theirs. Default: 1.",
        show_default=False,
    ),
]
CapacityFactor = Annotated[
    float | None,
    typer.Option(
        help="wire: what if capacities were so many times theirs. Default: 1.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Posing:
    """How a family's problem is stated.

    Attributes
    ----------
    options
        What the family takes, beside tau.
    takes_tau
        Whether there is a threshold of satisfaction.
    make
        Makes the problem from a workload, tau and the options given.
    amount
        How people read an objective.
    objective
        What it measures, for axes and columns.
    """

    options: tuple[str, ...]
    make: Callable[[TopicWorkload, float | str, Mapping[str, Any]], Problem]
    amount: Callable[[Any], str]
    objective: Callable[[Mapping[str, Any]], str]
    takes_tau: bool = True


def _make_selection(workload: TopicWorkload, tau: float | str, given: Mapping[str, Any]) -> Problem:
    from fanwise.select.problem import Selection

    return Selection(workload, tau=tau, **given)


def _make_provisioning(
    workload: TopicWorkload, tau: float | str, given: Mapping[str, Any]
) -> Problem:
    from fanwise.provision.problem import Provisioning

    names = {"catalog": "catalogue", "horizon": "horizon_seconds"}
    options = {names.get(name, name): value for name, value in given.items()}
    if "price_gb" in options:
        options["price_gb_in"] = options["price_gb_out"] = options.pop("price_gb")
    return Provisioning(workload, tau=tau, **options)


def _make_connection(
    workload: TopicWorkload, tau: float | str, given: Mapping[str, Any]
) -> Problem:
    from fanwise.connect.problem import Connection

    return Connection(workload, **given)


def _make_assignment(workload: Any, tau: float | str, given: Mapping[str, Any]) -> Problem:
    from fanwise.assign.problem import Assignment

    return Assignment(workload, **given)


def _make_wiring(workload: Any, tau: float | str, given: Mapping[str, Any]) -> Problem:
    from fanwise.wire.problem import Wiring

    return Wiring(workload, **given)


def _name_selection_objective(parameters: Mapping[str, Any]) -> str:
    is_binary = parameters.get("metric", "binary") == "binary"
    return "satisfied subscribers" if is_binary else "total satisfaction"


def _name_connection_objective(parameters: Mapping[str, Any]) -> str:
    is_weighted = parameters.get("topic_weight") == "rate"
    return "joined components" + (", by rate" if is_weighted else "")


POSINGS: Mapping[str, Posing] = {
    "select": Posing(
        options=("capacity", "metric"),
        make=_make_selection,
        amount=console.number,
        objective=_name_selection_objective,
    ),
    "provision": Posing(
        options=("instance", "catalog", "price_gb", "message_bytes", "horizon", "reserve"),
        make=_make_provisioning,
        amount=money,
        objective=lambda parameters: "dollars over the horizon",
    ),
    "connect": Posing(
        options=(
            "max_degree",
            "max_edges",
            "avg_degree",
            "budget_ratio",
            "topic_weight",
            "link_cost",
            "max_link_cost",
        ),
        make=_make_connection,
        amount=console.number,
        objective=_name_connection_objective,
        takes_tau=False,
    ),
    "assign": Posing(
        options=("alpha", "max_delay", "lbf", "lbf_max", "latency"),
        make=_make_assignment,
        amount=console.number,
        objective=lambda parameters: "total bandwidth",
        takes_tau=False,
    ),
    "wire": Posing(
        options=("topology", "core_factor", "capacity_factor"),
        make=_make_wiring,
        amount=console.number,
        objective=lambda parameters: "cost",
        takes_tau=False,
    ),
}


def check_options(problem: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given, unless one belongs to another family."""
    find_family(problem)
    options = {name: value for name, value in given.items() if value is not None}
    known = POSINGS[problem].options
    for name in options:
        if name not in known:
            every = ("tau", *known) if POSINGS[problem].takes_tau else known
            takes = ", ".join(map(flag, every))
            raise FanwiseError(f"{flag(name)} is not an option of {problem}, which takes {takes}.")
    if "horizon" in options:
        options["horizon"] = float(parse_duration(options["horizon"], "horizon"))
    if "max_degree" in options:
        options["max_degree"] = parse_degree(options["max_degree"])
    return options


def parse_degree(text: str | None) -> int | str | None:
    """Return a degree limit: a whole number, or ``"column"``."""
    if text is None or text == "column":
        return text
    try:
        return int(text)
    except ValueError:
        raise ParameterError("max_degree", "a whole number >= 0 or 'column'", text) from None


def flag(name: str) -> str:
    """Return an option as it is typed."""
    return f"--{name.replace('_', '-')}"


def make_problem(
    problem: str, folder: Path, tau: str | None, options: Mapping[str, Any]
) -> Problem:
    """Load a workload and state the problem."""
    posing = POSINGS[problem]
    if tau is not None and not posing.takes_tau:
        takes = ", ".join(map(flag, posing.options))
        raise FanwiseError(f"--tau is not an option of {problem}, which takes {takes}.")
    workload = load_workload(folder, problem)
    threshold = resolve_tau(tau, workload) if posing.takes_tau else 0.0
    return posing.make(workload, threshold, options)


def require(problem: str, name: str, value: Any, advice: str) -> None:
    """Refuse a missing option."""
    if value is None:
        raise FanwiseError(f"--{name} is missing: {problem} needs it; {advice}.")


def split_list(text: str, name: str) -> list[str]:
    """Split a list at commas."""
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise FanwiseError(
            f"--{name} must be a list such as a,b,c without empty parts; got {text!r}."
        )
    return parts
