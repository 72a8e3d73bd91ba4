"""The optimum by mixed-integer programming with HiGHS, for small instances.

Served or not is a binary variable per topic; satisfaction is one per subscriber, binary for the
binary metric and between 0 and 1 for the fractional one. The solver's own bound is the plan's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.errors import ParameterError
from fanwise.planning.problem import Outcome, Run
from fanwise.select.bounds import quick_bound, whole
from fanwise.select.changes import compare_with_free, nearest
from fanwise.select.problem import Selection

MAX_PAIRS = 200_000


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
    """Hand the problem to HiGHS, maybe with a selection to start from."""
    import highspy

    workload, demand = problem.workload, problem.demand
    wanting = np.flatnonzero(problem.weight > 0)
    num_topics, num_wanting = workload.num_topics, len(wanting)
    if not num_topics or not num_wanting:
        return Answer(nearest(problem) if problem.weighs_changes else problem.is_pinned, 0.0)

    # Row 0: cost <= capacity. Row 1 + i: sum of min(1, rate / tau_v) x_t - z_v >= 0. For binary
    # satisfaction, truncation at tau_v keeps every selection and cuts off fractional ones.
    indptr, interests = workload.interests
    starts, indices, values = [0], [np.arange(num_topics, dtype=np.int32)], [problem.cost]
    length = num_topics
    for row, subscriber in enumerate(wanting):
        topics = interests[indptr[subscriber] : indptr[subscriber + 1]]
        starts.append(length)
        indices.append(np.append(topics, np.int32(num_topics + row)).astype(np.int32))
        share = np.minimum(1.0, workload.rates[topics] / demand[subscriber])
        values.append(np.append(share, -1.0))
        length += len(topics) + 1
    row_lower = [-highspy.kHighsInf, *np.full(num_wanting, -1e-9)]
    row_upper = [problem.limit, *np.full(num_wanting, highspy.kHighsInf)]
    sign, num_before = np.ones(num_topics), 0
    if problem.was_served is not None:
        sign[problem.was_served] = -1.0
        num_before = int(np.count_nonzero(problem.was_served))
    if problem.max_changes is not None:
        starts.append(length)
        indices.append(np.arange(num_topics, dtype=np.int32))
        values.append(sign)
        length += num_topics
        row_lower.append(-highspy.kHighsInf)
        row_upper.append(problem.max_changes - num_before)
    starts.append(length)

    model = highspy.HighsLp()
    model.num_col_ = num_topics + num_wanting
    model.num_row_ = len(row_lower)
    price = problem.change_price or 0.0
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
    whole, real = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
    kind = whole if problem.metric == "binary" else real
    model.integrality_ = [whole] * num_topics + [kind] * num_wanting

    solver = highspy.Highs()
    solver.silent()
    solver.setOptionValue("threads", 1)  # the same plan on any machine
    solver.setOptionValue("mip_rel_gap", gap)
    solver.setOptionValue("mip_abs_gap", 1e-9)
    solver.setOptionValue("mip_feasibility_tolerance", 1e-9)
    solver.setOptionValue("primal_feasibility_tolerance", 1e-9)
    if time_limit is not None:
        solver.setOptionValue("time_limit", float(time_limit))
    solver.passModel(model)
    if start is not None:
        hint = highspy.HighsSolution()
        satisfied = problem.satisfaction(start)[wanting]
        hint.col_value = np.concatenate([start.astype(float), satisfied])
        solver.setSolution(hint)
    solver.run()
    info = solver.getInfo()
    bound = float(info.mip_dual_bound)
    proven = bound + 1e-9 * (1 + abs(bound)) if np.isfinite(bound) else None
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return Answer(None, proven)
    served = np.asarray(solver.getSolution().col_value[:num_topics]) > 0.5
    if not problem.admits(served):
        return Answer(None, proven)
    return Answer(served, proven)
