"""Greedy selection: Alg. 2 (binary) and Alg. 7 (fractional) of Setty et al., mended.

Binary: each step takes the topic with the largest benefit per cost, where a topic's benefit adds up
min(1, rate / what is still missing) over its unsatisfied followers. A topic that does not fit is
passed over for good, and the run ends when no topic helps anybody. The paper never takes the
examined topic out of its set; here it leaves. No constant factor is guaranteed (the paper shows
why).

Fractional: the same with the true gain, once per cost (type R) and once plain (type G); the better
of the two is at least ½(1 - 1/e) of the optimum. The paper refreshes old gains only after an
accepted topic; here they are refreshed before every choice, which equals computing all anew.

Ratios that agree to seven digits tie; ties go to the smaller id. Near-linear in the pairs in
practice: see :mod:`fanwise.select.greedy_kernels` for how.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.planning.problem import Outcome, Run
from fanwise.select.problem import Selection
from fanwise.workload.topic import RELATIVE_TOLERANCE


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
    from fanwise.select.stable import solve_near

    with run.progress.step("greedy selection"):
        served = served_by(problem, greedy(problem))
    if problem.weighs_changes:
        return solve_near(problem, run, served, is_thorough=False)
    return Outcome({"topics": problem.table(served)})


def served_by(problem: Selection, trajectory: Trajectory) -> npt.NDArray[np.bool_]:
    """Return what is served at the end of a run that began with what is pinned."""
    served = problem.is_pinned.copy()
    served[trajectory.order] = True
    return served


def greedy(problem: Selection) -> Trajectory:
    """Return the greedy run for the problem's metric."""
    if problem.metric == "binary":
        return greedy_binary(problem)
    with ThreadPoolExecutor(2) as pool:  # kernels hold no interpreter lock
        plain = pool.submit(greedy_fractional, problem, by_cost=False)
        by_cost = pool.submit(greedy_fractional, problem, by_cost=True)
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
) -> Trajectory:
    """Alg. 2, or its continuation from topics that are served already.

    Benefits are divided by ``price`` in place of the cost where it is given; the capacity is always
    used up by the cost.
    """
    from fanwise.select import greedy_kernels as kernels

    workload = problem.workload
    interests, followers = workload.interests, workload.followers
    missing, rates, used = start_from(problem, served)
    scale = share_scale(problem)
    topics = np.zeros(workload.num_topics, dtype=kernels.TOPIC).view(np.recarray)
    keys = np.full(workload.num_topics, kernels.CLOSED, dtype=np.float32)
    is_heavy = (np.diff(interests.indptr) > kernels.HEAVY_DEGREE) & (missing > 0)
    num_heavy = int(np.count_nonzero(is_heavy))
    heavy_of_subscriber = np.full(workload.num_subscribers, -1, dtype=np.int32)
    heavy_of_subscriber[is_heavy] = np.arange(num_heavy, dtype=np.int32)
    heavy = kernels.Heavy(
        *kernels.list_heavy(*interests, heavy_of_subscriber, workload.num_topics),
        kernels.LEVEL * missing[is_heavy],
        np.zeros(num_heavy, dtype=np.int32),
    )
    unit = np.floor(problem.weight * scale)
    entered = np.where(is_heavy, kernels.LEVEL, 1.0) * missing
    per_event = np.divide(unit, entered, out=np.zeros_like(unit), where=missing > 0)
    subscribers = np.empty(workload.num_subscribers, dtype=kernels.SUBSCRIBER).view(np.recarray)
    subscribers["missing"] = missing
    subscribers["unit"] = unit
    subscribers["start"] = interests.indptr[:-1]
    subscribers["stop"] = interests.indptr[1:]
    subscribers["heavy"] = heavy_of_subscriber
    price = scaled_price(problem.cost if price is None else price, scale)
    entries = kernels.queue_benefits(topics, keys, *followers, rates, price, per_event, unit)
    entries.sort()
    order, used_after, satisfied = kernels.benefit_order(
        topics,
        keys,
        subscribers,
        RELATIVE_TOLERANCE * problem.demand,
        *followers,
        interests.indices,
        problem.cost,
        price,
        heavy,
        entries,
        problem.limit * (1 + RELATIVE_TOLERANCE),
        used,
    )
    return Trajectory(order, used_after, satisfied / scale)


def greedy_fractional(
    problem: Selection,
    served: npt.NDArray[np.bool_] | None = None,
    *,
    by_cost: bool,
    price: FloatArray | None = None,
) -> Trajectory:
    """Alg. 5 of type R (``by_cost``) or G, or its continuation from what is served already.

    Type R divides gains by ``price`` in place of the cost where it is given.
    """
    from fanwise.select.lazy_kernels import lazy_order, queue_gains

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
            problem.limit * (1 + RELATIVE_TOLERANCE),
            used,
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
    """The power of two that shares are counted in: as fine as sums of them fit 62 bits."""
    from fanwise.arrays.csr import sum_rows

    largest = float(sum_rows(*problem.workload.followers, problem.weight).max(initial=1.0))
    return 2.0 ** min(44, 61 - int(np.ceil(np.log2(max(largest, 1.0)))))


def scaled_price(cost: FloatArray, scale: float) -> FloatArray:
    """Costs times a power of two, so that benefit per cost stays within a float32."""
    paid = cost[cost > 0]
    if not len(paid):
        return cost
    return cost * 2.0 ** np.round(np.log2(scale / np.median(paid)))
