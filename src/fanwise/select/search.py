"""The best selection and bound so far, when to stop, and who else is asked.

Work is counted in *sweeps*: a sweep visits every pair twice, once by subscriber and once by topic,
as an iteration of the relaxation does. The other steps are counted as the sweeps that take about as
long. By default searches stop after so much work, or after some of it without progress; the same
seed then gives the same plan on any machine. A limit in seconds, where somebody gives one, is kept
by measuring what a sweep takes and not beginning what would not end in time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from fanwise.planning.plan import certified_gap
from fanwise.planning.problem import Bound, Outcome, Run
from fanwise.planning.search import Search
from fanwise.planning.stopping import Standing, limits_of
from fanwise.progress import Step
from fanwise.select.milp import MilpAnswer, solve_milp
from fanwise.select.problem import Selection, Served
from fanwise.select.proving import branching
from fanwise.select.proving.certificate import certify, rest_on_solver, smaller
from fanwise.select.relaxing.relaxation import Relaxation
from fanwise.select.rounding import claimed, rounded_down

NO_GAP = 1e-8
"""Gaps below this are none: thresholds and sums are as blurred."""
DEFAULT_GAP = 1e-4
TINY_PAIRS = 150
"""Up to so many pairs all selections are searched, so that no gap need be left."""
TINY_SECONDS = 0.7
"""What that may take even where less time was given."""
QUICK_PAIRS = 200_000
"""Up to so many pairs every heuristic and the certificate together take less than a second."""

MOST_WORK = 6e9
"""Sweeps x pairs in all: about a minute on two cores."""
LEAST_PAIRS = 100_000
"""Sweeps over fewer pairs hardly get faster: more of them are not allowed."""
MOST_SWEEPS = 6000.0
"""As many sweeps are enough for questions that are swept fast."""
IDLE_SWEEPS = 340.0
"""Four rounds of ``best``: at least three whole ones without progress."""
IDLE_SHARE = 0.15
"""Of all work: where that is more."""
WIDE_GAP = 0.01
"""Above this gap whatever time was given is used, with or without progress."""
SOLVER_WORK = 4e7
"""Nodes x pairs that HiGHS may look at in a run: about half a minute."""

GREEDY_SWEEPS, COMPLETION_SWEEPS, BASELINE_SWEEPS = 15.0, 6.0, 1.0
"""A greedy run from nothing, one that goes on from a selection, topics in a fixed order."""
FITTING_SWEEPS = 8.0
"""Inequalities made anew, or fitted to what the relaxation says."""
CERTIFICATE_SWEEPS = 16.0
"""The bound's certificate, and measuring the plan."""


def target_gap(problem: Selection, run: Run) -> float:
    """Return the gap at which a search may stop: the one asked for, or the default."""
    if run.gap is not None:
        return run.gap
    return 0.0 if problem.num_pairs <= TINY_PAIRS else DEFAULT_GAP


def most_sweeps(problem: Selection) -> float:
    """Return how much work a search may do in all."""
    return min(MOST_WORK / max(problem.num_pairs, LEAST_PAIRS), MOST_SWEEPS)


def most_idle(problem: Selection) -> float:
    """Return how much work a search may do without progress."""
    return max(IDLE_SWEEPS, IDLE_SHARE * most_sweeps(problem))


class SelectionSearch(Search[Served]):
    """A search for selections.

    What is maximised is the objective, less the price of changes where they have one.

    Attributes
    ----------
    problem
        The question.
    target
        The gap that is good enough.
    certified
        The best bound with a certificate that is there already.
    relaxation
        The relaxation whose best bound will get a certificate in the end, once there is one.
    solver_bound
        The word of HiGHS, which nobody can check.
    """

    def __init__(
        self, problem: Selection, run: Run, step: Step, gap: float, *, ends_by_work: bool = True
    ) -> None:
        """Begin without a selection.

        Parameters
        ----------
        gap
            The target.
        ends_by_work
            Whether work is limited.
        """
        work, idle = None, None
        if ends_by_work:
            work = most_sweeps(problem) if run.time_limit is None else None
            idle = most_idle(problem)
        super().__init__(run, step, "max", limits_of(run, gap=gap, work=work, idle=idle))
        self.problem, self.target = problem, gap
        self._ends_by_work = ends_by_work
        self.certified: Bound | None = None
        self.relaxation: Relaxation | None = None
        self.solver_bound: float | None = None
        self._is_quick = problem.num_pairs <= QUICK_PAIRS
        self._is_late = False
        self._seconds = self._sweeps = 0.0

    @property
    def gap(self) -> float | None:
        """Certified gap of the best selection, but for rounding."""
        found = super().gap
        return found if found is None or found > NO_GAP else 0.0

    @property
    def is_close_enough(self) -> bool:
        """Whether the target is reached."""
        return self.gap is not None and self.gap <= self.target

    @property
    def is_best_known(self) -> bool:
        """Whether HiGHS says that no selection is better: only the proof is left to find."""
        if self.solver_bound is None:
            return self.is_close_enough
        bound = max(rounded_down(self.problem, self.solver_bound), self.value)
        gap = certified_gap(self.value, bound, is_feasible=True)
        return gap is not None and gap <= max(self.target, NO_GAP)

    def consider(self, served: Served) -> bool:
        """Take a selection if it keeps every limit and is better; say whether it is."""
        return self.problem.admits(served) and self.offer(served, self.problem.net_value(served))

    def accept(self, bound: Bound) -> None:
        """Take a bound with its certificate if it is tighter."""
        self.certified = bound if self.certified is None else smaller(self.certified, bound)
        self.prove(bound)

    def prove_by_prices(self, relaxation: Relaxation) -> bool:
        """Take what the prices of a relaxation prove; say whether that is progress."""
        return self.prove(Bound(rounded_down(self.problem, relaxation.bound())))

    @contextmanager
    def spending(self, sweeps: float) -> Iterator[None]:
        """Count what a block does as so many sweeps, and learn how long they take."""
        begun = time.perf_counter()
        yield
        self.count_as(sweeps, time.perf_counter() - begun)

    def count_as(self, sweeps: float, seconds: float) -> None:
        """Count what took so long as so many sweeps."""
        self._seconds += seconds
        self._sweeps += sweeps
        self.spend(sweeps)

    def iterate(self, relaxation: Relaxation, count: int) -> None:
        """Improve prices and shares by some iterations, as far as there is time."""
        for _ in range(count):
            if not self.has_time_for(1):
                return
            with self.spending(1):
                relaxation.iterate(1)

    def has_time_for(self, sweeps: float) -> bool:
        """Whether so many sweeps are expected to end in time; where they are not, it is over.

        Without a time limit there is time for everything.
        """
        self._is_late |= self.run.time_left() <= self._reserved + self._seconds_for(sweeps)
        return not self._is_late

    def would_fit(self, sweeps: float) -> bool:
        """Whether so many sweeps would end in time; where not, others may."""
        return self.run.time_left() > self._reserved + self._seconds_for(sweeps)

    @property
    def _reserved(self) -> float:
        """Seconds kept for the certificate of the bound."""
        return 0.0 if self._is_quick else self._seconds_for(CERTIFICATE_SWEEPS)

    def _seconds_for(self, sweeps: float) -> float:
        return sweeps * self._seconds / self._sweeps if self._sweeps else 0.0

    @property
    def standing(self) -> Standing:
        """How far the search has come; time that is reserved or of no use counts as spent."""
        standing = super().standing
        seconds = math.inf if self._is_late else standing.seconds + self._reserved
        has_wide_gap = standing.gap is None or standing.gap > WIDE_GAP
        is_patient = self.run.time_limit is not None and has_wide_gap
        return replace(standing, seconds=seconds, idle=0.0 if is_patient else standing.idle)

    def search_through(self, prefix: str = "") -> bool:
        """Search through all selections, as :mod:`fanwise.select.proving.branching` does.

        Returns False if there are too many of them, or time is over.

        Parameters
        ----------
        prefix
            What the names of the proof's tables begin with.
        """
        least = TINY_SECONDS if self.problem.num_pairs <= TINY_PAIRS else 0.0
        found = branching.branch(
            self.problem,
            self.answer,
            gap=self.target,
            prefix=prefix,
            is_late=lambda: self.run.is_over() and self.run.elapsed() >= least,
        )
        self.consider(found.served)
        if found.bound is not None:
            self.accept(found.bound)
        return found.bound is not None

    def ask_solver(self, *, gap: float, share: float = 1.0) -> MilpAnswer:
        """Hand the question to HiGHS, with the best selection to start from.

        Parameters
        ----------
        gap
            What HiGHS need not close.
        share
            How much of the time that is left it may take.
        """
        seconds = share * self.run.time_left()
        has_clock = math.isfinite(seconds)
        max_nodes = None
        if self._ends_by_work and not has_clock:
            max_nodes = max(1, int(SOLVER_WORK / max(1, self.problem.num_pairs)))
            self.run.default_limits(nodes=max_nodes)
        answer = solve_milp(
            self.problem,
            start=self.answer,
            time_limit=seconds if has_clock else None,
            max_nodes=max_nodes,
            gap=gap,
        )
        if answer.served is not None:
            self.consider(answer.served)
        if self.problem.change_price is None:
            self.solver_bound = answer.bound
        if answer.is_interrupted:
            raise KeyboardInterrupt
        return answer

    def close(self, prefix: str = "") -> Bound | None:
        """Return the bound to claim, and take it for the search's own.

        It has a certificate, unless only HiGHS closes the gap.

        Parameters
        ----------
        prefix
            What the names of the proof's tables begin with.
        """
        proven = self.certified
        if self.relaxation is not None and self.relaxation.hints is not None:
            priced = certify(self.problem, self.relaxation.hints, prefix)
            proven = priced if proven is None else smaller(proven, priced)
        self.bound = proven
        if proven is not None and self.solver_bound is not None and not self.is_close_enough:
            bound = claimed(self.problem, self.solver_bound)
            self.bound = rest_on_solver(proven, bound) if bound < proven.value else proven
        return self.bound

    def selection(self) -> Outcome:
        """Return the best selection with the bound that was closed with."""
        bound = self.bound
        if bound is not None:
            bound = Bound(max(bound.value, self.value), bound.proof)
        return self.outcome({"topics": self.problem.table(self.answer)}, bound)
