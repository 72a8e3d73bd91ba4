"""The selection problem as a mixed-integer program for HiGHS.

Served or not is a binary variable per topic; satisfaction is one per subscriber, binary for the
binary metric and between 0 and 1 for the fractional one.

HiGHS keeps every row up to an absolute tolerance of 1e-6, so it may hand back a selection that is a
hair over the capacity, or count a subscriber as satisfied that lacks a hair. Such a selection is
cut off by inequalities that hold for all others, and HiGHS is asked again: of topics that do not
fit together one must go; whoever lacks a hair needs a topic outside of what it has. Tighter
tolerances are no way out: with 1e-9 it has called worse selections optimal.

Guarantee
    What is returned keeps every limit. Its bound is the solver's word, raised by its tolerance.

Complexity
    Exponential in the topics, unless seconds or nodes end it.

References
----------
    Knapsack-cover inequalities: R. D. Carr, L. K. Fleischer, V. J. Leung, C. A. Phillips:
    Strengthening integrality gaps for capacitated network design and covering problems. SODA 2000.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray
from fanwise.planning.highs import Matrix, Model, Solver
from fanwise.select.problem import Selection, Served
from fanwise.select.relaxing.inequalities import ENOUGH
from fanwise.select.stability.nearest import nearest

TOLERANCE = 1e-6
"""What HiGHS allows itself in every row; bounds are raised by as much."""
MAX_ROUNDS = 200
"""How often a selection is cut off before the search is given up."""


class MilpAnswer(NamedTuple):
    """What the solver found: a selection and its bound; either may be missing.

    ``is_cut_short``: time or work was over, or too many selections had to be cut off.
    ``is_interrupted``: Ctrl-C ended it.
    """

    served: Served | None
    bound: float | None
    is_cut_short: bool = False
    is_interrupted: bool = False


class Row(NamedTuple):
    """A row ``sum of values x variables <= upper``; variables are topics, then subscribers."""

    variables: npt.NDArray[np.int64]
    values: FloatArray
    upper: float


def solve_milp(
    problem: Selection,
    *,
    start: Served | None = None,
    time_limit: float | None = None,
    max_nodes: int | None = None,
    gap: float = 0.0,
) -> MilpAnswer:
    """Hand the problem to HiGHS, maybe with a selection to start from.

    Parameters
    ----------
    time_limit, max_nodes
        Seconds, and nodes of a search tree; None for no limit.
    gap
        What need not be closed.
    """
    if not problem.workload.num_topics or not np.any(problem.weight > 0):
        return MilpAnswer(nearest(problem) if problem.weighs_changes else problem.is_pinned, 0.0)
    solver = _Solver(problem, gap, max_nodes)
    begun = time.perf_counter()
    best, bound = None, None
    for _ in range(MAX_ROUNDS):
        left = None if time_limit is None else time_limit - (time.perf_counter() - begun)
        if left is not None and left <= 0:
            break
        served, claimed, proven, is_cut_short = solver.ask(start, left)
        # Each answer bounds what is left after the cuts, which hold for every selection.
        bound = proven if bound is None else bound if proven is None else min(bound, proven)
        is_interrupted = solver.is_interrupted
        if served is None:
            return MilpAnswer(best, bound, is_cut_short, is_interrupted)
        if problem.admits(served) and (
            best is None or problem.net_value(served) > problem.net_value(best)
        ):
            best = served
        if is_cut_short or not solver.cut_off(served, claimed):
            return MilpAnswer(best, bound, is_cut_short, is_interrupted)
        start = best if best is not None else start
    return MilpAnswer(best, bound, is_cut_short=True)


class _Solver:
    """A model in HiGHS that learns rows."""

    def __init__(self, problem: Selection, gap: float, max_nodes: int | None) -> None:
        self._problem = problem
        self._wanting = np.flatnonzero(problem.case.weight > 0)
        self._solver = Solver(_make_model(problem), gap=gap, absolute_gap=1e-9, max_nodes=max_nodes)
        self.is_interrupted = False

    def ask(
        self, start: Served | None, time_limit: float | None
    ) -> tuple[Served | None, FloatArray, float | None, bool]:
        """Solve; return selection, claimed satisfaction, bound, whether it was cut short."""
        problem = self._problem
        if start is not None:
            satisfied = problem.satisfaction(start)[self._wanting]
            self._solver.start_from(np.concatenate([start.astype(float), satisfied]))
        answer = self._solver.solve(time_limit=time_limit, keeps_found=True)
        self.is_interrupted = answer.status == "interrupted"
        bound = answer.bound
        proven = None if bound is None else bound + TOLERANCE * (1 + abs(bound))
        is_cut_short = answer.status in ("interrupted", "time", "work")
        if not answer.is_feasible:
            return None, np.empty(0), proven, is_cut_short
        num_topics = problem.workload.num_topics
        served, claimed = answer.values[:num_topics] > 0.5, answer.values[num_topics:]
        return served, claimed, proven, is_cut_short

    def cut_off(self, served: Served, claimed: FloatArray) -> bool:
        """Learn rows that a selection breaks; False if it is what the solver says it is."""
        rows = [*self._overfull(served), *self._falsely_satisfied(served, claimed)]
        for row in rows:
            self._solver.add_row(row.variables, row.values, upper=row.upper)
        return bool(rows)

    def _overfull(self, served: Served) -> list[Row]:
        """Of topics that do not fit together, one must go: as few topics as still do not fit."""
        problem = self._problem
        if problem.fits(float(problem.cost[served].sum())):
            return []
        topics = np.flatnonzero(served & (problem.cost > 0))
        topics = topics[np.argsort(-problem.cost[topics], kind="stable")]
        over = np.cumsum(problem.cost[topics]) > problem.most
        many = int(np.argmax(over)) + 1 if over.any() else len(topics)
        topics = topics[:many]
        if problem.fits(float(problem.cost[np.sort(topics)].sum())):  # sums in another order
            topics = np.flatnonzero(served)
        return [Row(topics, np.ones(len(topics)), len(topics) - 1.0)]

    def _falsely_satisfied(self, served: Served, claimed: FloatArray) -> list[Row]:
        """Return a knapsack-cover inequality for whoever lacks a hair: it needs another topic."""
        problem = self._problem
        if problem.metric != "binary":
            return []
        is_satisfied = problem.satisfaction(served)[self._wanting] > 0
        num_topics, (indptr, interests) = problem.workload.num_topics, problem.workload.interests
        rows = []
        for index in np.flatnonzero(~is_satisfied & (claimed > 0.5)).tolist():
            subscriber = self._wanting[index]
            topics = interests[indptr[subscriber] : indptr[subscriber + 1]]
            rates = problem.workload.rates[topics]
            lack = problem.demand[subscriber] * ENOUGH - rates[served[topics]].sum()
            outside = ~served[topics]
            share = np.minimum(1.0, rates[outside] / lack) if lack > 0 else np.ones(outside.sum())
            variables = np.append(topics[outside].astype(np.int64), num_topics + index)
            rows.append(Row(variables, np.append(-share, 1.0), 0.0))
        return rows


def _make_model(problem: Selection) -> Model:
    """State the problem for HiGHS.

    Row 0: cost <= capacity, scaled. Row 1 + i: sum of min(1, rate / tau_v) x_t - z_v >= 0; for
    binary satisfaction, truncation at tau_v keeps every selection and cuts off fractional ones.
    Maybe one row more: changes <= their limit.
    """
    workload, demand = problem.workload, problem.demand
    wanting = np.flatnonzero(problem.case.weight > 0)
    num_topics, num_wanting = workload.num_topics, len(wanting)
    every_topic = np.arange(num_topics, dtype=np.int32)
    indptr, interests = workload.interests
    unit = problem.limit if problem.limit > 0 else 1.0
    starts, indices, values = [0, num_topics], [every_topic], [problem.cost / unit]
    for row, subscriber in enumerate(wanting):
        topics = interests[indptr[subscriber] : indptr[subscriber + 1]]
        share = np.minimum(1.0, workload.rates[topics] / demand[subscriber])
        indices.append(np.append(topics, np.int32(num_topics + row)).astype(np.int32))
        values.append(np.append(share, -1.0))
        starts.append(starts[-1] + len(topics) + 1)
    row_lower = [-np.inf, *np.zeros(num_wanting)]
    row_upper = [problem.limit / unit, *np.full(num_wanting, np.inf)]
    sign = np.where(problem.before, -1.0, 1.0)
    num_before = int(np.count_nonzero(problem.before))
    if problem.max_changes is not None:
        indices.append(every_topic)
        values.append(sign)
        starts.append(starts[-1] + num_topics)
        row_lower.append(-np.inf)
        row_upper.append(problem.max_changes - num_before)

    prices = problem.price_level * problem.change_units
    is_whole = np.full(num_topics + num_wanting, problem.metric == "binary")
    is_whole[:num_topics] = True
    return Model(
        cost=np.concatenate([-prices * sign, problem.weight[wanting]]),
        lower=np.append(problem.is_pinned.astype(float), np.zeros(num_wanting)),
        upper=np.append(1.0 - problem.case.dropped, np.ones(num_wanting)),
        matrix=Matrix(np.array(starts), np.concatenate(indices), np.concatenate(values)),
        row_lower=np.array(row_lower),
        row_upper=np.array(row_upper),
        is_whole=is_whole,
        is_maximised=True,
        offset=-float(prices[problem.before].sum()),
    )
