"""What follows from a workload alone, for the independent check of wirings: plain NumPy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fanwise.workload.topic import RELATIVE_TOLERANCE

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.content import ContentWorkload

CHUNK = 1 << 12
TOLERANCE = RELATIVE_TOLERANCE
"""How far a capacity or the triangle inequality may be off before it counts as broken."""
FORBIDDING = 1e150
"""Cost of access to a broker that a user may not take."""
TOPOLOGIES = ("mesh", "tree")
FACTORS = ("core_factor", "capacity_factor")


class Traffic(NamedTuple):
    """What users send and want, by channel, and what passes their links."""

    rates: Any
    wants: Any
    demand: Any


class Question(NamedTuple):
    """What is asked, from the workload: traffic, costs between brokers, room, topology."""

    workload: Any
    traffic: Traffic
    costs: Any
    numbers: Any
    room: Any
    is_tree: bool


def wrong_parameter(plan: Plan) -> str | None:
    """Say which parameter of the question is not what it must be, or None."""
    topology = plan.parameters.get("topology")
    if not isinstance(topology, str) or topology not in TOPOLOGIES:
        return f"parameters.topology is {topology!r}, not one of {', '.join(TOPOLOGIES)}"
    for name in FACTORS:
        value = plan.parameters.get(name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= value < math.inf:  # type: ignore[operator]
            return f"parameters.{name} is {value!r}, not a finite number >= 0"
    return None


def measure_traffic(workload: ContentWorkload) -> Traffic:
    """Work out who wants and sends what; a message that nobody else wants is not sent."""
    workload.need("channels", "rates")
    channels, (indptr, channel, rate) = workload.channels, workload.rates  # type: ignore[misc]
    shape = workload.num_subscribers, len(channels.lo)  # type: ignore[union-attr]
    wants = np.zeros(shape, dtype=bool)
    for start in range(0, shape[0], CHUNK):
        rows = slice(start, start + CHUNK)
        above = np.maximum(workload.lo[rows, None], channels.lo[None])  # type: ignore[union-attr]
        below = np.minimum(workload.hi[rows, None], channels.hi[None])  # type: ignore[union-attr]
        wants[rows] = (below > above).all(axis=2)
    rates = np.zeros(shape)
    rates[np.repeat(np.arange(shape[0]), np.diff(indptr)), channel] = rate
    rates[wants.sum(axis=0)[None, :] - wants == 0] = 0.0
    received = np.zeros(shape[0])
    for c in range(shape[1]):
        total = rates[:, c].sum()
        alone = np.count_nonzero(rates[:, c]) == (rates[:, c] > 0)
        received += np.where(wants[:, c] & ~alone, np.maximum(total - rates[:, c], 0.0), 0.0)
    return Traffic(rates, wants, received + rates.sum(axis=1))


def capacities(workload: ContentWorkload, factor: float) -> Any:
    """Return the most load of each broker; infinite where there is no limit."""
    if workload.capacity is None:
        return np.full(workload.num_brokers, np.inf)
    with np.errstate(over="ignore"):
        return workload.capacity * factor


def access_rows(workload: ContentWorkload, rows: Any) -> Any:
    """Return the cost of the link between each of some users and each broker.

    A broker that a user may not take costs more than any plan.
    """
    if workload.access_costs is not None:
        costs = workload.access_costs[rows]
    else:
        costs = _distances(workload.positions[rows], workload.broker_positions)
    return np.where(forbidden(workload, rows), FORBIDDING, costs)


def forbidden(workload: ContentWorkload, rows: Any) -> Any:
    """Return which brokers each of some users may not take: those that are no candidates."""
    is_forbidden = np.zeros((len(workload.lo[rows]), workload.num_brokers), dtype=bool)
    if workload.candidates is not None:
        indptr, brokers = workload.candidates
        for place, user in enumerate(np.arange(workload.num_subscribers)[rows]):
            is_forbidden[place] = True
            is_forbidden[place, brokers[indptr[user] : indptr[user + 1]]] = False
    return is_forbidden


def access_to(workload: ContentWorkload, broker: Any) -> Any:
    """Return the cost of each user's link to its broker."""
    if workload.access_costs is not None:
        return workload.access_costs[np.arange(len(broker)), broker]
    return np.linalg.norm(workload.positions - workload.broker_positions[broker], axis=1)


def core_costs(workload: ContentWorkload, factor: float) -> tuple[Any, int]:
    """Return the cost between brokers, and how many links had a cheaper way around.

    If any had, all get the cost of the cheapest way.
    """
    if workload.broker_costs is None:
        return _distances(workload.broker_positions, workload.broker_positions) * factor, 0
    given = workload.broker_costs * factor
    ways = given.copy()
    for middle in range(len(ways)):
        np.minimum(ways, ways[:, middle, None] + ways[None, middle, :], out=ways)
    shortened = int(np.count_nonzero(ways < given * (1 - TOLERANCE))) // 2
    return (ways if shortened else given), shortened


def _distances(points: Any, others: Any) -> Any:
    squares = np.zeros((len(points), len(others)))
    for axis in range(points.shape[1]):  # one by one: near ties must not depend on rounding
        squares += (points[:, axis, None] - others[None, :, axis]) ** 2
    return np.sqrt(squares)


def brokers_needed(question: Question) -> Any:
    """Return how many brokers the subscribers of each channel fill at least, the largest first."""
    demand = question.traffic.wants.T.astype(np.float64) @ question.traffic.demand
    holds = np.cumsum(np.sort(question.room)[::-1]) * (1 + TOLERANCE)
    needed = (holds[None, :] < demand[:, None]).sum(axis=1) + 1
    return np.minimum(needed, len(question.room))
