"""The best assignment we know how to make.

What the paper can do comes first, whatever the limits: Gr*, Gr (as ``gr`` without evictions), Gr
without latency, Closest with and without balance, Balance, and SLP with the same seed. SLP takes
seconds from some thousand subscribers on, up to a minute at 100,000. So it is always a start up to
:data:`SLP_SUBSCRIBERS`; above that where brokers must be nearly full and types of subscribers are
few, because moves find little there, and where a time limit was given and leaves several times what
SLP may take. Gr without latency looks at every pair of a subscriber and a broker, and is hardly
ever in time where anybody is confined: it is a start up to :data:`MOST_PAIRS`. The others together
take a second at 100,000.

Where :mod:`fanwise.assign.exact` takes the question, it is asked before SLP, and its optimum ends
the search.

Where Gr* does not keep the limits, its start is repaired by max-flow (see
:mod:`fanwise.assign.improving.repairing`). Then sides of rectangles are pulled in and whoever
sticks out finds another place, if need be by sending on somebody of a full broker, exactly and with
a heat that falls (see :mod:`fanwise.assign.improving.moves`). In the end the filters of the best
assignment are fitted anew (see :mod:`fanwise.assign.improving.refitting`).

It stops after work in proportion to the number of subscribers, so that the same seed gives the same
plan; at the time limit, if that comes first, or at the target gap.

Guarantees: within the limits wherever any assignment is; no more bandwidth than any start within
the limits. Where no assignment keeps them: as few subscribers as any start has who are late or too
many for their broker, and then no more bandwidth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.assign import baselines, exact, greedy, slp
from fanwise.assign.ground import Filters
from fanwise.assign.improving.crowd import gather_crowd
from fanwise.assign.improving.refitting import refit
from fanwise.assign.improving.repairing import cover_amounts, relieve_loads
from fanwise.assign.improving.search import HOT, MoveSearch
from fanwise.assign.measuring import find_late
from fanwise.assign.problem import Assignment, make_tables, read_tables
from fanwise.planning.families import find_family
from fanwise.planning.family import resolve_settings
from fanwise.planning.plan import certified_gap
from fanwise.planning.problem import Outcome, Run, Stopped
from fanwise.progress import Step

WORK_PER_SUBSCRIBER, LEAST_WORK = 6000, 1_000_000
"""How far a search goes: what moves look at, members and choices."""
SLP_SUBSCRIBERS = 2000
"""Up to so many, SLP is always a start."""
MOST_PAIRS = 2_000_000
"""Pairs of a subscriber and a leaf up to which Gr without latency is a start."""
TIGHT, MOST_SLP_TYPES = 1.1, 1000
"""Room for each subscriber below which moves find little, and SLP is a start as well; where types
are more than this it would take minutes."""
SLP_SECONDS, SLP_SECONDS_PER_SUBSCRIBER = 60.0, 1e-2
"""A time limit must leave this much for SLP to be a start of large questions."""
SLP_SHARE, SLP_HEAT = 0.25, 0.02
"""Of the work and of the heat: what SLP has found should not be forgotten."""
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


@dataclass(frozen=True, eq=False)
class Start:
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
    def is_feasible(self) -> bool:
        return self.broken == 0

    def is_better(self, other: Start | None) -> bool:
        """Whether it breaks less, or as much with less bandwidth."""
        return other is None or (self.broken, self.value) < (other.broken, other.value)


class Search:
    """The best assignment so far, and when to stop."""

    def __init__(self, problem: Assignment, run: Run, step: Step) -> None:
        self.problem, self.run, self._step = problem, run, step
        ground = problem.ground
        self.limits = problem.limits(problem.lbf_max)
        self.crowd = gather_crowd(ground, greedy.rows_of(greedy.choices_of(problem)))
        effort = run.settings.get("effort", 1.0)
        self.work = effort * (WORK_PER_SUBSCRIBER * ground.num_subscribers + LEAST_WORK)
        run.default_limits(work=self.work)
        self.best: Start | None = None
        self.bound: float | None = None
        self.metrics: dict[str, float] = {}
        self.stopped: Stopped = "work"

    def offer(self, brokers: IntArray, filters: Filters) -> Start:
        """Take an assignment if it is better; return it."""
        ground = self.problem.ground
        excess = np.bincount(brokers, minlength=ground.num_brokers) - self.limits
        late = np.count_nonzero(find_late(*ground.candidates, brokers))
        broken = int(late) + int(np.maximum(excess, 0).sum())
        made = Start(brokers, filters, float(ground.measures(filters).sum()), broken)
        if made.is_better(self.best):
            self.best = made
            self._step.note(f"bandwidth {made.value:,.6g}")
        return made

    @property
    def wants_slp(self) -> bool:
        """Whether SLP is a start: always, or because it is worth its while or there is time."""
        count = self.problem.ground.num_subscribers
        if count <= SLP_SUBSCRIBERS:
            return True
        if self.is_over() or self.work == 0:
            return False
        room = int(self.limits[self.problem.ground.leaves].sum())
        if room <= TIGHT * count and self.crowd.num_types <= MOST_SLP_TYPES:
            return True
        limit, needed = self.run.time_limit, SLP_SECONDS + SLP_SECONDS_PER_SUBSCRIBER * count
        return limit is not None and limit - self.run.elapsed() >= needed

    def is_over(self) -> bool:
        """Whether time is up, the gap is small enough, or there is nothing to save."""
        why = self._why_over()
        if why is not None:
            self.stopped = why
        return why is not None

    def _why_over(self) -> Stopped | None:
        best = self.best
        if best is not None and best.is_feasible and best.value <= 0.0:
            return "exhausted"
        if self.run.is_over():
            return "limit"
        if self.run.gap is None or best is None:
            return None
        if self.bound is None:
            with self.run.timed("bound"):
                self.bound = self.problem.bound()
        gap = certified_gap(best.value, self.bound, is_feasible=best.is_feasible)
        return "gap" if gap is not None and gap <= self.run.gap else None


def solve(problem: Assignment, run: Run) -> Outcome:
    """Improve the best start until the work is done, the gap closed, or time is up."""
    with run.progress.step("best assignment") as step:
        search = Search(problem, run, step)
        try:
            claimed = _search(search)
        except KeyboardInterrupt:
            if search.best is None:
                raise
            claimed, search.stopped = None, "interrupted"
    if search.best is None:
        raise RuntimeError("no start was made")
    return Outcome(
        make_tables(search.best.broker_of_subscriber, search.best.filters),
        bound=claimed,
        metrics=search.metrics,
        is_interrupted=search.stopped == "interrupted",
        stopped=search.stopped,
    )


def _search(search: Search) -> float | None:
    """Look for the best assignment; return a bound where one was proven by trying everything."""
    starts = _make_starts(search)
    claimed = None
    if exact.describe_size(search.problem) is None:
        claimed, is_proven = _try_everything(search)
        if is_proven:
            search.stopped = "exhausted"
            return claimed
    main = starts["gr-star"]
    if not main.is_feasible:
        main = _relieve(search, main)
    if search.wants_slp:
        _improve(search, _start_slp(search), SLP_SHARE, heat=SLP_HEAT)
    rival = min(starts.values(), key=lambda start: (start.broken, start.value))
    if rival.is_better(main) and rival is not starts["gr-star"]:
        _improve(search, rival, RIVAL_SHARE, heat=0.0)
    _improve(search, main, 1.0)
    _refit_best(search)
    return claimed


def _make_starts(search: Search) -> dict[str, Start]:
    """Run what is quick of the paper."""
    problem, run = search.problem, replace(search.run, settings={})
    starts = {}
    pairs = problem.ground.num_subscribers * len(problem.ground.leaves)
    for name, start in STARTS.items():
        if name == "gr-no-latency" and pairs > MOST_PAIRS:
            continue
        with run.timed(name):
            starts[name] = _offer_outcome(search, start(problem, run))
    search.metrics["gr_star"] = starts["gr-star"].value
    return starts


def _offer_outcome(search: Search, outcome: Outcome) -> Start:
    return search.offer(*read_tables(search.problem.ground, outcome.tables))


def _try_everything(search: Search) -> tuple[float | None, bool]:
    """Ask for the optimum; return a bound, and whether it is the optimum."""
    with search.run.timed("exact"):
        outcome = exact.solve(search.problem, search.run)
    _offer_outcome(search, outcome)
    if outcome.is_interrupted:
        raise KeyboardInterrupt
    search.bound = outcome.bound
    return outcome.bound, bool(outcome.metrics.get("proven", False))


def _start_slp(search: Search) -> Start:
    settings = resolve_settings(find_family("assign").algorithms("slp"), {})
    with search.run.timed("slp"):
        outcome, _ = slp.assign_by_rounding(
            search.problem, replace(search.run, settings=settings, seconds={})
        )
    return _offer_outcome(search, outcome)


def _relieve(search: Search, start: Start) -> Start:
    """Return the start within the limits, or above them by as few as there can be."""
    crowd = search.crowd
    before = crowd.amounts(start.broker_of_subscriber)
    amounts = relieve_loads(crowd, before, search.limits)
    filters = cover_amounts(crowd, amounts, start.filters)
    search.metrics["repaired"] = int(np.abs(amounts - before).sum() // 2)
    return search.offer(crowd.brokers_of_subscribers(amounts), filters)


def _improve(search: Search, start: Start, share: float, heat: float = HOT) -> None:
    """Move until a share of the work, or of the time that is left, is done."""
    crowd, run = search.crowd, search.run
    amounts = crowd.amounts(start.broker_of_subscriber)
    is_elsewhere = int(amounts.sum()) < len(start.broker_of_subscriber)  # on brokers out of time
    if search.is_over() or search.work == 0 or is_elsewhere:
        return
    moves = MoveSearch(crowd, amounts, start.filters, search.limits, run.random(), heat=heat)
    began = run.elapsed()
    seconds = np.inf if run.time_limit is None else share * (run.time_limit - began)
    fraction = 0.0
    try:
        with run.timed("moves"):
            while fraction < 1.0 and not (moves.is_exhausted or search.is_over()):
                moves.run_batch(fraction)
                passed = (run.elapsed() - began) / seconds
                fraction = max(moves.work / (share * search.work), passed)
    finally:
        search.offer(crowd.brokers_of_subscribers(moves.amounts), moves.filters)
        search.metrics["moves"] = search.metrics.get("moves", 0) + moves.num_tried


def _refit_best(search: Search) -> None:
    """Fit the filters of the best assignment anew."""
    best = search.best
    if best is None or search.work == 0 or search.is_over():
        return
    brokers, ground = best.broker_of_subscriber, search.problem.ground
    with search.run.timed("refit"):
        for filters in refit(ground, brokers, best.filters, search.run.random()):
            search.offer(brokers, filters)
