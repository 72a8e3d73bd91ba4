"""Selections found by filling, peeling and moves, from many starts.

The binary metric alone: benefits of a topic grow while its followers come closer to what they need,
so the greedy selection is one of many that are worth a look.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fanwise.arrays.deadlines import Flag
from fanwise.arrays.tolerance import least_enough
from fanwise.arrays.tournament import empty_tree
from fanwise.select.exchanging.move_kernels import (
    NUM_RULES,
    Dice,
    Log,
    fill,
    make_moves,
    peel,
)
from fanwise.select.exchanging.standing_kernels import (
    USED,
    VALUE,
    WORK,
    Field,
    Powers,
    Standing,
    take_stock,
)
from fanwise.select.problem import Selection, Served

NUM_DRAWN = 1 << 14


def field_of(problem: Selection) -> Field:
    """Return what moves need to know of a problem."""
    workload = problem.workload
    by_cost = np.argsort(problem.cost, kind="stable").astype(np.int32)
    place = np.empty_like(by_cost)
    place[by_cost] = np.arange(len(by_cost), dtype=np.int32)
    return Field(
        *workload.followers,
        *workload.interests,
        workload.rates,
        problem.cost,
        least_enough(problem.demand),
        problem.case.weight,
        place,
        by_cost,
        problem.cost[by_cost],
        ~(problem.case.served | problem.case.dropped),
    )


def churn(problem: Selection) -> float:
    """Return the steps that serving or dropping every topic once takes."""
    degree = np.diff(problem.workload.interests.indptr)[problem.case.weight > 0].astype(np.float64)
    return float(np.dot(degree, degree))


class Walker:
    """A selection on the move, and the best that it has been.

    Attributes
    ----------
    best, best_value
        The best selection so far, and its value as far as sums are exact.
    counts
        By rule of :mod:`fanwise.select.exchanging.move_kernels`: moves made, kept, and improving.
    """

    def __init__(self, problem: Selection, field: Field, random: np.random.Generator) -> None:
        topics, subscribers = len(field.cost), len(field.need)
        self._problem, self._field, self._random = problem, field, random
        self._standing = Standing(
            np.zeros(subscribers),
            problem.is_pinned.copy(),
            np.zeros(topics),
            empty_tree(topics),
            empty_tree(topics),
            np.zeros(topics, dtype=np.int32),
            np.zeros(topics, dtype=np.bool_),
            np.zeros(3),
        )
        self._log = Log(
            np.zeros(4 * topics + 1000, dtype=np.int32),
            np.zeros(topics, dtype=np.bool_),
            np.zeros(topics, dtype=np.int32),
            np.zeros(2, dtype=np.int64),
        )
        self.best: Served = problem.is_pinned.copy()
        self.best_value = -np.inf
        self.counts = np.zeros((NUM_RULES, 3), dtype=np.int64)

    @property
    def work(self) -> float:
        """Steps taken so far."""
        return float(self._standing.totals[WORK])

    def fill_from(self, served: Served, powers: Powers, *, is_late: Flag) -> None:
        """Go on from a selection by benefit per cost."""
        self._stand_at(served, powers)
        self._make_fit(fill, powers, is_late)

    def peel_from(self, served: Served, powers: Powers, *, is_late: Flag) -> None:
        """Drop from a selection what is lost least until it fits, then fill."""
        self._stand_at(served, powers)
        self._make_fit(peel, powers, is_late)
        self._make_fit(fill, powers, is_late)

    def go_to(self, served: Served, powers: Powers) -> None:
        """Stand at a selection that fits, and forget all better ones."""
        self.best_value = -np.inf
        self._stand_at(served, powers)
        self._remember()

    def move(
        self, powers: Powers, *, allowed: float, largest: float, work: float, is_late: Flag
    ) -> None:
        """Make moves for so many steps from where it stands."""
        take_stock(self._field, self._standing, powers)
        self.best_value = make_moves(
            self._field,
            self._standing,
            self.best,
            self.best_value,
            self._problem.limit,
            powers,
            allowed,
            largest,
            work,
            *self._tools(),
            self.counts,
            is_late,
        )

    def _make_fit(self, step: Callable[..., None], powers: Powers, is_late: Flag) -> None:
        """Peel or fill without chance, for good."""
        limit = self._problem.limit
        step(self._field, self._standing, limit, powers, 0.0, *self._tools(), is_late)
        self._log.is_odd[:] = False
        self._log.many[:] = 0
        self._remember()

    def _stand_at(self, served: Served, powers: Powers) -> None:
        self._standing.served[:] = served
        take_stock(self._field, self._standing, powers)

    def _remember(self) -> None:
        totals = self._standing.totals
        if totals[USED] <= self._problem.most and totals[VALUE] > self.best_value:
            self.best_value = float(totals[VALUE])
            self.best[:] = self._standing.served

    def _tools(self) -> tuple[Dice, Log]:
        numbers = self._random.random(NUM_DRAWN)
        return Dice(numbers, np.zeros(1, dtype=np.int64)), self._log
