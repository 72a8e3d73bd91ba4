"""Baselines: topics in some fixed order, each served if it still fits.

``popular`` takes the most followed first, ``cheapest`` the least costly, ``cuckoo`` the largest
rate x followers (the rule of the Cuckoo microblogging system, which offloads topics with low rate
and few followers), ``random`` the order that the seed gives. All pass over what does not fit and
go on; ties go to the smaller id. O(topics log topics), no guarantee.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.planning.problem import Outcome, Run
from fanwise.select.problem import Selection


def random(problem: Selection, run: Run) -> Outcome:
    """Serve topics in random order."""
    return _serve(problem, run.random().permutation(problem.workload.num_topics))


def popular(problem: Selection, run: Run) -> Outcome:
    """Serve the most followed topics first."""
    return _serve(problem, _descending(problem.workload.num_followers))


def cheapest(problem: Selection, run: Run) -> Outcome:
    """Serve the least costly topics first."""
    return _serve(problem, np.argsort(problem.cost, kind="stable"))


def cuckoo(problem: Selection, run: Run) -> Outcome:
    """Serve the topics with the largest rate x followers first."""
    return _serve(problem, _descending(problem.workload.rates * problem.workload.num_followers))


def take_while_fitting(problem: Selection, order: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Serve what is pinned, then topics in the given order, passing over what does not fit."""
    served = problem.is_pinned.copy()
    used = float(problem.cost[served].sum())
    order = order[~(served | problem.is_excluded)[order]]
    for topic, cost in zip(order.tolist(), problem.cost[order].tolist(), strict=True):
        if problem.fits(used + cost):
            used += cost
            served[topic] = True
    return served


def _descending(values: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
    return np.argsort(-values.astype(np.float64), kind="stable")


def _serve(problem: Selection, order: npt.NDArray[np.int64]) -> Outcome:
    problem.refuse_weighed_changes()
    return Outcome({"topics": problem.table(take_while_fitting(problem, order))})
