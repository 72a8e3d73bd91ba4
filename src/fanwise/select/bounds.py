"""Proven upper bounds on what any selection can reach."""

from __future__ import annotations

import math

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.select.problem import Selection
from fanwise.workload.topic import RELATIVE_TOLERANCE


def paper_bound(problem: Selection) -> float | None:
    """Return the bound of Setty et al. (Alg. 3, Theorems IV.7 and V.4).

    With the cost of a topic being rate x followers, satisfying subscriber v costs at least
    max(tau_v, its smallest rate). Taking the cheapest subscribers first gives the largest number
    that a capacity could satisfy; the fractional metric may add one more. None with a cost column,
    for which it does not hold, and with weights.
    """
    from fanwise.select.kernels import smallest_rates

    workload = problem.workload
    if workload.cost is not None or workload.weight is not None:
        return None
    needs = problem.demand > 0
    least = smallest_rates(*workload.interests, workload.rates)
    price = np.sort(np.maximum(problem.demand, least)[needs])
    limit = problem.limit * (1 + RELATIVE_TOLERANCE)
    count = int(np.searchsorted(np.cumsum(price), limit, side="right"))
    return float(count) if problem.metric == "binary" else float(count + 1)


def knapsack_bound(problem: Selection) -> float:
    """Return the fractional knapsack over topics that each give what they would give alone.

    A topic gives subscriber v at most min(1, rate / tau_v) of its satisfaction, so the total is at
    most a knapsack over these profits; its linear relaxation is solved by sorting.
    """
    from fanwise.select.kernels import topic_profits

    profits: FloatArray = topic_profits(
        *problem.workload.followers,
        problem.workload.rates,
        problem.demand,
        problem.weight,
    )
    cost = problem.cost
    free = cost <= 0
    total = float(profits[free].sum())
    paid = np.flatnonzero(~free & (profits > 0))
    order = paid[np.argsort(-(profits[paid] / cost[paid]), kind="stable")]
    limit = problem.limit * (1 + RELATIVE_TOLERANCE)
    spent = np.cumsum(cost[order])
    whole = int(np.searchsorted(spent, limit, side="right"))
    total += float(profits[order[:whole]].sum())
    if whole < len(order):
        left = limit - (spent[whole - 1] if whole else 0.0)
        total += float(profits[order[whole]]) * left / float(cost[order[whole]])
    return total


def proven_bound(problem: Selection) -> float:
    """Return the smallest of the valid bounds, rounded down where the objective is whole."""
    bounds = [float(problem.weight.sum()), knapsack_bound(problem)]
    paper = paper_bound(problem)
    if paper is not None:
        bounds.append(paper)
    bound = min(bounds)
    if problem.metric == "binary" and problem.workload.weight is None:
        bound = float(math.floor(bound * (1 + RELATIVE_TOLERANCE)))
    return bound
