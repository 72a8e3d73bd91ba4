"""The optimum by mixed-integer programming with HiGHS, for small instances.

Served or not is a binary variable per topic; satisfaction is one per subscriber, binary for the
binary metric and between 0 and 1 for the fractional one. The solver's own bound is the plan's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.errors import ParameterError
from fanwise.planning.problem import Outcome, Run
from fanwise.select.bounds import quick_bound, whole
from fanwise.select.problem import Selection
from fanwise.select.stability.changes import compare_with_free, nearest

MAX_PAIRS = 200_000
TOLERANCE = 1e-6
"""What HiGHS allows itself in every row; bounds are raised by as much."""


class Answer(NamedTuple):
    """What the solver found: a selection and a proven bound; either may be missing."""

    served: npt.NDArray[np.bool_] | None
    bound: float | None


def solve(problem: Selection, run: Run) -> Outcome:
    """Solve to optimality, or to the time limit or gap."""
    if problem.workload.num_pairs > MAX_PAIRS:
        raise ParameterError(
            "algorithm",
            f"'best' above {MAX_PAIRS:,} pairs (here {problem.workload.num_pairs:,})",
            "exact",
        )
    if problem.weighs_changes:
        return _solve_near(problem, run)
    with run.progress.step("solving with HiGHS"):
        answer = solve_milp(problem, time_limit=run.time_limit, gap=run.gap or 0.0)
    served = problem.is_pinned if answer.served is None else answer.served
    bound = quick_bound(problem)
    if answer.bound is not None:
        bound = min(bound, whole(problem, answer.bound))
    return Outcome({"topics": problem.table(served)}, bound=bound)


def _solve_near(problem: Selection, run: Run) -> Outcome:
    """Solve with few changes, and free of that for comparison, in half the time each."""
    close = nearest(problem)  # raises if there is none
    half = None if run.time_limit is None else run.time_limit / 2
    with run.progress.step("solving with HiGHS, with few changes"):
        answer = solve_milp(problem, start=close, time_limit=half, gap=run.gap or 0.0)
    with run.progress.step("solving with HiGHS, free to change"):
        free = solve_milp(problem.freed(), time_limit=half, gap=run.gap or 0.0)
    served = close if answer.served is None else answer.served
    bound = quick_bound(problem)
    if free.bound is not None:
        bound = min(bound, whole(problem, free.bound))
    metrics = compare_with_free(problem, served, served if free.served is None else free.served)
    if problem.change_price is not None:  # the solver's bound is on the net value
        metrics |= {"net_value": problem.net_value(served), "net_bound": answer.bound}
    elif answer.bound is not None:
        bound = min(bound, whole(problem, answer.bound))
    return Outcome({"topics": problem.table(served)}, bound=bound, metrics=metrics)


def solve_milp(
    problem: Selection,
    *,
    start: npt.NDArray[np.bool_] | None = None,
    time_limit: float | None = None,
    gap: float = 0.0,
) -> Answer:
    """Hand the problem to HiGHS, maybe with a selection to start from.

    HiGHS keeps limits up to an absolute tolerance of 1e-6, so the capacity is scaled to 1, and a
    selection that is over it by less than that is sought anew with a little less capacity. Tighter
    tolerances are no way out: with 1e-9 it has called worse selections optimal.
    """
    num_topics = problem.workload.num_topics
    if not num_topics or not np.any(problem.weight > 0):
        return Answer(nearest(problem) if problem.weighs_changes else problem.is_pinned, 0.0)
    served, bound = _ask_highs(problem, 1.0, start, time_limit, gap)
    if served is not None and not problem.admits(served):
        served, _ = _ask_highs(problem, 1.0 - 2 * TOLERANCE, start, time_limit, gap)
        if served is not None and not problem.admits(served):
            served = None
    return Answer(served, bound)


def _ask_highs(
    problem: Selection,
    capacity: float,
    start: npt.NDArray[np.bool_] | None,
    time_limit: float | None,
    gap: float,
) -> Answer:
    import highspy

    solver = highspy.Highs()
    solver.silent()
    solver.setOptionValue("threads", 1)  # the same plan on any machine
    solver.setOptionValue("mip_rel_gap", gap)
    solver.setOptionValue("mip_abs_gap", 1e-9)
    if time_limit is not None:
        solver.setOptionValue("time_limit", float(time_limit))
    solver.passModel(_make_model(problem, capacity))
    if start is not None:
        hint = highspy.HighsSolution()
        satisfied = problem.satisfaction(start)[problem.weight > 0]
        hint.col_value = np.concatenate([start.astype(float), satisfied])
        solver.setSolution(hint)
    solver.run()
    info = solver.getInfo()
    bound = float(info.mip_dual_bound)
    proven = bound + TOLERANCE * (1 + abs(bound)) if np.isfinite(bound) else None
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return Answer(None, proven)
    values = solver.getSolution().col_value[: problem.workload.num_topics]
    return Answer(np.asarray(values) > 0.5, proven)


def _make_model(problem: Selection, capacity: float) -> Any:
    """State the problem for HiGHS, with a share of its capacity.

    Row 0: cost <= capacity, scaled. Row 1 + i: sum of min(1, rate / tau_v) x_t - z_v >= 0; for
    binary satisfaction, truncation at tau_v keeps every selection and cuts off fractional ones.
    Maybe one row more: changes <= their limit.
    """
    import highspy

    workload, demand = problem.workload, problem.demand
    wanting = np.flatnonzero(problem.weight > 0)
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
    row_lower = [-highspy.kHighsInf, *np.zeros(num_wanting)]
    row_upper = [capacity * problem.limit / unit, *np.full(num_wanting, highspy.kHighsInf)]
    sign, num_before = np.ones(num_topics), 0
    if problem.was_served is not None:
        sign[problem.was_served] = -1.0
        num_before = int(np.count_nonzero(problem.was_served))
    if problem.max_changes is not None:
        indices.append(every_topic)
        values.append(sign)
        starts.append(starts[-1] + num_topics)
        row_lower.append(-highspy.kHighsInf)
        row_upper.append(problem.max_changes - num_before)

    price = problem.change_price or 0.0
    whole, real = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
    model = highspy.HighsLp()
    model.num_col_ = num_topics + num_wanting
    model.num_row_ = len(row_lower)
    model.col_cost_ = np.concatenate([-price * sign, problem.weight[wanting]])
    model.offset_ = -price * num_before
    model.col_lower_ = np.append(problem.is_pinned.astype(float), np.zeros(num_wanting))
    model.col_upper_ = np.append(1.0 - problem.is_excluded, np.ones(num_wanting))
    model.row_lower_ = np.array(row_lower)
    model.row_upper_ = np.array(row_upper)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.array(starts, dtype=np.int32)
    model.a_matrix_.index_ = np.concatenate(indices)
    model.a_matrix_.value_ = np.concatenate(values)
    model.sense_ = highspy.ObjSense.kMaximize
    kind = whole if problem.metric == "binary" else real
    model.integrality_ = [whole] * num_topics + [kind] * num_wanting
    return model
