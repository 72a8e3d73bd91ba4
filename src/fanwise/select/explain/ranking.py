"""Topics in order: the offloaded by what they would add, the served by what they earn.

Benefit is what greedy goes by: min(1, rate / missing) added up over the followers that are not
satisfied (binary), or what the total fraction would gain (fractional), times their weights.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE
from fanwise.select.explain.facts import RankedTopic
from fanwise.select.improve import topic_losses
from fanwise.select.problem import Selection, Served

SHOWN = 10


def missing_events(problem: Selection, served: Served) -> FloatArray:
    """Return what each subscriber still needs; 0 for the satisfied."""
    missing = problem.demand - problem.delivered(served)
    missing[missing <= RELATIVE_TOLERANCE * problem.demand] = 0.0
    return missing


def weigh(problem: Selection, served: Served, missing: FloatArray) -> tuple[FloatArray, LongArray]:
    """Return each offloaded topic's benefit, and how many subscribers it would satisfy."""
    from fanwise.select.topic_kernels import weigh_topics

    workload = problem.workload
    benefits, added = weigh_topics(
        *workload.followers,
        workload.rates,
        served,
        missing,
        problem.demand,
        problem.weight,
        problem.metric == "binary",
        RELATIVE_TOLERANCE,
    )
    return benefits, added


def per_cost(benefit: FloatArray, cost: FloatArray) -> FloatArray:
    """Return benefit per cost; infinite for free topics that help, 0 for those that do not."""
    free = np.where(benefit > 0, np.inf, 0.0)
    return np.divide(benefit, cost, out=free, where=cost > 0)


def by_earnings(problem: Selection, served: Served) -> LongArray:
    """Served topics by what dropping them loses per cost, the least first; ties: the costliest.

    Pinned topics are left out: they cannot be dropped.
    """
    chosen = np.flatnonzero(served & ~problem.is_pinned)
    losses = topic_losses(problem, served)[chosen]
    cost = problem.cost[chosen]
    # A free topic never makes room, whatever it earns.
    ratio = np.divide(losses, cost, out=np.full(len(chosen), np.inf), where=cost > 0)
    return chosen[np.lexsort((-cost, ratio))]


def best_offloaded(
    problem: Selection, served: Served, missing: FloatArray
) -> tuple[RankedTopic, ...]:
    """Return the offloaded topics that would add most per cost."""
    benefits, added = weigh(problem, served, missing)
    useful = np.flatnonzero((benefits > 0) & ~problem.is_excluded)
    ratio = per_cost(benefits[useful], problem.cost[useful])
    order = useful[np.argsort(-ratio, kind="stable")[:SHOWN]]
    return _ranked(problem, order, added, benefits)


def weakest_served(problem: Selection, served: Served) -> tuple[RankedTopic, ...]:
    """Return the served topics that earn least per cost, but for free ones."""
    order = by_earnings(problem, served)
    order = order[problem.cost[order] > 0][:SHOWN]
    before = problem.num_satisfied(served)
    lost = np.zeros(problem.workload.num_topics, dtype=np.int64)
    for topic in order.tolist():
        without = served.copy()
        without[topic] = False
        lost[topic] = before - problem.num_satisfied(without)
    return _ranked(problem, order, lost, topic_losses(problem, served))


def _ranked(
    problem: Selection,
    order: LongArray,
    subscribers: LongArray,
    benefit: FloatArray,
) -> tuple[RankedTopic, ...]:
    workload = problem.workload
    return tuple(
        RankedTopic(
            workload.topic_names[topic].as_py(),
            float(problem.cost[topic]),
            int(workload.num_followers[topic]),
            int(subscribers[topic]),
            float(benefit[topic]),
            float(benefit[topic] / problem.cost[topic]) if problem.cost[topic] > 0 else None,
        )
        for topic in order.tolist()
    )
