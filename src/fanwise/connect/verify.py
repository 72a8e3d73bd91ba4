"""The independent check of an overlay: plain NumPy in chunks, no shared formula."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fanwise.connect.verify_complete import complete_overlay
from fanwise.connect.verify_components import cuts, join_in_order, slots_of
from fanwise.planning.families import find_family
from fanwise.planning.verify import Check, at_most, expect, expect_equal, expect_metric

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.topic import TopicWorkload

Ints = npt.NDArray[np.int64]


def checks(workload: TopicWorkload, plan: Plan) -> Iterator[Check]:
    """Recompute degrees, costs, components and the objective from the workload."""
    table = plan.tables["edges"]
    u, v = (table.column(name).to_numpy() for name in ("u", "v"))
    num_nodes = workload.num_subscribers
    is_known = (u >= 0) & (u < num_nodes) & (v >= 0) & (v < num_nodes)
    yield expect("nodes", bool(is_known.all()), _first("links an unknown node", ~is_known, u, v))
    in_order = u < v
    yield expect("u < v", bool(in_order.all()), _first("is not written u < v", ~in_order, u, v))
    pairs = u.astype(np.int64) * max(num_nodes, 1) + v
    _, first = np.unique(pairs, return_index=True)
    again = np.ones(len(pairs), dtype=bool)
    again[first] = False
    yield expect("each link once", not again.any(), _first("stands twice", again, u, v))

    yield from _check_parameters(workload, plan)
    u, v = u.astype(np.int64), v.astype(np.int64)
    yield from _check_budgets(workload, plan, u, v)
    yield from _check_objective(workload, plan, u, v)
    yield from _check_search(workload, plan)


def _first(what: str, wrong: npt.NDArray[np.bool_], u: Any, v: Any) -> str:
    if not wrong.any():
        return ""
    row = int(np.argmax(wrong))
    return f"row {row} of edges.parquet, ({u[row]}, {v[row]}), {what}"


def _check_parameters(workload: TopicWorkload, plan: Plan) -> Iterator[Check]:
    parameters = plan.parameters
    missing = [name for name in find_family("connect").recorded if name not in parameters]
    yield expect("parameters", not missing, f"there is no {missing[:1]}")
    degree, edges = parameters["max_degree"], parameters["max_edges"]
    has_column = workload.max_degree is not None
    yield expect(
        "max_degree",
        degree is None or _is_count(degree) or (degree == "column" and has_column),
        f"parameters.max_degree is {degree!r}: neither a count nor a column that is there",
    )
    yield expect(
        "max_edges", edges is None or _is_count(edges), f"parameters.max_edges is {edges!r}"
    )
    weight, cost = parameters["topic_weight"], parameters["link_cost"]
    yield expect("topic_weight", weight in ("one", "rate"), f"unknown topic_weight {weight!r}")
    has_positions = workload.positions is not None
    yield expect(
        "link_cost",
        cost is None or (cost == "distance" and has_positions),
        f"parameters.link_cost is {cost!r}, but nodes have no such cost",
    )
    most = parameters["max_link_cost"]
    yield expect(
        "max_link_cost",
        most is None or (_is_amount(most) and cost is not None),
        f"parameters.max_link_cost is {most!r} with link_cost {cost!r}",
    )
    average, ratio = parameters["avg_degree"], parameters["budget_ratio"]
    for name, value in (("avg_degree", average), ("budget_ratio", ratio)):
        is_right = value is None or _is_amount(value)
        yield expect(name, is_right, f"must be a number >= 0, got {value!r}")
    if average is not None:
        yield expect_equal("avg_degree", edges, _share(average, workload.num_subscribers, 2))
    if ratio is not None:
        yield from _check_ratio(workload, plan, ratio)


def _check_ratio(workload: TopicWorkload, plan: Plan, ratio: float) -> Iterator[Check]:
    """Check the complete overlay's size, made anew where that is quick, and the share of it."""
    parameters, metrics = plan.parameters, plan.metrics
    complete = complete_overlay(workload, parameters)
    for index, (limit, name) in enumerate(
        (("max_edges", "complete_edges"), ("max_degree", "complete_degree"))
    ):
        if complete is not None:
            yield expect_metric(plan, name, complete[index])
        whole = metrics.get(name)
        yield expect(name, _is_count(whole), f"metrics.{name} is {whole!r}")
        if parameters[limit] is not None:
            yield expect_equal(f"{limit} by ratio", parameters[limit], _share(ratio, whole))
    one = (parameters["max_edges"] is None) != (parameters["max_degree"] is None)
    yield expect("budget_ratio", one, "a budget ratio sets one of max_edges and max_degree")


def _is_amount(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value < math.inf  # type: ignore[operator]


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _share(share: float, of: Any, parts: int = 1) -> int:
    return math.floor(Fraction(str(share)) * int(of) / parts)


def _check_budgets(workload: TopicWorkload, plan: Plan, u: Any, v: Any) -> Iterator[Check]:
    parameters = plan.parameters
    degree = np.bincount(u, minlength=workload.num_subscribers)
    degree += np.bincount(v, minlength=workload.num_subscribers)
    broken = [
        problem
        for problem in (
            _broken_degree(workload, parameters.get("max_degree"), degree),
            _broken_edges(parameters.get("max_edges"), len(u)),
            _broken_cost(parameters.get("max_link_cost"), _cost(workload, plan, u, v)),
        )
        if problem is not None
    ]
    found = "; ".join(broken)
    yield expect("budgets are kept", not broken, found)
    yield expect("feasible", plan.feasible, "the plan says infeasible, but keeps its budgets")
    yield expect_metric(plan, "edges", len(u))
    yield expect_metric(plan, "max_degree", int(degree.max(initial=0)))
    yield expect_metric(plan, "mean_degree", 2 * len(u) / max(1, workload.num_subscribers))
    if parameters["link_cost"] is not None:
        yield expect_metric(plan, "link_cost", _cost(workload, plan, u, v))


def _broken_degree(workload: TopicWorkload, limit: Any, degree: Any) -> str | None:
    if limit is None:
        return None
    column = workload.max_degree
    most = column if limit == "column" and column is not None else np.full(len(degree), limit)
    over = degree > most
    if not over.any():
        return None
    node = int(np.argmax(over))
    name = workload.subscriber_names[node].as_py()
    return f"node {node} ({name!r}) has {degree[node]} links, more than {most[node]}"


def _broken_edges(limit: int | None, num_edges: int) -> str | None:
    if limit is None or num_edges <= limit:
        return None
    return f"there are {num_edges} links, more than {limit}"


def _broken_cost(limit: float | None, cost: float) -> str | None:
    if limit is None or at_most(cost, limit):
        return None
    return f"the links cost {cost}, more than {limit}"


def _cost(workload: TopicWorkload, plan: Plan, u: Any, v: Any) -> float:
    if plan.parameters.get("link_cost") is None or workload.positions is None:
        return 0.0
    return math.fsum(
        float(np.linalg.norm(workload.positions[u[a:b]] - workload.positions[v[a:b]], axis=1).sum())
        for a, b in cuts(np.arange(0, len(u) + 1))
    )


def _check_objective(workload: TopicWorkload, plan: Plan, u: Ints, v: Ints) -> Iterator[Check]:
    is_weighted = plan.parameters["topic_weight"] == "rate"
    weight = workload.rates if is_weighted else np.ones(workload.num_topics)
    _, topics = slots_of(workload)
    root, is_useful = join_in_order(workload, u, v)
    is_root = root == np.arange(len(topics))
    wanted = np.bincount(topics, minlength=workload.num_topics)
    components = np.bincount(topics[is_root], minlength=workload.num_topics)
    objective = math.fsum((wanted - components) * weight)
    complete = math.fsum(np.maximum(wanted - 1, 0) * weight)
    yield expect_equal("objective", plan.objective, objective)
    yield expect_metric(plan, "support", objective / complete if complete else 1.0)
    yield expect_metric(plan, "complete_value", complete)
    yield expect_metric(plan, "useless_edges", int(np.count_nonzero(~is_useful)))
    yield expect_metric(plan, "connected_topics", int(np.count_nonzero(components == 1)))
    yield expect_metric(plan, "topics", int(np.count_nonzero(wanted)))


def _check_search(workload: TopicWorkload, plan: Plan) -> Iterator[Check]:
    """Check what algorithms say of themselves, where it follows from something else."""
    if "proven" in plan.metrics or plan.algorithm == "exact":
        is_met = plan.bound is not None and at_most(plan.bound, plan.objective)
        yield expect_metric(plan, "proven", is_met)
    if "messages_per_node" in plan.metrics:
        sent: Any = plan.metrics.get("messages")
        yield expect("messages", _is_count(sent), f"must be a whole number >= 0, got {sent!r}")
        yield expect_metric(plan, "messages_per_node", sent / max(1, workload.num_subscribers))
