"""The best assignment we know how to make.

What the paper can do comes first, whatever the limits: Gr*, Gr (as ``gr`` without evictions), Gr
without latency, Closest with and without balance, Balance, and SLP with the same seed. Where
:mod:`fanwise.assign.exact` takes the question, it is asked before SLP, and its optimum ends the
search.

Where Gr* does not keep the limits, its start is repaired by max-flow (see
:mod:`fanwise.assign.improving.repairing`). Then sides of rectangles are pulled in and whoever
sticks out finds another broker, if need be by sending on somebody of a full one, exactly and with
a heat that falls (see :mod:`fanwise.assign.improving.moves`). In the end the filters of the best
assignment are fitted anew (see :mod:`fanwise.assign.improving.refitting`).

It stops after work in proportion to the number of subscribers, so that the same seed gives the same
plan; if somebody gave a time limit and no other effort, then at that; or at the target gap. Part of
the time goes to prices that prove a bound (:mod:`fanwise.assign.proving.market`).

SLP is a start up to :data:`SLP_SUBSCRIBERS`; above that where brokers must be nearly full and types
of subscribers are few, because moves find little there. Under a time limit it is a start wherever
it should take a second at most, which is so up to some 500 subscribers on 10 brokers, and else
where it should take no more than half of the time that is left. Gr without latency looks at every
pair of a subscriber and a broker, and is hardly ever in time where anybody is confined: it is a
start up to :data:`MOST_PAIRS`. The other starts together take a second at 100,000 subscribers:
up to :data:`QUICK_PAIRS` pairs they are made whatever the limit, above that Gr* always and the
others where they fit into most of what a limit is kept within. A plan says what was left out for
want of time.

Guarantee
    Within the limits wherever any assignment is; no more bandwidth than any start within the
    limits. Where no assignment keeps them: as few subscribers as any start has who are late or too
    many for their broker, and then no more bandwidth.

Complexity
    The starts, and WORK_PER_SUBSCRIBER steps of moves for each subscriber, a step being a member
    of a broker or a broker of a member that is looked at.

References
----------
    A. Yu, P. Agarwal, J. Yang: Subscriber assignment for wide-area content-based
    publish/subscribe. IEEE ICDE 2011 (the starts).
    G. Schrimpf, J. Schneider, H. Stamm-Wilbrandt, G. Dueck: Record breaking optimization results
    using the ruin and recreate principle. Journal of Computational Physics 159(2), 2000 (moves).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.assign import baselines, exact, greedy
from fanwise.assign.arrays import Filters
from fanwise.assign.choices import pairs_of
from fanwise.assign.improving.annealing import HOT, Annealing
from fanwise.assign.improving.refitting import refit
from fanwise.assign.improving.repairing import cover_amounts, relieve_loads
from fanwise.assign.measuring import find_late
from fanwise.assign.problem import Assignment, make_tables, read_tables
from fanwise.assign.proving.pricing import MOST_PRICED, MOST_PRICED_IN_TIME, priced_bound
from fanwise.assign.proving.pricing import QUICK_PAIRS as QUICK_PRICED
from fanwise.assign.slp import assign_by_rounding, expected_seconds
from fanwise.assign.subscriber_types import SubscriberTypes, group_into_types
from fanwise.planning.families import find_family
from fanwise.planning.family import resolve_settings
from fanwise.planning.problem import Bound, Outcome, Run
from fanwise.planning.search import Search
from fanwise.planning.stopping import FirstOf, Standing, TimeLimit, WorkLimit, limits_of
from fanwise.progress import Step

WORK_PER_SUBSCRIBER, LEAST_WORK = 6000, 1_000_000
"""How far the search from Gr* goes: what moves look at, members and choices."""
SLP_SUBSCRIBERS = 2000
"""Up to so many, SLP is always a start where nobody gave a time limit."""
MOST_PAIRS = 2_000_000
"""Pairs of a subscriber and a leaf up to which Gr without latency is a start."""
QUICK_PAIRS = 500_000
"""Pairs of a subscriber and a leaf up to which all of the paper's but SLP take a fraction of a
second, and so are starts whatever the limit."""
AFTER_STARTS = 0.7
"""What is kept of the time for what comes after the starts, in times what Gr* took."""
TIGHT, MOST_SLP_TYPES = 1.1, 1000
"""Room for each subscriber below which moves find little, and SLP is a start as well; where types
are more than this it would take minutes."""
QUICK, SLP_MARGIN, SLP_SECONDS = 1.0, 2.0, 30.0
"""Seconds that SLP may take under any time limit; and how many times what it should take must be
left where it takes more; and what its relaxations may take as a start."""
SLP_SHARE, SLP_HEAT = 0.25, 0.02
"""Of the work and of the heat: what SLP has found should not be forgotten."""
MAIN_SHARE, AGAIN_HEAT = 0.9, 0.05
"""Of the time, for the search from Gr*, so that some is left to fit filters; and the heat of those
that follow where it ends earlier."""
PRICES_SHARE, MOST_UNPRICED = 0.35, 6
"""Of the time, for prices that prove a bound; and how many times the pairs that can be priced there
may be, for some of them to be worth it."""
RIVAL_SHARE = 0.1
"""Of the work: for the best of the other starts, if it is better than Gr*."""

STARTS: dict[str, Callable[[Assignment, Run], Outcome]] = {
    "gr-star": greedy.solve_offline,
    "gr": greedy.solve_online,
    "gr-no-latency": greedy.solve_without_latency,
    "closest": baselines.solve_closest,
    "closest-no-balance": baselines.solve_closest_without_balance,
    "balance": baselines.solve_balance,
}
"""Algorithms of the paper that are quick at any size."""


class Start(NamedTuple):
    """An assignment to begin with.

    Attributes
    ----------
    broken
        Subscribers who are late, and those who are too many for their broker.
    """

    broker_of_subscriber: IntArray
    filters: Filters
    value: float
    broken: int

    @property
    def rank(self) -> tuple[int, float]:
        """What breaks less is better, or as much with less bandwidth."""
        return self.broken, self.value


class AssignmentSearch(Search[Start]):
    """The best assignment so far, and when to stop.

    Its work is what the search from Gr* does; those from other starts have shares of their own.
    """

    def __init__(self, problem: Assignment, run: Run, step: Step) -> None:
        arrays = problem.arrays
        effort = run.settings.get("effort", 1.0)
        self.most_work = effort * (WORK_PER_SUBSCRIBER * arrays.num_subscribers + LEAST_WORK)
        # Who gives a time limit wants it used; who asks for another effort wants that as well.
        self.is_by_time = run.time_limit is not None and effort == 1.0
        limits = limits_of(run, work=None if self.is_by_time else self.most_work)
        super().__init__(run, step, "min", limits, unit="bandwidth")
        self.problem = problem
        self.load_limits = problem.limits(problem.lbf_max)

    @cached_property
    def types(self) -> SubscriberTypes:
        """Subscribers with alike ones together, which takes a while where they are many."""
        return group_into_types(self.problem.arrays, pairs_of(self.problem))

    def offer_assignment(self, brokers: IntArray, filters: Filters) -> Start:
        """Take an assignment if it is better; return it. One that carries nothing ends it all."""
        arrays = self.problem.arrays
        excess = np.bincount(brokers, minlength=arrays.num_brokers) - self.load_limits
        late = np.count_nonzero(find_late(*arrays.candidates, brokers))
        broken = int(late) + int(np.maximum(excess, 0).sum())
        made = Start(brokers, filters, float(arrays.measures(filters).sum()), broken)
        self.offer(made, made.value, broken=broken)
        self.is_settled = self.is_feasible and self.value <= 0.0
        return made

    def offer_outcome(self, outcome: Outcome) -> Start:
        """Take the assignment of another algorithm if it is better; return it."""
        return self.offer_assignment(*read_tables(self.problem.arrays, outcome.tables))

    def wants_slp(self) -> bool:
        """Whether SLP is a start: because it is quick, worth its while, or there is time."""
        arrays, has_limit = self.problem.arrays, self.run.time_limit is not None
        is_small = arrays.num_subscribers <= SLP_SUBSCRIBERS
        if self.is_over() and not is_small:
            return False
        pairs = len(self.types.arrays.brokers)
        seconds = expected_seconds(self.problem, self.types.num_types, pairs)
        if is_small and (not has_limit or seconds <= QUICK):
            return True
        if has_limit:
            has_time = self.has_time_for(SLP_MARGIN * seconds)
            if is_small and not has_time:
                self.run.leave_out("slp")
            return has_time
        room = int(self.load_limits[arrays.leaves].sum())
        is_tight = room <= TIGHT * arrays.num_subscribers
        return is_tight and self.types.num_types <= MOST_SLP_TYPES

    def is_cut_short(self) -> bool:
        """Whether to end although there may be work left: no time, or nothing left to gain."""
        return self.is_settled or self.limits.why(replace(self.standing, work=0.0)) is not None


def solve(problem: Assignment, run: Run) -> Outcome:
    """Improve the best start until the work is done, the gap closed, or time is up."""
    with run.progress.step("best assignment") as step:
        search = AssignmentSearch(problem, run, step)
        with search.until_interrupted():
            _search(search)
    best = search.answer
    return search.outcome(make_tables(best.broker_of_subscriber, best.filters))


def _search(search: AssignmentSearch) -> None:
    """Look for the best assignment."""
    starts = _make_starts(search)
    with search.run.timed("bound"):
        search.prove(search.problem.proven)
    if exact.describe_size(search.problem) is None:
        _try_everything(search)
        if search.is_settled:
            return
    _price(search)
    main = starts["gr-star"]
    if main.broken:
        main = _relieve(search, main)
    if search.wants_slp():
        _improve(search, _start_slp(search), SLP_SHARE, heat=SLP_HEAT)
    rival = min(starts.values(), key=lambda start: start.rank)
    if rival.rank < main.rank and rival is not starts["gr-star"]:
        _improve(search, rival, RIVAL_SHARE, heat=0.0)
    search.spend(_improve(search, main, MAIN_SHARE if search.is_by_time else 1.0))
    _refit_best(search)
    while search.is_by_time and not search.is_over():
        # Time is left, and nothing moved any more: again, from the best, with other random numbers.
        best = search.answer
        if _improve(search, best, 1.0, heat=AGAIN_HEAT) <= 0.0:
            break
        _refit_best(search)


def _price(search: AssignmentSearch) -> None:
    """Look for prices that prove more, for a share of the time."""
    run = search.run
    pairs = MOST_PRICED_IN_TIME if search.is_by_time else MOST_PRICED
    if (
        search.problem.num_pairs <= QUICK_PRICED
        or search.is_over()
        or len(search.types.arrays.brokers) > MOST_UNPRICED * pairs
    ):
        return
    end = run.elapsed() + PRICES_SHARE * run.time_left()
    with run.timed("prices"):
        found = priced_bound(
            search.problem, pairs, lambda: end - run.elapsed(), uses_time=search.is_by_time
        )
    if found is not None:
        search.prove(found)


def _make_starts(search: AssignmentSearch) -> dict[str, Start]:
    """Run what is quick of the paper; none should take longer than Gr*, which comes first."""
    problem, run = search.problem, replace(search.run, settings={})
    pairs = problem.arrays.num_subscribers * len(problem.arrays.leaves)
    starts: dict[str, Start] = {}
    for name, start in STARTS.items():
        if name == "gr-no-latency" and pairs > MOST_PAIRS:
            continue
        longest = run.seconds.get("gr-star", 0.0)
        if pairs > QUICK_PAIRS and run.with_grace(AFTER_STARTS * longest).time_left() < longest:
            run.leave_out(name)
            continue
        with run.timed(name):
            starts[name] = search.offer_outcome(start(problem, run))
    search.metrics["gr_star"] = starts["gr-star"].value
    return starts


def _try_everything(search: AssignmentSearch) -> None:
    """Ask for the optimum, which settles the search."""
    with search.run.timed("exact"):
        outcome = exact.solve(search.problem, search.run)
    search.offer_outcome(outcome)
    if outcome.is_interrupted:
        raise KeyboardInterrupt
    if outcome.bound is not None:
        search.prove(Bound(outcome.bound))
    search.is_settled |= bool(outcome.metrics.get("proven", False))


def _start_slp(search: AssignmentSearch) -> Start:
    settings = resolve_settings(find_family("assign").algorithms("slp"), {"seconds": SLP_SECONDS})
    with search.run.timed("slp"):
        run = replace(search.run, settings=settings, seconds={})
        outcome, _ = assign_by_rounding(search.problem, run)
    return search.offer_outcome(outcome)


def _relieve(search: AssignmentSearch, start: Start) -> Start:
    """Return the start within the limits, or above them by as few as there can be."""
    types = search.types
    before = types.amounts(start.broker_of_subscriber)
    amounts = relieve_loads(types, before, search.load_limits)
    filters = cover_amounts(types, amounts, start.filters)
    search.metrics["repaired"] = int(np.abs(amounts - before).sum() // 2)
    return search.offer_assignment(types.brokers_of_subscribers(amounts), filters)


def _improve(search: AssignmentSearch, start: Start, share: float, heat: float = HOT) -> float:
    """Move until a share of the work, or of the time that is left, is done; return the work."""
    if search.is_over():
        return 0.0
    types, run = search.types, search.run
    amounts = types.amounts(start.broker_of_subscriber)
    if int(amounts.sum()) < len(start.broker_of_subscriber):
        return 0.0  # somebody is on a broker out of time, where moves do not look
    moves = Annealing(types, amounts, start.filters, search.load_limits, run.random(), heat=heat)
    by_time, by_work = TimeLimit(share * run.time_left()), WorkLimit(share * search.most_work)
    limits = FirstOf((by_time,) if search.is_by_time else (by_time, by_work))
    began, used = run.elapsed(), 0.0
    try:
        with run.timed("moves"):
            while used < 1.0 and not (moves.is_exhausted or search.is_over()):
                moves.run_batch(used, run.is_over)
                used = limits.share_used(Standing(run.elapsed() - began, moves.work))
    finally:
        search.offer_assignment(types.brokers_of_subscribers(moves.amounts), moves.filters)
        search.count("moves", moves.num_tried)
    return moves.work


def _refit_best(search: AssignmentSearch) -> None:
    """Fit the filters of the best assignment anew."""
    if search.is_cut_short():
        return
    best = search.answer
    with search.run.timed("refit"):
        for filters in refit(
            search.problem.arrays, best.broker_of_subscriber, best.filters, search.run.random(),
            is_over=search.run.is_over,
        ):  # fmt: skip
            search.offer_assignment(best.broker_of_subscriber, filters)
