"""The independent check of a selection: plain NumPy in chunks, no kernel, no shared formula."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fanwise.planning.verify import Check, at_most, expect, expect_equal, is_close
from fanwise.workload.topic import RELATIVE_TOLERANCE

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.topic import TopicWorkload

CHUNK = 1 << 20


def checks(workload: TopicWorkload, plan: Plan) -> Iterator[Check]:
    """Recompute costs, capacity, satisfaction and the objective from the workload."""
    table = plan.tables["topics"]
    missing = {"served", "cost"} - set(table.column_names)
    yield expect("columns", not missing, f"topics.parquet has no column {sorted(missing)}")
    topic = table.column("topic").to_numpy()
    each_once = np.array_equal(np.sort(topic), np.arange(workload.num_topics))
    yield expect("topics", each_once, "topics.parquet must list every topic of the workload once")

    served_column = table.column("served").to_numpy(zero_copy_only=False)
    yield expect("served", served_column.dtype == np.bool_, "column 'served' must be true or false")
    served = np.zeros(workload.num_topics, dtype=bool)
    served[topic] = served_column
    cost = _cost(workload)
    stated = np.full(workload.num_topics, np.nan)
    stated[topic] = table.column("cost").to_numpy(zero_copy_only=False)
    wrong = ~np.isclose(stated, cost, rtol=RELATIVE_TOLERANCE, atol=1e-12)
    yield expect("cost", not wrong.any(), _first_wrong(workload, wrong, stated, cost))

    yield from _check_limits(workload, plan, cost, served)
    yield from _check_fixed_topics(workload, plan, served)
    yield from _check_changes(plan, topic, served)
    yield from _check_objective(workload, plan, served)


def _cost(workload: TopicWorkload) -> npt.NDArray[np.float64]:
    if workload.cost is not None:
        return workload.cost
    followers = np.zeros(workload.num_topics, dtype=np.int64)
    indices = workload.interests.indices
    for start in range(0, len(indices), CHUNK):
        followers += np.bincount(indices[start : start + CHUNK], minlength=workload.num_topics)
    return workload.rates * followers


def _check_limits(
    workload: TopicWorkload,
    plan: Plan,
    cost: npt.NDArray[np.float64],
    served: npt.NDArray[np.bool_],
) -> Iterator[Check]:
    everything, used = float(np.sum(cost)), float(np.sum(cost[served]))
    capacity = plan.parameters.get("capacity")
    percent = plan.parameters.get("capacity_percent")
    is_number = isinstance(capacity, int | float) and not isinstance(capacity, bool)
    yield expect("capacity", is_number, f"parameters.capacity is {capacity!r}, not a number")
    assert isinstance(capacity, int | float)
    if percent is not None:
        resolved = float(percent) / 100 * everything
        yield expect(
            "capacity in percent",
            is_close(capacity, resolved),
            f"{percent}% of {everything} is {resolved}, not {capacity}",
        )
    fits = at_most(used, capacity)
    yield expect(
        "capacity is kept",
        fits or not plan.feasible,
        f"the served topics cost {used}, more than the capacity {capacity}",
    )
    yield expect(
        "feasible",
        plan.feasible or not fits,
        "the plan says infeasible, but the served topics fit the capacity",
    )
    yield expect(
        "limits", fits, f"infeasible: the served topics cost {used}, the capacity is {capacity}"
    )
    yield expect_equal("used", plan.metrics.get("used"), used)


def _check_fixed_topics(
    workload: TopicWorkload, plan: Plan, served: npt.NDArray[np.bool_]
) -> Iterator[Check]:
    for parameter, must_be_served in (("pin", True), ("exclude", False)):
        names = plan.parameters.get(parameter)
        if names is None:
            continue
        is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
        yield expect(parameter, is_list, f"parameters.{parameter} must be a list of names")
        of_name = {name: topic for topic, name in enumerate(workload.topic_names.to_pylist())}
        unknown = [name for name in names if name not in of_name]
        yield expect(
            f"{parameter}: known topics", not unknown, f"the workload has no topic {unknown[:1]}"
        )
        wrong = [name for name in names if bool(served[of_name[name]]) is not must_be_served]
        yield expect(
            "pinned topics are served" if must_be_served else "excluded topics are not served",
            not wrong,
            f"{len(wrong)} topics break parameters.{parameter}, the first is {wrong[:1]}",
        )


def _check_changes(
    plan: Plan, topic: npt.NDArray[np.integer[Any]], served: npt.NDArray[np.bool_]
) -> Iterator[Check]:
    limit, price = plan.parameters.get("max_changes"), plan.parameters.get("change_price")
    table = plan.tables["topics"]
    if "was_served" not in table.column_names:
        needless = limit is None and price is None and plan.parameters.get("previous") is None
        yield expect("was_served", needless, "topics.parquet has no column 'was_served'")
        return
    was_served = np.zeros(len(served), dtype=bool)
    was_served[topic] = table.column("was_served").to_numpy(zero_copy_only=False)
    on, off = int(np.sum(served & ~was_served)), int(np.sum(was_served & ~served))
    for name, count in (("switched_on", on), ("switched_off", off), ("changes", on + off)):
        yield expect_equal(name, plan.metrics.get(name), count)
    yield expect(
        "changes are within their limit",
        limit is None or on + off <= limit,
        f"{on + off} topics are switched, parameters.max_changes is {limit}",
    )
    if price is not None and plan.metrics.get("net_value") is not None:
        net = plan.objective - price * (on + off)
        yield expect_equal("net_value", plan.metrics["net_value"], net)


def _check_objective(
    workload: TopicWorkload, plan: Plan, served: npt.NDArray[np.bool_]
) -> Iterator[Check]:
    metric = plan.parameters.get("metric")
    yield expect("metric", metric in ("binary", "fractional"), f"unknown metric {metric!r}")
    tau = plan.parameters.get("tau")
    problem = _tau_problem(workload, tau)
    yield expect("tau", problem is None, problem or "")
    objective = 0.0
    weight = workload.weight
    price = []
    for first, last, received, delivered, smallest in _subscriber_chunks(workload, served):
        wanted: Any = workload.tau[first:last] if tau == "column" else tau  # type: ignore[index]
        demand = np.minimum(wanted, received)
        needs = demand > 0
        share = np.divide(delivered, demand, out=np.zeros(last - first), where=needs)
        is_satisfied = share >= 1 - RELATIVE_TOLERANCE
        value = np.where(is_satisfied, 1.0, 0.0 if metric == "binary" else share)
        chunk_weight = 1.0 if weight is None else weight[first:last]
        objective += float(np.sum(np.where(needs, value, 0.0) * chunk_weight))
        price.append(np.maximum(demand, smallest)[needs])
    yield expect_equal("objective", plan.objective, objective)
    yield expect_equal(
        "paper_bound", plan.metrics.get("paper_bound"), _paper_bound(workload, plan, price)
    )


def _tau_problem(workload: TopicWorkload, tau: object) -> str | None:
    if tau == "column":
        return None if workload.tau is not None else "'column', but the workload has no column tau"
    if isinstance(tau, bool) or not isinstance(tau, int | float) or not 0 <= tau < np.inf:
        return f"parameters.tau is {tau!r}, not a number >= 0"
    return None


def _subscriber_chunks(
    workload: TopicWorkload, served: npt.NDArray[np.bool_]
) -> Iterator[tuple[int, int, Any, Any, Any]]:
    """Yield (first, last, received, delivered, smallest rate) over blocks of subscribers."""
    indptr, indices = workload.interests
    first = 0
    while first < workload.num_subscribers:
        last = int(np.searchsorted(indptr, indptr[first] + CHUNK, side="left"))
        last = min(max(last, first + 1), workload.num_subscribers)
        topics = indices[indptr[first] : indptr[last]]
        rows = np.repeat(np.arange(last - first), np.diff(indptr[first : last + 1]))
        rates = workload.rates[topics]
        received = np.bincount(rows, weights=rates, minlength=last - first)
        delivered = np.bincount(rows, weights=rates * served[topics], minlength=last - first)
        smallest = np.full(last - first, np.inf)
        np.minimum.at(smallest, rows, rates)
        yield first, last, received, delivered, smallest
        first = last


def _paper_bound(
    workload: TopicWorkload, plan: Plan, price: list[npt.NDArray[np.float64]]
) -> float | None:
    if workload.cost is not None or workload.weight is not None:
        return None
    ascending = np.sort(np.concatenate(price)) if price else np.empty(0)
    affordable = np.cumsum(ascending) <= plan.parameters["capacity"] * (1 + RELATIVE_TOLERANCE)
    extra = 0 if plan.parameters["metric"] == "binary" else 1
    return float(np.count_nonzero(affordable) + extra)


def _first_wrong(
    workload: TopicWorkload,
    wrong: npt.NDArray[np.bool_],
    stated: npt.NDArray[np.float64],
    found: npt.NDArray[np.float64],
) -> str:
    if not wrong.any():
        return ""
    topic = int(np.argmax(wrong))
    name = workload.topic_names[topic].as_py()
    return f"topic {topic} ({name!r}) says {stated[topic]}, found {found[topic]}"
