"""The independent check of a wiring: plain NumPy and SciPy, no kernel and no shared formula."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fanwise.planning.verify import Check, expect, expect_equal
from fanwise.wire.verify_trees import least_costs, link_order, mesh_traffic, tree_traffic

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.content import ContentWorkload

CHUNK = 1 << 12
TOLERANCE = 1e-9
COLUMNS = {"attachments": ("subscriber", "broker"), "links": ("broker", "other", "traffic")}


class Traffic(NamedTuple):
    """What users send and want, by channel, and what passes their links."""

    rates: Any
    wants: Any
    demand: Any


def checks(workload: ContentWorkload, plan: Plan) -> Iterator[Check]:
    """Recompute loads, costs and the traffic of every link from the workload."""
    yield from _check_columns(plan)
    yield from _check_parameters(plan)
    topology = plan.parameters["topology"]
    broker = np.full(workload.num_subscribers, -1, dtype=np.int64)
    yield from _check_attachments(workload, plan, broker)
    traffic = _traffic(workload)
    yield from _check_loads(workload, plan, broker, traffic)
    access = float(traffic.demand @ _access_costs(workload, broker))
    yield expect_equal("access", plan.metrics.get("access"), access)
    costs = _core_costs(workload, plan.parameters.get("core_factor", 1.0))
    expected = _expected_links(workload, traffic, broker, costs, is_tree=topology == "tree")
    yield from _check_links(workload, plan, expected)
    core = float((expected * costs).sum())
    yield expect_equal("core", plan.metrics.get("core"), core)
    yield from _check_steiner(plan, core)
    yield expect_equal("objective", plan.objective, access + core)


def _check_columns(plan: Plan) -> Iterator[Check]:
    for name, columns in COLUMNS.items():
        missing = [column for column in columns if column not in plan.tables[name].column_names]
        yield expect("columns", not missing, f"{name}.parquet has no column {missing}")
    traffic = plan.tables["links"].column("traffic")
    is_good = str(traffic.type) == "double" and traffic.null_count == 0
    yield expect("columns", is_good, "traffic of links.parquet is not all float64")


def _check_parameters(plan: Plan) -> Iterator[Check]:
    topology = plan.parameters.get("topology")
    yield expect("topology", topology in ("mesh", "tree"), f"unknown topology {topology!r}")
    for name in ("core_factor", "capacity_factor"):
        value = plan.parameters.get(name, 1.0)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        is_factor = is_number and math.isfinite(value) and value >= 0
        yield expect(name, is_factor, f"parameters.{name} is {value!r}, not a number >= 0")


def _check_attachments(workload: ContentWorkload, plan: Plan, broker: Any) -> Iterator[Check]:
    """Check that everybody has one broker, and fill in which."""
    table = plan.tables["attachments"]
    who, where = (table.column(name).to_numpy() for name in COLUMNS["attachments"])
    is_known = (who >= 0) & (who < workload.num_subscribers)
    yield expect("subscribers", bool(is_known.all()), "attachments.parquet has unknown subscribers")
    times = np.bincount(who, minlength=workload.num_subscribers)
    odd = int(np.argmax(times != 1)) if len(times) else 0
    problem = f"subscriber {odd} does not have exactly one row in attachments.parquet"
    yield expect("each subscriber once", bool((times == 1).all()), problem)
    is_known = (where >= 0) & (where < workload.num_brokers)
    yield expect("brokers", bool(is_known.all()), "attachments.parquet has unknown brokers")
    broker[who] = where


def _traffic(workload: ContentWorkload) -> Traffic:
    """Work out who wants and sends what; a message that nobody else wants is not sent."""
    assert workload.channels is not None
    assert workload.rates is not None
    shape = workload.num_subscribers, len(workload.channels.lo)
    wants = np.zeros(shape, dtype=bool)
    for start in range(0, shape[0], CHUNK):
        rows = slice(start, start + CHUNK)
        above = np.maximum(workload.lo[rows, None], workload.channels.lo[None])
        below = np.minimum(workload.hi[rows, None], workload.channels.hi[None])
        wants[rows] = (below > above).all(axis=2)
    indptr, channel, rate = workload.rates
    rates = np.zeros(shape)
    rates[np.repeat(np.arange(shape[0]), np.diff(indptr)), channel] = rate
    rates[wants.sum(axis=0)[None, :] - wants == 0] = 0.0
    received = np.zeros(shape[0])
    for c in range(shape[1]):
        total = rates[:, c].sum()
        alone = np.count_nonzero(rates[:, c]) == (rates[:, c] > 0)
        received += np.where(wants[:, c] & ~alone, total - rates[:, c], 0.0)
    return Traffic(rates, wants, received + rates.sum(axis=1))


def _check_loads(
    workload: ContentWorkload, plan: Plan, broker: Any, traffic: Traffic
) -> Iterator[Check]:
    load = np.bincount(broker, weights=traffic.demand, minlength=workload.num_brokers)
    over: Any = []
    if workload.capacity is not None:
        capacity = workload.capacity * plan.parameters.get("capacity_factor", 1.0)
        over = np.flatnonzero(load > capacity * (1 + TOLERANCE))
    problem = f"broker {over[0]} carries {load[over[0]]}, above its capacity" if len(over) else ""
    yield expect("capacity", not len(over) or not plan.feasible, problem)
    yield expect("feasible", plan.feasible or len(over) > 0, "says infeasible, but keeps limits")
    yield expect_equal("overloaded", plan.metrics.get("overloaded"), len(over))


def _access_costs(workload: ContentWorkload, broker: Any) -> Any:
    """Cost of each user's link to its broker."""
    if workload.access_costs is not None:
        return workload.access_costs[np.arange(len(broker)), broker]
    return np.linalg.norm(workload.positions - workload.broker_positions[broker], axis=1)


def _core_costs(workload: ContentWorkload, factor: float) -> Any:
    if workload.broker_costs is not None:
        return least_costs(workload.broker_costs * factor)
    squares = np.zeros((workload.num_brokers, workload.num_brokers))
    for place in workload.broker_positions.T:  # one by one: near ties must not depend on rounding
        squares += (place[:, None] - place[None, :]) ** 2
    return np.sqrt(squares) * factor


def _expected_links(
    workload: ContentWorkload, traffic: Traffic, broker: Any, costs: Any, *, is_tree: bool
) -> Any:
    """Return the traffic that each link must carry (upper triangle), NaN-free."""
    count, channels = workload.num_brokers, traffic.rates.shape[1]
    published, members = np.zeros((channels, count)), np.zeros((channels, count), dtype=bool)
    for b in np.unique(broker):
        published[:, b] = traffic.rates[broker == b].sum(axis=0)
        members[:, b] = traffic.wants[broker == b].any(axis=0)
    numbers = link_order(costs)
    if not is_tree:
        return mesh_traffic(published, members, numbers)
    expected = np.zeros((count, count))
    low, high, carried = tree_traffic(published, members, numbers)
    expected[low, high] = carried
    return expected


def _check_links(workload: ContentWorkload, plan: Plan, expected: Any) -> Iterator[Check]:
    table = plan.tables["links"]
    low, high, carried = (table.column(name).to_numpy() for name in COLUMNS["links"])
    count = workload.num_brokers
    is_known = (low >= 0) & (low < count) & (high >= 0) & (high < count)
    yield expect("links", bool(is_known.all()), "links.parquet has unknown brokers")
    ends = np.minimum(low, high).astype(np.int64) * count + np.maximum(low, high)
    yield expect("links", not (low == high).any(), "a link of links.parquet leads to itself")
    is_once = len(np.unique(ends)) == len(ends)
    yield expect("links", is_once, "a pair of brokers stands twice in links.parquet")
    stated = np.zeros(count * count)
    stated[ends] = carried
    # Differences of large sums: what is tiny beside all traffic may be rounding.
    slack = TOLERANCE * np.abs(expected) + 1e-12 * max(float(expected.sum()), 1e-300)
    wrong = np.flatnonzero(~(np.abs(stated - expected.reshape(-1)) <= slack.reshape(-1)))
    problem = ""
    if len(wrong):
        a, b = divmod(int(wrong[0]), count)
        found = expected.reshape(-1)[wrong[0]]
        problem = f"link {a}-{b} says {stated[wrong[0]]}, found {found}"
    yield expect("traffic", not len(wrong), problem)


def _check_steiner(plan: Plan, core: float) -> Iterator[Check]:
    """A Steiner tree costs no more than the spanning tree, and at least half of it."""
    stated = plan.metrics.get("core_steiner")
    if plan.parameters["topology"] == "tree":
        yield expect("core_steiner", stated is None, f"says {stated}, but one tree has no choice")
        return
    is_number = isinstance(stated, int | float) and not isinstance(stated, bool)
    yield expect("core_steiner", is_number, f"says {stated!r}, which is not a number")
    slack = TOLERANCE * core + 1e-12
    is_within = core / 2 - slack <= stated <= core + slack  # type: ignore[operator]
    yield expect("core_steiner", is_within, f"says {stated}, not within {core / 2} and {core}")
