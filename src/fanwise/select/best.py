"""The best selection we know how to make, with the tightest bound we know how to prove.

It starts from ``greedy`` and is never worse. Rounds alternate between the two sides of the gap: the
relaxation, under inequalities fitted to a good selection and then to the relaxation itself (see
:mod:`fanwise.select.relaxing.covers` and :mod:`fanwise.select.relaxing.gain_cuts`), lowers the
bound and points to topics; rounding, greedy completion and dropping what earns least turn them into
better selections. Small instances go to HiGHS at once, middling ones with what is left of the gap
when rounds change nothing. It stops at the target gap, at the time limit, or when there is nothing
left to try.
"""

from __future__ import annotations

from dataclasses import replace

from fanwise.planning.plan import certified_gap
from fanwise.planning.problem import Outcome, Run
from fanwise.progress import Step
from fanwise.select.bounds import quick_bound, whole
from fanwise.select.exact import solve_milp
from fanwise.select.greedy import greedy, served_by
from fanwise.select.improve import Served, drop_and_refill, round_shares
from fanwise.select.problem import Selection
from fanwise.select.relaxing.relaxation import Relaxation
from fanwise.select.relaxing.tightening import fit_to, plain_relaxation, tighten
from fanwise.select.stability import stable
from fanwise.select.stability.changes import nearest

DEFAULT_TIME_LIMIT = 60.0
DEFAULT_GAP = 1e-4
FIRST_ITERATIONS, ITERATIONS, STEPS = 20, 10, 3
DROPS = (0.1, 0.03, 0.01)
"""Shares of the capacity given back and spent anew, large steps first."""
THRESHOLDS = (0.5, 0.9)
WORTHWHILE = 1e-4
"""A step is repeated while it gains this much."""
PATIENCE = 3
"""Rounds without progress on either side before it stops."""
SMALL_PAIRS, MIDDLING_PAIRS = 20_000, 40_000
"""Instances that HiGHS is asked about first, and last."""


class Search:
    """The best selection and bound so far, and when to stop."""

    def __init__(self, problem: Selection, run: Run, step: Step) -> None:
        self.problem = problem
        self.run = run
        self._step = step
        self.served: Served = served_by(problem, greedy(problem))
        self.value = problem.value(self.served)
        self.bound = quick_bound(problem)
        self.is_interrupted = False
        self._limit = DEFAULT_TIME_LIMIT if run.time_limit is None else run.time_limit
        self.gap = DEFAULT_GAP if run.gap is None else run.gap
        self._show()

    def offer(self, served: Served) -> bool:
        """Take a selection if it is better."""
        value = self.problem.value(served)
        if value <= self.value or not self.problem.admits(served):
            return False
        self.served, self.value = served, value
        self._show()
        return True

    def prove(self, bound: float) -> bool:
        """Take a bound if it is better; say whether it is by more than a hair."""
        bound = whole(self.problem, bound)
        if bound >= self.bound:
            return False
        is_progress = self.bound - bound > 1e-5 * self.bound
        self.bound = max(bound, self.value)
        self._show()
        return is_progress

    def is_over(self) -> bool:
        """Whether the gap is closed or the time is up."""
        gap = certified_gap(self.value, self.bound, is_feasible=True) or 0.0
        return gap <= self.gap or self.run.elapsed() >= self._limit

    def time_left(self) -> float:
        return max(0.0, self._limit - self.run.elapsed())

    def _show(self) -> None:
        gap = certified_gap(self.value, self.bound, is_feasible=True) or 0.0
        self._step.note(f"value {self.value:,.6g}  bound {self.bound:,.6g}  gap {100 * gap:.3f}%")


def solve(problem: Selection, run: Run) -> Outcome:
    """Improve selection and bound until they meet, or time is up."""
    if problem.weighs_changes:
        return _solve_stable(problem, run)
    search = _search_for(problem, run, "best selection")
    return Outcome(
        {"topics": problem.table(search.served)},
        bound=search.bound,
        is_interrupted=search.is_interrupted,
    )


def _solve_stable(problem: Selection, run: Run) -> Outcome:
    """Find the best free plan in half the time, and in the other half one with few changes."""
    nearest(problem)  # raises if there is none
    limit = DEFAULT_TIME_LIMIT if run.time_limit is None else run.time_limit
    half = replace(run, time_limit=limit / 2)
    search = _search_for(problem.freed(), half, "best selection, free to change")
    return stable.solve_near(
        problem,
        replace(run, time_limit=limit),
        search.served,
        free_bound=search.bound,
        is_interrupted=search.is_interrupted,
    )


def _search_for(problem: Selection, run: Run, title: str) -> Search:
    with run.progress.step(title) as step:
        search = Search(problem, run, step)
        try:
            _search(search)
        except KeyboardInterrupt:
            search.is_interrupted = True
    return search


def _search(search: Search) -> None:
    problem = search.problem
    if search.is_over():
        return
    is_small = problem.workload.num_pairs <= SMALL_PAIRS
    if is_small:
        _ask_solver(search, search.time_left() / 2, gap=0.0)
        if search.is_over():
            return
    relaxation = plain_relaxation(problem)
    relaxation.iterate(FIRST_ITERATIONS)
    search.prove(relaxation.bound())
    if problem.metric == "binary":
        search.offer(drop_and_refill(problem, search.served, DROPS[0]))
        fit_to(relaxation, search.served)
        relaxation.iterate(FIRST_ITERATIONS)
        search.prove(relaxation.bound())
    idle = 0
    while not search.is_over() and idle < PATIENCE:
        progress = _round(search, relaxation)
        idle = 0 if progress else idle + 1
    if not search.is_over() and not is_small and problem.workload.num_pairs <= MIDDLING_PAIRS:
        _ask_solver(search, search.time_left(), search.gap)


def _ask_solver(search: Search, seconds: float, gap: float) -> None:
    answer = solve_milp(search.problem, start=search.served, time_limit=seconds, gap=gap)
    if answer.served is not None:
        search.offer(answer.served)
    if answer.bound is not None:
        search.prove(answer.bound)


def _round(search: Search, relaxation: Relaxation) -> bool:
    """Lower the bound, then raise the value; say whether either moved."""
    problem = search.problem
    progress = False
    for _ in range(STEPS):
        tighten(relaxation)
        relaxation.iterate(ITERATIONS)
        progress |= search.prove(relaxation.bound())
        if search.is_over():
            return progress
    for threshold in THRESHOLDS:
        progress |= search.offer(round_shares(problem, relaxation, threshold))
        if search.is_over():
            return progress
    for share in DROPS:
        before = 0.0
        while search.value > before * (1 + WORTHWHILE) and not search.is_over():
            before = search.value
            progress |= search.offer(drop_and_refill(problem, search.served, share))
    return progress
