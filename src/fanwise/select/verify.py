"""The independent check of a selection: plain NumPy in chunks, no kernel, no shared formula."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.planning.verify import ROUNDING, Check, expect, expect_equal, expect_metric, is_close
from fanwise.select.verify_proof import evaluate
from fanwise.select.verify_question import (
    Question,
    delivered_by,
    read_question,
    wrong_parameters,
)
from fanwise.workload.topic import RELATIVE_TOLERANCE

if TYPE_CHECKING:
    import pyarrow as pa

    from fanwise.planning.plan import Plan
    from fanwise.workload.topic import TopicWorkload

Flags = npt.NDArray[np.bool_]


def checks(workload: TopicWorkload, plan: Plan) -> Iterator[Check]:
    """Recompute costs, capacity, satisfaction, the objective and all metrics from the workload."""
    table = plan.tables["topics"]
    topic = table.column("topic").to_numpy()
    each_once = np.array_equal(np.sort(topic), np.arange(workload.num_topics))
    yield expect("topics", each_once, "topics.parquet must list every topic of the workload once")
    for wrong in wrong_parameters(workload, plan.parameters):
        yield Check(*wrong.split(": ", 1))
    question = read_question(workload, plan)
    served = _flags(table, "served", topic)
    stated = np.full(workload.num_topics, np.nan)
    stated[topic] = table.column("cost").to_numpy(zero_copy_only=False)
    wrong = ~np.isclose(stated, question.cost, rtol=RELATIVE_TOLERANCE, atol=ROUNDING)
    yield expect("cost", not wrong.any(), _first_wrong(workload, wrong, stated, question.cost))

    yield from _check_capacity(plan, question, served)
    yield from _check_fixed_topics(question, served)
    yield from _check_objective(workload, plan, question, served)
    yield from _check_changes(workload, plan, question, served)


def _flags(table: pa.Table, column: str, topic: npt.NDArray[np.integer[Any]]) -> Flags:
    flags = np.zeros(len(topic), dtype=bool)
    flags[topic] = table.column(column).to_numpy(zero_copy_only=False)
    return flags


def _check_capacity(plan: Plan, question: Question, served: Flags) -> Iterator[Check]:
    everything, used = float(np.sum(question.cost)), float(np.sum(question.cost[served]))
    percent = plan.parameters.get("capacity_percent")
    if percent is not None:
        resolved = float(percent) / 100 * everything
        yield expect(
            "capacity in percent",
            is_close(question.capacity, resolved),
            f"{percent}% of {everything} is {resolved}, not {question.capacity}",
        )
    yield expect(
        "capacity is kept",
        _fits(question, used),
        f"the served topics cost {used}, more than the capacity {question.capacity}",
    )
    yield expect_metric(plan, "used", used)
    yield expect_metric(plan, "cost_of_everything", everything)
    yield expect_metric(plan, "served", int(np.count_nonzero(served)))


def _fits(question: Question, used: float) -> bool:
    return used <= question.capacity * (1 + RELATIVE_TOLERANCE)


def _check_fixed_topics(question: Question, served: Flags) -> Iterator[Check]:
    for name, wrong in (
        ("pinned topics are served", question.is_pinned & ~served),
        ("excluded topics are not served", question.is_excluded & served),
    ):
        first = np.flatnonzero(wrong)[:1].tolist()
        yield expect(name, not first, f"topic {first} is not as it must be")


class _Reached(NamedTuple):
    objective: float
    satisfied: int


EDGE = ROUNDING
"""Whoever is so close to being satisfied is or is not, as sums are rounded."""


def _reached(workload: TopicWorkload, question: Question, served: Flags) -> list[_Reached]:
    """Return the objective of serving some topics, and how many subscribers are satisfied.

    Twice: at least and at most, which differ where somebody is just about satisfied.
    """
    delivered = delivered_by(workload, np.where(served, workload.rates, 0.0))
    demand, needs = question.demand, question.demand > 0
    share = np.divide(delivered, demand, out=np.zeros_like(demand), where=needs)
    found = []
    for enough in (1 - RELATIVE_TOLERANCE + EDGE, 1 - RELATIVE_TOLERANCE - EDGE):
        is_satisfied = needs & (share >= enough)
        value = np.where(is_satisfied, 1.0, 0.0 if question.is_binary else share)
        objective = float(np.sum(value * question.weight))
        found.append(_Reached(objective, int(np.count_nonzero(is_satisfied))))
    return found


def _within(stated: Any, least: float, most: float) -> float:
    """Return what is stated, or the nearest that is possible."""
    is_number = isinstance(stated, int | float) and not isinstance(stated, bool)
    return min(max(stated, least), most) if is_number else least


def _check_objective(
    workload: TopicWorkload, plan: Plan, question: Question, served: Flags
) -> Iterator[Check]:
    least, most = _reached(workload, question, served)
    yield expect_equal("objective", plan.objective,
                       _within(plan.objective, least.objective, most.objective))  # fmt: skip
    satisfied = _within(plan.metrics.get("satisfied"), least.satisfied, most.satisfied)
    yield expect_metric(plan, "satisfied", satisfied)
    yield expect_metric(plan, "subscribers", int(np.count_nonzero(question.demand > 0)))
    yield expect_metric(plan, "paper_bound", question.paper_bound())


def _check_changes(
    workload: TopicWorkload, plan: Plan, question: Question, served: Flags
) -> Iterator[Check]:
    has_column = "was_served" in plan.tables["topics"].column_names
    has_previous = plan.parameters.get("previous") is not None
    yield expect("was_served", has_column == has_previous,
                 "topics.parquet must have a column 'was_served' with a previous plan, and only "
                 "then")  # fmt: skip
    if not has_previous:
        return
    was = question.was_served
    on, off = int(np.count_nonzero(served & ~was)), int(np.count_nonzero(was & ~served))
    yield expect_metric(plan, "switched_on", on)
    yield expect_metric(plan, "switched_off", off)
    yield expect_metric(plan, "changes", on + off)
    yield expect(
        "changes are within their limit",
        question.max_changes is None or on + off <= question.max_changes,
        f"{on + off} topics are switched, parameters.max_changes is {question.max_changes}",
    )
    has_price = plan.parameters.get("change_price") is not None
    if not has_price and question.max_changes is None:
        return
    yield from _check_free_plan(workload, plan, question)
    if has_price:
        prices = read_question(workload, plan, is_net=True).change_price
        switched = np.broadcast_to(prices, was.shape)[served != was]
        net_value = plan.objective - float(np.sum(switched))
        slack = RELATIVE_TOLERANCE * max(1.0, abs(plan.objective))
        yield expect_metric(plan, "net_value", net_value, absolute=slack)
        yield from _check_net_bound(workload, plan)


def _check_free_plan(workload: TopicWorkload, plan: Plan, question: Question) -> Iterator[Check]:
    """Check what a plan that is free to change reaches, by that plan: it is in the proof."""
    if plan.proof is not None and "free" in plan.proof.tables:
        table = plan.proof.table("free", {"served": "flag"})
        free = table.column("served").to_numpy(zero_copy_only=False)
        yield expect("proof: the free plan", len(free) == workload.num_topics,
                     "must have a row for every topic")  # fmt: skip
        yield expect(
            "proof: the free plan",
            _fits(question, float(np.sum(question.cost[free])))
            and bool(free[question.is_pinned].all())
            and not free[question.is_excluded].any(),
            "breaks a limit",
        )
        least, most = (max(one.objective, plan.objective) for one in
                       _reached(workload, question, free))  # fmt: skip
        possible = _within(plan.metrics.get("free_value"), least, most)
        yield expect_metric(plan, "free_value", possible)
        changes = int(np.count_nonzero(free != question.was_served))
        yield expect_metric(plan, "free_changes", changes)
    stated = plan.metrics.get("free_value")
    is_number = isinstance(stated, int | float) and not isinstance(stated, bool)
    yield expect("metrics.free_value", is_number, f"is {stated!r}, not a number")
    given_up = float(stated) - plan.objective  # type: ignore[arg-type]
    slack = RELATIVE_TOLERANCE * max(1.0, abs(plan.objective))
    yield expect_metric(plan, "given_up", given_up, absolute=slack)


def _check_net_bound(workload: TopicWorkload, plan: Plan) -> Iterator[Check]:
    """Check the bound on the objective less the price of changes, where its proof is there."""
    stated = plan.metrics.get("net_bound")
    if stated is None or plan.proof is None or plan.proof.kind == "solver":
        yield expect("metrics.net_bound", "net_bound" in plan.metrics, "is missing")
        return
    question = read_question(workload, plan, is_net=True)
    yield expect_metric(plan, "net_bound", evaluate(question, plan.proof, "net_"))


def _first_wrong(
    workload: TopicWorkload,
    wrong: Flags,
    stated: npt.NDArray[np.float64],
    found: npt.NDArray[np.float64],
) -> str:
    if not wrong.any():
        return ""
    topic = int(np.argmax(wrong))
    name = workload.topic_names[topic].as_py()
    return f"topic {topic} ({name!r}) says {stated[topic]}, found {found[topic]}"
