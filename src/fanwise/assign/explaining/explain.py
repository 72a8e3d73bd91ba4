"""Why an assignment is what it is: full brokers, binding limits, wasted traffic, one subscriber.

One pass over the pairs of subscribers and brokers in time, a max-flow, and a union of rectangles
for each broker.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.rectangles import union_mass
from fanwise.assign.explaining.cases import BrokerLine, Choice, PlanCase, SubscriberCase
from fanwise.assign.explaining.standings import (
    REASONS,
    WORDS,
    count_only_choices,
    find_reasons,
    growths,
)
from fanwise.assign.explaining.wording import plan_passages, subscriber_passages
from fanwise.assign.ground import Filters
from fanwise.assign.kernels import holds_box
from fanwise.assign.measuring import delays, explain_trouble, find_late, load_factor
from fanwise.assign.problem import Assignment, read_tables
from fanwise.errors import PlanError
from fanwise.planning.explanation import Explanation, find_name
from fanwise.planning.plan import Plan
from fanwise.workload.content import ContentWorkload

MOST_LISTED = 8
MOST_OUT_OF_TIME = 2
ALMOST = 1e-9


def explain(workload: ContentWorkload, plan: Plan, subscriber: str | None = None) -> Explanation:
    """Explain an assignment, or where one subscriber is, for programs and for people."""
    problem = problem_of(workload, plan)
    if subscriber is not None:
        case = explain_subscriber(problem, plan, subscriber)
        return Explanation(asdict(case), subscriber_passages(case))
    whole = explain_plan(problem, plan)
    return Explanation(asdict(whole), plan_passages(whole))


def problem_of(workload: ContentWorkload, plan: Plan) -> Assignment:
    """Return the question that a plan answers."""
    if plan.workload != workload.hash:
        raise PlanError(
            f"the plan was made for workload {plan.workload[:12]}…, not this one "
            f"({workload.hash[:12]}…); give the workload it was made for."
        )
    names = ("alpha", "max_delay", "lbf", "lbf_max", "latency")
    return Assignment(workload, **{name: plan.parameters[name] for name in names})


def explain_plan(problem: Assignment, plan: Plan) -> PlanCase:
    """Say which brokers are full, what keeps subscribers, and what is carried for nobody."""
    ground = problem.ground
    assigned, filters = read_tables(ground, plan.tables)
    loads = np.bincount(assigned, minlength=ground.num_brokers)
    limits, desired = problem.limits(problem.lbf_max), problem.limits(problem.lbf)
    leaf = ground.leaves[ground.share[ground.leaves] > 0]
    is_late = find_late(*ground.candidates, assigned)
    over = ground.leaves[loads[ground.leaves] > limits[ground.leaves]]
    reasons = np.bincount(
        find_reasons(ground, filters, assigned, loads, limits), minlength=len(REASONS)
    )
    lines = broker_lines(problem, assigned, filters, loads)
    is_leaf = np.isin(np.arange(ground.num_brokers), ground.leaves)
    carried = ground.measures(filters)
    delay = delays(problem, assigned)
    delay = delay[~np.isnan(delay)]
    return PlanCase(
        feasible=plan.feasible,
        trouble=None if plan.feasible else explain_trouble(problem),
        late=int(is_late.sum()),
        late_names=_names(problem.workload.subscriber_names, np.flatnonzero(is_late)),
        overloaded=len(over),
        overloaded_names=_names(problem.workload.broker_names, over),
        subscribers=ground.num_subscribers,
        leaves=len(leaf),
        full=int(np.count_nonzero(loads[leaf] >= limits[leaf])),
        full_at_desired=int(np.count_nonzero(loads[leaf] >= desired[leaf])),
        lbf=load_factor(problem, loads),
        lbf_desired=problem.lbf,
        lbf_max=problem.lbf_max,
        least_lbf=problem.least[0],
        one_choice=int(count_only_choices(ground).sum()),
        mean_choices=float(np.diff(ground.indptr).mean()) if ground.num_subscribers else 0.0,
        quickest=int(np.count_nonzero(delay <= ALMOST)),
        mean_delay=float(delay.mean()) if len(delay) else 0.0,
        most_delay=float(delay.max(initial=0.0)),
        reasons={REASONS[code]: int(count) for code, count in enumerate(reasons)},
        bandwidth=float(carried.sum()),
        bandwidth_inner=float(carried[~is_leaf].sum()),
        unwanted=sum(line.unwanted for line in lines),
        brokers=sorted(lines, key=lambda line: -line.bandwidth)[:MOST_LISTED],
        num_brokers=len(lines),
    )


def broker_lines(
    problem: Assignment, assigned: IntArray, filters: Filters, loads: LongArray
) -> list[BrokerLine]:
    """Describe every broker that carries or serves anything."""
    ground = problem.ground
    limits = problem.limits(problem.lbf_max)
    carried, wanted = ground.measures(filters), wanted_below(problem, assigned)
    only = count_only_choices(ground)
    is_leaf = np.isin(np.arange(ground.num_brokers), ground.leaves)
    below = loads.copy()
    for broker in ground.bottom_up:
        if ground.parent[broker] >= 0:
            below[ground.parent[broker]] += below[broker]
    return [
        BrokerLine(
            broker=str(problem.workload.broker_names[b]),
            serves=int(below[b]),
            limit=int(limits[b]) if is_leaf[b] else None,
            only_choice_of=int(only[b]) if is_leaf[b] else None,
            rectangles=int(filters.counts[b]),
            bandwidth=float(carried[b]),
            unwanted=max(float(carried[b] - wanted[b]), 0.0),
        )
        for b in np.flatnonzero((below > 0) | (carried > 0)).tolist()
    ]


def wanted_below(problem: Assignment, assigned: IntArray) -> FloatArray:
    """Return the measure of what anybody below each broker wants: no filter can have less."""
    ground = problem.ground
    wanted = np.zeros(ground.num_brokers)
    at = assigned.copy()
    wants = ground.lo[:, 0] <= ground.hi[:, 0]
    members: dict[int, list[LongArray]] = {}
    while (at >= 0).any():
        rows = np.flatnonzero((at >= 0) & wants)
        rows = rows[np.argsort(at[rows], kind="stable")]
        for part in np.split(rows, np.flatnonzero(np.diff(at[rows])) + 1):
            if len(part):
                members.setdefault(int(at[part[0]]), []).append(part)
        at = np.where(at >= 0, ground.parent[at], -1).astype(np.int32)
    for broker, parts in members.items():
        rows = np.concatenate(parts)
        both = np.unique(np.hstack([ground.lo[rows], ground.hi[rows]]), axis=0)
        lo, hi = np.hsplit(both, 2)
        wanted[broker] = union_mass(lo, hi, ground.density)
    return wanted


def explain_subscriber(problem: Assignment, plan: Plan, name: str) -> SubscriberCase:
    """Say why a subscriber is on its broker, and what every other one in time would cost.

    Raises
    ------
    InputError
        If no subscriber has that name; close ones are suggested.
    """
    workload, ground = problem.workload, problem.ground
    j = find_name(workload.subscriber_names, name, "subscriber")
    assigned, filters = read_tables(ground, plan.tables)
    loads = np.bincount(assigned, minlength=ground.num_brokers)
    limits = problem.limits(problem.lbf_max)
    reason = int(find_reasons(ground, filters, assigned, loads, limits)[j])
    hop = workload.broker_positions[ground.leaves] - workload.positions[j]
    latency = problem.path[ground.leaves] + np.sqrt((hop**2).sum(axis=1))
    in_time = ground.brokers[ground.indptr[j] : ground.indptr[j + 1]]
    growth = growths(ground, filters, j, ground.leaves)
    own, choices = int(assigned[j]), []
    for leaf, way, grows in zip(ground.leaves.tolist(), latency.tolist(), growth, strict=True):
        choices.append(
            Choice(
                broker=str(workload.broker_names[leaf]),
                is_own=leaf == own,
                in_time=bool((in_time == leaf).any()),
                latency=way,
                serves=int(loads[leaf]),
                limit=int(limits[leaf]),
                is_full=bool(loads[leaf] >= limits[leaf]),
                holds=bool(holds_box(ground, filters, leaf, j)),
                growth=0.0 if leaf == own else grows,
            )
        )
    wants = ground.lo[j, 0] <= ground.hi[j, 0]
    return SubscriberCase(
        subscriber=name,
        broker=str(workload.broker_names[own]),
        wants=np.column_stack([ground.lo[j], ground.hi[j]]).tolist() if wants else None,
        reason=REASONS[reason],
        says=WORDS[reason],
        limit=latency_limit(problem, j),
        shortest=float(problem.shortest[j]),
        num_in_time=len(in_time),
        choices=_shorten(choices),
    )


def latency_limit(problem: Assignment, j: int) -> float | None:
    """Return the most latency a subscriber may have; None where candidates are listed instead."""
    workload = problem.workload
    if workload.candidates is not None:
        return None
    if workload.max_latency is not None:
        return float(workload.max_latency[j])
    return float((1 + problem.max_delay) * problem.shortest[j])


def _shorten(choices: list[Choice]) -> list[Choice]:
    """Return its broker, the cheapest ones in time, and a few that are just too late."""
    ranked = sorted(
        (choice for choice in choices if choice.in_time or choice.is_own),
        key=lambda choice: (not choice.is_own, choice.is_full, choice.growth, choice.latency),
    )
    late = sorted(
        (choice for choice in choices if not choice.in_time and not choice.is_own),
        key=lambda choice: choice.latency,
    )
    return ranked[:MOST_LISTED] + late[:MOST_OUT_OF_TIME]


def _names(names: Any, ids: Any) -> list[str]:
    return [str(names[int(i)]) for i in ids[:MOST_LISTED]]
