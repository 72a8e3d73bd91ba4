"""The best assignment we know how to make.

It starts from Gr*, so that it is never worse, and where brokers must be nearly full and types of
subscribers are few also from SLP.
Where Gr* breaks the load limit and max-flow finds that nobody has to, the start is repaired first
(see :mod:`fanwise.assign.improving.repairing`). Then sides of rectangles are pulled in and whoever
sticks out finds another place, exactly and with a heat that falls (see
:mod:`fanwise.assign.improving.moves`).

It stops after work in proportion to the number of subscribers, so that the same seed gives the same
plan; at the time limit, if that comes first, or at the target gap.

Guarantees: within the limits wherever any assignment is; no more bandwidth than Gr*, unless Gr*
breaks a limit that this does not; no broker further over its limit than under Gr*.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.assign import greedy, slp
from fanwise.assign.ground import Filters
from fanwise.assign.improving.crowd import gather_crowd
from fanwise.assign.improving.repairing import cover_amounts, repair_loads
from fanwise.assign.improving.search import HOT, MoveSearch
from fanwise.assign.problem import Assignment, make_tables, read_tables
from fanwise.planning.families import find_family
from fanwise.planning.family import resolve_settings
from fanwise.planning.plan import certified_gap
from fanwise.planning.problem import Outcome, Run
from fanwise.progress import Step

WORK_PER_SUBSCRIBER, LEAST_WORK = 6000, 1_000_000
"""How far a search goes: what moves look at, members and choices."""
TIGHT, MOST_SLP_TYPES = 1.1, 1000
"""Room for each subscriber below which moves find little, and SLP is a start as well; where types
are more than this it would take minutes."""
SLP_SHARE, SLP_HEAT = 0.25, 0.02
"""Of the work and of the heat: what SLP has found should not be forgotten."""


@dataclass(frozen=True, eq=False)
class Start:
    """An assignment to begin with."""

    broker_of_subscriber: IntArray
    filters: Filters
    value: float
    is_feasible: bool


class Search:
    """The best assignment so far, and when to stop."""

    def __init__(self, problem: Assignment, run: Run, step: Step) -> None:
        self.problem, self.run, self._step = problem, run, step
        ground = problem.ground
        self.limits = problem.limits(problem.lbf_max)
        self.crowd = gather_crowd(ground, greedy.rows_of(greedy.choices_of(problem)))
        effort = run.settings.get("effort", 1.0)
        self.work = effort * (WORK_PER_SUBSCRIBER * ground.num_subscribers + LEAST_WORK)
        self.best: Start | None = None
        self.bound: float | None = None
        self.metrics: dict[str, float] = {}
        self.is_interrupted = False

    def offer(self, brokers: IntArray, filters: Filters) -> Start:
        """Take an assignment if it is better: feasible, then less bandwidth; return it."""
        ground = self.problem.ground
        loads = np.bincount(brokers, minlength=ground.num_brokers)
        is_feasible = bool((loads <= self.limits).all()) and self.is_in_time
        made = Start(brokers, filters, float(ground.measures(filters).sum()), is_feasible)
        best = self.best
        if best is None or (made.is_feasible, -made.value) > (best.is_feasible, -best.value):
            self.best = made
            self._step.note(f"bandwidth {made.value:,.6g}")
        return made

    @property
    def is_in_time(self) -> bool:
        """Whether everybody has a broker in time at all."""
        return bool((np.diff(self.problem.ground.indptr) > 0).all())

    @property
    def wants_slp(self) -> bool:
        """Whether full brokers leave moves so little room that SLP is worth its while."""
        room = int(self.limits[self.problem.ground.leaves].sum())
        is_tight = room <= TIGHT * self.problem.ground.num_subscribers
        return is_tight and self.crowd.num_types <= MOST_SLP_TYPES and self.work > 0

    def is_over(self) -> bool:
        """Whether time is up, or the gap is small enough."""
        if self.run.is_over():
            return True
        if self.run.gap is None or self.best is None:
            return False
        if self.bound is None:
            with self.run.timed("bound"):
                self.bound = self.problem.bound()
        gap = certified_gap(self.best.value, self.bound, is_feasible=self.best.is_feasible)
        return gap is not None and gap <= self.run.gap


def solve(problem: Assignment, run: Run) -> Outcome:
    """Improve the best start until the work is done, the gap closed, or time is up."""
    with run.progress.step("best assignment") as step:
        search = Search(problem, run, step)
        try:
            _search(search)
        except KeyboardInterrupt:
            if search.best is None:
                raise
            search.is_interrupted = True
    assert search.best is not None
    return Outcome(
        make_tables(search.best.broker_of_subscriber, search.best.filters),
        bound=search.bound,
        metrics=search.metrics,
        is_interrupted=search.is_interrupted,
    )


def _search(search: Search) -> None:
    problem, run = search.problem, search.run
    with run.timed("gr-star"):
        start = _offer_outcome(search, greedy.solve_offline(problem, run))
    search.metrics["gr_star"] = start.value
    if not start.is_feasible:
        start = _repair(search, start)
    if search.wants_slp and not search.is_over():
        with run.timed("slp"):
            settings = resolve_settings(find_family("assign").algorithms("slp"), {})
            other = slp.solve(problem, replace(run, settings=settings))
        _improve(search, _offer_outcome(search, other), SLP_SHARE, heat=SLP_HEAT)
    _improve(search, start, 1.0)


def _offer_outcome(search: Search, outcome: Outcome) -> Start:
    return search.offer(*read_tables(search.problem.ground, outcome.tables))


def _repair(search: Search, start: Start) -> Start:
    """Return the start within the limits, if anybody can be."""
    crowd = search.crowd
    amounts = repair_loads(crowd, crowd.amounts(start.broker_of_subscriber), search.limits)
    if amounts is None:
        return start
    filters = cover_amounts(crowd, amounts, start.filters)
    search.metrics["repaired"] = int(
        np.abs(amounts - crowd.amounts(start.broker_of_subscriber)).sum() // 2
    )
    return search.offer(crowd.brokers_of_subscribers(amounts), filters)


def _improve(search: Search, start: Start, share: float, heat: float = HOT) -> None:
    """Move until a share of the work, or of the time that is left, is done."""
    if search.is_over() or search.work == 0:
        return
    crowd, run = search.crowd, search.run
    amounts = crowd.amounts(start.broker_of_subscriber)
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
