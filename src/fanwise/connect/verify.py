"""The independent check of an overlay: plain NumPy in chunks, no shared formula."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fanwise.planning.verify import Check, at_most, expect, expect_equal

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.topic import TopicWorkload

CHUNK = 1 << 20
Ints = npt.NDArray[np.int64]


def checks(workload: TopicWorkload, plan: Plan) -> Iterator[Check]:
    """Recompute degrees, costs, components and the objective from the workload."""
    table = plan.tables["edges"]
    missing = {"u", "v"} - set(table.column_names)
    yield expect("columns", not missing, f"edges.parquet has no column {sorted(missing)}")
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
    yield from _check_budgets(workload, plan, u, v)
    yield from _check_objective(workload, plan, u.astype(np.int64), v.astype(np.int64))


def _first(what: str, wrong: npt.NDArray[np.bool_], u: Any, v: Any) -> str:
    if not wrong.any():
        return ""
    row = int(np.argmax(wrong))
    return f"row {row} of edges.parquet, ({u[row]}, {v[row]}), {what}"


def _check_parameters(workload: TopicWorkload, plan: Plan) -> Iterator[Check]:
    parameters, metrics = plan.parameters, plan.metrics
    degree, edges = parameters.get("max_degree"), parameters.get("max_edges")
    has_column = workload.max_degree is not None
    yield expect(
        "max_degree",
        degree is None or _is_count(degree) or (degree == "column" and has_column),
        f"parameters.max_degree is {degree!r}: neither a count nor a column that is there",
    )
    yield expect(
        "max_edges", edges is None or _is_count(edges), f"parameters.max_edges is {edges!r}"
    )
    average = parameters.get("avg_degree")
    if average is not None:
        yield expect_equal("avg_degree", edges, _share(average, workload.num_subscribers, 2))
    ratio = parameters.get("budget_ratio")
    if ratio is not None:
        names = (("max_edges", "complete_edges"), ("max_degree", "complete_degree"))
        for limit, complete in names:
            whole = metrics.get(complete)
            yield expect(complete, _is_count(whole), f"metrics.{complete} is {whole!r}")
            if parameters.get(limit) is not None:
                yield expect_equal(
                    f"{limit} by ratio", parameters[limit], _share(ratio, metrics[complete])
                )
        one = (edges is None) != (degree is None)
        yield expect("budget_ratio", one, "a budget ratio sets one of max_edges and max_degree")
    weight, cost = parameters.get("topic_weight"), parameters.get("link_cost")
    yield expect("topic_weight", weight in ("one", "rate"), f"unknown topic_weight {weight!r}")
    has_positions = workload.positions is not None
    yield expect(
        "link_cost",
        cost is None or (cost == "distance" and has_positions),
        f"parameters.link_cost is {cost!r}, but nodes have no such cost",
    )
    most = parameters.get("max_link_cost")
    is_amount = isinstance(most, int | float) and not isinstance(most, bool) and most >= 0
    yield expect(
        "max_link_cost",
        most is None or (is_amount and cost is not None),
        f"parameters.max_link_cost is {most!r} with link_cost {cost!r}",
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _share(share: float, of: int, parts: int = 1) -> int:
    return math.floor(Fraction(str(share)) * of / parts)


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
    yield expect("budgets are kept", not broken or not plan.feasible, found)
    yield expect(
        "feasible", plan.feasible or bool(broken), "the plan says infeasible, but keeps its budgets"
    )
    yield expect("limits", not broken, f"infeasible: {found}")
    yield expect_equal("links counted", plan.metrics.get("edges"), len(u))
    most = int(degree.max()) if len(degree) else 0
    yield expect_equal("largest degree", plan.metrics.get("max_degree"), most)
    if parameters.get("link_cost") is not None:
        yield expect_equal(
            "cost of all links", plan.metrics.get("link_cost"), _cost(workload, plan, u, v)
        )


def _broken_degree(workload: TopicWorkload, limit: Any, degree: Any) -> str | None:
    if limit is None:
        return None
    most = workload.max_degree if limit == "column" else np.full(len(degree), limit)
    over = degree > most
    if not over.any():
        return None
    node = int(np.argmax(over))
    name = workload.subscriber_names[node].as_py()
    return f"node {node} ({name!r}) has {degree[node]} links, more than {most[node]}"  # type: ignore[index]


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
        for a, b in _cuts(np.arange(0, len(u) + 1))
    )


def _check_objective(workload: TopicWorkload, plan: Plan, u: Ints, v: Ints) -> Iterator[Check]:
    weight = (
        workload.rates
        if plan.parameters["topic_weight"] == "rate"
        else np.ones(workload.num_topics)
    )
    owners = np.repeat(
        np.arange(workload.num_subscribers, dtype=np.int64), np.diff(workload.interests.indptr)
    )
    topics = workload.interests.indices.astype(np.int64)
    root = np.arange(len(topics))
    for one, other in _common_topics(workload, owners, topics, u, v):
        _unite(root, one, other)
    is_root = root == np.arange(len(topics))
    wanted = np.bincount(topics, minlength=workload.num_topics)
    components = np.bincount(topics[is_root], minlength=workload.num_topics)
    objective = math.fsum((wanted - components) * weight)
    complete = math.fsum(np.maximum(wanted - 1, 0) * weight)
    yield expect_equal("objective", plan.objective, objective)
    support = objective / complete if complete else 1.0
    yield expect_equal("support", plan.metrics.get("support"), support)


def _common_topics(
    workload: TopicWorkload, owners: Ints, topics: Ints, u: Ints, v: Ints
) -> Iterator[tuple[Ints, Ints]]:
    """Yield, for blocks of links, the rows of ``interests`` of both ends for each common topic."""
    indptr = workload.interests.indptr
    keys = owners * max(workload.num_topics, 1) + topics
    sizes = np.diff(indptr)
    few = np.where(sizes[u] <= sizes[v], u, v)
    many = u + v - few
    offsets = np.concatenate([[0], np.cumsum(sizes[few])])
    for start, stop in _cuts(offsets):
        length = sizes[few[start:stop]]
        within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
        one = np.repeat(indptr[few[start:stop]], length) + within
        wanted = np.repeat(many[start:stop], length) * max(workload.num_topics, 1) + topics[one]
        other = np.searchsorted(keys, wanted)
        other[other == len(keys)] = 0
        found = keys[other] == wanted if len(keys) else np.zeros(0, dtype=bool)
        yield one[found], other[found]


def _cuts(offsets: Ints) -> Iterator[tuple[int, int]]:
    """Cut rows that start at ``offsets`` into blocks of about CHUNK entries."""
    start, end = 0, len(offsets) - 1
    while start < end:
        stop = int(np.searchsorted(offsets, offsets[start] + CHUNK, side="right")) - 1
        stop = min(max(stop, start + 1), end)
        yield start, stop
        start = stop


def _unite(root: Ints, one: Ints, other: Ints) -> None:
    """Hook the larger of two roots onto the smaller, and flatten, until nothing changes."""
    while len(one):
        a, b = root[one], root[other]
        apart = a != b
        one, other, a, b = one[apart], other[apart], a[apart], b[apart]
        np.minimum.at(root, np.maximum(a, b), np.minimum(a, b))
        while True:
            flat = root[root]
            if np.array_equal(flat, root):
                break
            root[:] = flat
