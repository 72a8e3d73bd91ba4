"""A node of a small selection problem: some topics served, some not, and the bound of the rest.

What the served topics of a node give each subscriber is known; only what it still lacks is priced.
For any prices 0 <= u_v <= w_v, no selection of the node is worth more than

    sum of (w_v - u_v (1 - c_v)) + the fractional knapsack over the topics left, G_t = sum u_v b_vt,

with c_v what v is satisfied by the served topics alone and b_vt what one more topic adds at most:
min(1, rate / lack) for the binary metric, min(rate, lack) / tau_v for the fractional one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.tolerance import most_within
from fanwise.select.problem import Selection
from fanwise.select.reach import case_of
from fanwise.select.relaxing.inequalities import ENOUGH
from fanwise.select.relaxing.knapsack import FixedTopics, Prices, fractional_knapsack

Flags = npt.NDArray[np.bool_]


class Node(NamedTuple):
    """Topics that are served, and that are not, in all selections of a node."""

    served: Flags
    dropped: Flags

    @property
    def left(self) -> npt.NDArray[np.int64]:
        """Topics that are still to be decided."""
        return np.flatnonzero(~self.served & ~self.dropped)


class Lack(NamedTuple):
    """What the subscribers of a node still lack.

    Attributes
    ----------
    constant
        c_v per subscriber.
    weight
        w_v per subscriber; 0 for those out of reach (:mod:`fanwise.select.reach`).
    slope
        b_vt per pair; 0 where the topic is decided or the subscriber lacks nothing.
    """

    constant: FloatArray
    weight: FloatArray
    slope: FloatArray


class NodeEvaluator:
    """Evaluates the nodes of a problem."""

    def __init__(self, problem: Selection) -> None:
        self.problem = problem
        self.fixed = FixedTopics(problem, problem.case)
        indptr, self.topics = problem.workload.interests
        self.rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        self._rates = problem.workload.rates[self.topics]
        self._need = problem.demand * ENOUGH
        self.limit = most_within(problem.limit)

    def first(self) -> Node:
        """Return the node of all selections."""
        return Node(self.problem.case.served, self.problem.case.dropped)

    def room(self, node: Node) -> float:
        """Return the capacity that the served topics leave."""
        return self.limit - float(self.problem.cost[node.served].sum())

    def is_empty(self, node: Node) -> bool:
        """Whether no selection of a node keeps capacity and the limit on changes."""
        if self.room(node) < 0:
            return True
        was, allowed = self.fixed.sign < 0, self.problem.max_changes
        forced = np.count_nonzero(node.served & ~was) + np.count_nonzero(node.dropped & was)
        return allowed is not None and bool(forced > allowed)

    def lack(self, node: Node) -> Lack:
        """Return what subscribers have, and what one more topic would add at most."""
        need, rows = self._need, self.rows
        is_served = node.served[self.topics]
        got = np.bincount(rows, weights=np.where(is_served, self._rates, 0.0), minlength=len(need))
        is_full = (got >= need) | (need <= 0)
        lack = np.where(is_full, 1.0, need - got)
        if self.problem.metric == "binary":
            constant = is_full.astype(np.float64)
            slope = np.minimum(1.0, self._rates / lack[rows])
        else:
            constant = np.where(is_full, 1.0, got / np.where(is_full, 1.0, need))
            slope = np.minimum(self._rates, lack[rows]) / np.where(is_full, 1.0, need)[rows]
        is_decided = is_served | node.dropped[self.topics]
        weight = case_of(self.problem, node.served, node.dropped).weight
        says_nothing = is_decided | (is_full | (weight <= 0))[rows]
        return Lack(constant, weight, np.where(says_nothing, 0.0, slope))

    def bound(self, node: Node, lack: Lack, prices: Prices, change_price: float) -> float:
        """Return the bound that prices prove for a node that is not empty."""
        problem = self.problem
        is_paying = (lack.constant < 1) & (lack.weight > 0)
        paid = np.where(is_paying, prices.astype(np.float64), 0.0)
        value = float(np.sum(lack.weight - paid * (1.0 - lack.constant)))
        profit = np.zeros(len(problem.cost))
        np.add.at(profit, self.topics, lack.slope * paid[self.rows])
        if change_price > 0:
            profit = profit - change_price * self.fixed.toll
            value += change_price * ((problem.max_changes or 0) - self.fixed.toll_before)
        value += float(np.sum(profit[node.served]))
        left = node.left
        return value + fractional_knapsack(profit[left], problem.cost[left], self.room(node))
