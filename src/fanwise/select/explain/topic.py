"""Why a topic is served or offloaded. One pass over the pairs."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.tolerance import RELATIVE_TOLERANCE
from fanwise.planning.explanation import find_topic
from fanwise.select.explain.facts import TopicFacts
from fanwise.select.explain.ranking import (
    missing_events,
    per_cost,
    weigh,
)
from fanwise.select.problem import Selection, Served


def explain_topic(problem: Selection, served: Served, name: str) -> TopicFacts:
    """Say why a topic is served or offloaded.

    Raises
    ------
    InputError
        If no topic has that name; close ones are suggested.
    """
    workload = problem.workload
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
    return TopicFacts(
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
        subscribers=problem.num_satisfied(with_topic) - problem.num_satisfied(others),
        value=problem.value(with_topic) - problem.value(others),
        left=limit - used,
        fits=is_served or problem.fits(used + float(cost[topic])),
        pinned=bool(problem.is_pinned[topic]),
        excluded=bool(problem.is_excluded[topic]),
    )
