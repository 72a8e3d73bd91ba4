"""The best selection we know how to make, with the tightest bound we know how to prove.

It starts from what every other heuristic here makes, ``greedy`` and the baselines; the smallest
instances are searched through. Rounds alternate between the two sides of the gap: the relaxation,
under inequalities fitted to a good selection and then to the relaxation itself (see
:mod:`fanwise.select.relaxing.covers` and :mod:`fanwise.select.relaxing.gain_cuts`), lowers the
bound and points to topics; rounding, greedy completion and dropping what earns least turn them into
better selections. Small instances go to HiGHS at once, middling ones with what is left of the gap
when rounds change nothing. It stops at the target gap, after its work (see
:mod:`fanwise.select.search`), or at the time limit where somebody gives one.

Guarantee
    Never worse than ``greedy``, and so at least ½(1 - 1/e) of the optimum for the fractional
    metric. Up to QUICK_PAIRS pairs never worse than any baseline either, whatever the time limit;
    above, ``cheapest`` comes first under a time limit, ``greedy`` serves what it can within it and
    OVERTIME, and the other baselines are looked at as long as there is time. Every plan has a
    proven bound.

Complexity
    A greedy run and the baselines; then rounds of STEPS x ITERATIONS iterations of the relaxation
    and at least five greedy completions, each near-linear in the pairs: MOST_WORK pairs in all.
    HiGHS looks at no more than SOLVER_WORK nodes x pairs.

References
----------
    Greedy and its guarantee: V. Setty, G. Kreitz, G. Urdaneta, R. Vitenberg, M. van Steen:
    Maximizing the number of satisfied subscribers in pub/sub systems under capacity constraints.
    IEEE INFOCOM 2014. The relaxation: see :mod:`fanwise.select.relaxing.relaxation`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from fanwise.arrays.deadlines import raised_after
from fanwise.planning.problem import Outcome, Run
from fanwise.select.baselines import baselines, by_cost, take_while_fitting
from fanwise.select.bounds import quick_proof
from fanwise.select.greedy import greedy, served_by
from fanwise.select.improve import drop_and_refill, round_shares
from fanwise.select.problem import Selection, Served
from fanwise.select.proving import branching
from fanwise.select.relaxing.relaxation import Relaxation
from fanwise.select.relaxing.tightening import fit_to, plain_relaxation, tighten
from fanwise.select.search import (
    BASELINE_SWEEPS,
    COMPLETION_SWEEPS,
    FITTING_SWEEPS,
    GREEDY_SWEEPS,
    QUICK_PAIRS,
    TINY_PAIRS,
    SelectionSearch,
    target_gap,
)
from fanwise.select.stability import few_changes
from fanwise.select.stability.nearest import nearest

FIRST_ITERATIONS, ITERATIONS, STEPS = 20, 10, 3
DROPS = (0.1, 0.03, 0.01)
"""Shares of the capacity given back and spent anew, large steps first."""
THRESHOLDS = (0.5, 0.9)
WORTHWHILE = 1e-4
"""A step is repeated while it gains this much."""
OVERTIME = 0.3
"""Seconds that greedy may take beyond any time limit: enough for some two million pairs."""
SMALL_PAIRS, MIDDLING_PAIRS = 20_000, 40_000
"""Instances that HiGHS is asked about first, and last."""


def solve(problem: Selection, run: Run) -> Outcome:
    """Improve selection and bound until they meet, or work or time is over."""
    if problem.weighs_changes:
        return _solve_with_few_changes(problem, run)
    search, _ = _search_for(problem, run, "best selection")
    search.close()
    return search.selection()


def _solve_with_few_changes(problem: Selection, run: Run) -> Outcome:
    """Find the best free plan in half the time, and in the other half one with few changes."""
    nearest(problem)  # raises if there is none
    title = "best selection, free to change"
    search, start = _search_for(problem.freed(), run.part(0.5), title)
    bound = search.close()
    return few_changes.solve_near(
        problem,
        run,
        [search.answer, start],
        free_bound=bound,
        is_interrupted=search.is_interrupted,
    )


def _search_for(problem: Selection, run: Run, title: str) -> tuple[SelectionSearch, Served]:
    """Return a search that is over, and the greedy selection that it began with."""
    with run.progress.step(title) as step:
        search = SelectionSearch(problem, run, step, target_gap(problem, run))
        start = _start(search)
        with search.until_interrupted():
            others = baselines(problem, run)
            while problem.num_pairs <= QUICK_PAIRS or search.has_time_for(BASELINE_SWEEPS):
                served = next(others, None)
                if served is None:
                    break
                search.consider(served)
            _search(search)
    return search, start


def _start(search: SelectionSearch) -> Served:
    """Begin with the greedy selection and a first bound; return the selection.

    Where that takes long and time is limited: as far as there is time, and both at once.
    """
    problem, run = search.problem, search.run
    if run.time_limit is None or problem.num_pairs <= QUICK_PAIRS:
        with search.spending(GREEDY_SWEEPS):
            start = served_by(problem, greedy(problem))
        search.consider(start)
        search.accept(quick_proof(problem))
        return start
    search.consider(take_while_fitting(problem, by_cost(problem)))
    with raised_after(run.time_left() + OVERTIME) as is_late, ThreadPoolExecutor(1) as pool:
        proof = pool.submit(quick_proof, problem)
        with search.spending(GREEDY_SWEEPS):
            start = served_by(problem, greedy(problem, is_late))
        search.consider(start)
        search.accept(proof.result())
    return start


def _search(search: SelectionSearch) -> None:
    problem, pairs = search.problem, search.problem.num_pairs
    if pairs <= TINY_PAIRS and search.search_through():
        return
    if search.is_over():
        return
    if pairs <= SMALL_PAIRS:
        search.ask_solver(gap=0.0, share=0.5)
        if pairs <= branching.MAX_PAIRS and search.search_through():
            return
        if search.is_over():
            return
    if not search.has_time_for(FITTING_SWEEPS):
        return
    with search.spending(FITTING_SWEEPS):
        search.relaxation = relaxation = plain_relaxation(problem)
    search.iterate(relaxation, FIRST_ITERATIONS)
    search.prove_by_prices(relaxation)
    if problem.metric == "binary":
        _drop_and_refill(search, DROPS[0])
        if not search.has_time_for(FITTING_SWEEPS):
            return
        with search.spending(FITTING_SWEEPS):
            fit_to(relaxation, search.answer)
        search.iterate(relaxation, FIRST_ITERATIONS)
        search.prove_by_prices(relaxation)
    while not search.is_over():
        _round(search, relaxation)
    is_middling = SMALL_PAIRS < pairs <= MIDDLING_PAIRS
    if is_middling and not (search.is_close_enough or search.run.is_over()):
        search.ask_solver(gap=search.target)


def _round(search: SelectionSearch, relaxation: Relaxation) -> None:
    """Lower the bound, then raise the value."""
    for _ in range(STEPS):
        if not search.has_time_for(FITTING_SWEEPS):
            break
        with search.spending(FITTING_SWEEPS):
            tighten(relaxation)
        search.iterate(relaxation, ITERATIONS)
        search.prove_by_prices(relaxation)
        if search.is_over():
            return
    if search.is_best_known:
        return
    for threshold in THRESHOLDS:
        if search.is_over() or not search.has_time_for(COMPLETION_SWEEPS):
            return
        with search.spending(COMPLETION_SWEEPS):
            search.consider(round_shares(search.problem, relaxation, threshold))
    for share in DROPS:
        before = 0.0
        while search.value > before * (1 + WORTHWHILE) and not search.is_over():
            before = search.value
            _drop_and_refill(search, share)


def _drop_and_refill(search: SelectionSearch, share: float) -> None:
    if search.has_time_for(COMPLETION_SWEEPS):
        with search.spending(COMPLETION_SWEEPS):
            search.consider(drop_and_refill(search.problem, search.answer, share))
