"""The optimum, for small instances.

Mixed-integer programming by HiGHS finds a selection; on the smallest instances our own branch and
bound goes on from it, which needs no solver's word (:mod:`fanwise.select.proving.branching`). On
larger ones the bound is the solver's, unless prices of subscribers prove as much.

Guarantee
    The optimum, up to the gap asked for, unless the time limit ends it.

Complexity
    Exponential in the topics; refused above MAX_PAIRS pairs.

References
----------
    Q. Huangfu, J. A. J. Hall: Parallelizing the dual revised simplex method. Mathematical
    Programming Computation 10, 2018 (HiGHS).
"""

from __future__ import annotations

from fanwise.errors import ParameterError
from fanwise.planning.problem import Outcome, Run
from fanwise.select.greedy import greedy, served_by
from fanwise.select.problem import Selection
from fanwise.select.proving import branching
from fanwise.select.search import SelectionSearch
from fanwise.select.stability.comparison import compare_with_free, prefix_of
from fanwise.select.stability.nearest import nearest

MAX_PAIRS = 200_000


def solve(problem: Selection, run: Run) -> Outcome:
    """Solve to optimality, or to the time limit or gap."""
    if problem.num_pairs > MAX_PAIRS:
        raise ParameterError(
            "algorithm",
            f"'best' above {MAX_PAIRS:,} pairs (here {problem.num_pairs:,})",
            "exact",
        )
    if problem.weighs_changes:
        return _solve_near(problem, run)
    return _search_for(problem, run, "solving with HiGHS").selection()


def _solve_near(problem: Selection, run: Run) -> Outcome:
    """Solve with few changes, and free of that for comparison, in half the time each."""
    free = _search_for(problem.freed(), run.part(0.5), "solving with HiGHS, free to change")
    if free.is_interrupted or free.bound is None:
        raise KeyboardInterrupt  # nothing is known yet of what was asked for
    near = _search_for(problem, run, "solving with HiGHS, with few changes")
    if near.bound is None or (problem.change_price is None and near.bound.value > free.bound.value):
        near.bound = free.bound if problem.change_price is None else None
    return compare_with_free(near, free.answer, free.bound)


def _search_for(problem: Selection, run: Run, title: str) -> SelectionSearch:
    """Return a search that is over and closed."""
    prefix = ""
    with run.progress.step(title) as step:
        gap = run.gap or 0.0
        search = SelectionSearch(problem, run, step, gap, ends_by_work=False)
        prefix = prefix_of(search)
        search.consider(nearest(problem) if problem.weighs_changes else problem.is_pinned)
        is_proven = False
        with search.until_interrupted():
            answer = search.ask_solver(gap=gap)
            if problem.num_pairs <= branching.MAX_PAIRS:
                is_proven = search.search_through(prefix)
            if not is_proven and answer.served is None and not problem.weighs_changes:
                search.consider(served_by(problem, greedy(problem)))
    if not is_proven and problem.change_price is None:
        search.accept(problem.proven)
    search.close(prefix)
    return search
