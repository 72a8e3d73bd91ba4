"""The best overlay we know how to make, with the tightest bound we know how to prove.

It starts from everything that the paper's and other algorithms make of the same budgets (gpa, gpm,
spidercast, random links, gossip on small networks, gm without a budget), whatever the time limit,
so it is never below any of them, and from greedy links under all limits at once. Links that
contribute nothing are left out and what they cost is spent anew. Instances of a few dozen pairs go
to branch and bound. Elsewhere moves take a few links away and make better ones (see
:mod:`fanwise.connect.improving.moves`), and passes over all pairs lower the bound (see
:mod:`fanwise.connect.bounds`). It stops at the target gap, at the time limit, or when many moves in
a row change nothing.

Without any budget the value cannot be improved: the same moves then save links.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from fanwise.arrays.csr import IntArray
from fanwise.connect import exact, gossip, random_overlays, spidercast
from fanwise.connect.bounds import MOST_PASSES, THOROUGH_WORK, BoundSearch, snap
from fanwise.connect.certificate import Prices
from fanwise.connect.growing.grow import Grown, greedy_grower, grow
from fanwise.connect.growth_prices import prices_of_gpa, prices_of_gpm
from fanwise.connect.improving.completion import complete_greedily, counting_work
from fanwise.connect.improving.ground import budget_of, lay_ground
from fanwise.connect.improving.reordering import order_greedily
from fanwise.connect.improving.search import MoveSearch
from fanwise.connect.network import NO_EDGES
from fanwise.connect.phases import grow_in_phases
from fanwise.connect.problem import Connection, edge_table, edges_of
from fanwise.planning.plan import certified_gap
from fanwise.planning.problem import Bound, Outcome, Run, Stopped
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
MAX_CHECKED_WORK = 2_000_000_000
"""The same for prices that need no pass: whoever checks them makes one, in plain NumPy."""
FIRST_BRANCHES = 100_000
"""How far branch and bound goes before anything else is tried: well under a second."""
MAX_GOSSIP = 20_000
"""Interests up to which gossip is tried."""


class Search:
    """The best overlay and bound so far, and when to stop."""

    def __init__(self, problem: Connection, run: Run, step: Step) -> None:
        self.problem, self.run, self._step = problem, run, step
        self.ground, self.budget = lay_ground(problem), budget_of(problem)
        self.edges, self.value = NO_EDGES, 0.0
        self.bounds = BoundSearch(problem, NO_EDGES, self.ground)
        self.closed: Bound | None = None
        self.is_interrupted = self.is_settled = False
        self.metrics: dict[str, int] = {}
        self._cost = 0.0
        self.time_limit = DEFAULT_TIME_LIMIT if run.time_limit is None else run.time_limit
        self.target_gap = DEFAULT_GAP if run.gap is None else run.gap
        self._bound_seconds = 0.0
        run.default_limits(time_limit=self.time_limit, gap=self.target_gap)

    @property
    def bound(self) -> float:
        closed = self.bounds.bound if self.closed is None else self.closed.value
        return max(self.value, min(self.bounds.bound, closed))

    def certify(self, edges: IntArray) -> Bound:
        """Return the bound with its certificate, for a plan of these links."""
        if self.closed is not None and self.closed.value <= self.bounds.bound:
            return self.closed
        return self.bounds.certify(edges)

    def take_prices(self, found: tuple[float, Prices] | None) -> None:
        """Take prices that came without a pass, if they are small and quick enough to check."""
        if found is None or self.bounds.pass_work > MAX_CHECKED_WORK:
            return
        ground = self.ground
        if len(found[1].start) <= 2 * (len(ground.degree_limit) + len(ground.weight)):
            self.bounds.lower(*found)

    @property
    def stopped(self) -> Stopped:
        """Why the search ended."""
        if self.is_settled:
            return "exhausted"
        if self.gap(self.value) <= self.target_gap and not self.saves_links:
            return "gap"
        return "limit" if self.is_late() else "work"

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
    edges = order_greedily(search.ground, search.edges)
    bound = snap(search.certify(edges), problem.value(edges))
    return Outcome(
        {"edges": edge_table(edges)},
        bound=bound.value,
        proof=bound.proof,
        metrics=search.metrics,
        is_interrupted=search.is_interrupted,
        stopped=search.stopped,
    )


def _search(search: Search) -> None:
    for start in _starts(search):
        search.offer(order_greedily(search.ground, start))
    is_small = exact.count_pairs(search.problem, exact.MAX_PAIRS) <= exact.MAX_PAIRS
    if is_small and _close(search, FIRST_BRANCHES):
        return
    if search.is_late():
        return
    with search.run.timed("bound"):
        search.lower_bound(THOROUGH_WORK)
    if search.is_over():
        return
    _improve(search)
    if is_small and not search.is_late() and search.gap(search.value) > search.target_gap:
        _close(search, None)


def _starts(search: Search) -> Iterator[IntArray]:
    """Yield overlays within the budgets: what other algorithms make, and greedy ones."""
    problem, progress = search.problem, search.run.progress
    has_degrees = problem.degree_budget is not None
    has_sum = problem.edge_limit is not None or problem.max_link_cost is not None
    if has_degrees:
        grown = grow_in_phases(problem, progress=progress)
        search.take_prices(prices_of_gpm(problem, grown.edges))
        useful = order_greedily(search.ground, grown.edges)
        yield useful
        _pass_on(grown)
        if counting_work(search.ground) <= MAX_GREEDY_WORK and not search.is_late():
            run = replace(search.run, time_limit=search.time_limit)
            yield complete_greedily(search.ground, search.budget, useful, run)
    grown = grow(
        lambda: greedy_grower(problem.network, problem.max_link_cost),
        problem.edge_limit,
        progress=progress,
        title="links by contribution",
        is_over=lambda: has_degrees and not has_sum and search.is_late(),
    )
    search.take_prices(prices_of_gpa(problem, grown.edges))
    yield grown.edges
    _pass_on(grown)
    plain = replace(search.run, settings={}, limits_in_force={})
    if has_sum:
        yield edges_of(random_overlays.solve_average(problem, plain).tables["edges"])
    if has_degrees:
        yield edges_of(random_overlays.solve_maximum(problem, plain).tables["edges"])
        yield edges_of(spidercast.solve(problem, plain).tables["edges"])
        if problem.network.num_slots <= MAX_GOSSIP:
            yield edges_of(gossip.solve(problem, plain).tables["edges"])


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
    search.run.default_limits(idle_moves=moves.most_idle)
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


def _close(search: Search, patience: int | None) -> bool:
    """Let branch and bound have a look at a small instance; say whether it found the optimum."""
    run = replace(search.run, time_limit=search.time_limit)
    answer = exact.search(search.problem, run, patience)
    search.offer(order_greedily(search.ground, answer.edges))
    if search.closed is None or answer.bound.value < search.closed.value:
        search.closed = answer.bound
    search.is_settled = answer.is_proven and answer.is_fewest
    if answer.is_interrupted:
        raise KeyboardInterrupt
    return search.is_settled
