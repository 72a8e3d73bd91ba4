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

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.planning.plan import certified_gap
from fanwise.planning.problem import Bound, Outcome, Run, Stopped
from fanwise.progress import Step
from fanwise.select.greedy import continue_from
from fanwise.select.improve import Served, topic_losses
from fanwise.select.milp import solve_milp
from fanwise.select.problem import Selection
from fanwise.select.proving import branching
from fanwise.select.proving.certificate import certify, claimed, rest_on_solver, smaller
from fanwise.select.relaxing.relaxation import Relaxation
from fanwise.select.relaxing.tightening import fit_to, plain_relaxation, tighten
from fanwise.select.stability.changes import nearest
from fanwise.select.stability.near import Near
from fanwise.select.stopping import TINY_PAIRS, is_reached, target_gap, why_stopped
from fanwise.select.whole import whole
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


def solve_near(
    problem: Selection,
    run: Run,
    starts: Sequence[Served],
    *,
    free_bound: Bound | None = None,
    is_thorough: bool = True,
    is_interrupted: bool = False,
) -> Outcome:
    """Answer with few changes, given plans that are free to change.

    Parameters
    ----------
    starts
        Plans that are free to change, the best one first: that is the one to compare with.
    free_bound
        A proven bound on any plan; None leaves it to the problem.
    is_thorough
        Whether to improve the plan and prove a bound of its own.
    is_interrupted
        Take what is nearest to the free plan and stop.
    """
    free_problem = problem.freed()
    bound = free_problem.proven if free_bound is None else free_bound
    with run.progress.step("few changes") as step:
        stable = Stable(problem, nearest(problem))
        proof = Proving(stable)
        try:
            for start in starts:
                stable.offer(start)
            if not is_interrupted:
                search(stable)
                if is_thorough:
                    _improve_and_prove(stable, proof, run, step)
        except KeyboardInterrupt:
            is_interrupted = True
    gap = target_gap(problem, run)
    own, served = proof.bound(), stable.served
    near = Near(problem, starts[0], bound)
    if problem.max_changes is None:
        target = own
    else:
        target = bound = bound if own is None else smaller(bound, own)
        if proof.solver_bound is not None and not is_reached(problem, served, bound.value, gap):
            by_solver = claimed(problem, proof.solver_bound)
            bound = rest_on_solver(bound, by_solver) if by_solver < bound.value else bound
            target = bound
    stopped: Stopped = "exhausted"
    if is_thorough and target is not None:
        stopped = why_stopped(problem, served, target.value, gap, is_over=run.is_over())
    return near.outcome(served, bound, net=own, stopped=stopped, is_interrupted=is_interrupted)


def _improve_and_prove(stable: Stable, proof: Proving, run: Run, step: Step) -> None:
    """Make the plan better and bound it, small instances by searching through all of them."""
    problem, gap = stable.problem, target_gap(stable.problem, run)
    if problem.workload.num_pairs <= TINY_PAIRS and proof.settle(gap):
        return
    improve(stable, run)
    step.note(f"value {stable.value:,.6g}")
    if problem.workload.num_pairs <= SMALL_PAIRS and not run.is_over():
        proof.ask_solver(run, gap)
        is_small = problem.workload.num_pairs <= branching.MAX_PAIRS
        if is_small and proof.settle(gap):
            return
    prove(proof, run, gap)


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
        return self.problem.before

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


@dataclass
class Proving:
    """What is proven of a selection with few changes, and what a solver says.

    Attributes
    ----------
    relaxation
        The relaxation that weighs changes, once it is made.
    found
        A bound that branch and bound proved.
    solver_bound
        The word of HiGHS.
    """

    stable: Stable
    relaxation: Relaxation | None = None
    found: Bound | None = None
    solver_bound: float | None = None

    @property
    def _prefix(self) -> str:
        """Bounds on the value less the price of changes stand beside those on the value itself."""
        return "net_" if self.stable.problem.max_changes is None else ""

    def bound(self) -> Bound | None:
        """Return the best bound that has a certificate."""
        if self.found is not None:
            return self.found
        if self.relaxation is None or self.relaxation.hints is None:
            return None
        return certify(self.stable.problem, self.relaxation.hints, self._prefix)

    def settle(self, gap: float) -> bool:
        """Search through all selections; False if there are too many."""
        problem, served = self.stable.problem, self.stable.served
        settled = branching.branch(problem, served, gap=gap, prefix=self._prefix)
        self.stable.offer(settled.served)
        self.found = settled.bound
        return settled.bound is not None

    def ask_solver(self, run: Run, gap: float) -> None:
        """Hand the question to HiGHS."""
        left = None if run.time_limit is None else (run.time_limit - run.elapsed()) / 2
        answer = solve_milp(self.stable.problem, start=self.stable.served, time_limit=left, gap=gap)
        if answer.served is not None:
            self.stable.offer(answer.served)
        self.solver_bound = answer.bound
        if answer.is_interrupted:
            raise KeyboardInterrupt


def search(stable: Stable) -> None:
    """Look for a good admitted selection by greedy runs that weigh changes.

    It takes as long as a few greedy runs, whatever the time limit.
    """
    stable.offer(stable.finish(stable.served, 0.0))
    if stable.problem.max_changes is None:
        _search_around_price(stable)
    else:
        _search_by_bisection(stable, stable.problem.max_changes)


def _search_around_price(stable: Stable) -> None:
    problem = stable.problem
    # A unit of capacity is worth about what the average unit earns.
    worth = max(problem.value(stable.served), 1.0) / problem.limit if problem.limit else 1.0
    for factor in SPREAD:
        surcharge = factor * (problem.change_price or 0.0) / worth
        served = stable.complete(problem.is_pinned, surcharge)
        if stable.offer(stable.finish(served, surcharge)) or not stable.surcharge:
            stable.surcharge = surcharge


def _search_by_bisection(stable: Stable, max_changes: int) -> None:
    """Find the least surcharge at which greedy makes few enough changes, on a log scale."""
    problem = stable.problem
    high = float(problem.cost.max(initial=1.0))
    low = 1e-6 * high
    for _ in range(BISECTIONS):
        surcharge = float(np.sqrt(low * high))
        served = stable.complete(problem.is_pinned, surcharge)
        if stable.offer(stable.finish(served, surcharge)) or not stable.surcharge:
            stable.surcharge = surcharge
        if problem.num_changes(served) > max_changes:
            low = surcharge
        else:
            high = surcharge


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


def prove(proof: Proving, run: Run, gap: float) -> None:
    """Lower a bound on the net value by prices of subscribers, capacity and changes.

    The multiplier of a limit on changes is moved towards the one at which the relaxation makes as
    many changes as are allowed; every value of it proves a bound. What the relaxation serves, taken
    whole, is offered as a selection on the way.
    """
    stable = proof.stable
    max_changes = stable.problem.max_changes
    proof.relaxation = relaxation = plain_relaxation(stable.problem)
    relaxation.iterate(2 * ITERATIONS)
    fit_to(relaxation, stable.served)
    if max_changes is not None:
        relaxation.change_price = stable.surcharge * relaxation.capacity_price
    idle = 0
    for step in range(MAX_PRICE_STEPS):
        before = relaxation.best, stable.value
        if max_changes is not None:
            _move_price(relaxation, max_changes, factor=max(MIN_FACTOR, 2.0 ** (0.5**step)))
        relaxation.iterate(2 * ITERATIONS)
        relaxation.bound()
        stable.offer(_round(stable, relaxation))
        is_progress = relaxation.best < before[0] * (1 - WORTHWHILE) or stable.value > before[1]
        idle = 0 if is_progress else idle + 1
        reached = certified_gap(
            stable.value, whole(stable.problem, relaxation.best), is_feasible=True
        )
        if run.is_over() or idle > PATIENCE or (reached or 0.0) <= gap:
            break
        tighten(relaxation)


def _move_price(relaxation: Relaxation, allowed: int, factor: float) -> None:
    """Make changes dearer where the relaxation makes too many, else cheaper."""
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
