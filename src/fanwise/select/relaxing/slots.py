"""The relaxation under several knapsack-cover inequalities a subscriber, chosen by separation.

A single mix of inequalities can only be fitted to one selection; where a subscriber needs most of
what it follows, no mix is tight for all shares that might be. Here each subscriber has up to eight
inequalities at once, each with a price of its own, and the prices of a subscriber add up to no more
than its weight. In the end a subscriber's prices are a mix again: its parts are in proportion to
them. Prices and shares are averaged, and go on from the average where that proves more.

Guarantee
    Every bound holds but for single precision, whatever the number of iterations; what is claimed
    in the end is evaluated anew (:mod:`fanwise.select.proving.certificate`).

Complexity
    Each iteration visits every pair once for every slot.

References
----------
    See :mod:`fanwise.select.relaxing.relaxation`. Restarts from averages: D. Applegate and others:
    Practical large-scale linear programming using primal-dual hybrid gradient. NeurIPS 2021.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.threads import in_threads
from fanwise.select.problem import Selection
from fanwise.select.reach import Case
from fanwise.select.relaxing.covers import rows_of
from fanwise.select.relaxing.inequalities import Inequalities
from fanwise.select.relaxing.knapsack import fractional_knapsack, prices_within
from fanwise.select.relaxing.relaxation import BOUND_MARGIN, Hints, Relaxation
from fanwise.select.relaxing.relaxation_kernels import project_shares
from fanwise.select.relaxing.slot_kernels import (
    Factors,
    Slots,
    add_all_paid,
    move_slot_prices,
    open_slots,
    sum_slots,
)

MOST_PART = 255
"""The largest part of a mix, which a certificate keeps in a byte."""


class SlotRelaxation(Relaxation):
    """Prices of several inequalities a subscriber, and shares; see :class:`Relaxation`."""

    def __init__(self, problem: Selection, case: Case | None = None) -> None:
        super().__init__(problem, case)
        made = Inequalities.unfilled(problem)
        subscribers, many = made.parts.shape
        self._covers = rows_of(problem)
        self._widest = int(np.diff(self._covers.indptr).max(initial=0))
        self._sets = made.sets
        need = self._covers.demand
        self._per_event: Slots = np.zeros((subscribers, many), dtype=np.float32)
        self._per_event[:, 0] = np.divide(1.0, need, out=np.zeros(subscribers), where=need > 0)
        self._factor: Factors = np.ones(len(self._sets), dtype=np.float32)
        self._slots: Slots = np.zeros((subscribers, many), dtype=np.float32)
        self._slots[:, 0] = self._ceiling
        self._profit = self._paid(self._slots)
        self._restart()
        self._size_steps()

    def separate(self) -> None:
        """Give slots to inequalities that the shares break."""

        def work(piece: tuple[int, int]) -> int:
            return open_slots(
                self._covers,
                self._mean_shares(),
                self._weight,
                *piece,
                self._widest,
                self._sets,
                self._per_event,
                self._slots,
            )

        in_threads(work, self._rows)
        self._profit = self._paid(self._slots)
        self._restart()
        self._size_steps()

    def iterate(self, count: int) -> None:
        """Improve prices and shares by some iterations."""
        cost = self.problem.cost
        for _ in range(count):
            moved = np.zeros_like(self._slots)
            profit = self._move(moved)
            wish = self.shares + self._share_step * (2 * profit - self._profit)
            weight = self._share_step * cost
            self._fixed.force(wish, weight)
            self._theta = project_shares(wish, weight, cost, self._limit, self._theta, self.shares)
            self._slots, self._profit = moved, profit
            self._count += 1
            self._sum_of_slots += moved
            self._sum_of_shares += self.shares

    def bound(self) -> float:
        """Prove a bound with the prices, and with their average; go on from the better."""
        bound = self._prove(self._slots, self._profit)
        if self._count > 1:
            mean = self._mean_slots()
            profit = self._paid(mean)
            proven = self._prove(mean, profit)
            if proven < bound:
                bound = proven
                self._slots, self._profit, self.shares = mean, profit, self._mean_shares()
                self._restart()
        return bound

    def _prove(self, slots: Slots, profit: FloatArray) -> float:
        profit, limit, value = self._fixed.split(profit, self._limit)
        value += fractional_knapsack(profit, self.problem.cost, limit)
        value += self._total - float(slots.sum(dtype=np.float64))
        value += BOUND_MARGIN * (self._total + abs(value))
        if value < self.best:
            self.best = value
            self.hints = self._hints(slots)
        return value

    def _hints(self, slots: Slots) -> Hints:
        """Return the prices of subscribers, and parts in proportion to those of their slots."""
        largest = slots.max(axis=1, keepdims=True)
        share = np.divide(slots, largest, out=np.zeros_like(slots), where=largest > 0)
        parts = np.floor(share * MOST_PART + 0.5).astype(np.uint8)
        parts[largest[:, 0] <= 0, 0] = 1
        prices = prices_within(slots.sum(axis=1, dtype=np.float64), self._weight)
        empty = np.empty(0, dtype=np.float32)
        return Hints(prices, Inequalities(self._sets.copy(), parts, empty, empty))

    def _restart(self) -> None:
        self._count = 0
        self._sum_of_slots = np.zeros_like(self._slots, dtype=np.float64)
        self._sum_of_shares = np.zeros_like(self.shares)

    def _take_over(self, other: SlotRelaxation) -> None:
        """Go on from where another relaxation of the same case is."""
        self._sets, self._per_event = other._sets.copy(), other._per_event.copy()
        self._slots, self.shares = other._slots.copy(), other.shares.copy()
        self._theta, self.best, self.hints = other._theta, other.best, other.hints
        self._profit = self._paid(self._slots)
        self._restart()
        self._size_steps()

    def _mean_slots(self) -> Slots:
        if not self._count:
            return self._slots
        mean: Slots = (self._sum_of_slots / self._count).astype(np.float32)
        return mean

    def _mean_shares(self) -> FloatArray:
        return self._sum_of_shares / self._count if self._count else self.shares

    def _size_steps(self) -> None:
        largest = np.zeros(len(self._slots))

        def work(piece: tuple[int, int]) -> None:
            sum_slots(self._covers, self._sets, self._per_event, piece[0], piece[1], largest)

        in_threads(work, self._rows)
        self._slot_step = self._weight / np.maximum(largest, 1e-3)
        used: Slots = (self._per_event > 0) * self._ceiling[:, None]
        self._share_step = 1 / np.maximum(self._paid(used), 1e-3)

    def _move(self, moved: Slots) -> FloatArray:
        def work(piece: tuple[int, int]) -> FloatArray:
            profit = np.zeros(len(self.shares))
            move_slot_prices(
                self._covers,
                self._sets,
                self._per_event,
                self._factor,
                self.shares,
                self._slots,
                self._slot_step,
                self._weight,
                *piece,
                moved,
                profit,
            )
            return profit

        return _added(in_threads(work, self._rows))

    def _paid(self, slots: Slots) -> FloatArray:
        def work(piece: tuple[int, int]) -> FloatArray:
            profit = np.zeros(len(self.shares))
            add_all_paid(
                self._covers, self._sets, self._per_event, self._factor, slots, *piece, profit
            )
            return profit

        return _added(in_threads(work, self._rows))


def _added(parts: list[FloatArray]) -> FloatArray:
    """Return the sum of arrays, in their order."""
    total: FloatArray = np.sum(parts, axis=0)
    return total
