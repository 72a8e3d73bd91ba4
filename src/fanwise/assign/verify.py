"""The independent check of an assignment: plain NumPy, no shared formula."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fanwise.assign.verify_limits import (
    CHUNK,
    allowed_pairs,
    find_wrong_parameter,
    latencies,
    load_limits,
    paths,
    pose,
    shares,
)
from fanwise.assign.verify_optimum import MOST_SUBSCRIBERS, count_assignments
from fanwise.assign.verify_steps import factors, find_step
from fanwise.assign.verify_unions import first_outside, measure_union
from fanwise.planning.verify import Check, expect, expect_equal, expect_metric, is_close

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.content import ContentWorkload

HALF_THE_DIGITS = 1e-7
"""Differences of ratios near 1 may have lost so much."""
Boxes = dict[int, tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]


def checks(workload: ContentWorkload, plan: Plan) -> Iterator[Check]:
    """Recompute loads, latencies, nesting, the objective and metrics from the workload."""
    yield Check("parameters", find_wrong_parameter(plan.parameters))
    yield from _check_columns(workload, plan)
    broker = np.full(workload.num_subscribers, -1, dtype=np.int64)
    yield from _check_assignment(workload, plan, broker)
    lo, hi, owner = _rectangles(workload, plan)
    yield from _check_rectangles(workload, plan, lo, hi, owner)
    boxes: Boxes = {int(b): (lo[owner == b], hi[owner == b]) for b in np.unique(owner)}
    row = first_outside(workload.lo, workload.hi, broker, boxes)
    problem = f"its broker does not let through all that subscriber {row} wants"
    yield expect("filters hold subscribers", row < 0, problem)
    yield from _check_nesting(workload, lo, hi, owner, boxes)
    yield from _check_limits(workload, plan, broker)
    with np.errstate(over="ignore", invalid="ignore"):  # sides may be huge
        found = sum(measure_union(*boxes[b], workload.density) for b in sorted(boxes))
    yield expect_equal("objective", plan.objective, float(found))
    yield from _check_search(workload, plan, broker)


def _check_columns(workload: ContentWorkload, plan: Plan) -> Iterator[Check]:
    sides = [f"{side}_{axis}" for axis in range(workload.event_dims) for side in ("lo", "hi")]
    columns = set(plan.tables["filters"].column_names)
    yield expect("columns", columns == {"broker", *sides},
                 f"of filters.parquet must be broker, {', '.join(sides)}")  # fmt: skip
    for column in sides:
        kind = plan.tables["filters"].column(column).type
        yield expect("columns", str(kind) == "double", f"{column} of filters.parquet is {kind}")


def _check_assignment(workload: ContentWorkload, plan: Plan, broker: Any) -> Iterator[Check]:
    """Check that everybody has one leaf broker, and fill in which."""
    table = plan.tables["assignment"]
    who, where = (table.column(name).to_numpy() for name in ("subscriber", "broker"))
    is_known = (who >= 0) & (who < workload.num_subscribers)
    yield expect("subscribers", bool(is_known.all()), "assignment.parquet has unknown subscribers")
    times = np.bincount(who.astype(np.int64), minlength=workload.num_subscribers)
    odd = int(np.argmax(times != 1)) if len(times) else 0
    problem = f"subscriber {odd} does not have exactly one row in assignment.parquet"
    yield expect("each subscriber once", bool((times == 1).all()), problem)
    is_known = (where >= 0) & (where < workload.num_brokers)
    yield expect("brokers", bool(is_known.all()), "assignment.parquet has unknown brokers")
    inner = where[np.isin(where, np.asarray(workload.parent))]
    problem = f"brokers with others below them serve nobody, here {inner[:3].tolist()}"
    yield expect("leaves", not len(inner), problem)
    broker[who] = where


def _rectangles(workload: ContentWorkload, plan: Plan) -> tuple[Any, Any, Any]:
    table = plan.tables["filters"]
    axes = range(workload.event_dims)
    lo, hi = (
        np.column_stack([table.column(f"{side}_{axis}").to_numpy() for axis in axes])
        for side in ("lo", "hi")
    )
    return lo, hi, table.column("broker").to_numpy()


def _check_rectangles(
    workload: ContentWorkload, plan: Plan, lo: Any, hi: Any, owner: Any
) -> Iterator[Check]:
    is_known = (owner >= 0) & (owner < workload.num_brokers)
    yield expect("filters", bool(is_known.all()), "filters.parquet has unknown brokers")
    good = (np.isfinite(lo) & np.isfinite(hi) & (lo <= hi)).all(axis=1)
    row = int(np.argmin(good)) if len(good) else 0
    yield expect("rectangles", bool(good.all()), f"row {row} of filters.parquet is no rectangle")
    counts = np.bincount(owner.astype(np.int64), minlength=workload.num_brokers)
    most, worst = int(counts.max(initial=0)), int(np.argmax(counts)) if len(counts) else 0
    yield expect("alpha", most <= plan.parameters["alpha"], f"broker {worst} has {most} rectangles")


def _check_nesting(
    workload: ContentWorkload, lo: Any, hi: Any, owner: Any, boxes: Boxes
) -> Iterator[Check]:
    """Check that each rectangle lies in the union of its broker's parent."""
    above = np.asarray(workload.parent)[owner]
    below = np.flatnonzero(above >= 0)
    row = first_outside(lo[below], hi[below], above[below], boxes)
    where = int(below[row]) if row >= 0 else -1
    problem = f"row {where} of filters.parquet is not within the filter of the broker above"
    yield expect("nesting", row < 0, problem)


def _check_limits(workload: ContentWorkload, plan: Plan, broker: Any) -> Iterator[Check]:
    """Check loads and latencies, and what the plan says of them."""
    total, share = workload.num_subscribers, shares(workload)
    loads = np.bincount(broker, minlength=workload.num_brokers)
    limits = load_limits(workload, plan.parameters["lbf_max"])
    over = np.flatnonzero(loads > limits)
    worst = int(over[0]) if len(over) else 0
    yield expect("load", not len(over),
                 f"broker {worst} serves {loads[worst:worst + 1].sum()}, above its limit of "
                 f"{limits[worst:worst + 1].sum()}")  # fmt: skip
    late = _find_late(workload, plan, broker)
    yield expect(
        "latency", not len(late), f"subscriber {late[:1].sum()} is late, one of {len(late)}"
    )
    yield expect_metric(plan, "late", len(late))
    yield expect_metric(plan, "overloaded", len(over))
    used = loads > 0
    factor: float | None = None
    if (share[used] > 0).all():
        factor = float((loads[used] / (share[used] * total)).max(initial=0.0))
    yield expect_metric(plan, "lbf", factor)
    leaf = np.setdiff1d(np.arange(workload.num_brokers), np.asarray(workload.parent))
    spread = math.sqrt(float(np.var(loads[leaf]))) if len(leaf) else 0.0
    yield expect_metric(plan, "load_stdev", spread)
    delay = _delays(workload, plan, broker, leaf)
    rms = math.sqrt(float(np.dot(delay, delay)) / len(delay)) if len(delay) else 0.0
    yield expect_metric(plan, "rms_delay", rms, absolute=HALF_THE_DIGITS)


def _find_late(workload: ContentWorkload, plan: Plan, broker: Any) -> Any:
    """Return the subscribers on brokers that may not serve them."""
    indptr, brokers = allowed_pairs(workload, plan.parameters)
    row = np.repeat(np.arange(workload.num_subscribers), np.diff(indptr))
    in_time = np.bincount(row[brokers == broker[row]], minlength=workload.num_subscribers)
    return np.flatnonzero(in_time == 0)


def _delays(workload: ContentWorkload, plan: Plan, broker: Any, leaves: Any) -> Any:
    """Return by which share each subscriber is later than it could be, where it can be at all."""
    path = paths(workload, plan.parameters["latency"])
    found = [np.empty(0)]
    column = np.searchsorted(leaves, broker)
    for start in range(0, workload.num_subscribers, CHUNK):
        rows = slice(start, start + CHUNK)
        latency = latencies(workload, path, leaves, rows)
        own = latency[np.arange(len(latency)), column[rows]]
        least = latency.min(axis=1)
        known = (least > 0) | (own == 0)
        found.append(own[known] / np.where(least > 0, least, 1.0)[known] - (least > 0)[known])
    return np.concatenate(found)


def _check_search(workload: ContentWorkload, plan: Plan, broker: Any) -> Iterator[Check]:
    """Check what algorithms tell beyond what every plan does, as far as tables show it."""
    metrics, parameters = plan.metrics, plan.parameters
    value, of_whom = metrics.get("fractional"), metrics.get("fractional_of")
    is_amount = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    yield expect("fractional", value is None or is_amount, f"cannot be {value!r}")
    yield expect("fractional_of", isinstance(of_whom, str), f"cannot be {of_whom!r}")
    if plan.algorithm in ("gr", "gr-star", "gr-no-latency"):
        # Whoever is forced on a full broker stays there, and that is above its limit.
        yield expect_metric(plan, "forced", 0)
        reached = metrics.get("lbf_reached")
        known = factors(parameters)
        is_one = (
            not isinstance(reached, bool)
            and isinstance(reached, int | float)
            and any(is_close(reached, factor) for factor in known)
        )
        yield expect("lbf_reached", is_one, f"says {reached!r}, must be one of {known}")
        if parameters.get("evict", "none") == "none":
            yield expect_metric(plan, "evicted", 0)
            step = find_step(workload, plan, broker)
            if step is not None:
                yield expect_metric(plan, "lbf_reached", known[step])
    if plan.algorithm == "exact":
        is_proven = plan.bound is not None and is_close(plan.bound, plan.objective)
        yield expect_metric(plan, "proven", is_proven)
        if workload.num_subscribers <= MOST_SUBSCRIBERS:
            found = count_assignments(pose(workload, parameters))
            yield expect_metric(plan, "assignments", found)
