"""The best selection we know how to make, with the tightest bound we know how to prove.

It starts from what every other heuristic here makes, ``greedy`` and the baselines, whatever the
time limit, and is never worse; the smallest instances are searched through. Rounds alternate
between the two sides of the gap: the relaxation, under inequalities fitted to a good selection and
then to the relaxation itself (see :mod:`fanwise.select.relaxing.covers` and
:mod:`fanwise.select.relaxing.gain_cuts`), lowers the bound and points to topics; rounding, greedy
completion and dropping what earns least turn them into better selections. Small instances go to
HiGHS at once, middling ones with what is left of the gap when rounds change nothing. It stops at
the target gap, at the time limit, or when there is nothing left to try.
"""

from __future__ import annotations

from dataclasses import replace

from fanwise.planning.plan import certified_gap
from fanwise.planning.problem import Bound, Outcome, Run
from fanwise.progress import Step
from fanwise.select.bounds import quick_proof
from fanwise.select.greedy import greedy, served_by
from fanwise.select.improve import Served, drop_and_refill, round_shares
from fanwise.select.milp import solve_milp
from fanwise.select.orders import baselines
from fanwise.select.problem import Selection
from fanwise.select.proving import branching
from fanwise.select.proving.certificate import certify, claimed, rest_on_solver, smaller
from fanwise.select.relaxing.relaxation import Relaxation
from fanwise.select.relaxing.tightening import fit_to, plain_relaxation, tighten
from fanwise.select.stability import stable
from fanwise.select.stability.changes import nearest
from fanwise.select.stopping import TINY_PAIRS, is_reached, target_gap, why_stopped
from fanwise.select.whole import whole

DEFAULT_TIME_LIMIT = 60.0
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
    """The best selection and bound so far, and when to stop.

    Attributes
    ----------
    bound
        The best bound that has, or will have, a certificate.
    solver_bound
        The word of HiGHS.
    """

    def __init__(self, problem: Selection, run: Run, step: Step) -> None:
        self.problem = problem
        self.run = run
        self._step = step
        self.greedy: Served = served_by(problem, greedy(problem))
        self.served: Served = self.greedy
        self.value = problem.value(self.served)
        self._proven = quick_proof(problem)
        self.bound = self._proven.value
        self.solver_bound: float | None = None
        self.relaxation: Relaxation | None = None
        self.is_interrupted = False
        self._limit = DEFAULT_TIME_LIMIT if run.time_limit is None else run.time_limit
        self.gap = target_gap(problem, run)
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
        """Take a bound of the relaxation if it is better; say whether it is by more than a hair."""
        bound = whole(self.problem, bound)
        if bound >= self.bound:
            return False
        is_progress = self.bound - bound > 1e-5 * self.bound
        self.bound = max(bound, self.value)
        self._show()
        return is_progress

    def accept(self, proven: Bound) -> None:
        """Take a bound with its certificate if it is better."""
        self._proven = smaller(self._proven, proven)
        self.bound = max(min(self.bound, self._proven.value), self.value)
        self._show()

    def is_over(self) -> bool:
        """Whether the gap is closed or the time is up."""
        return self._gap(self.bound) <= self.gap or self.is_late()

    def is_late(self) -> bool:
        return self.run.elapsed() >= self._limit

    @property
    def is_best_known(self) -> bool:
        """Whether HiGHS says that no selection is better: only the proof is left to find."""
        bound = self.bound if self.solver_bound is None else self.solver_bound
        return self._gap(whole(self.problem, bound)) <= self.gap

    def time_left(self) -> float:
        return max(0.0, self._limit - self.run.elapsed())

    def final_bound(self) -> Bound:
        """Return the bound to claim: one with a certificate, unless only HiGHS closes the gap."""
        proven = self._proven
        if self.relaxation is not None:
            proven = smaller(proven, certify(self.problem, self.relaxation.hints))
        if self.solver_bound is None or is_reached(
            self.problem, self.served, proven.value, self.gap
        ):
            return proven
        bound = claimed(self.problem, self.solver_bound)
        return rest_on_solver(proven, bound) if bound < proven.value else proven

    def _gap(self, bound: float) -> float:
        return certified_gap(self.value, max(bound, self.value), is_feasible=True) or 0.0

    def _show(self) -> None:
        gap = self._gap(self.bound)
        self._step.note(f"value {self.value:,.6g}  bound {self.bound:,.6g}  gap {100 * gap:.3f}%")


def solve(problem: Selection, run: Run) -> Outcome:
    """Improve selection and bound until they meet, or time is up."""
    run.default_limits(time_limit=DEFAULT_TIME_LIMIT, gap=target_gap(problem, run))
    if problem.weighs_changes:
        return _solve_stable(problem, run)
    search = _search_for(problem, run, "best selection")
    bound = search.final_bound()
    return Outcome(
        {"topics": problem.table(search.served)},
        bound=max(bound.value, search.value),
        proof=bound.proof,
        is_interrupted=search.is_interrupted,
        stopped=why_stopped(
            problem, search.served, bound.value, search.gap, is_over=search.is_late()
        ),
    )


def _solve_stable(problem: Selection, run: Run) -> Outcome:
    """Find the best free plan in half the time, and in the other half one with few changes."""
    nearest(problem)  # raises if there is none
    limit = DEFAULT_TIME_LIMIT if run.time_limit is None else run.time_limit
    half = replace(run, time_limit=limit / 2, limits_in_force={})
    search = _search_for(problem.freed(), half, "best selection, free to change")
    return stable.solve_near(
        problem,
        replace(run, time_limit=limit, limits_in_force={}),
        [search.served, search.greedy],
        free_bound=search.final_bound(),
        is_interrupted=search.is_interrupted,
    )


def _search_for(problem: Selection, run: Run, title: str) -> Search:
    with run.progress.step(title) as step:
        search = Search(problem, run, step)
        try:
            for served in baselines(problem, run):
                search.offer(served)
            _search(search)
        except KeyboardInterrupt:
            search.is_interrupted = True
    return search


def _search(search: Search) -> None:
    problem, pairs = search.problem, search.problem.workload.num_pairs
    if pairs <= TINY_PAIRS and _branch(search):
        return
    if search.is_over():
        return
    if pairs <= SMALL_PAIRS:
        _ask_solver(search, search.time_left() / 2, gap=0.0)
        if pairs <= branching.MAX_PAIRS and _branch(search):
            return
        if search.is_over():
            return
    search.relaxation = relaxation = plain_relaxation(problem)
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
    if not search.is_over() and SMALL_PAIRS < pairs <= MIDDLING_PAIRS:
        _ask_solver(search, search.time_left(), search.gap)


def _branch(search: Search) -> bool:
    """Search through all selections; False if there are too many."""
    settled = branching.branch(search.problem, search.served, gap=search.gap)
    search.offer(settled.served)
    if settled.bound is None:
        return False
    search.accept(settled.bound)
    return True


def _ask_solver(search: Search, seconds: float, gap: float) -> None:
    answer = solve_milp(search.problem, start=search.served, time_limit=seconds, gap=gap)
    if answer.served is not None:
        search.offer(answer.served)
    search.solver_bound = answer.bound
    if answer.is_interrupted:
        raise KeyboardInterrupt


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
    if search.is_best_known:
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
