"""Greedy selection: Alg. 2 (binary) and Alg. 7 (fractional) of Setty et al., mended.

Binary: each step takes the topic with the largest benefit per cost, where a topic's benefit adds up
min(1, rate / what is still missing) over its unsatisfied followers. A topic that does not fit is
passed over for good, and the run ends when no topic helps anybody. The paper never takes the
examined topic out of its set; here it leaves.

Fractional: the same with the true gain, once per cost (type R) and once plain (type G), of which
the better counts. The paper refreshes old gains only after an accepted topic; here they are
refreshed before every choice, which equals computing all anew.

Ratios that agree to seven digits tie; ties go to the smaller id.

A run that is ended early has served what the whole one serves first, which keeps the capacity.

Guarantee
    Fractional: at least ½(1 - 1/e) of the optimum. Binary: no constant factor; the paper shows why.

Complexity
    Near-linear in the pairs in practice: see :mod:`fanwise.select.benefits.benefit_kernels` for
    how.

References
----------
    V. Setty, G. Kreitz, G. Urdaneta, R. Vitenberg, M. van Steen: Maximizing the number of satisfied
    subscribers in pub/sub systems under capacity constraints. IEEE INFOCOM 2014.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.arrays.deadlines import Flag, lowered_flag
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE, most_within
from fanwise.planning.problem import Outcome, Run
from fanwise.select.problem import Selection


class Trajectory(NamedTuple):
    """A greedy run: topics in the order served, cost and value after each.

    ``used`` counts what was served before the run; ``value`` only what the run itself adds.
    """

    order: IntArray
    used: FloatArray
    value: FloatArray

    @property
    def total(self) -> float:
        return float(self.value[-1]) if len(self.value) else 0.0


def solve(problem: Selection, run: Run) -> Outcome:
    """Serve topics greedily; where changes count, near what was served before."""
    from fanwise.select.stability.few_changes import solve_near

    with run.progress.step("greedy selection"):
        served = served_by(problem, greedy(problem))
    if problem.weighs_changes:
        return solve_near(problem, run, [served], is_thorough=False)
    return Outcome({"topics": problem.table(served)})


def served_by(problem: Selection, trajectory: Trajectory) -> npt.NDArray[np.bool_]:
    """Return what is served at the end of a run that began with what is pinned."""
    served = problem.is_pinned.copy()
    served[trajectory.order] = True
    return served


def greedy(problem: Selection, is_late: Flag | None = None) -> Trajectory:
    """Return the greedy run for the problem's metric, as far as it gets before it is late."""
    if problem.metric == "binary":
        return greedy_binary(problem, is_late=is_late)
    with ThreadPoolExecutor(2) as pool:  # kernels hold no interpreter lock
        plain = pool.submit(greedy_fractional, problem, by_cost=False, is_late=is_late)
        by_cost = pool.submit(greedy_fractional, problem, by_cost=True, is_late=is_late)
        runs = plain.result(), by_cost.result()
    return runs[is_better(runs[1].total, runs[0].total)]


def is_better(value: float, than: float) -> bool:
    """Whether a value is larger by more than rounding."""
    return value > than * (1 + RELATIVE_TOLERANCE)


class Start(NamedTuple):
    """Where a greedy run begins: what is missing, which rates are still to be had, what is used."""

    missing: FloatArray
    rates: FloatArray
    used: float


def start_from(problem: Selection, served: npt.NDArray[np.bool_] | None) -> Start:
    """Begin with what is pinned, or with topics that are served already; leave out what must."""
    needs = np.where(problem.weight > 0, problem.demand, 0.0)
    if served is None:
        if not problem.has_fixed_topics:
            return Start(needs, problem.workload.rates, 0.0)
        served = problem.is_pinned
    missing = needs - problem.delivered(served)
    missing[missing <= RELATIVE_TOLERANCE * problem.demand] = 0.0
    rates = np.where(served | problem.is_excluded, 0.0, problem.workload.rates)
    return Start(missing, rates, float(problem.cost[served].sum()))


def greedy_binary(
    problem: Selection,
    served: npt.NDArray[np.bool_] | None = None,
    *,
    price: FloatArray | None = None,
    is_late: Flag | None = None,
) -> Trajectory:
    """Alg. 2, or its continuation from topics that are served already.

    Benefits are divided by ``price`` in place of the cost where it is given; the capacity is always
    used up by the cost.
    """
    from fanwise.select.benefits import benefit_kernels as kernels
    from fanwise.select.benefits.arrays import make_arrays
    from fanwise.select.benefits.bucket_kernels import empty_queue
    from fanwise.select.benefits.row_kernels import Needs

    workload = problem.workload
    missing, rates, used = start_from(problem, served)
    scale = share_scale(problem)
    arrays, benefits = make_arrays(
        workload.interests,
        workload.followers,
        rates,
        problem.cost,
        Needs(missing, RELATIVE_TOLERANCE * problem.demand, np.floor(problem.weight * scale)),
        heavy_degree=kernels.HEAVY_DEGREE,
        level=kernels.LEVEL,
    )
    topics = kernels.Topics(
        np.empty(workload.num_topics, dtype=kernels.TOPIC).view(np.recarray),
        np.empty(workload.num_topics, dtype=np.float32),
        np.zeros(workload.num_topics, dtype=bool),
    )
    price = scaled_price(problem.cost if price is None else price, scale)
    entries = kernels.queue_benefits(topics, rates, price, benefits)
    entries.sort()
    order, used_after, satisfied = kernels.benefit_order(
        topics,
        arrays,
        empty_queue(workload.num_topics),
        entries,
        kernels.LEVEL,
        most_within(problem.limit),
        used,
        lowered_flag() if is_late is None else is_late,
    )
    return Trajectory(order, used_after, satisfied / scale)


def greedy_fractional(
    problem: Selection,
    served: npt.NDArray[np.bool_] | None = None,
    *,
    by_cost: bool,
    price: FloatArray | None = None,
    is_late: Flag | None = None,
) -> Trajectory:
    """Alg. 5 of type R (``by_cost``) or G, or its continuation from what is served already.

    Type R divides gains by ``price`` in place of the cost where it is given.
    """
    from fanwise.select.benefits.lazy_kernels import lazy_order, queue_gains

    workload, demand = problem.workload, problem.demand
    missing, rates, used = start_from(problem, served)
    worth = np.divide(problem.weight, demand, out=np.zeros_like(demand), where=demand > 0)
    needs = np.column_stack([missing, worth])
    if by_cost:
        price = scaled_price(problem.cost if price is None else price, 1.0)
    else:
        price = np.ones(workload.num_topics)
    entries = queue_gains(*workload.followers, rates, price, needs)
    entries.sort()
    return Trajectory(
        *lazy_order(
            *workload.followers,
            rates,
            problem.cost,
            price,
            needs,
            RELATIVE_TOLERANCE * demand,
            entries,
            most_within(problem.limit),
            used,
            lowered_flag() if is_late is None else is_late,
        )
    )


def complete(problem: Selection, served: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Go on serving topics greedily, by benefit per cost, from those served already."""
    completed = served.copy()
    completed[continue_from(problem, served).order] = True
    return completed


def continue_from(
    problem: Selection, served: npt.NDArray[np.bool_], price: FloatArray | None = None
) -> Trajectory:
    """Return the greedy run, by benefit per cost or price, from topics that are served already."""
    if problem.metric == "binary":
        return greedy_binary(problem, served, price=price)
    return greedy_fractional(problem, served, by_cost=True, price=price)


def share_scale(problem: Selection) -> float:
    """Return the power of two that shares are counted in: as fine as sums of them fit 62 bits.

    Never finer than 2^-44, so that only topics with very many followers need a look.
    """
    indptr, followers = problem.workload.followers
    bound = np.diff(indptr) * problem.weight.max(initial=0.0)
    largest = 1.0
    for topic in np.flatnonzero(bound > 2.0**17):
        weight = problem.weight[followers[indptr[topic] : indptr[topic + 1]]].sum()
        largest = max(largest, float(weight))
    return 2.0 ** min(44, 61 - int(np.ceil(np.log2(largest))))


def scaled_price(cost: FloatArray, scale: float) -> FloatArray:
    """Costs times a power of two, so that benefit per cost stays within a float32."""
    paid = cost[cost > 0]
    if not len(paid):
        return cost
    return cost * 2.0 ** np.round(np.log2(scale / np.median(paid)))
