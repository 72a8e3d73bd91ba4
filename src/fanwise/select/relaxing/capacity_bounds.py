"""Bounds at many capacities from one linear relaxation.

For any prices, what :mod:`fanwise.select.relaxing.relaxation` proves holds at *every* capacity:
only the knapsack has another limit, and one sort of profit per cost solves it for all of them.
Inequalities fitted at one capacity are valid at all, too. So one relaxation walks from capacity to
capacity, each time starting from where it is, which is close; each set of prices on the way is
tried at every capacity, and the smallest bound counts.

Guarantee
    Each bound holds for every selection within its capacity, whatever the prices.

Complexity
    O(topics log topics) beside the iterations for each proof at all capacities; at most MAX_STOPS
    stops of MAX_PROOFS proofs.

References
----------
    Our own; see :mod:`fanwise.select.relaxing.relaxation`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.tolerance import most_within
from fanwise.progress import SILENT, Progress
from fanwise.select.bounds import paper_bounds
from fanwise.select.greedy import Trajectory, greedy_binary
from fanwise.select.problem import Selection
from fanwise.select.reach import plain_case
from fanwise.select.relaxing.covers import plain_inequalities
from fanwise.select.relaxing.knapsack import fractional_knapsacks
from fanwise.select.relaxing.relaxation import BOUND_MARGIN, Relaxation
from fanwise.select.relaxing.tightening import fit_to, tighten
from fanwise.select.rounding import rounded_down

MAX_STOPS = 24
"""Capacities that the walk stops at; those between take what was proven on the way."""
ITERATIONS = 5
"""Between two proofs of bounds."""
FIRST_PROOFS, FIRST_TIGHTENINGS = 3, 3
MIN_PROOFS = 3
MAX_PROOFS = 12
WORTHWHILE = 1e-3
"""The walk stays while a proof lowers the bound here by this much."""


def capacity_bounds(
    problem: Selection,
    limits: Sequence[float],
    *,
    run: Trajectory | None = None,
    progress: Progress = SILENT,
) -> tuple[FloatArray, bool]:
    """Return a proven bound for each capacity, in cost units, and whether Ctrl-C cut it short.

    Parameters
    ----------
    problem
        Its own capacity plays no part; changes against a previous plan are free.
    run
        A greedy run at the largest of the capacities, if there is one already; the binary metric
        fits its inequalities to its beginning.
    """
    walk = Walk(problem.freed(), np.asarray(limits, dtype=np.float64))
    is_interrupted = False
    try:
        walk.prove_without_iterations()
        stops = choose_stops(problem, walk.limits)
        with progress.step("bounds", total=len(stops)) as step:
            if len(stops):
                walk.begin(float(stops[0]), run)
            for limit in stops.tolist():
                step.note(f"capacity {limit:,.6g}")
                walk.stay(limit)
                step.advance()
    except KeyboardInterrupt:
        is_interrupted = True
    bounds = np.array([rounded_down(problem, bound) for bound in walk.bounds.tolist()])
    return bounds, is_interrupted


def choose_stops(problem: Selection, limits: FloatArray) -> FloatArray:
    """Return the capacities to stop at, in the order of the walk.

    At nothing and at the cost of everything bounds need no prices. The binary metric goes up: the
    inequalities that small selections need are the hardest to find on the way. The fractional one
    goes down, to the capacities that need the most iterations.
    """
    low, high = float(problem.cost[problem.is_pinned].sum()), float(problem.cost.sum())
    wanted = np.unique(limits[(limits > low) & (limits < high)])
    if len(wanted) > MAX_STOPS:
        wanted = wanted[np.linspace(0, len(wanted) - 1, MAX_STOPS).round().astype(np.int64)]
    return wanted if problem.metric == "binary" else wanted[::-1]


class Walk(Relaxation):
    """A relaxation that proves bounds at many capacities while it aims at one.

    Attributes
    ----------
    limits, bounds
        The capacities, and the smallest bound proven for each.
    """

    def __init__(self, problem: Selection, limits: FloatArray) -> None:
        super().__init__(problem, plain_case(problem))
        self.limits = limits
        self.bounds: FloatArray = np.full(len(limits), self._total)
        self._rooms = most_within(limits)
        self._rooms -= float(problem.cost[problem.is_pinned].sum())

    def prove_without_iterations(self) -> None:
        """Take the paper's bounds, and those of the dearest prices under plain inequalities."""
        paper = paper_bounds(self.problem, self.limits)
        if paper is not None:
            np.minimum(self.bounds, paper, out=self.bounds)
        self.use(plain_inequalities(self.problem))
        self.prove()

    def begin(self, limit: float, run: Trajectory | None) -> None:
        """Find prices and inequalities for a first capacity."""
        self.aim(limit)
        self._improve(FIRST_PROOFS)
        if self.problem.metric == "binary":
            run = greedy_binary(self.problem) if run is None else run
            fit_to(self, served_within(self.problem, run, limit))
            self.prove()
        for _ in range(FIRST_TIGHTENINGS):
            self._improve(FIRST_PROOFS)
            tighten(self)

    def stay(self, limit: float) -> None:
        """Improve the prices at one capacity while that lowers its bound."""
        self.aim(limit)
        here = self.limits == limit
        for proof in range(MAX_PROOFS):
            before = float(self.bounds[here].min())
            self._improve(1)
            gained = before - float(self.bounds[here].min())
            if proof + 1 >= MIN_PROOFS and gained <= WORTHWHILE * before:
                break
            tighten(self)

    def aim(self, limit: float) -> None:
        """Change the capacity that prices and shares are improved for."""
        self._limit = most_within(limit)

    def prove(self) -> None:
        """Prove a bound for every capacity with the current prices."""
        profit, _, pinned = self._fixed.split(self._profit, 0.0)
        paid = float(np.dot(self.prices, 1.0 - self._constants.astype(np.float64)))
        bounds = fractional_knapsacks(profit, self.problem.cost, self._rooms)
        bounds += self._total - paid + pinned
        bounds += BOUND_MARGIN * (self._total + np.abs(bounds))
        np.minimum(self.bounds, bounds, out=self.bounds)

    def _improve(self, proofs: int) -> None:
        for _ in range(proofs):
            self.iterate(ITERATIONS)
            self.prove()


def served_within(problem: Selection, run: Trajectory, limit: float) -> npt.NDArray[np.bool_]:
    """Return the topics that a run served before its cost passed a capacity."""
    served = problem.is_pinned.copy()
    most = most_within(limit)
    served[run.order[: int(np.searchsorted(run.used, most, side="right"))]] = True
    return served
