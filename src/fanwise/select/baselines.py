"""Baselines: topics in some fixed order, each served if it still fits.

``popular`` takes the most followed first, ``cheapest`` the least costly, ``cuckoo`` the largest
rate x followers (the rule of the Cuckoo microblogging system, which offloads topics with low rate
and few followers), ``random`` the order that the seed gives. All pass over what does not fit and
go on; ties go to the smaller id.

Guarantee
    None, but that the capacity is kept.

Complexity
    O(topics log topics).

References
----------
    The baselines that the paper compares with:
    V. Setty, G. Kreitz, G. Urdaneta, R. Vitenberg, M. van Steen: Maximizing the number of satisfied
    subscribers in pub/sub systems under capacity constraints. IEEE INFOCOM 2014.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fanwise.planning.problem import Outcome, Run
from fanwise.select.problem import Selection

Order = npt.NDArray[np.int64]


def random(problem: Selection, run: Run) -> Outcome:
    """Serve topics in random order."""
    return _serve(problem, by_chance(problem, run))


def popular(problem: Selection, run: Run) -> Outcome:
    """Serve the most followed topics first."""
    return _serve(problem, by_followers(problem))


def cheapest(problem: Selection, run: Run) -> Outcome:
    """Serve the least costly topics first."""
    return _serve(problem, by_cost(problem))


def cuckoo(problem: Selection, run: Run) -> Outcome:
    """Serve the topics with the largest rate x followers first."""
    return _serve(problem, by_traffic(problem))


def baselines(problem: Selection, run: Run) -> Iterator[npt.NDArray[np.bool_]]:
    """Yield the selections of all baselines, random with the seed of the run."""
    for order in (by_followers(problem), by_cost(problem), by_traffic(problem)):
        yield take_while_fitting(problem, order)
    yield take_while_fitting(problem, by_chance(problem, run))


def by_chance(problem: Selection, run: Run) -> Order:
    """Return all topics in the order that the seed gives."""
    return run.random().permutation(problem.workload.num_topics)


def by_followers(problem: Selection) -> Order:
    """Return all topics, the most followed first."""
    return _descending(problem.workload.num_followers)


def by_cost(problem: Selection) -> Order:
    """Return all topics, the least costly first."""
    return np.argsort(problem.cost, kind="stable")


def by_traffic(problem: Selection) -> Order:
    """Return all topics, the largest rate x followers first."""
    return _descending(problem.workload.rates * problem.workload.num_followers)


def take_while_fitting(problem: Selection, order: Order) -> npt.NDArray[np.bool_]:
    """Serve what is pinned, then topics in the given order, passing over what does not fit."""
    served = problem.is_pinned.copy()
    used = float(problem.cost[served].sum())
    left = order[~(served | problem.is_excluded)[order]]
    while len(left):
        spent = np.cumsum(np.append(used, problem.cost[left]))[1:]
        too_much = spent > problem.most
        many = int(np.argmax(too_much)) if too_much.any() else len(left)
        served[left[:many]] = True
        used = float(spent[many - 1]) if many else used
        left = left[many:]
        left = left[used + problem.cost[left] <= problem.most]  # what is too large now stays so
    return served


def _descending(values: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
    return np.argsort(-values.astype(np.float64), kind="stable")


def _serve(problem: Selection, order: Order) -> Outcome:
    problem.refuse_weighed_changes()
    return Outcome({"topics": problem.table(take_while_fitting(problem, order))})
