"""Greedy selection by benefit per cost: Alg. 2 of Setty et al., with its misprints mended.

Each step takes the topic with the largest benefit per cost, where a topic's benefit adds up
min(1, rate / what is still missing) over its unsatisfied followers. A topic that does not fit is
passed over for good, and the run ends when no topic helps anybody. Ties go to the smaller id.

No constant factor is guaranteed for the binary metric (the paper shows why). This is the plain
form: after each accepted topic the benefit of every topic that shares an unsatisfied subscriber is
computed afresh, O(sum over accepted topics of the pairs two hops away).
"""

from __future__ import annotations

import numpy as np

from fanwise.errors import ParameterError
from fanwise.planning.problem import Outcome, Run
from fanwise.select.kernels import greedy_order
from fanwise.select.problem import Selection
from fanwise.workload.topic import RELATIVE_TOLERANCE


def solve(problem: Selection, run: Run) -> Outcome:
    """Serve topics greedily."""
    if problem.metric != "binary":
        raise ParameterError("metric", "'binary' for the greedy algorithm", problem.metric)
    workload = problem.workload
    with run.progress.step("greedy selection"):
        order = greedy_order(
            *workload.followers,
            *workload.interests,
            workload.rates,
            problem.cost,
            problem.demand,
            problem.weight,
            problem.limit * (1 + RELATIVE_TOLERANCE),
            RELATIVE_TOLERANCE,
        )
    served = np.zeros(workload.num_topics, dtype=bool)
    served[order] = True
    return Outcome({"topics": problem.table(served)})
