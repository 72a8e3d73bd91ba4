"""The independent check of an assignment: plain NumPy, no shared formula."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fanwise.assign.verify_unions import first_outside, measure_union
from fanwise.planning.verify import Check, expect, expect_equal

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.content import ContentWorkload

CHUNK = 1 << 13
TOLERANCE = 1e-9
Boxes = dict[int, tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]


def checks(workload: ContentWorkload, plan: Plan) -> Iterator[Check]:
    """Recompute loads, latencies, nesting and the objective from the workload."""
    yield from _check_columns(workload, plan)
    yield from _check_parameters(plan)
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
    found = sum(measure_union(*boxes[b], workload.density) for b in sorted(boxes))
    yield expect_equal("objective", plan.objective, found)


def _check_columns(workload: ContentWorkload, plan: Plan) -> Iterator[Check]:
    sides = [f"{side}_{axis}" for axis in range(workload.event_dims) for side in ("lo", "hi")]
    for name, columns in (("assignment", ["subscriber", "broker"]), ("filters", sides)):
        missing = [column for column in columns if column not in plan.tables[name].column_names]
        yield expect("columns", not missing, f"{name}.parquet has no column {missing}")
    for column in sides:
        values = plan.tables["filters"].column(column)
        is_good = values.null_count == 0 and str(values.type) == "double"
        yield expect("columns", is_good, f"{column} of filters.parquet is not all float64")


def _check_parameters(plan: Plan) -> Iterator[Check]:
    given = plan.parameters
    alpha = given.get("alpha")
    is_count = isinstance(alpha, int) and not isinstance(alpha, bool) and alpha >= 1
    yield expect("alpha", is_count, f"parameters.alpha is {alpha!r}, not a whole number >= 1")
    for name in ("max_delay", "lbf", "lbf_max"):
        value = given.get(name)
        yield expect(name, _is_amount(value), f"parameters.{name} is {value!r}")
    yield expect("lbf", given["lbf"] <= given["lbf_max"], "parameters.lbf is above lbf_max")
    latency = given.get("latency")
    yield expect("latency", latency in ("path", "last-hop"), f"unknown latency {latency!r}")


def _is_amount(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and value >= 0  # type: ignore[arg-type, operator]


def _check_assignment(workload: ContentWorkload, plan: Plan, broker: Any) -> Iterator[Check]:
    """Check that everybody has one leaf broker, and fill in which."""
    table = plan.tables["assignment"]
    who, where = (table.column(name).to_numpy() for name in ("subscriber", "broker"))
    is_known = (who >= 0) & (who < workload.num_subscribers)
    yield expect("subscribers", bool(is_known.all()), "assignment.parquet has unknown subscribers")
    times = np.bincount(who, minlength=workload.num_subscribers)
    odd = int(np.argmax(times != 1)) if len(times) else 0
    problem = f"subscriber {odd} does not have exactly one row in assignment.parquet"
    yield expect("each subscriber once", bool((times == 1).all()), problem)
    is_known = (where >= 0) & (where < workload.num_brokers)
    yield expect("brokers", bool(is_known.all()), "assignment.parquet has unknown brokers")
    assert workload.parent is not None
    inner = where[np.isin(where, workload.parent)]
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
    counts = np.bincount(owner, minlength=workload.num_brokers)
    most, worst = int(counts.max(initial=0)), int(np.argmax(counts)) if len(counts) else 0
    yield expect("alpha", most <= plan.parameters["alpha"], f"broker {worst} has {most} rectangles")


def _check_nesting(
    workload: ContentWorkload, lo: Any, hi: Any, owner: Any, boxes: Boxes
) -> Iterator[Check]:
    """Check that each rectangle lies in the union of its broker's parent."""
    assert workload.parent is not None
    above = workload.parent[owner]
    below = np.flatnonzero(above >= 0)
    row = first_outside(lo[below], hi[below], above[below], boxes)
    where = int(below[row]) if row >= 0 else -1
    problem = f"row {where} of filters.parquet is not within the filter of the broker above"
    yield expect("nesting", row < 0, problem)


def _check_limits(workload: ContentWorkload, plan: Plan, broker: Any) -> Iterator[Check]:
    parameters, total = plan.parameters, workload.num_subscribers
    assert workload.share is not None
    share = np.where(np.isnan(workload.share), 0.0, workload.share)
    loads = np.bincount(broker, minlength=workload.num_brokers)
    most = parameters["lbf_max"] * share * total * (1 + TOLERANCE)
    over = np.flatnonzero(loads > np.floor(most))
    path = _paths(workload) if parameters["latency"] == "path" else np.zeros(len(share))
    late, latency, shortest = _latencies(workload, parameters, broker, path)
    late_count = int(np.count_nonzero(late))
    broken = []
    if len(over):
        broken.append(f"broker {over[0]} serves {loads[over[0]]}, above its limit")
    if late_count:
        broken.append(f"subscriber {int(np.argmax(late))} is late, one of {late_count}")
    yield expect("limits are kept", not broken or not plan.feasible, "; ".join(broken))
    yield expect("feasible", plan.feasible or bool(broken), "says infeasible, but keeps its limits")
    yield expect_equal("late", plan.metrics.get("late"), late_count)
    used = loads > 0
    factor: float | None = None
    if (share[used] > 0).all():
        factor = float((loads[used] / (share[used] * total)).max(initial=0.0))
    yield expect_equal("lbf", plan.metrics.get("lbf"), factor)
    leaf = _leaves(workload)
    spread = math.sqrt(float(np.var(loads[leaf]))) if len(leaf) else 0.0
    yield expect_equal("load_stdev", plan.metrics.get("load_stdev"), spread)
    known = (shortest > 0) | (latency == 0)
    delay = latency[known] / np.where(shortest[known] > 0, shortest[known], 1.0) - (
        shortest[known] > 0
    )
    rms = math.sqrt(float(np.dot(delay, delay)) / len(delay)) if len(delay) else 0.0
    yield _expect_near("rms_delay", plan.metrics.get("rms_delay"), rms)


def _expect_near(name: str, stated: Any, found: float) -> Check:
    """Like ``expect_equal``, for differences of ratios near 1: half the digits may be gone."""
    is_near = isinstance(stated, int | float) and math.isclose(
        stated, found, rel_tol=TOLERANCE, abs_tol=1e-7
    )
    return expect(name, is_near, f"says {stated}, found {found}")


def _paths(workload: ContentWorkload) -> Any:
    """Latency from the publisher to each broker, following parents one by one."""
    paths = []
    assert workload.parent is not None
    for broker in range(workload.num_brokers):
        total, at = 0.0, broker
        while at >= 0:
            above = int(workload.parent[at])
            end = workload.publisher if above < 0 else workload.broker_positions[above]
            total += float(np.linalg.norm(workload.broker_positions[at] - end))
            at = above
        paths.append(total)
    return np.array(paths)


def _leaves(workload: ContentWorkload) -> Any:
    """Brokers that stand nowhere as a parent."""
    assert workload.parent is not None
    return np.setdiff1d(np.arange(workload.num_brokers), workload.parent)


def _latencies(
    workload: ContentWorkload, parameters: Any, broker: Any, path: Any
) -> tuple[Any, Any, Any]:
    """Whether each subscriber is late, its latency, and the least it could have."""
    leaves = _leaves(workload)
    total = workload.num_subscribers
    late, latency, shortest = np.zeros(total, dtype=bool), np.zeros(total), np.zeros(total)
    for start in range(0, total, CHUNK):
        rows = slice(start, start + CHUNK)
        here = workload.positions[rows]
        hops = np.column_stack(
            [np.linalg.norm(here - workload.broker_positions[leaf], axis=1) for leaf in leaves]
        )
        shortest[rows] = (hops + path[leaves]).min(axis=1)
        mine = workload.broker_positions[broker[rows]]
        latency[rows] = path[broker[rows]] + np.linalg.norm(here - mine, axis=1)
    if workload.candidates is not None:
        indptr, indices = workload.candidates
        row = np.repeat(np.arange(total), np.diff(indptr))
        late[:] = np.bincount(row[indices == broker[row]], minlength=total) == 0
    else:
        limit = workload.max_latency
        if limit is None:
            limit = (1 + parameters["max_delay"]) * shortest
        late[:] = latency > limit * (1 + TOLERANCE)
    return late, latency, shortest
