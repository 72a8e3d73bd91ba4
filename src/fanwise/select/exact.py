"""The optimum, for small instances.

Mixed-integer programming by HiGHS finds a selection; on the smallest instances our own branch and
bound goes on from it, which needs no solver's word (:mod:`fanwise.select.proving.branching`). On
larger ones the bound is the solver's, unless prices of subscribers prove as much.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.errors import ParameterError
from fanwise.planning.problem import Bound, Outcome, Run, Stopped
from fanwise.select.greedy import greedy, served_by
from fanwise.select.milp import Answer, solve_milp
from fanwise.select.problem import Selection
from fanwise.select.proving import branching
from fanwise.select.proving.certificate import claimed, rest_on_solver
from fanwise.select.stability.changes import nearest
from fanwise.select.stability.near import Near
from fanwise.select.stopping import is_reached, why_stopped

Served = npt.NDArray[np.bool_]

MAX_PAIRS = 200_000


def solve(problem: Selection, run: Run) -> Outcome:
    """Solve to optimality, or to the time limit or gap."""
    if problem.workload.num_pairs > MAX_PAIRS:
        raise ParameterError(
            "algorithm",
            f"'best' above {MAX_PAIRS:,} pairs (here {problem.workload.num_pairs:,})",
            "exact",
        )
    run.default_limits(gap=0.0)
    if problem.weighs_changes:
        return _solve_near(problem, run)
    with run.progress.step("solving with HiGHS"):
        served, bound, stopped = _settle(problem, run, run.time_limit)
    return Outcome(
        {"topics": problem.table(served)}, bound=bound.value, proof=bound.proof, stopped=stopped
    )


def _settle(
    problem: Selection, run: Run, time_limit: float | None
) -> tuple[Served, Bound, Stopped]:
    """Return the best selection, its bound, and why the search ended."""
    gap = run.gap or 0.0
    start = nearest(problem) if problem.weighs_changes else problem.is_pinned
    answer = solve_milp(problem, start=start, time_limit=time_limit, gap=gap)
    served = start if answer.served is None else answer.served
    is_interrupted = answer.is_interrupted
    if problem.workload.num_pairs <= branching.MAX_PAIRS and not is_interrupted:
        try:
            served, found = branching.branch(problem, served, gap=gap)
        except KeyboardInterrupt:
            found, is_interrupted = None, True
        if found is not None:
            return served, found, why_stopped(problem, served, found.value, gap, is_over=False)
    if answer.served is None and not problem.weighs_changes:
        served = served_by(problem, greedy(problem))
    bound = _bound_of(problem, served, answer, gap)
    if is_interrupted:
        return served, bound, "interrupted"
    stopped = why_stopped(problem, served, bound.value, gap, is_over=answer.is_cut_short)
    return served, bound, stopped


def _bound_of(problem: Selection, served: Served, answer: Answer, gap: float) -> Bound:
    """Return a bound that prices prove if it is good enough, else the solver's."""
    checked = problem.proven
    if answer.bound is None or is_reached(problem, served, checked.value, gap):
        return checked
    bound = claimed(problem, answer.bound)
    return rest_on_solver(checked, bound) if bound < checked.value else checked


def _solve_near(problem: Selection, run: Run) -> Outcome:
    """Solve with few changes, and free of that for comparison, in half the time each."""
    half = None if run.time_limit is None else run.time_limit / 2
    free_problem = problem.freed()
    with run.progress.step("solving with HiGHS, free to change"):
        free, free_bound, ended = _settle(free_problem, run, half)
    if ended == "interrupted":
        raise KeyboardInterrupt  # nothing is known yet of what was asked for
    near = Near(problem, free, free_bound)
    with run.progress.step("solving with HiGHS, with few changes"):
        if problem.max_changes is not None:
            served, bound, stopped = _settle(problem, run, half)
            if bound.value > free_bound.value:
                bound = free_bound
            return near.outcome(served, bound, stopped=stopped)
        served, net, stopped = _settle_net(problem, run, half)
    return near.outcome(served, free_bound, net=net, stopped=stopped)


def _settle_net(
    problem: Selection, run: Run, time_limit: float | None
) -> tuple[Served, Bound | None, Stopped]:
    """Return the selection that is best less the price of changes, and a bound on that."""
    gap, start = run.gap or 0.0, nearest(problem)
    answer = solve_milp(problem, start=start, time_limit=time_limit, gap=gap)
    served = start if answer.served is None else answer.served
    found = None
    if answer.is_interrupted:
        return served, None, "interrupted"
    if problem.workload.num_pairs <= branching.MAX_PAIRS:
        served, found = branching.branch(problem, served, gap=gap, prefix="net_")
    stopped: Stopped = "limit" if answer.is_cut_short and found is None else "gap"
    return served, found, stopped
