"""Prices of subscribers, the knapsack over topics that they leave, and topics that are fixed.

Any prices turn the question into one knapsack over topics, whose linear relaxation is solved by
sorting; see :mod:`fanwise.select.relaxing.relaxation`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray
from fanwise.select.problem import Selection
from fanwise.select.reach import Case

Prices = npt.NDArray[np.float32]
"""Per subscriber: what its satisfaction costs, from 0 to its weight."""


def prices_within(prices: npt.NDArray[np.floating[Any]], weight: FloatArray) -> Prices:
    """Return prices as float32, rounded down where they would be higher than the weights."""
    rounded: Prices = np.minimum(prices, weight).astype(np.float32)
    too_high = rounded > weight
    rounded[too_high] = np.nextafter(rounded[too_high], np.float32(0.0))
    return rounded


class FixedTopics:
    """Topics with a say of their own: served or left out in all of a case, served before.

    Attributes
    ----------
    sign
        Per topic, how the number of changes moves when it is served: 1, or -1 if it was before.
    toll
        The same in what changes cost: of a topic with a price of its own so many price levels.
    num_before, toll_before
        How many topics were served before, and what switching all of them costs.
    """

    def __init__(self, problem: Selection, case: Case) -> None:
        self._case = case
        self._are_any = bool(case.served.any() or case.dropped.any())
        self._spent = float(problem.cost[case.served].sum())
        was_served = problem.was_served
        if was_served is None:
            was_served = np.zeros(problem.workload.num_topics, dtype=bool)
        self.sign: FloatArray = np.where(was_served, -1.0, 1.0)
        self.num_before = int(np.count_nonzero(was_served))
        self.toll: FloatArray = self.sign * problem.change_units
        self.toll_before = float(problem.change_units[was_served].sum())

    def force(self, wish: FloatArray, weight: FloatArray) -> None:
        """Change wished shares and what capacity takes off them, so that fixed topics obey."""
        if self._are_any:
            wish[self._case.dropped] = 0.0
            wish[self._case.served] = 1.0
            weight[self._case.served] = 0.0

    def split(self, profit: FloatArray, limit: float) -> tuple[FloatArray, float, float]:
        """Return profits of the topics left to choose, the capacity left, the served profit."""
        if not self._are_any:
            return profit, limit, 0.0
        served = self._case.served
        left = np.where(served | self._case.dropped, 0.0, profit)
        return left, max(0.0, limit - self._spent), float(profit[served].sum())


def fractional_knapsack(profit: FloatArray, cost: FloatArray, limit: float) -> float:
    """Return the most profit within a limit when topics may be taken in part."""
    free = cost <= 0
    total = float(np.maximum(profit[free], 0.0).sum())
    paid = np.flatnonzero(~free & (profit > 0))
    order = paid[np.argsort(-(profit[paid] / cost[paid]), kind="stable")]
    spent = np.cumsum(cost[order])
    whole = int(np.searchsorted(spent, limit, side="right"))
    total += float(profit[order[:whole]].sum())
    if whole < len(order):
        left = limit - (spent[whole - 1] if whole else 0.0)
        total += float(profit[order[whole]]) * max(left, 0.0) / float(cost[order[whole]])
    return total


def fractional_knapsacks(profit: FloatArray, cost: FloatArray, limits: FloatArray) -> FloatArray:
    """Return the most profit within each limit when topics may be taken in part.

    One sort for all limits. Topics come by profit per cost, so sums of them at these limits lie on
    a concave, piecewise linear curve.
    """
    free = cost <= 0
    base = float(np.maximum(profit[free], 0.0).sum())
    paid = np.flatnonzero(~free & (profit > 0))
    ratio = profit[paid] / cost[paid]
    order = np.argsort(-ratio, kind="stable")
    spent = np.append(0.0, np.cumsum(cost[paid[order]]))
    gained = np.append(0.0, np.cumsum(profit[paid[order]]))
    slope = np.append(ratio[order], 0.0)
    last = np.maximum(np.searchsorted(spent, limits, side="right") - 1, 0)
    total: FloatArray = base + gained[last] + slope[last] * np.maximum(limits - spent[last], 0.0)
    return total
