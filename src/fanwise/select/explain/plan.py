"""What more or less capacity is worth, and who goes without.

One pass over the pairs, but for two greedy continuations.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fanwise.select.explain.facts import PlanFacts, Purchase
from fanwise.select.explain.ranking import (
    best_offloaded,
    by_earnings,
    missing_events,
    weakest_served,
)
from fanwise.select.explain.shortages import list_shortages
from fanwise.select.greedy import complete
from fanwise.select.problem import Selection, Served

STEP = 0.01
"""The share of capacity whose worth is asked for."""


def explain_plan(problem: Selection, served: Served) -> PlanFacts:
    """Say what more or less capacity would change, and who goes without."""
    missing = missing_events(problem, served)
    full = complete(problem, served)
    more = complete(_with_capacity(problem, 1 + STEP), full)
    needs = problem.demand > 0
    short = missing > 0
    shares = missing[short] / problem.demand[short]
    quartiles = (
        tuple(np.quantile(shares, [0, 0.25, 0.5, 0.75, 1]).tolist()) if len(shares) else None
    )
    return PlanFacts(
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


def _with_capacity(problem: Selection, factor: float) -> Selection:
    """Change the capacity, but never below what the pinned topics cost."""
    pinned = float(problem.cost[problem.is_pinned].sum())
    return replace(problem, capacity=max(factor * problem.limit, pinned))


def _purchase(problem: Selection, before: Served, after: Served) -> Purchase:
    return Purchase(
        capacity=float(problem.cost[after].sum() - problem.cost[before].sum()),
        topics=int(np.count_nonzero(after)) - int(np.count_nonzero(before)),
        subscribers=problem.num_satisfied(after) - problem.num_satisfied(before),
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
