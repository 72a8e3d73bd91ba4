"""The next plan after rates or subscriptions changed, with few switches.

Two forms of one question: at most K topics switched on or off against the previous plan, or every
switch must gain a price P, one for all topics or one of its own topic. Both become a surcharge on
what a topic costs (see :mod:`fanwise.select.stability.switching`). A limit is met by bisection on
the surcharge; dropping the topics that earn least and filling up again improves the rest.

The bound is that of the linear relaxation with the price of a change as one more multiplier: for
every price p >= 0, the optimum with at most K changes is at most the optimum of (value - p x
changes) plus p x K (see :class:`fanwise.select.relaxing.relaxation.Relaxation`).

Guarantee
    Never worse than the plan with the fewest changes that is possible, or than a plan given to
    start from that keeps the limit. Up to QUICK_PAIRS pairs all surcharges are tried whatever the
    time limit; above, as many as there is time for.

Complexity
    BISECTIONS or len(SPREAD) greedy runs; then at most MAX_ROUNDS x 2 len(DROPS) greedy
    completions, and MAX_PRICE_STEPS x 2 ITERATIONS iterations of the relaxation with a completion
    after each step, within the work that :mod:`fanwise.select.search` allows.

References
----------
    Bounds by a multiplier on a constraint: A. M. Geoffrion: Lagrangean relaxation for integer
    programming. Mathematical Programming Study 2, 1974.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fanwise.planning.problem import Bound, Outcome, Run
from fanwise.progress import Step
from fanwise.select.improve import drop_worst
from fanwise.select.problem import Selection, Served
from fanwise.select.proving import branching
from fanwise.select.relaxing.relaxation import Relaxation
from fanwise.select.relaxing.tightening import fit_to, plain_relaxation, tighten
from fanwise.select.search import (
    COMPLETION_SWEEPS,
    FITTING_SWEEPS,
    QUICK_PAIRS,
    TINY_PAIRS,
    SelectionSearch,
    target_gap,
)
from fanwise.select.stability.comparison import compare_with_free, prefix_of
from fanwise.select.stability.nearest import nearest
from fanwise.select.stability.switching import Switching

BISECTIONS = 8
SPREAD = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Surcharges tried around the price of a change, which capacity's price makes uncertain."""
DROPS = (0.3, 0.1, 0.03, 0.01)
"""Shares of the capacity given back and spent anew, large steps first."""
MAX_ROUNDS = 12
ITERATIONS, MAX_PRICE_STEPS = 10, 40
LEAST_PRICE, MIN_FACTOR = 1e-3, 1.02
"""The price of a change moves by a factor that shrinks from two to this."""
SMALL_PAIRS = 20_000
"""Instances that HiGHS is asked about."""
SWITCHING_SWEEPS = 2 * COMPLETION_SWEEPS + 4
"""A completion under a surcharge, what is taken back of it, and what is spent."""


def solve_near(
    problem: Selection,
    run: Run,
    starts: Sequence[Served],
    *,
    free_bound: Bound | None = None,
    is_thorough: bool = True,
    is_interrupted: bool = False,
) -> Outcome:
    """Answer with few changes, given plans that are free to change.

    Parameters
    ----------
    starts
        Plans that are free to change, the best one first: that is the one to compare with.
    free_bound
        A proven bound on any plan; None leaves it to the problem.
    is_thorough
        Whether to improve the plan and prove a bound of its own.
    is_interrupted
        Take what is nearest to the free plan and stop.
    """
    bound = problem.freed().proven if free_bound is None else free_bound
    with run.progress.step("few changes") as step:
        search = ChangeSearch(problem, run if is_thorough else run.part(1.0), step)
        search.consider(nearest(problem))
        if problem.change_price is None:
            search.accept(bound)  # fewer changes never reach more
        with search.until_interrupted():
            for start in starts:
                search.consider(start)
            if not is_interrupted:
                search.find()
                if is_thorough:
                    search.improve_and_prove()
    search.is_interrupted |= is_interrupted
    search.is_settled = not is_thorough
    search.close(prefix_of(search))
    return compare_with_free(search, starts[0], bound)


class ChangeSearch(SelectionSearch):
    """A search for selections that weigh changes.

    Attributes
    ----------
    surcharge
        What a change costs more, in units of cost, where greedy selection did best.
    """

    def __init__(self, problem: Selection, run: Run, step: Step) -> None:
        super().__init__(problem, run, step, target_gap(problem, run))
        self.surcharge = 0.0
        self._switching = Switching(problem)

    def find(self) -> None:
        """Look for a good admitted selection by greedy runs under surcharges."""
        self.consider(self._switching.finish(self.answer, 0.0))
        if self.problem.max_changes is None:
            self._find_around_price()
        else:
            self._find_by_bisection(self.problem.max_changes)

    def improve_and_prove(self) -> None:
        """Make the plan better and bound it, small instances by searching through all of them."""
        pairs, prefix = self.problem.num_pairs, prefix_of(self)
        if pairs <= TINY_PAIRS and self.search_through(prefix):
            return
        self._improve()
        if pairs <= SMALL_PAIRS and not self.run.is_over():
            self.ask_solver(gap=self.target, share=0.5)
            if pairs <= branching.MAX_PAIRS and self.search_through(prefix):
                return
        self._prove()

    def _find_around_price(self) -> None:
        problem = self.problem
        # A unit of capacity is worth about what the average unit earns.
        worth = max(problem.value(self.answer), 1.0) / problem.limit if problem.limit else 1.0
        for factor in SPREAD:
            if not self._may_try():
                return
            self._try(factor * problem.price_level / worth)

    def _find_by_bisection(self, max_changes: int) -> None:
        """Find the least surcharge at which greedy makes few enough changes, on a log scale."""
        problem = self.problem
        high = float(problem.cost.max(initial=1.0))
        low = 1e-6 * high
        for _ in range(BISECTIONS):
            if not self._may_try():
                return
            surcharge = float(np.sqrt(low * high))
            if problem.num_changes(self._try(surcharge)) > max_changes:
                low = surcharge
            else:
                high = surcharge

    def _may_try(self) -> bool:
        return self.problem.num_pairs <= QUICK_PAIRS or self.has_time_for(SWITCHING_SWEEPS)

    def _try(self, surcharge: float) -> Served:
        """Consider a greedy run under a surcharge; return it before changes are taken back."""
        with self.spending(SWITCHING_SWEEPS):
            served = self._switching.complete(self.problem.is_pinned, surcharge)
            is_better = self.consider(self._switching.finish(served, surcharge))
        if is_better or not self.surcharge:
            self.surcharge = surcharge
        return served

    def _improve(self) -> None:
        """Drop topics that earn least and fill up again, as long as that helps."""
        for _ in range(MAX_ROUNDS):
            before = self.value
            for share in DROPS:
                if self.is_over() or not self.has_time_for(2 * SWITCHING_SWEEPS):
                    return
                with self.spending(2 * SWITCHING_SWEEPS):
                    for surcharge in (self.surcharge, 0.0):
                        self._refill(share, surcharge)
            if self.value <= before:
                return

    def _refill(self, share: float, surcharge: float) -> None:
        price = self._switching.prices(self.surcharge)
        kept = drop_worst(self.problem, self.answer, share, price)
        served = self._switching.complete(kept, surcharge)
        self.consider(self._switching.finish(served, surcharge))

    def _prove(self) -> None:
        """Lower a bound on the net value by prices of subscribers, capacity and changes.

        The multiplier of a limit on changes is moved towards the one at which the relaxation makes
        as many changes as are allowed; every value of it proves a bound. What the relaxation
        serves, taken whole, is considered as a selection on the way.
        """
        max_changes = self.problem.max_changes
        if not self.has_time_for(2 * FITTING_SWEEPS):
            return
        with self.spending(FITTING_SWEEPS):
            self.relaxation = relaxation = plain_relaxation(self.problem)
        self.iterate(relaxation, 2 * ITERATIONS)
        with self.spending(FITTING_SWEEPS):
            fit_to(relaxation, self.answer)
        if max_changes is not None:
            relaxation.change_price = self.surcharge * relaxation.capacity_price
        for step in range(MAX_PRICE_STEPS):
            if max_changes is not None:
                _move_price(relaxation, max_changes, factor=max(MIN_FACTOR, 2.0 ** (0.5**step)))
            self.iterate(relaxation, 2 * ITERATIONS)
            self.prove_by_prices(relaxation)
            if not self.has_time_for(SWITCHING_SWEEPS + FITTING_SWEEPS):
                return
            with self.spending(SWITCHING_SWEEPS):
                self.consider(self._round(relaxation))
            if self.is_over():
                return
            with self.spending(FITTING_SWEEPS):
                tighten(relaxation)

    def _round(self, relaxation: Relaxation) -> Served:
        """Serve what the relaxation mostly serves, as far as it fits, and finish that."""
        problem = self.problem
        is_free = ~problem.is_pinned & ~problem.is_excluded
        likely = np.flatnonzero((relaxation.shares >= 0.5) & is_free)
        order = likely[np.argsort(-relaxation.reduced_profit()[likely], kind="stable")]
        room = problem.limit - float(problem.cost[problem.is_pinned].sum())
        served = problem.is_pinned.copy()
        served[order[np.cumsum(problem.cost[order]) <= room]] = True
        served = self._switching.complete(served, self.surcharge)
        return self._switching.finish(served, self.surcharge)


def _move_price(relaxation: Relaxation, allowed: int, factor: float) -> None:
    """Make changes dearer where the relaxation makes too many, else cheaper."""
    if relaxation.num_changes() > allowed:
        relaxation.change_price = max(relaxation.change_price * factor, LEAST_PRICE)
    else:
        relaxation.change_price /= factor
