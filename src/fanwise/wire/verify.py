"""The independent check of a wiring: plain NumPy, no kernel and no shared formula."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fanwise.planning.verify import ROUNDING, Check, expect, expect_equal, expect_metric, is_close
from fanwise.wire.verify_facts import (
    TOLERANCE,
    Traffic,
    access_to,
    capacities,
    core_costs,
    forbidden,
    measure_traffic,
    wrong_parameter,
)
from fanwise.wire.verify_trees import link_order, mesh_traffic, tree_traffic

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.content import ContentWorkload

COLUMNS = {"attachments": ("subscriber", "broker"), "links": ("broker", "other", "traffic")}
COUNTS = {
    "best": ("moves", "swaps", "exchanges", "changes"),
    "migration": ("moves", "rounds"),
    "exact": ("branched",),
}
"""What algorithms tell of their search: nothing that a workload could say."""


def checks(workload: ContentWorkload, plan: Plan) -> Iterator[Check]:
    """Recompute loads, costs and the traffic of every link from the workload."""
    yield from _check_workload(workload)
    yield Check("parameters", wrong_parameter(plan))
    yield from _check_columns(plan)
    broker = np.full(workload.num_subscribers, -1, dtype=np.int64)
    yield from _check_attachments(workload, plan, broker)
    traffic = measure_traffic(workload)
    load = np.bincount(broker, weights=traffic.demand, minlength=workload.num_brokers)
    capacity = capacities(workload, plan.parameters["capacity_factor"])
    over = np.flatnonzero(load > capacity * (1 + TOLERANCE))
    yield expect_metric(plan, "overloaded", len(over))
    yield expect_metric(plan, "max_load", _largest_share(load, capacity))
    access = float(traffic.demand @ access_to(workload, broker))
    yield expect_metric(plan, "access", access)
    costs, num_shortened = core_costs(workload, plan.parameters["core_factor"])
    yield expect_metric(plan, "shortened", num_shortened)
    is_tree = plan.parameters["topology"] == "tree"
    expected = _expected_links(workload, traffic, broker, costs, is_tree=is_tree)
    yield from _check_links(workload, plan, expected, float(traffic.rates.sum()))
    core = float((expected * costs).sum())
    yield expect_metric(plan, "core", core)
    yield expect_equal("objective", plan.objective, access + core)
    yield from _check_steiner(plan, core, is_tree=is_tree)
    yield from _check_search(plan)
    # A broken limit comes last: then everything else that the plan says is known to be true.
    problem = f"broker {over[0]} carries {load[over[0]]}, above its capacity" if len(over) else ""
    yield expect("capacity", not len(over), problem)
    yield expect("feasible", plan.feasible, "says infeasible, but keeps limits")


def _check_workload(workload: ContentWorkload) -> Iterator[Check]:
    for part in ("channels", "rates"):
        is_there = getattr(workload, part, None) is not None
        yield expect("workload", is_there, f"has no {part}, so that nothing can be wired")


def _check_columns(plan: Plan) -> Iterator[Check]:
    for name, columns in COLUMNS.items():
        missing = [column for column in columns if column not in plan.tables[name].column_names]
        yield expect("columns", not missing, f"{name}.parquet has no column {missing}")
    traffic = plan.tables["links"].column("traffic")
    is_good = str(traffic.type) == "double" and traffic.null_count == 0
    yield expect("columns", is_good, "traffic of links.parquet is not all float64")


def _check_attachments(workload: ContentWorkload, plan: Plan, broker: Any) -> Iterator[Check]:
    """Check that everybody has one broker, and fill in which."""
    table = plan.tables["attachments"]
    who, where = (table.column(name).to_numpy() for name in COLUMNS["attachments"])
    is_known = (who >= 0) & (who < workload.num_subscribers)
    yield expect("subscribers", bool(is_known.all()), "attachments.parquet has unknown subscribers")
    who = who.astype(np.int64)
    times = np.bincount(who, minlength=workload.num_subscribers)
    odd = int(np.argmax(times != 1)) if len(times) else 0
    problem = f"subscriber {odd} does not have exactly one row in attachments.parquet"
    yield expect("each subscriber once", bool((times == 1).all()), problem)
    is_known = (where >= 0) & (where < workload.num_brokers)
    yield expect("brokers", bool(is_known.all()), "attachments.parquet has unknown brokers")
    broker[who] = where
    is_wrong = forbidden(workload, slice(None))[np.arange(len(broker)), broker]
    odd = int(np.argmax(is_wrong)) if len(broker) else 0
    problem = f"subscriber {odd} is attached to a broker that is not among its candidates"
    yield expect("candidates", not is_wrong.any(), problem)


def _largest_share(load: Any, capacity: Any) -> float | None:
    """Return the largest load over its capacity; None without capacities, or with one of 0."""
    is_limited = np.isfinite(capacity)
    if not is_limited.any():
        return None
    is_used = is_limited & (load > 0)
    with np.errstate(divide="ignore", over="ignore"):
        shares = load[is_used] / capacity[is_used]
    return float(np.max(shares, initial=0.0)) if np.isfinite(shares).all() else None


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


def _check_links(
    workload: ContentWorkload, plan: Plan, expected: Any, published: float
) -> Iterator[Check]:
    table = plan.tables["links"]
    low, high, carried = (table.column(name).to_numpy() for name in COLUMNS["links"])
    count = workload.num_brokers
    is_known = (low >= 0) & (low < count) & (high >= 0) & (high < count)
    yield expect("links", bool(is_known.all()), "links.parquet has unknown brokers")
    low, high = low.astype(np.int64), high.astype(np.int64)
    ends = np.minimum(low, high) * count + np.maximum(low, high)
    yield expect("links", not (low == high).any(), "a link of links.parquet leads to itself")
    is_once = len(np.unique(ends)) == len(ends)
    yield expect("links", is_once, "a pair of brokers stands twice in links.parquet")
    stated = np.zeros(count * count)
    stated[ends] = carried
    # Differences of large sums: what is tiny beside all that is published may be rounding.
    slack = TOLERANCE * np.abs(expected) + ROUNDING * max(float(expected.sum()), published, 1e-300)
    wrong = np.flatnonzero(~(np.abs(stated - expected.reshape(-1)) <= slack.reshape(-1)))
    problem = ""
    if len(wrong):
        a, b = divmod(int(wrong[0]), count)
        found = expected.reshape(-1)[wrong[0]]
        problem = f"link {a}-{b} says {stated[wrong[0]]}, found {found}"
    yield expect("traffic", not len(wrong), problem)


def _check_steiner(plan: Plan, core: float, *, is_tree: bool) -> Iterator[Check]:
    """A Steiner tree costs no more than the spanning tree, and at least half of it."""
    if is_tree:
        yield expect_metric(plan, "core_steiner", None)
        return
    stated = plan.metrics.get("core_steiner")
    if isinstance(stated, bool) or not isinstance(stated, int | float):
        yield Check("metrics.core_steiner", f"says {stated!r}, which is not a number")
        return
    slack = TOLERANCE * core + ROUNDING
    is_within = core / 2 - slack <= stated <= core + slack
    yield expect(
        "metrics.core_steiner", is_within, f"says {stated}, not within {core / 2} and {core}"
    )


def _check_search(plan: Plan) -> Iterator[Check]:
    """Check what is told of the search as far as it can be: counts are counts."""
    for name in COUNTS.get(plan.algorithm, ()):
        value = plan.metrics.get(name)
        is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        yield expect(f"metrics.{name}", is_count, f"must be a whole number >= 0, got {value!r}")
    told = {name for names in COUNTS.values() for name in names if name in plan.metrics}
    odd = sorted(told - set(COUNTS.get(plan.algorithm, ())))
    yield expect("metrics", not odd, f"{plan.algorithm} has none that is called {odd[:1]}")
    if plan.algorithm == "exact":
        is_proven = plan.bound is not None and is_close(plan.bound, plan.objective)
        yield expect_metric(plan, "proven", is_proven)
