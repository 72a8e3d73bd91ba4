"""The next plan after rates or subscriptions changed, with few switches.

Two forms of one question: at most K topics switched on or off against the previous plan, or every
switch must gain a price P. Both become a surcharge on what a topic costs: one that was not served
before counts as dearer, one that was as cheaper, and greedy selection under such prices trades
value for stability. A limit is met by bisection on the surcharge; what is over is taken back, what
is left is spent, and dropping the topics that earn least and filling up again improves the rest.

The bound is that of the linear relaxation with the price of a change as one more multiplier: for
every price p >= 0, the optimum with at most K changes is at most the optimum of (value - p x
changes) plus p x K (see :class:`fanwise.select.relaxing.relaxation.Relaxation`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.planning.plan import certified_gap
from fanwise.planning.problem import Outcome, Run
from fanwise.select.bounds import whole
from fanwise.select.exact import solve_milp
from fanwise.select.greedy import continue_from
from fanwise.select.improve import Served, topic_losses
from fanwise.select.problem import Selection
from fanwise.select.relaxing.relaxation import Relaxation
from fanwise.select.relaxing.tightening import fit_to, plain_relaxation, tighten
from fanwise.select.stability.changes import compare_with_free, nearest
from fanwise.workload.topic import RELATIVE_TOLERANCE

BISECTIONS = 8
SPREAD = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Surcharges tried around the price of a change, which capacity's price makes uncertain."""
DROPS = (0.3, 0.1, 0.03, 0.01)
MAX_ROUNDS = 12
ITERATIONS, MAX_PRICE_STEPS, PATIENCE = 10, 40, 3
WORTHWHILE = 1e-4
LEAST_PRICE, MIN_FACTOR = 1e-3, 1.02
"""The price of a change moves by a factor that shrinks from two to this."""
SMALL_PAIRS = 20_000
DEFAULT_GAP = 1e-4


def solve_near(
    problem: Selection,
    run: Run,
    free: Served,
    *,
    free_bound: float | None = None,
    is_thorough: bool = True,
    is_interrupted: bool = False,
) -> Outcome:
    """Answer with few changes, given the best plan that is free to change.

    Parameters
    ----------
    free
        The plan to compare with.
    free_bound
        A proven bound on any plan; None leaves it to the problem.
    is_thorough
        Whether to improve the plan and prove a bound of its own.
    is_interrupted
        Take what is nearest to the free plan and stop.
    """
    with run.progress.step("few changes") as step:
        stable = Stable(problem, nearest(problem))
        proven = np.inf
        try:
            if not is_interrupted:
                search(stable, free, run)
                if is_thorough:
                    improve(stable, run)
                    step.note(f"value {stable.value:,.6g}")
                    proven = prove(stable, run)
                    if problem.workload.num_pairs <= SMALL_PAIRS:
                        proven = min(proven, settle(stable, proven, run))
        except KeyboardInterrupt:
            is_interrupted = True
    bound, metrics = free_bound, compare_with_free(problem, stable.served, free)
    if problem.max_changes is not None and free_bound is not None:
        bound = max(min(free_bound, whole(problem, proven)), problem.value(stable.served))
    elif problem.change_price is not None:
        metrics["net_value"] = stable.value
        metrics["net_bound"] = None if np.isinf(proven) else max(proven, stable.value)
    return Outcome(
        {"topics": problem.table(stable.served)},
        bound=bound,
        metrics=metrics,
        is_interrupted=is_interrupted,
    )


@dataclass
class Stable:
    """The best admitted selection so far, among those that weigh changes."""

    problem: Selection
    served: Served
    surcharge: float = 0.0
    value: float = field(init=False)

    def __post_init__(self) -> None:
        self.value = self.problem.net_value(self.served)

    @property
    def was_served(self) -> Served:
        was_served = self.problem.was_served
        assert was_served is not None
        return was_served

    def offer(self, served: Served) -> bool:
        """Take a selection if it is admitted and better."""
        if not self.problem.admits(served):
            return False
        value = self.problem.net_value(served)
        if value <= self.value:
            return False
        self.served, self.value = served, value
        return True

    def prices(self, surcharge: float) -> FloatArray:
        """What topics cost when a change costs this much more; those that stay are never free."""
        cost = self.problem.cost
        change = np.where(self.was_served, -surcharge, surcharge)
        return np.maximum(cost + change, 1e-3 * cost)

    def complete(self, kept: Served, surcharge: float) -> Served:
        """Go on greedily from kept topics under a surcharge, whatever the number of changes."""
        run = continue_from(self.problem, kept, self.prices(surcharge))
        served = kept.copy()
        served[run.order] = True
        return self.restore(served)

    def finish(self, served: Served, surcharge: float) -> Served:
        """Take back changes that are too many or earn too little, spend those that are left."""
        served = self.take_back(served)
        return served if self.problem.max_changes is None else self.spend(served, surcharge)

    def restore(self, served: Served) -> Served:
        """Serve again what was served before and still fits: fewer changes, never less value."""
        problem = self.problem
        gone = np.flatnonzero(self.was_served & ~served & ~problem.is_excluded)
        gone = gone[np.argsort(problem.cost[gone], kind="stable")]
        room = problem.limit * (1 + RELATIVE_TOLERANCE / 2) - float(problem.cost[served].sum())
        restored = served.copy()
        restored[gone[np.cumsum(problem.cost[gone]) <= room]] = True
        return restored

    def take_back(self, served: Served) -> Served:
        """Switch new topics off, those that earn least first, until changes are few or worth it.

        One taken back may make room for old topics, or raise what the others earn: half of them at
        a time, then look again.
        """
        while True:
            new = np.flatnonzero(served & ~self.was_served & ~self.problem.is_pinned)
            losses = topic_losses(self.problem, served)[new]
            count = min(len(new), self._num_unwanted(served, losses))
            if count <= 0:
                return served
            worst = new[np.argsort(losses, kind="stable")[: (count + 1) // 2]]
            served = served.copy()
            served[worst] = False
            served = self.restore(served)

    def _num_unwanted(self, served: Served, losses: FloatArray) -> int:
        if self.problem.max_changes is not None:
            return self.problem.num_changes(served) - self.problem.max_changes
        return int(np.count_nonzero(losses < (self.problem.change_price or 0.0)))

    def spend(self, served: Served, surcharge: float) -> Served:
        """Use the changes that are left for new topics, within the capacity that is left."""
        limit = self.problem.max_changes
        order = continue_from(self.problem, served, self.prices(surcharge)).order
        if limit is not None:
            left = limit - self.problem.num_changes(served)
            order = order[np.cumsum(np.where(self.was_served[order], -1, 1)) <= left]
        spent = served.copy()
        spent[order] = True
        return spent


def search(stable: Stable, free: Served, run: Run) -> None:
    """Look for a good admitted selection, given one that is free to change."""
    if stable.offer(free) and stable.problem.max_changes is not None:
        return
    stable.offer(stable.finish(stable.served, 0.0))
    if stable.problem.max_changes is None:
        _search_around_price(stable, run)
    else:
        _search_by_bisection(stable, run)


def _search_around_price(stable: Stable, run: Run) -> None:
    problem = stable.problem
    # A unit of capacity is worth about what the average unit earns.
    worth = max(problem.value(stable.served), 1.0) / problem.limit if problem.limit else 1.0
    for factor in SPREAD:
        surcharge = factor * (problem.change_price or 0.0) / worth
        served = stable.complete(problem.is_pinned, surcharge)
        if stable.offer(stable.finish(served, surcharge)) or not stable.surcharge:
            stable.surcharge = surcharge
        if run.is_over():
            return


def _search_by_bisection(stable: Stable, run: Run) -> None:
    """Find the least surcharge at which greedy makes few enough changes, on a log scale."""
    problem = stable.problem
    assert problem.max_changes is not None
    high = float(problem.cost.max(initial=1.0))
    low = 1e-6 * high
    for _ in range(BISECTIONS):
        surcharge = float(np.sqrt(low * high))
        served = stable.complete(problem.is_pinned, surcharge)
        if stable.offer(stable.finish(served, surcharge)) or not stable.surcharge:
            stable.surcharge = surcharge
        if problem.num_changes(served) > problem.max_changes:
            low = surcharge
        else:
            high = surcharge
        if run.is_over():
            return


def improve(stable: Stable, run: Run) -> None:
    """Drop topics that earn least and fill up again, as long as that helps."""
    for _ in range(MAX_ROUNDS):
        before = stable.value
        for share in DROPS:
            if run.is_over():
                return
            for surcharge in (stable.surcharge, 0.0):
                served = stable.complete(_drop_worst(stable, share), surcharge)
                stable.offer(stable.finish(served, surcharge))
        if stable.value <= before:
            return


def prove(stable: Stable, run: Run) -> float:
    """Return a bound on the net value from prices of subscribers, capacity and changes.

    The multiplier of a limit on changes is moved towards the one at which the relaxation makes as
    many changes as are allowed; every value of it proves a bound. What the relaxation serves, taken
    whole, is offered as a selection on the way.
    """
    relaxation = plain_relaxation(stable.problem)
    relaxation.iterate(2 * ITERATIONS)
    fit_to(relaxation, stable.served)
    if stable.problem.max_changes is not None:
        relaxation.change_price = stable.surcharge * relaxation.capacity_price
    idle = 0
    for step in range(MAX_PRICE_STEPS):
        before = relaxation.best, stable.value
        if stable.problem.max_changes is not None:
            _move_price(relaxation, factor=max(MIN_FACTOR, 2.0 ** (0.5**step)))
        relaxation.iterate(2 * ITERATIONS)
        relaxation.bound()
        stable.offer(_round(stable, relaxation))
        is_progress = relaxation.best < before[0] * (1 - WORTHWHILE) or stable.value > before[1]
        idle = 0 if is_progress else idle + 1
        gap = certified_gap(stable.value, relaxation.best, is_feasible=True) or 0.0
        if run.is_over() or idle > PATIENCE or gap <= (run.gap or DEFAULT_GAP):
            break
        tighten(relaxation)
    return relaxation.best


def _move_price(relaxation: Relaxation, factor: float) -> None:
    """Make changes dearer where the relaxation makes too many, else cheaper."""
    allowed = relaxation.problem.max_changes
    assert allowed is not None
    if relaxation.num_changes() > allowed:
        relaxation.change_price = max(relaxation.change_price * factor, LEAST_PRICE)
    else:
        relaxation.change_price /= factor


def _round(stable: Stable, relaxation: Relaxation) -> Served:
    """Serve what the relaxation mostly serves, as far as it fits, and finish that."""
    problem = stable.problem
    likely = np.flatnonzero((relaxation.shares >= 0.5) & ~problem.is_pinned & ~problem.is_excluded)
    order = likely[np.argsort(-relaxation.reduced_profit()[likely], kind="stable")]
    room = problem.limit - float(problem.cost[problem.is_pinned].sum())
    served = problem.is_pinned.copy()
    served[order[np.cumsum(problem.cost[order]) <= room]] = True
    served = stable.complete(served, stable.surcharge)
    return stable.finish(served, stable.surcharge)


def settle(stable: Stable, proven: float, run: Run) -> float:
    """Hand a small instance to HiGHS for what is left of the gap; return its bound."""
    gap = certified_gap(stable.value, proven, is_feasible=True) or 0.0
    if gap <= (DEFAULT_GAP if run.gap is None else run.gap) or run.is_over():
        return proven
    left = None if run.time_limit is None else run.time_limit - run.elapsed()
    answer = solve_milp(
        stable.problem, start=stable.served, time_limit=left, gap=run.gap or DEFAULT_GAP
    )
    if answer.served is not None:
        stable.offer(answer.served)
    return proven if answer.bound is None else answer.bound


def _drop_worst(stable: Stable, share: float) -> Served:
    """Drop, for a share of the capacity, what earns least for its cost and surcharge."""
    problem, served = stable.problem, stable.served
    chosen = np.flatnonzero(served & ~problem.is_pinned)
    losses = topic_losses(problem, served)[chosen]
    price = stable.prices(stable.surcharge)[chosen]
    worth = np.divide(losses, price, out=np.full(len(chosen), np.inf), where=price > 0)
    order = np.argsort(worth, kind="stable")
    spent = np.cumsum(problem.cost[chosen[order]])
    kept = served.copy()
    kept[chosen[order[spent <= share * problem.limit]]] = False
    return kept
