"""Proven upper bounds on what any selection can reach.

Guarantee
    No selection within the capacity reaches more, whoever lacks no more than the tolerance counting
    as satisfied.

Complexity
    One pass over the pairs and a sort for the bounds without iterations; the relaxation adds a
    fixed number of iterations, each two passes over the pairs.

References
----------
    V. Setty, G. Kreitz, G. Urdaneta, R. Vitenberg, M. van Steen: Maximizing the number of satisfied
    subscribers in pub/sub systems under capacity constraints, Alg. 3. IEEE INFOCOM 2014. The
    knapsack and the relaxation are our own.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE, most_within
from fanwise.planning.problem import Bound
from fanwise.select.problem import Selection
from fanwise.select.proving.certificate import certify, certify_by_rule, smaller
from fanwise.select.relaxing.inequalities import ENOUGH
from fanwise.select.rounding import claimed

ITERATIONS, TIGHTENINGS = 15, 3


def paper_bounds(problem: Selection, capacities: FloatArray) -> FloatArray | None:
    """Return the bound of Setty et al. (Alg. 3, Theorems IV.7 and V.4) at some capacities.

    With the cost of a topic being rate x followers, satisfying subscriber v costs at least
    max(tau_v, its smallest rate). Taking the cheapest subscribers first gives the largest number
    that a capacity could satisfy; the fractional metric may add one more. None with a cost column,
    for which it does not hold, and with weights. Whoever lacks no more than the tolerance is
    satisfied too, so a capacity reaches a little further than it says.
    """
    from fanwise.select.topic_kernels import smallest_rates

    workload = problem.workload
    if workload.cost is not None or workload.weight is not None:
        return None
    least = smallest_rates(*workload.interests, workload.rates)
    price = np.sort(np.maximum(problem.demand, least)[problem.demand > 0])
    limits = most_within(capacities) / ENOUGH
    count = np.searchsorted(np.cumsum(price), limits, side="right").astype(np.float64)
    return count if problem.metric == "binary" else count + 1


def knapsack_bound(problem: Selection) -> float:
    """Return the fractional knapsack over topics that each give what they would give alone.

    A topic gives subscriber v at most min(1, rate / tau_v) of its satisfaction, so the total is at
    most a knapsack over these profits; its linear relaxation is solved by sorting.
    """
    from fanwise.select.relaxing.knapsack import FixedTopics, fractional_knapsack
    from fanwise.select.topic_kernels import topic_profits

    profits: FloatArray = topic_profits(
        *problem.workload.followers,
        problem.workload.rates,
        problem.demand,
        problem.case.weight,
    )
    limit = most_within(problem.limit)
    profits, limit, pinned = FixedTopics(problem, problem.case).split(profits, limit)
    return pinned + fractional_knapsack(profits, problem.cost, limit)


def quick_proof(problem: Selection) -> Bound:
    """Return the smallest of the bounds that need no iteration, with its certificate."""
    problem = problem.freed()
    bound = certify(problem, None)
    if problem.paper_bound is not None:
        bound = smaller(bound, certify_by_rule(problem.paper_bound, "paper"))
    # Satisfied is who has a hair less than tau_v: one topic may give a hair more of it.
    alone = claimed(problem, knapsack_bound(problem) * (1 + 2 * RELATIVE_TOLERANCE))
    return smaller(bound, certify_by_rule(alone, "alone"))


def tight_proof(problem: Selection) -> Bound:
    """Return the bound of the linear relaxation, after a fixed number of iterations.

    It bounds the objective with any number of changes against a previous plan; the algorithms that
    weigh changes do better.

    For the binary metric its inequalities are first fitted to the greedy selection (see
    :mod:`fanwise.select.relaxing.covers`), for both then to the relaxation. ``best`` goes on from
    there.
    """
    from fanwise.select.greedy import greedy, served_by
    from fanwise.select.relaxing.tightening import fit_to, plain_relaxation, tighten

    problem = problem.freed()
    quick = quick_proof(problem)
    if quick.value == 0:
        return quick
    relaxation = plain_relaxation(problem)
    relaxation.iterate(ITERATIONS)
    relaxation.bound()
    if problem.metric == "binary":
        fit_to(relaxation, served_by(problem, greedy(problem)))
        relaxation.bound()
    for _ in range(TIGHTENINGS):
        relaxation.iterate(ITERATIONS)
        relaxation.bound()
        tighten(relaxation)
    relaxation.iterate(ITERATIONS)
    relaxation.bound()
    return smaller(quick, certify(problem, relaxation.hints))
