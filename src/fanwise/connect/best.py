"""The best overlay we know how to make, with the tightest bound we know how to prove.

It starts from the paper's algorithm for the budget (gpa for links, gpm for degrees, gm without any)
and from greedy links under all limits at once. Links that contribute nothing are left out and what
they cost is spent anew, so no start is below the paper's. Then moves take a few links away and make
better ones (see :mod:`fanwise.connect.improving.moves`), and passes over all pairs lower the bound
(see :mod:`fanwise.connect.bounds`). Small instances go to branch and bound for what is left of the
gap. It stops at the target gap, at the time limit, or when many moves in a row change nothing.

Without any budget the value cannot be improved: the same moves then save links.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from fanwise.arrays.csr import IntArray
from fanwise.connect import exact
from fanwise.connect.bounds import MOST_PASSES, THOROUGH_WORK, BoundSearch, ratio_bound
from fanwise.connect.growing.grow import Grown, greedy_grower, grow
from fanwise.connect.improving.completion import complete_greedily, counting_work
from fanwise.connect.improving.ground import budget_of, lay_ground
from fanwise.connect.improving.reordering import order_greedily
from fanwise.connect.improving.search import MoveSearch
from fanwise.connect.network import NO_EDGES
from fanwise.connect.phases import grow_in_phases
from fanwise.connect.problem import Connection, edge_table
from fanwise.planning.plan import certified_gap
from fanwise.planning.problem import Outcome, Run
from fanwise.progress import Step

DEFAULT_TIME_LIMIT = 60.0
DEFAULT_GAP = 1e-4
MAX_GREEDY_WORK = 2_000_000_000
"""Followers of topics, squared, up to which budget left by a start is spent greedily."""
LOOK = 10
"""Moves per link after which the bound gets another turn; after that, after twice as many."""
BOUND_SHARE = 0.25
"""Most of the time that goes into lowering the bound."""
MAX_PASS_WORK = 200_000_000
"""Work of a pass over all pairs up to which the bound is lowered by passes: seconds."""
SMALL_PAIRS, EXACT_BRANCHES = 15, 100_000
"""Pairs up to which branch and bound comes first, and how far it goes."""


class Search:
    """The best overlay and bound so far, and when to stop."""

    def __init__(self, problem: Connection, run: Run, step: Step) -> None:
        self.problem, self.run, self._step = problem, run, step
        self.ground, self.budget = lay_ground(problem), budget_of(problem)
        self.edges, self.value = NO_EDGES, 0.0
        self.bounds = BoundSearch(problem, NO_EDGES, self.ground)
        self.ratio = float("inf")
        self.is_interrupted = False
        self.metrics: dict[str, int] = {}
        self._cost = 0.0
        self.time_limit = DEFAULT_TIME_LIMIT if run.time_limit is None else run.time_limit
        self.target_gap = DEFAULT_GAP if run.gap is None else run.gap
        self._bound_seconds = 0.0

    @property
    def bound(self) -> float:
        return max(self.value, min(self.bounds.bound, self.ratio))

    def offer(self, edges: IntArray) -> bool:
        """Take an overlay if it is worth more, or the same and costs less."""
        value, cost = self.problem.value(edges), self._cost_of(edges)
        if value < self.value or (value == self.value and cost >= self._cost and len(self.edges)):
            return False
        if not self.problem.admits(edges):
            return False
        self.edges, self.value, self._cost = edges, value, cost
        self.bounds.target = value
        self.show(value)
        return True

    def _cost_of(self, edges: IntArray) -> float:
        has_costs = self.problem.network.has_costs
        return float(self.problem.network.costs(edges).sum()) if has_costs else float(len(edges))

    def is_late(self) -> bool:
        return self.run.elapsed() >= self.time_limit

    def is_over(self) -> bool:
        """Whether the time is up, or the gap closed and no link can be saved."""
        return self.is_late() or (self.gap(self.value) <= self.target_gap and not self.saves_links)

    @property
    def saves_links(self) -> bool:
        """Whether every topic is connected: what is left to do is to save links."""
        return self.value >= self.problem.network.complete_value and len(self.edges) > 0

    def gap(self, value: float) -> float:
        return certified_gap(value, self.bound, is_feasible=True) or 0.0

    def lower_bound(self, work: int) -> None:
        """Make passes for the bound, as long as the work and the share of time allow."""
        started = time.perf_counter()
        if self.gap(self.value) > self.target_gap and self.bounds.pass_work <= MAX_PASS_WORK:
            for _ in range(min(MOST_PASSES, max(1, work // self.bounds.pass_work))):
                share = (self._bound_seconds + time.perf_counter() - started) / max(
                    self.time_limit, 1e-9
                )
                if share > BOUND_SHARE or self.gap(self.value) <= self.target_gap:
                    break
                if not self.bounds.step():
                    break
        self._bound_seconds += time.perf_counter() - started
        self.show(self.value)

    def show(self, value: float) -> None:
        self._step.note(
            f"value {value:,.6g}  bound {self.bound:,.6g}  gap {100 * self.gap(value):.3f}%  "
            f"links {len(self.edges):,}"
        )


def solve(problem: Connection, run: Run) -> Outcome:
    """Improve overlay and bound until they meet, moves run dry, or time is up."""
    with run.progress.step("best overlay") as step:
        search = Search(problem, run, step)
        try:
            _search(search)
        except KeyboardInterrupt:
            search.is_interrupted = True
    return Outcome(
        {"edges": edge_table(order_greedily(search.ground, search.edges))},
        bound=search.bound,
        metrics=search.metrics,
        is_interrupted=search.is_interrupted,
    )


def _search(search: Search) -> None:
    for start in _starts(search):
        search.offer(order_greedily(search.ground, start))
        if search.is_late():
            return
    if _close(search, SMALL_PAIRS):
        return
    with search.run.timed("bound"):
        search.lower_bound(THOROUGH_WORK)
    if search.is_over():
        return
    _improve(search)
    if not search.is_late() and search.gap(search.value) > 0:
        _close(search, exact.MAX_PAIRS)


def _starts(search: Search) -> Iterator[IntArray]:
    """Yield overlays within the budgets: the paper's, made useful, and greedy ones."""
    problem, progress = search.problem, search.run.progress
    has_degrees = problem.degree_budget is not None
    if has_degrees:
        grown = grow_in_phases(problem, progress=progress)
        search.ratio = min(search.ratio, ratio_bound(problem, gpm=grown.edges))
        useful = order_greedily(search.ground, grown.edges)
        yield useful
        _pass_on(grown)
        if counting_work(search.ground) <= MAX_GREEDY_WORK:
            run = replace(search.run, time_limit=search.time_limit)
            yield complete_greedily(search.ground, search.budget, useful, run)
    grown = grow(
        lambda: greedy_grower(problem.network, problem.max_link_cost),
        problem.edge_limit,
        progress=progress,
        title="links by contribution",
        is_over=lambda: has_degrees and search.is_late(),  # else it is the paper's own: to the end
    )
    if not has_degrees:
        search.ratio = min(search.ratio, ratio_bound(problem, gpa=grown.edges))
    yield grown.edges
    _pass_on(grown)


def _pass_on(grown: Grown) -> None:
    """Raise the interrupt that ended a start early."""
    if grown.is_interrupted:
        raise KeyboardInterrupt


def _improve(search: Search) -> None:
    """Move until nothing moves, lowering the bound now and then."""
    moves = MoveSearch(
        search.ground,
        search.budget,
        search.edges,
        search.run.random(),
        is_complete=search.saves_links,
    )
    next_look = LOOK * (len(search.edges) + 1)
    try:
        while not (moves.is_exhausted or search.is_over()):
            if moves.run_batch():
                search.offer(moves.edges)
            if moves.num_tried >= next_look:
                next_look *= 2
                search.lower_bound(THOROUGH_WORK)
    finally:
        search.metrics = {"moves": moves.num_tried, "moves_better": moves.num_better}
    search.lower_bound(THOROUGH_WORK)


def _close(search: Search, most_pairs: int) -> bool:
    """Let branch and bound have a look at small instances; say whether it found the optimum."""
    problem = search.problem
    if exact.count_pairs(problem, most_pairs) > most_pairs:
        return False
    run = replace(search.run, time_limit=search.time_limit)
    answer = exact.search(problem, run, exact.list_pairs(problem), EXACT_BRANCHES)
    search.offer(answer.edges)
    if answer.is_proven:
        search.ratio = min(search.ratio, problem.value(answer.edges))
    return answer.is_proven
