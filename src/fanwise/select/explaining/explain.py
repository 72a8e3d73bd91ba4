"""Why a selection is what it is: one topic's case, the worth of capacity, who goes without.

Everything is one pass over the pairs, but for two greedy continuations.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fanwise.errors import PlanError
from fanwise.planning.explanation import Explanation, find_topic
from fanwise.planning.plan import Plan
from fanwise.select.explaining.cases import PlanCase, Purchase, TopicCase
from fanwise.select.explaining.shortages import list_shortages
from fanwise.select.explaining.standings import (
    Served,
    best_offloaded,
    by_earnings,
    count_satisfied,
    missing_events,
    per_cost,
    weakest_served,
    weigh,
)
from fanwise.select.explaining.wording import plan_passages, topic_passages
from fanwise.select.greedy import complete
from fanwise.select.problem import Selection, served_topics
from fanwise.workload.topic import RELATIVE_TOLERANCE, TopicWorkload

STEP = 0.01
"""The share of capacity whose worth is asked for."""


def problem_of(workload: TopicWorkload, plan: Plan) -> Selection:
    """Return the question that a plan answers."""
    if plan.workload != workload.hash:
        raise PlanError(
            f"the plan was made for workload {plan.workload[:12]}…, not this one "
            f"({workload.hash[:12]}…); give the workload it was made for."
        )
    return Selection(
        workload,
        tau=plan.parameters["tau"],
        capacity=plan.parameters["capacity"],
        metric=plan.parameters["metric"],
        pin=plan.parameters.get("pin") or (),
        exclude=plan.parameters.get("exclude") or (),
    )


def explain_topic(workload: TopicWorkload, plan: Plan, name: str) -> TopicCase:
    """Say why a topic is served or offloaded.

    Raises
    ------
    InputError
        If no topic has that name; close ones are suggested.
    """
    problem = problem_of(workload, plan)
    served = served_topics(plan.tables["topics"], workload.num_topics)
    topic = find_topic(workload, name)
    used = float(problem.cost[served].sum())
    others = served.copy()
    others[topic] = False
    missing = missing_events(problem, others)
    with_topic = others.copy()
    with_topic[topic] = True
    benefits, _ = weigh(problem, others, missing)
    cost = problem.cost
    ratios = per_cost(benefits, cost)
    ratio = float(ratios[topic])
    rivals = ~others & ~problem.is_excluded
    rivals[topic] = True
    num_better = np.count_nonzero(ratios[rivals] > ratio * (1 + RELATIVE_TOLERANCE))
    followers = workload.followers
    row = followers.indices[followers.indptr[topic] : followers.indptr[topic + 1]]
    is_served = bool(served[topic])
    limit = problem.limit
    return TopicCase(
        topic=name,
        served=is_served,
        rate=float(workload.rates[topic]),
        followers=len(row),
        unsatisfied_followers=int(np.count_nonzero(missing_events(problem, served)[row] > 0)),
        cost=float(cost[topic]),
        share_of_capacity=float(cost[topic] / limit) if limit > 0 else None,
        benefit=float(benefits[topic]),
        ratio=ratio if np.isfinite(ratio) else None,
        rank=1 + int(num_better),
        offloaded=int(np.count_nonzero(rivals)),
        subscribers=count_satisfied(problem, with_topic) - count_satisfied(problem, others),
        value=problem.value(with_topic) - problem.value(others),
        left=limit - used,
        fits=is_served or problem.fits(used + float(cost[topic])),
        pinned=bool(problem.is_pinned[topic]),
        excluded=bool(problem.is_excluded[topic]),
    )


def explain_plan(workload: TopicWorkload, plan: Plan) -> PlanCase:
    """Say what more or less capacity would change, and who goes without."""
    problem = problem_of(workload, plan)
    served = served_topics(plan.tables["topics"], workload.num_topics)
    missing = missing_events(problem, served)
    full = complete(problem, served)
    more = complete(_with_capacity(problem, 1 + STEP), full)
    needs = problem.demand > 0
    short = missing > 0
    shares = missing[short] / problem.demand[short]
    quartiles = (
        tuple(np.quantile(shares, [0, 0.25, 0.5, 0.75, 1]).tolist()) if len(shares) else None
    )
    return PlanCase(
        capacity=problem.limit,
        used=float(problem.cost[served].sum()),
        leftover=_purchase(problem, served, full),
        next_percent=_purchase(problem, full, more),
        last_percent=_purchase(problem, _shrunk(problem, served), served),
        subscribers=int(np.count_nonzero(needs)),
        unsatisfied=int(np.count_nonzero(short)),
        missing_quartiles=quartiles,
        shortages=list_shortages(problem, missing),
        candidates=best_offloaded(problem, served, missing),
        weakest=weakest_served(problem, served),
    )


def explain(workload: TopicWorkload, plan: Plan, topic: str | None = None) -> Explanation:
    """Explain a plan, or one topic of it, for programs and for people."""
    if topic is None:
        whole = explain_plan(workload, plan)
        return Explanation(whole.to_dict(), plan_passages(whole))
    case = explain_topic(workload, plan, topic)
    return Explanation(case.to_dict(), topic_passages(case))


def _with_capacity(problem: Selection, factor: float) -> Selection:
    """Change the capacity, but never below what the pinned topics cost."""
    pinned = float(problem.cost[problem.is_pinned].sum())
    return replace(problem, capacity=max(factor * problem.limit, pinned))


def _purchase(problem: Selection, before: Served, after: Served) -> Purchase:
    return Purchase(
        capacity=float(problem.cost[after].sum() - problem.cost[before].sum()),
        topics=int(np.count_nonzero(after)) - int(np.count_nonzero(before)),
        subscribers=count_satisfied(problem, after) - count_satisfied(problem, before),
        value=problem.value(after) - problem.value(before),
    )


def _shrunk(problem: Selection, served: Served) -> Served:
    """Give back 1% of the capacity: drop what earns least per cost, refill what fits."""
    smaller = _with_capacity(problem, 1 - STEP)
    order = by_earnings(problem, served)
    used = float(problem.cost[served].sum())
    kept = served.copy()
    for topic, cost in zip(order.tolist(), problem.cost[order].tolist(), strict=True):
        if smaller.fits(used):
            break
        kept[topic] = False
        used -= cost
    return complete(smaller, kept)
