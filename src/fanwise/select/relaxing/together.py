"""Prices that only satisfied subscribers pay, and what a topic's followers pay together then.

The relaxation lets every follower of a served topic pay for it, satisfied or not. But prices need
be paid by the satisfied alone: where v is satisfied, its inequality says u_v <= the sum of u_v b_vt
over what is served. So a topic t brings in no more than the largest total of u_v b_vt over
followers that are satisfied *together* with t within the capacity: a smaller selection problem,
which the same inequalities bound. Where subscribers need most of what they follow, the followers of
one topic need far more than the capacity between them, and this is much less than what all of them
pay.

Prices are fitted to it in rounds. In each, every pair has a factor: how far the follower is
satisfied, in the bound of the topic, when that is served; prices and shares take it for part of the
coefficient. Factors are averaged over rounds. What a round proves is evaluated without them.

Guarantee
    Every bound holds but for single precision, whatever the factors; what is claimed in the end is
    evaluated anew (:mod:`fanwise.select.proving.certificate`).

Complexity
    A proof visits, for every pair, all topics of its subscriber; see :func:`visits`.

References
----------
    Our own. Multiplying an inequality by a variable is as in H. D. Sherali, W. P. Adams: A
    hierarchy of relaxations between the continuous and convex hull representations for zero-one
    programming problems. SIAM Journal on Discrete Mathematics 3(3), 1990.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.threads import cut_rows, in_threads
from fanwise.select.problem import Selection
from fanwise.select.reach import Case, Flags
from fanwise.select.relaxing.knapsack import fractional_knapsack
from fanwise.select.relaxing.relaxation import BOUND_MARGIN
from fanwise.select.relaxing.slot_kernels import Slots
from fanwise.select.relaxing.slots import SlotRelaxation
from fanwise.select.relaxing.together_kernels import (
    Shares,
    number_pairs,
    pay_together,
    write_payments,
)

WORTHWHILE = 1e-3
"""Of the average topic's share of all weights: where less is gained it is left out of the check."""
STEPS_BACK = (0.5, 0.15)
"""How far from the best prices towards new ones that prove less."""
NONE: Shares = np.empty(0, dtype=np.float32)
PIECES = 16


def visits(problem: Selection) -> FloatArray:
    """Return, by topic, how many pairs its followers have between them."""
    workload = problem.workload
    degree = np.diff(workload.interests.indptr).astype(np.float64)
    sums = np.append(0.0, np.cumsum(degree[workload.followers.indices]))
    indptr = workload.followers.indptr
    result: FloatArray = sums[indptr[1:]] - sums[indptr[:-1]]
    return result


def pair_numbers(problem: Selection) -> LongArray:
    """Return for each pair by topic which one it is by subscriber."""
    workload = problem.workload
    pair_at: LongArray = np.empty(workload.num_pairs, dtype=np.int64)
    number_pairs(*workload.interests, workload.followers.indptr, pair_at)
    return pair_at


def most_together(
    problem: Selection,
    case: Case,
    pay: FloatArray,
    price: FloatArray,
    chosen: Flags,
    pair_at: LongArray,
    most: FloatArray,
    answer: Shares = NONE,
) -> None:
    """Write, over what is in ``most``, what followers of chosen topics pay together at most.

    Parameters
    ----------
    pay, price
        What is paid per pair, and by each subscriber in all.
    answer
        As in :func:`~fanwise.select.relaxing.together_kernels.pay_together`.
    """
    workload = problem.workload
    state = np.zeros(workload.num_topics, dtype=np.int8)
    state[case.served], state[case.dropped] = 1, -1

    def work(piece: tuple[int, int]) -> None:
        pay_together(
            *workload.followers,
            pair_at,
            *workload.interests,
            pay,
            price,
            problem.cost,
            state,
            case.room,
            chosen,
            *piece,
            most,
            answer,
        )

    in_threads(work, cut_rows(workload.followers.indptr, PIECES))


class TogetherRelaxation(SlotRelaxation):
    """Prices fitted to what followers pay together; goes on from another relaxation's.

    Attributes
    ----------
    num_visits
        Pairs that a proof visits.
    """

    def __init__(self, start: SlotRelaxation) -> None:
        super().__init__(start.problem, start.case)
        self._take_over(start)
        self._pair_at = pair_numbers(self.problem)
        self.num_visits = float(visits(self.problem).sum())
        self._rounds = 0
        self._best_slots: Slots | None = None
        self._best_per_event = self._per_event

    def bound(self) -> float:
        """Prove a bound with the average of the prices; go on from there with new factors.

        Where the average proves no more than the best so far, prices between the two are tried.
        """
        mean, self.shares = self._mean_slots(), self._mean_shares()
        before = self.best
        value, answer = self._prove_together(mean)
        if value >= before and self._best_slots is not None:
            kept = np.where(self._per_event == self._best_per_event, self._best_slots, 0)
            for step in STEPS_BACK:
                between: Slots = (kept + np.float32(step) * (mean - kept)).astype(np.float32)
                value, answer = self._prove_together(between)
                if value < before:
                    mean = between
                    break
        share = np.float32(2 / (self._rounds + 2))
        self._rounds += 1
        self._factor += share * (answer - self._factor)
        self._slots = mean
        self._profit = self._paid(mean)
        self._restart()
        self._size_steps()
        return value

    def _prove_together(self, slots: Slots) -> tuple[float, Shares]:
        """Return what prices prove, and how far followers are satisfied; remember the best."""
        problem = self.problem
        pay, answer = self._payments(slots), np.ones(problem.num_pairs, dtype=np.float32)
        price = slots.sum(axis=1, dtype=np.float64)
        topics = problem.workload.interests.indices
        plain: FloatArray = np.bincount(topics, pay, len(problem.cost)).astype(np.float64)
        most = plain.copy()
        is_open = ~(self.case.served | self.case.dropped)
        most_together(problem, self.case, pay, price, is_open, self._pair_at, most, answer)
        value = self._value(slots, most)
        if value < self.best:
            self.best = value
            self.hints = self._hints(slots)._replace(together=self._worth_checking(plain - most))
            self._best_slots, self._best_per_event = slots, self._per_event.copy()
        return value, answer

    def _value(self, slots: Slots, profit: FloatArray) -> float:
        profit, limit, value = self._fixed.split(profit, self._limit)
        value += fractional_knapsack(profit, self.problem.cost, limit)
        value += self._total - float(slots.sum(dtype=np.float64))
        return value + BOUND_MARGIN * (self._total + abs(value))

    def _worth_checking(self, gain: FloatArray) -> LongArray:
        """Return the topics for which it makes a difference."""
        return np.flatnonzero(gain > WORTHWHILE * self._total / max(1, len(gain)))

    def _payments(self, slots: Slots) -> FloatArray:
        pay = np.empty(self.problem.num_pairs)

        def work(piece: tuple[int, int]) -> None:
            write_payments(
                self._covers, self._sets, self._per_event, slots, piece[0], piece[1], pay
            )

        in_threads(work, self._rows)
        return pay
