"""From what an algorithm claims to a bound that carries its certificate."""

from __future__ import annotations

import pyarrow as pa

from fanwise.arrays.tolerance import RELATIVE_TOLERANCE
from fanwise.assign.problem import Assignment
from fanwise.assign.verify_limits import pose
from fanwise.assign.verify_optimum import MOST_SUBSCRIBERS, AllAssignments, count_assignments
from fanwise.planning.problem import Bound, Run
from fanwise.planning.proof import Proof, ProofError


def prove(problem: Assignment, claimed: float | None, run: Run) -> Bound:
    """Return a bound with its certificate: the problem's own, or the claimed one if it is better.

    What a complete search claims is proven by all cases, where there are few enough: the check goes
    through them by other means, and does so here already, so that nothing is claimed that it would
    not find. Where there are too many for it, or time is over, the problem's own bound is all that
    is claimed.
    """
    own = problem.proven
    if claimed is None:
        return own
    slack = RELATIVE_TOLERANCE / 10 * abs(claimed)
    if own.value >= claimed - slack:
        return Bound(max(claimed, own.value - slack), own.proof)
    if problem.workload.num_subscribers > MOST_SUBSCRIBERS:
        return own
    question = pose(problem.workload, problem.parameters())
    try:
        found = AllAssignments(question, run.is_over).least()
    except ProofError:
        return own
    table = pa.table({"assignments": pa.array([count_assignments(question)], pa.int64())})
    value = min(claimed, found)
    return Bound(value, Proof("leaves", {"leaves": table}, value))
