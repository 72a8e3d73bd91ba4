"""Where topics stand: what the offloaded would add, and what the served earn.

Benefit is what greedy goes by: min(1, rate / missing) added up over the followers that are not
satisfied (binary), or what the total fraction would gain (fractional), times their weights.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.select.explaining.cases import Standing
from fanwise.select.improve import topic_losses
from fanwise.select.problem import Selection
from fanwise.workload.topic import RELATIVE_TOLERANCE

SHOWN = 10

Served = npt.NDArray[np.bool_]


def missing_events(problem: Selection, served: Served) -> FloatArray:
    """Return what each subscriber still needs; 0 for the satisfied."""
    missing = problem.demand - problem.delivered(served)
    missing[missing <= RELATIVE_TOLERANCE * problem.demand] = 0.0
    return missing


def count_satisfied(problem: Selection, served: Served) -> int:
    """Count the subscribers that get all they need."""
    enough = problem.delivered(served) >= problem.demand * (1 - RELATIVE_TOLERANCE)
    return int(np.count_nonzero(enough & (problem.demand > 0)))


def weigh(problem: Selection, served: Served, missing: FloatArray) -> tuple[FloatArray, LongArray]:
    """Return each offloaded topic's benefit, and how many subscribers it would satisfy."""
    from fanwise.select.kernels import weigh_topics

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


def best_offloaded(problem: Selection, served: Served, missing: FloatArray) -> tuple[Standing, ...]:
    """Return the offloaded topics that would add most per cost."""
    benefits, added = weigh(problem, served, missing)
    useful = np.flatnonzero((benefits > 0) & ~problem.is_excluded)
    ratio = per_cost(benefits[useful], problem.cost[useful])
    order = useful[np.argsort(-ratio, kind="stable")[:SHOWN]]
    return _standings(problem, order, added, benefits)


def weakest_served(problem: Selection, served: Served) -> tuple[Standing, ...]:
    """Return the served topics that earn least per cost, but for free ones."""
    order = by_earnings(problem, served)
    order = order[problem.cost[order] > 0][:SHOWN]
    before = count_satisfied(problem, served)
    lost = np.zeros(problem.workload.num_topics, dtype=np.int64)
    for topic in order.tolist():
        without = served.copy()
        without[topic] = False
        lost[topic] = before - count_satisfied(problem, without)
    return _standings(problem, order, lost, topic_losses(problem, served))


def _standings(
    problem: Selection,
    order: LongArray,
    subscribers: LongArray,
    benefit: FloatArray,
) -> tuple[Standing, ...]:
    workload = problem.workload
    return tuple(
        Standing(
            workload.topic_names[topic].as_py(),
            float(problem.cost[topic]),
            int(workload.num_followers[topic]),
            int(subscribers[topic]),
            float(benefit[topic]),
            float(benefit[topic] / problem.cost[topic]) if problem.cost[topic] > 0 else None,
        )
        for topic in order.tolist()
    )
