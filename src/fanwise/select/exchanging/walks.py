"""The walks of a search: where they start, how they go on, and when that is worth it.

Two walks go on at once, whatever the number of cores, each with random numbers of its own: the same
seed gives the same selections after the same work. They start from the best of what filling by
several powers and peeling give, and take turns at settings of the moves, as no setting is best
everywhere. Worse selections are allowed by less and less.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from fanwise.arrays.deadlines import raised_after
from fanwise.arrays.threads import in_threads
from fanwise.select.exchanging.exchange import Walker, churn, field_of
from fanwise.select.exchanging.standing_kernels import Powers
from fanwise.select.problem import Served
from fanwise.select.search import LEAST_PAIRS, SelectionSearch

Job = Callable[..., None]

NUM_WALKS = 2
FILLS = tuple(Powers(power, 0.0) for power in (1.5, 2.0, 3.0, 4.0))
"""How benefits count when filling from nothing; with the power 1 that is ``greedy``."""
PEELS = tuple(Powers(2.0, power) for power in (0.0, 1.0, 4.0))
"""How slack counts when peeling, and benefits when filling what is left."""
SWEEPS_PER_STEP = 0.4
"""What a step of a walk takes in visits of a pair by a sweep, two walks going on at once."""
TURN = 2e7
"""Steps of a walk between two looks at the clock."""
LEAST_TURN = 2e6
FAR = 0.02
"""A walk whose best is worse than the best of all by this share goes on from there,"""
RETURNS = 12
"""as every walk does after so many turns."""


STOCK_SWEEPS = 6.0
"""What it takes to begin at a selection."""


class Setting(NamedTuple):
    """How moves of a turn are made: powers, the largest share given back, what may be lost."""

    powers: Powers
    largest: float
    allowed: float


SETTINGS = (
    Setting(Powers(4.0, 0.0), 0.1, 0.005),
    Setting(Powers(4.0, 0.0), 0.02, 0.0),
    Setting(Powers(3.0, 0.0), 0.03, 0.002),
    Setting(Powers(8.0, 0.0), 0.1, 0.0),
    Setting(Powers(2.0, 0.0), 0.05, 0.005),
)


class Walks:
    """Walks that improve a search's best selection."""

    def __init__(self, search: SelectionSearch) -> None:
        problem = search.problem
        field = field_of(problem)
        seeds = np.random.SeedSequence(search.run.seed).spawn(NUM_WALKS)
        self._search, self._problem = search, problem
        self._walkers = [Walker(problem, field, np.random.default_rng(seed)) for seed in seeds]
        self._sweeps_per_step = SWEEPS_PER_STEP / max(problem.num_pairs, LEAST_PAIRS)
        self._turn = 0

    def start(self) -> None:
        """Fill from nothing and peel from everything, as far as there is time."""
        nothing, everything = self._problem.is_pinned, ~self._problem.case.dropped
        jobs: list[Job] = [partial(Walker.fill_from, served=nothing, powers=p) for p in FILLS]
        jobs += [partial(Walker.peel_from, served=everything, powers=q) for q in PEELS]
        likely = 2 * NUM_WALKS * churn(self._problem) * self._sweeps_per_step
        for first in range(0, len(jobs), NUM_WALKS):
            if self._search.is_over() or not self._search.would_fit(likely):
                return
            self._work(jobs[first : first + NUM_WALKS])

    def round_to(self, likely: Served) -> None:
        """Go on from topics that the relaxation serves, which must fit."""
        if not self._search.would_fit(STOCK_SWEEPS):
            return
        powers = (Powers(2.0, 0.0), Powers(4.0, 0.0))
        self._work([partial(Walker.fill_from, served=likely, powers=p) for p in powers])

    def go_on(self, sweeps: float) -> None:
        """Make moves for so many sweeps, from the best selection there is or near it."""
        end = self._search.work + sweeps
        while self._search.work < end and not self._search.is_over():
            left = (end - self._search.work) / self._sweeps_per_step / NUM_WALKS
            steps = min(max(left, LEAST_TURN), TURN)
            if not self._search.would_fit(NUM_WALKS * steps * self._sweeps_per_step):
                return
            self._turn += 1
            jobs: list[Job] = []
            for index, walker in enumerate(self._walkers):
                powers, largest, allowed = SETTINGS[(self._turn + 2 * index) % len(SETTINGS)]
                is_behind = walker.best_value < self._search.value * (1 - FAR)
                if is_behind or (self._turn + index) % RETURNS == 0:
                    walker.go_to(self._search.answer, powers)
                allowed *= 1.0 - self._search.share_used()
                jobs.append(
                    partial(
                        Walker.move, powers=powers, largest=largest, allowed=allowed, work=steps
                    )
                )
            self._work(jobs)

    def _work(self, jobs: Sequence[Job]) -> None:
        """Let each walker do a job, and offer where they got."""
        before = sum(walker.work for walker in self._walkers)
        begun = time.perf_counter()
        with raised_after(self._search.run.time_left()) as is_late:
            pairs = zip(self._walkers, jobs, strict=False)
            in_threads(lambda pair: pair[1](pair[0], is_late=is_late), pairs)
        steps = sum(walker.work for walker in self._walkers) - before
        self._search.count_as(steps * self._sweeps_per_step, time.perf_counter() - begun)
        for walker in self._walkers:
            if walker.best_value > self._search.value:
                self._search.consider(walker.best.copy())
