"""The best selection we know how to make, with the tightest bound we know how to prove.

It starts from what every other heuristic here makes, ``greedy`` and the baselines; the smallest
instances are searched through. Rounds alternate between the two sides of the gap: the relaxation,
under inequalities fitted to a good selection and then to the relaxation itself (see
:mod:`fanwise.select.relaxing.covers` and :mod:`fanwise.select.relaxing.gain_cuts`), lowers the
bound and points to topics; rounding, greedy completion and dropping what earns least turn them into
better selections. Where the gap stays wide, as it does where subscribers need most of what they
follow, the relaxation gets several inequalities a subscriber
(:mod:`fanwise.select.relaxing.slots`), whose prices are in the end paid only by those satisfied
together (:mod:`fanwise.select.relaxing.together`), and selections come from walks
(:mod:`fanwise.select.exchanging.walks`): filling by several powers of the benefit, peeling, and
moves that take a part out and put it in better. Neither side looks at who is out of reach of the
capacity (:mod:`fanwise.select.reach`). Small instances go to HiGHS at once, middling ones with what
is left of the gap when rounds change nothing. It stops at the target gap, after its work (see
:mod:`fanwise.select.search`), or at the time limit where somebody gives one.

Guarantee
    Never worse than ``greedy``, and so at least ½(1 - 1/e) of the optimum for the fractional
    metric. Up to QUICK_PAIRS pairs never worse than any baseline either, whatever the time limit;
    above, ``greedy`` comes first under a time limit too, and may use the tenth and the second
    within which a limit is kept; where that is too short for it, it has served what it would serve
    first, ``cheapest`` is looked at as well, and the plan has a warning. Other baselines are looked
    at as long as there is time. Every plan has a proven bound.

Complexity
    A greedy run and the baselines; then rounds of STEPS x ITERATIONS iterations of the relaxation
    and as much work of walks, or at least five greedy completions, each near-linear in the pairs:
    MOST_WORK pairs in all, at most MOST_SWEEPS sweeps. A step of a walk visits the topics of the
    followers of one topic. With a time limit, a gap above WIDE_GAP is worked on until it ends.
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
from fanwise.select.exchanging.walks import STOCK_SWEEPS, Walks
from fanwise.select.greedy import greedy, served_by
from fanwise.select.improve import drop_and_refill, likely_topics, round_shares
from fanwise.select.problem import Selection, Served
from fanwise.select.proving import branching
from fanwise.select.relaxing.relaxation import Relaxation
from fanwise.select.relaxing.slots import SlotRelaxation
from fanwise.select.relaxing.tightening import fit_to, plain_relaxation, tighten
from fanwise.select.relaxing.together import TogetherRelaxation, visits
from fanwise.select.search import (
    BASELINE_SWEEPS,
    COMPLETION_SWEEPS,
    FITTING_SWEEPS,
    GREEDY_SWEEPS,
    LEAST_PAIRS,
    QUICK_PAIRS,
    TINY_PAIRS,
    WIDE_GAP,
    SelectionSearch,
    target_gap,
)
from fanwise.select.stability import few_changes
from fanwise.select.stability.nearest import nearest

FIRST_ITERATIONS, ITERATIONS, STEPS = 20, 10, 3
SLOT_ITERATIONS = 20
SLOT_SWEEPS, SEPARATION_SWEEPS = 1.5, 6.0
"""An iteration with all slots of every subscriber, and a look for inequalities to fill them."""
VISITED_SWEEPS, SLOW = 1.0, 3.0
"""Where followers pay together: the sweeps that visiting so many pairs counts as, and how much
longer it may take."""
MOST_VISITS = 1e8
"""Pairs that such a proof may visit."""
SETTLED = 3e-3
"""Once the slots' bound moves by less than this in a turn, followers pay together."""
DROPS = (0.1, 0.03, 0.01)
"""Shares of the capacity given back and spent anew, large steps first."""
THRESHOLDS = (0.5, 0.9)
WORTHWHILE = 1e-4
"""A step is repeated while it gains this much."""
MOST_PATIENCE = 8.0
"""So much longer than the bound's turn is that of the walks at most."""
WALKED_PAIRS = 2_000_000
"""Larger questions are walked only where the gap is wide."""
AFTER_GREEDY = 4e-8
"""Seconds for each pair that are kept for what comes after greedy: the rest of the first bound,
measuring the plan and writing it down."""
AFTER_FREE = 0.5
"""Seconds that are kept for a plan with few changes, after the one that is free to change."""
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
    search, start = _search_for(problem.freed(), run.part(0.5), title, kept=AFTER_FREE)
    bound = search.close()
    return few_changes.solve_near(
        problem,
        run,
        [search.answer, start],
        free_bound=bound,
        is_interrupted=search.is_interrupted,
    )


def _search_for(
    problem: Selection, run: Run, title: str, kept: float = 0.0
) -> tuple[SelectionSearch, Served]:
    """Return a search that is over, and the greedy selection that it began with.

    Greedy leaves so many seconds for what comes after the search.
    """
    with run.progress.step(title) as step:
        search = SelectionSearch(problem, run, step, target_gap(problem, run))
        start = _start(search, kept)
        with search.until_interrupted():
            others = baselines(problem, run)
            while problem.num_pairs <= QUICK_PAIRS or search.has_time_for(BASELINE_SWEEPS):
                served = next(others, None)
                if served is None:
                    break
                search.consider(served)
            _search(search)
    return search, start


def _start(search: SelectionSearch, kept: float) -> Served:
    """Begin with the greedy selection and a first bound; return the selection.

    Where that takes long and time is limited: both at once, greedy as far as there is time.
    """
    problem, run = search.problem, search.run
    if run.time_limit is None or problem.num_pairs <= QUICK_PAIRS:
        with search.spending(GREEDY_SWEEPS):
            start = served_by(problem, greedy(problem))
        search.consider(start)
        search.accept(quick_proof(problem))
        return start
    first = run.with_grace(AFTER_GREEDY * problem.num_pairs + kept)
    with raised_after(first.time_left()) as is_late, ThreadPoolExecutor(1) as pool:
        proof = pool.submit(quick_proof, problem)
        with search.spending(GREEDY_SWEEPS):
            start = served_by(problem, greedy(problem, is_late))
        is_cut_short = bool(is_late[0])
        search.consider(start)
        if is_cut_short:
            run.leave_out("greedy")
            search.consider(take_while_fitting(problem, by_cost(problem)))
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
    _alternate(search, relaxation)
    is_middling = SMALL_PAIRS < pairs <= MIDDLING_PAIRS
    if is_middling and not (search.is_close_enough or search.run.is_over()):
        search.ask_solver(gap=search.target)


def _alternate(search: SelectionSearch, relaxation: Relaxation) -> None:
    """Lower the bound and raise the value in turns, until the search is over.

    Where walks are worth it they take as long as the bound does, and longer while that stands
    still.
    """
    walks: Walks | None = None
    slots: SlotRelaxation | None = None
    patience = 1.0
    while not search.is_over():
        now = relaxation if slots is None else slots
        before, begun = now.best, search.work
        if slots is None:
            _lower_bound(search, relaxation)
        else:
            _lower_bound_by_slots(search, slots)
            if slots.best < (search.relaxation or relaxation).best:
                search.relaxation = slots
        if search.is_over():
            return
        spent = search.work - begun
        is_moving = now.best < before * (1 - WORTHWHILE)
        is_settled = slots is not None and now.best > before * (1 - SETTLED)
        if slots is not None and is_settled and _has_use_for_together(search, slots):
            slots = TogetherRelaxation(slots)
        patience = 1.0 if is_moving else min(2.0 * patience, MOST_PATIENCE)
        if slots is None and _has_use_for_slots(search):
            with search.spending(FITTING_SWEEPS):
                slots = SlotRelaxation(search.problem)
            slots.shares[:] = relaxation.shares
        if search.is_best_known:
            continue
        if walks is None:
            _raise_value(search, relaxation)
            if not search.is_over() and _has_use_for_walks(search):
                with search.spending(STOCK_SWEEPS):
                    walks = Walks(search)
                walks.start()
        if walks is not None and not search.is_over():
            walks.round_to(likely_topics(search.problem, now, THRESHOLDS[0]))
            walks.go_on(patience * spent)


def _has_use_for_slots(search: SelectionSearch) -> bool:
    """Whether one inequality a subscriber leaves a wide gap."""
    is_binary = search.problem.metric == "binary"
    has_time = search.would_fit(SEPARATION_SWEEPS)
    return is_binary and has_time and (search.gap or 0.0) > WIDE_GAP


def _has_use_for_together(search: SelectionSearch, slots: SlotRelaxation) -> bool:
    """Whether the gap is wide still, and followers of one topic follow little enough else."""
    if isinstance(slots, TogetherRelaxation) or (search.gap or 0.0) <= WIDE_GAP:
        return False
    pairs = max(search.problem.num_pairs, LEAST_PAIRS)
    visited = float(visits(search.problem).sum())
    sweeps = SLOW * VISITED_SWEEPS * visited / pairs
    return visited <= MOST_VISITS and search.would_fit(2 * sweeps)


def _has_use_for_walks(search: SelectionSearch) -> bool:
    """Whether the gap is wide, or the question small enough to walk at any gap."""
    if search.problem.metric != "binary" or search.is_best_known:
        return False
    if search.problem.num_pairs > WALKED_PAIRS and (search.gap or 0.0) <= WIDE_GAP:
        return False
    return search.would_fit(2 * STOCK_SWEEPS)


def _lower_bound(search: SelectionSearch, relaxation: Relaxation) -> None:
    for _ in range(STEPS):
        if not search.has_time_for(FITTING_SWEEPS):
            return
        with search.spending(FITTING_SWEEPS):
            tighten(relaxation)
        search.iterate(relaxation, ITERATIONS)
        search.prove_by_prices(relaxation)
        if search.is_over():
            return


def _lower_bound_by_slots(search: SelectionSearch, slots: SlotRelaxation) -> None:
    for _ in range(STEPS):
        if not search.has_time_for(SEPARATION_SWEEPS):
            return
        with search.spending(SEPARATION_SWEEPS):
            slots.separate()
        for _ in range(SLOT_ITERATIONS):
            if not search.has_time_for(SLOT_SWEEPS):
                break
            with search.spending(SLOT_SWEEPS):
                slots.iterate(1)
        sweeps = 1.0
        if isinstance(slots, TogetherRelaxation):
            pairs = max(search.problem.num_pairs, LEAST_PAIRS)
            sweeps = max(1.0, VISITED_SWEEPS * slots.num_visits / pairs)
            if not search.has_time_for(SLOW * sweeps):
                return
        with search.spending(sweeps):
            search.prove_by_prices(slots)
        if search.is_over():
            return


def _raise_value(search: SelectionSearch, relaxation: Relaxation) -> None:
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
