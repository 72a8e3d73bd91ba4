"""The linear relaxation of select and proven bounds from it, by a first-order method.

Given one valid inequality per subscriber (see :mod:`fanwise.select.relaxing.covers`), satisfaction
of v is at most the smaller of 1 and c_v + the sum of b_vt x_t, with x_t the served share of topic
t. For *any* prices 0 <= u_v <= w_v, the optimum is at most

    sum of (w_v - u_v (1 - c_v)) + the fractional knapsack over topics with G_t = sum of u_v b_vt,

so every iterate proves a bound, however far from converged. Prices and shares are improved by the
primal-dual hybrid gradient method with diagonal steps.

Guarantee
    Every bound holds, whatever the number of iterations.

Complexity
    One pass over the pairs by subscriber and one by topic per iteration, on all cores; a sort of
    the topics per bound.

References
----------
    A. Chambolle, T. Pock: A first-order primal-dual algorithm for convex problems with applications
    to imaging. Journal of Mathematical Imaging and Vision 40, 2011. T. Pock, A. Chambolle: Diagonal
    preconditioning for first order primal-dual algorithms in convex optimization. ICCV 2011.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.threads import cut_rows, in_threads
from fanwise.arrays.tolerance import most_within
from fanwise.select.problem import Selection
from fanwise.select.reach import Case
from fanwise.select.relaxing.inequalities import Coefficients, Inequalities
from fanwise.select.relaxing.knapsack import FixedTopics, Prices, fractional_knapsack, prices_within
from fanwise.select.relaxing.relaxation_kernels import (
    add_profits,
    move_prices,
    project_shares,
    scatter_values,
    sum_coefficients,
)

PIECES = 8
BOUND_MARGIN = 1e-10
"""Sums of a few million numbers are known to about this; bounds are raised by it."""


class Hints(NamedTuple):
    """What a bound follows from: prices, inequalities, and the price of a change.

    ``together``: topics for which only followers pay that are satisfied together with them.
    """

    prices: Prices
    inequalities: Inequalities
    change_price: float = 0.0
    together: npt.NDArray[np.int64] | None = None


class Relaxation:
    """Prices and shares under a set of inequalities, and the best bound they have proven.

    Attributes
    ----------
    case
        The selections that bounds hold for.
    prices
        u_v, between 0 and the subscriber's weight.
    shares
        x_t, between 0 and 1, within the capacity.
    inequalities
        b_vt, a coefficient per pair of the subscriber CSR, c_v, a constant per subscriber, and the
        sets of topics that they follow from.
    best
        The smallest bound proven so far.
    hints
        What it follows from; None while that is nothing but the weight of everybody.
    change_price
        What a change against the previous plan costs, times the units of the topic. With a limit on
        changes this is the multiplier of the limit, and every price >= 0 proves a bound.
    """

    def __init__(self, problem: Selection, case: Case | None = None) -> None:
        """Begin with the dearest prices and nothing served.

        Parameters
        ----------
        case
            The selections to bound; those of the problem if it is None.
        """
        self.problem = problem
        self.case = problem.case if case is None else case
        self._weight = self.case.weight
        self._fixed = FixedTopics(problem, self.case)
        self.change_price = problem.price_level
        self.prices = prices_within(self._weight, self._weight)
        self._ceiling = self.prices.copy()
        self._total = float(self._weight.sum())
        self.shares = np.zeros(problem.workload.num_topics)
        self.best = self._total
        self.hints: Hints | None = None
        self._limit = most_within(problem.limit)
        self._rows = cut_rows(problem.workload.interests.indptr, PIECES)
        self._columns = cut_rows(problem.workload.followers.indptr, PIECES)
        self._theta = 0.0

    def use(self, inequalities: Inequalities) -> None:
        """Take other inequalities; prices and shares are kept as a start."""
        problem, coefficients = self.problem, inequalities.coefficients
        interests, followers = problem.workload.interests, problem.workload.followers
        self.inequalities = inequalities
        self._by_column = np.empty_like(coefficients)
        scatter_values(*interests, coefficients, followers.indptr, self._by_column)
        row_sums = np.empty(problem.workload.num_subscribers, dtype=np.float32)
        in_threads(
            lambda piece: sum_coefficients(
                interests.indptr, coefficients, piece[0], piece[1], row_sums
            ),
            self._rows,
        )
        step = self._ceiling / np.maximum(row_sums, np.float32(1e-3))
        self._price_step: Prices = step.astype(np.float32)
        self._share_step = 1 / np.maximum(self._profits(self._ceiling), 1e-3)
        self._profit = self._profits(self.prices)

    def inequalities_to_change(self) -> Inequalities:
        """Return the inequalities, copied if the best bound rests on them."""
        is_kept = self.hints is not None and self.hints.inequalities is self.inequalities
        return self.inequalities.copy() if is_kept else self.inequalities

    def iterate(self, count: int) -> None:
        """Improve prices and shares by some iterations."""
        cost = self.problem.cost
        for _ in range(count):
            shares = self.shares.astype(np.float32)
            prices = np.empty_like(self.prices)
            self._move_prices(shares, prices)
            profit = self._profits(prices)
            reward = 2 * profit - self._profit + self._bonus()
            wish = self.shares + self._share_step * reward
            weight = self._share_step * cost
            self._fixed.force(wish, weight)
            self._theta = project_shares(wish, weight, cost, self._limit, self._theta, self.shares)
            self.prices, self._profit = prices, profit

    def bound(self) -> float:
        """Prove a bound with the current prices; remember the best.

        Where changes are limited or have a price, it bounds the objective less that price.
        """
        bound = self._total + self._dual_value()
        bound += BOUND_MARGIN * (self._total + abs(bound))
        bound = bound if self.change_price else max(bound, 0.0)
        if bound < self.best:
            self.best = bound
            self.hints = Hints(self.prices, self.inequalities, self.change_price)
        return bound

    def _dual_value(self) -> float:
        fixed, price = self._fixed, self.change_price
        paid = float(
            np.dot(self.prices.astype(np.float64), 1.0 - self._constants.astype(np.float64))
        )
        profit, limit, value = fixed.split(self._profit + self._bonus(), self._limit)
        value += fractional_knapsack(profit, self.problem.cost, limit) - paid
        if price > 0:
            allowed = self.problem.max_changes or 0
            value += price * (allowed - fixed.toll_before)
        return value

    def num_changes(self) -> float:
        """Changes against the previous plan that the shares mean."""
        return float(np.dot(self._fixed.sign, self.shares)) + self._fixed.num_before

    @property
    def _constants(self) -> Coefficients:
        return self.inequalities.constants

    @property
    def capacity_price(self) -> float:
        """What a unit of capacity is worth in the objective."""
        return self._theta

    def reduced_profit(self) -> FloatArray:
        """Return how much each topic's profit is above what its cost is worth."""
        return self._profit + self._bonus() - self._theta * self.problem.cost

    def _bonus(self) -> FloatArray | float:
        """Return what serving each topic saves in changes."""
        return -self.change_price * self._fixed.toll if self.change_price else 0.0

    def _move_prices(self, shares: npt.NDArray[np.float32], moved: Prices) -> None:
        interests = self.problem.workload.interests

        def work(piece: tuple[int, int]) -> None:
            move_prices(
                *interests,
                self.inequalities.coefficients,
                self._constants,
                shares,
                self.prices,
                self._price_step,
                self._ceiling,
                piece[0],
                piece[1],
                moved,
            )

        in_threads(work, self._rows)

    def _profits(self, prices: Prices) -> FloatArray:
        followers = self.problem.workload.followers
        profit = np.empty(self.problem.workload.num_topics)
        in_threads(
            lambda piece: add_profits(
                *followers, self._by_column, prices, piece[0], piece[1], profit
            ),
            self._columns,
        )
        return profit
