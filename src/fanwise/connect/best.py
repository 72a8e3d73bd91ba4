"""The best overlay we know how to make, with the tightest bound we know how to prove.

It starts from what the paper's and other algorithms make of the same budgets (gpa, gpm, spidercast,
random links, gossip on small networks, gm without a budget), so it is never below any of them, and
from greedy links under all limits at once. Links that contribute nothing are left out and what they
cost is spent anew. Instances of a few dozen pairs go to branch and bound. Elsewhere prices of nodes
guide greedy to better overlays (see :mod:`fanwise.connect.priced_search`), moves take a few links
away and make better ones (see :mod:`fanwise.connect.improving.moves`), and passes over all pairs
lower the bound, with a mix of partitions of its own for each topic in the end. Without any budget
the value cannot be improved: the same moves then save links.

It stops at the target gap, when many moves in a row change nothing, or after an amount of work that
is counted alike on every machine; a limit in seconds, where one is given, takes the place of the
latter. Up to 10 million pairs of followers all starts are made whatever the limit, a second in all.
Above that gpm (without a degree limit gpa) comes first and takes links until time is over, up to
most of the tenth and the second within which a limit is kept; other starts are made where they are
expected to fit into what is left of that. Where counting alone is expected to take longer than
there is, the first start is random links, as many as there is time for. A plan says what of this
the limit left no time for.

Guarantee
    Never below the starts, of which gpa and gpm keep the ratios of :mod:`fanwise.connect.greedy`
    and :mod:`fanwise.connect.phases`; under a time limit that is shorter than what they take, only
    the beginnings of them are made. The bound is proven.

Complexity
    The starts, then at most ``MOST_WORK`` steps; see
    :data:`fanwise.connect.improving.overlay.STEPS_PER_PAIR`.

References
----------
    C. Chen, Y. Tock, H.-A. Jacobsen: Overlay design for topic-based publish/subscribe under node
    degree constraints. IEEE ICDCS 2016 (the starts). Moves: G. Schrimpf,
    J. Schneider, H. Stamm-Wilbrandt, G. Dueck: Record breaking optimization results using the ruin
    and recreate principle. Journal of Computational Physics 159(2), 2000.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.connect import exact, gossip, random_overlays, spidercast
from fanwise.connect.arrays import NO_EDGES
from fanwise.connect.bounds import MOST_PASSES, THOROUGH_WORK, BoundSearch, snap
from fanwise.connect.certificate import Prices
from fanwise.connect.growing.grow import (
    Grown,
    complete_greedily,
    counts_in_table,
    grow_greedily,
    grow_in_phases,
    never_over,
)
from fanwise.connect.improving.greedy_order import order_greedily
from fanwise.connect.improving.move_search import MoveSearch
from fanwise.connect.overlay_search import OverlaySearch
from fanwise.connect.priced_search import PricedSearch
from fanwise.connect.pricing.greedy_prices import prices_of_gpa, prices_of_gpm
from fanwise.connect.problem import Connection, edge_table, edges_of
from fanwise.connect.random_overlays import RandomLinks
from fanwise.planning.problem import Bound, Outcome, Run
from fanwise.planning.stopping import FirstOf, NoProgress, limits_of
from fanwise.progress import Step

DEFAULT_GAP = 1e-4
"""Certified gap at which the search ends where none is asked for."""
MOST_WORK = 2_400_000_000
"""Steps of moves, passes and branchings where no time limit is given: about a minute."""
PASSED_PER_STEP = 2
"""How many pairs of followers a pass looks at in the time of a step of a move."""
MAX_GREEDY_WORK = 2_000_000_000
"""Followers of topics, squared, up to which budget left by a start is spent greedily."""
SMALL_WORK = 10_000_000
"""Followers of topics, squared, up to which starts run whatever the time limit: about a second."""
MOVES_PER_TURN = 10
"""Moves per link after which the bound gets another turn; after that, after twice as many."""
BOUND_SHARE, FIRST_SHARE, FIRST_PRICES = 0.25, 0.05, 10
"""Most of the work, or of the time that was given, that goes into prices without trees: in all, and
where trees follow, with so many passes."""
GROWN_AT, MOVED_AT, PRICED_AT, USED_AT = 0.3, 0.5, 0.8, 0.97
"""How much of the work or the time is used up when overlays grown by prices, moves, prices on trees
of the best overlay, and moves of what grows by those come to their end."""
MAX_PASS_WORK = 200_000_000
"""Work of a pass over all pairs up to which the bound is lowered by passes: seconds."""
LATE = 0.1
"""Part of the time that may be left where time is what ended the search."""
PASS_SECONDS, LISTING_SECONDS = 2e-8, 5e-8
"""What a pass, and what listing partners for moves, may take for each pair of followers: whether
they still fit into a time limit."""
COUNTING_SECONDS, ENTRY_SECONDS = 1e-8, 2e-9
"""What gpa and gpm may take before their first link: for each pair of followers, and for each entry
of the table of all pairs where there is one."""
KEPT_SECONDS = 0.6
"""Of the time within which a limit is kept: for what comes after the starts."""
MAX_CHECKED_WORK = 2_000_000_000
"""The same for prices that need no pass: whoever checks them makes one, in plain NumPy."""
FIRST_BRANCHES = 100_000
"""How far branch and bound goes before anything else is tried: well under a second."""
QUICK_GOSSIP, MAX_GOSSIP = 3_000, 20_000
"""Interests up to which gossip is tried whatever the time limit, and at all."""


class Start(NamedTuple):
    """An overlay to start from.

    Attributes
    ----------
    times
        How much longer than the first start it may take.
    name
        The paper's name; empty for what is ours.
    is_quick
        Whether it takes well under a second on small networks.
    """

    make: Callable[[], IntArray]
    times: float
    name: str = ""
    is_quick: bool = True


class BestSearch(OverlaySearch):
    """The best overlay so far, and prices that prove a bound on all of them.

    Attributes
    ----------
    starting
        The run of the starts, which may take a little longer than all of it should.
    """

    def __init__(self, problem: Connection, run: Run, step: Step) -> None:
        most_work = MOST_WORK if run.time_limit is None else None
        limits = limits_of(run, gap=DEFAULT_GAP, work=most_work)
        super().__init__(problem, run, step, limits)
        self.starting = run.with_grace(KEPT_SECONDS)
        self.prices = BoundSearch(problem, NO_EDGES)
        self.priced = PricedSearch(self, self.prices, self.share_of_budget)
        self._bound_share = 0.0
        self.prove(Bound(self.prices.bound))

    @property
    def is_near(self) -> bool:
        """Whether the gap is as small as it was asked for."""
        return self.gap is not None and self.gap <= self.run.limits_in_force["gap"]

    def take_prices(self, found: tuple[float, Prices] | None) -> None:
        """Take prices that came without a pass, if they are small and quick enough to check."""
        if found is None or self.prices.pass_work > MAX_CHECKED_WORK:
            return
        network = self.problem.network
        if len(found[1].start) <= 2 * (network.num_nodes + network.num_topics):
            self.prices.lower(*found)
            self.prove(Bound(self.prices.bound))

    def lower_bound(self) -> None:
        """Make passes for the bound, as long as the work and its share of the time allow."""
        prices = self.prices
        has_trees = self.priced.is_possible
        most_share = FIRST_SHARE if has_trees else BOUND_SHARE
        most_passes = FIRST_PRICES if has_trees else MOST_PASSES
        if prices.pass_work > MAX_PASS_WORK:
            return
        prices.target = self.value
        with self.run.timed("bound"):
            for _ in range(min(most_passes, max(1, THOROUGH_WORK // prices.pass_work))):
                fits = prices.step_work * PASS_SECONDS <= self.run.time_left()
                if self.is_near or not fits or self._bound_share > most_share:
                    break
                share, work = self.share_of_budget(), prices.work
                has_more = prices.step()
                self.spend((prices.work - work) // PASSED_PER_STEP)
                self._bound_share += self.share_of_budget() - share
                self.prove(Bound(prices.bound))
                if not has_more:
                    break

    def share_of_budget(self) -> float:
        """Return how much of the time is used up, or of the work where time is not limited."""
        if self.run.time_limit is None:
            return self.work / MOST_WORK
        return self.run.elapsed() / max(self.run.time_limit, 1e-9)

    def certify(self, edges: IntArray) -> Bound:
        """Return the bound with its certificate, for a plan of these links."""
        if self.bound is not None and self.bound.proof is not None:
            return self.bound
        return self.prices.certify(edges)


def solve(problem: Connection, run: Run) -> Outcome:
    """Improve overlay and bound until they meet, moves run dry, or work or time is used up."""
    with run.progress.step("best overlay") as step:
        search = BestSearch(problem, run, step)
        with search.until_interrupted():
            _search(search)
    edges = order_greedily(search.problem.network, search.answer)
    bound = snap(search.certify(edges), problem.value(edges))
    return search.outcome({"edges": edge_table(edges)}, bound)


def _search(search: BestSearch) -> None:
    for start in _starts(search):
        search.offer_links(order_greedily(search.problem.network, start))
    is_small = exact.count_pairs(search.problem, exact.MAX_PAIRS) <= exact.MAX_PAIRS
    if is_small:
        _branch(search, FIRST_BRANCHES)
    if search.is_over():
        return
    search.lower_bound()
    if search.is_over():
        return
    has_trees = search.priced.is_possible and not search.saves_links and not is_small
    if has_trees:
        search.priced.grow(GROWN_AT)
    if search.is_over():
        return
    _improve(search, MOVED_AT if has_trees else math.inf)
    if has_trees and not search.is_near:
        search.priced.finish(PRICED_AT)
        search.idle_moves = 0  # moves from another overlay are not those that ran dry
        if not search.is_over():
            search.priced.grow_overlays()
            _improve(search, USED_AT, turn=1)
        _use_time(search)
        if not search.is_near:
            search.end("limit" if search.run.time_left() < LATE * search.run.elapsed() else "work")
    if is_small and not search.is_near and not search.run.is_over():
        search.idle_moves = 0  # moves have run dry, branchings have not
        _branch(search, None)


def _branch(search: BestSearch, patience: int | None) -> None:
    """Let branch and bound have a look at a small instance."""
    exact.search_all(search, patience)
    if search.is_interrupted:
        raise KeyboardInterrupt


def _starts(search: BestSearch) -> Iterator[IntArray]:
    """Yield overlays within the budgets: what other algorithms make, and greedy ones.

    The first one in any case, others if they are quick or expected to fit into the time left.
    """
    has_degrees = search.problem.degree_budget is not None
    begun = search.run.elapsed()
    left_out = search.run.leave_out
    name = "gpm" if has_degrees else "gpa"
    if not _is_small(search) and _counting_seconds(search.problem) > search.starting.time_left():
        left_out(name)
        yield _draw(search)
        return
    first = _gpm(search) if has_degrees else _gpa(search)
    seconds = search.run.elapsed() - begun
    yield first
    if not _is_small(search) and search.starting.is_over():
        left_out(name)
        if not len(first):
            yield _draw(search)
    for start in _further_starts(search, first):
        is_quick = _is_small(search) and start.is_quick
        if is_quick or start.times * seconds < search.starting.time_left():
            yield start.make()
        elif start.name:
            left_out(start.name)


def _is_small(search: BestSearch) -> bool:
    """Whether what is quick is made whatever the time limit."""
    return search.problem.network.counting_work <= SMALL_WORK


def _clock(search: BestSearch) -> Callable[[], bool]:
    """Return what ends a start."""
    has_clock = search.run.time_limit is not None and not _is_small(search)
    return search.starting.is_over if has_clock else never_over


def _counting_seconds(problem: Connection) -> float:
    """Return what gpa and gpm are expected to take before their first link."""
    network = problem.network
    entries = network.num_nodes**2 / 2 if counts_in_table(problem) else 0.0
    return COUNTING_SECONDS * network.counting_work / 2 + ENTRY_SECONDS * entries


def _draw(search: BestSearch) -> IntArray:
    """Return random links, as many as there is time for."""
    links = RandomLinks(search.problem, search.run.random(), shared=False)
    return links.draw_all(search.starting.is_over)


def _further_starts(search: BestSearch, first: IntArray) -> Iterator[Start]:
    problem = search.problem
    plain = replace(search.run, settings={}, limits_in_force={})

    def links_of(solve: Callable[[Connection, Run], Outcome]) -> Callable[[], IntArray]:
        return lambda: edges_of(solve(problem, plain).tables["edges"])

    if problem.edge_limit is not None or problem.max_link_cost is not None:
        yield Start(links_of(random_overlays.solve_average), 1, "random-average")
    if problem.degree_budget is None:
        return
    if search.problem.network.counting_work <= MAX_GREEDY_WORK:
        yield Start(lambda: complete_greedily(problem, first, is_over=_clock(search)), 1)
    yield Start(lambda: _gpa(search), 2, "gpa")
    yield Start(links_of(random_overlays.solve_maximum), 1, "random-maximum")
    yield Start(links_of(spidercast.solve), 3, "spidercast")
    if problem.network.num_slots <= MAX_GOSSIP:
        is_quick = problem.network.num_slots <= QUICK_GOSSIP
        yield Start(links_of(gossip.solve), 100, is_quick=is_quick)


def _gpm(search: BestSearch) -> IntArray:
    """Return the links of gpm that contribute, and take the prices that follow from all of them."""
    clock = _clock(search)
    grown = grow_in_phases(search.problem, progress=search.run.progress, is_over=clock)
    search.take_prices(prices_of_gpm(search.problem, grown.edges))
    return _keep(search, grown)


def _gpa(search: BestSearch) -> IntArray:
    """Return the links of gpa, and take the prices that follow from them."""
    clock = _clock(search)
    grown = grow_greedily(search.problem, progress=search.run.progress, is_over=clock)
    search.take_prices(prices_of_gpa(search.problem, grown.edges))
    return _keep(search, grown)


def _keep(search: BestSearch, grown: Grown) -> IntArray:
    """Return what was grown; offer it and pass the interrupt on where one ended it early."""
    edges = order_greedily(search.problem.network, grown.edges)
    if grown.is_interrupted:
        search.offer_links(edges)
        raise KeyboardInterrupt
    return edges


def _use_time(search: BestSearch) -> None:
    """Move again with other random numbers where moves ran dry before a limit in seconds."""
    turn = 2
    while search.run.time_limit is not None and search.share_of_budget() < USED_AT:
        search.idle_moves = 0
        if search.is_over() or search.saves_links:
            return
        _improve(search, USED_AT, turn=turn)
        turn += 1


def _improve(search: BestSearch, until: float, turn: int = 0) -> None:
    """Move until nothing moves or so much of time or work is used up; look at the bound, too.

    Each ``turn`` has random numbers of its own.
    """
    run = search.run
    moves = MoveSearch(
        search.problem.network,
        search.problem.budget,
        search.answer,
        np.random.default_rng((run.seed, turn)) if turn else run.random(),
        charge=search.priced.charge(),
        is_complete=search.saves_links,
        listing_work=search.run.time_left() / (4 * LISTING_SECONDS),
    )
    search.run.default_limits(idle_moves=moves.most_idle)
    limits = search.limits
    search.limits = FirstOf((*limits.criteria, NoProgress(moves.most_idle)))
    next_turn = MOVES_PER_TURN * (len(search.answer) + 1)
    done = 0
    try:
        while not search.is_over() and search.share_of_budget() < until:
            if moves.run_batch():
                search.offer_links(moves.edges)
            search.idle_moves = moves.num_idle
            search.spend(moves.work - done)
            done = moves.work
            if moves.num_tried >= next_turn and until == math.inf:
                next_turn *= 2
                search.lower_bound()
    finally:
        search.count("moves", moves.num_tried)
        search.count("moves_better", moves.num_better)
    if until == math.inf:
        search.lower_bound()
    else:
        search.limits = limits
