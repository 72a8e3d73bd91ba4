"""Topics in random order, each served if it still fits: the baseline anybody could write."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.planning.problem import Outcome, Run
from fanwise.select.problem import Selection


def solve(problem: Selection, run: Run) -> Outcome:
    """Serve topics in the order the seed gives, passing over what does not fit; O(topics)."""
    order = run.random().permutation(problem.workload.num_topics)
    return Outcome({"topics": problem.table(take_while_fitting(problem, order))})


def take_while_fitting(problem: Selection, order: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Serve topics in the given order, passing over what does not fit."""
    served = np.zeros(problem.workload.num_topics, dtype=bool)
    used = 0.0
    for topic, cost in zip(order.tolist(), problem.cost[order].tolist(), strict=True):
        if problem.fits(used + cost):
            used += cost
            served[topic] = True
    return served
