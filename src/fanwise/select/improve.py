"""Better selections: rounding what the relaxation says, and dropping what earns least."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.threads import cut_rows, in_threads
from fanwise.select.greedy import complete
from fanwise.select.problem import Selection
from fanwise.select.relaxing.relaxation import Relaxation
from fanwise.workload.topic import RELATIVE_TOLERANCE

Served = npt.NDArray[np.bool_]


def round_shares(problem: Selection, relaxation: Relaxation, threshold: float) -> Served:
    """Serve what the relaxation mostly serves, as far as it fits, then go on greedily."""
    shares, served = relaxation.shares, problem.is_pinned.copy()
    room = problem.limit - float(problem.cost[served].sum())
    likely = np.flatnonzero((shares >= threshold) & ~served & ~problem.is_excluded)
    order = likely[np.lexsort((-relaxation.reduced_profit()[likely], -shares[likely]))]
    fitting = np.cumsum(problem.cost[order]) <= room
    served[order[fitting]] = True
    return complete(problem, served)


def drop_and_refill(problem: Selection, served: Served, share: float) -> Served:
    """Drop the topics that earn least for their cost, a share of the capacity, and refill."""
    loss = topic_losses(problem, served)
    chosen = np.flatnonzero(served & ~problem.is_pinned)
    cost = problem.cost[chosen]
    ratio = np.divide(loss[chosen], cost, out=np.full(len(chosen), np.inf), where=cost > 0)
    order = np.argsort(ratio, kind="stable")
    worst = chosen[order[np.cumsum(cost[order]) <= share * problem.limit]]
    kept = served.copy()
    kept[worst] = False
    return complete(problem, kept)


def topic_losses(problem: Selection, served: Served) -> FloatArray:
    """Return what the objective would lose without each served topic, taken alone."""
    workload = problem.workload
    delivered = problem.delivered(served)
    losses = np.zeros(workload.num_topics)
    is_binary = problem.metric == "binary"

    def work(piece: tuple[int, int]) -> None:
        add_losses(
            *workload.followers,
            workload.rates,
            served,
            problem.demand,
            delivered,
            problem.weight,
            is_binary,
            1 - RELATIVE_TOLERANCE,
            piece[0],
            piece[1],
            losses,
        )

    in_threads(work, cut_rows(workload.followers.indptr, 8))
    return losses


@kernel
def add_losses(
    indptr: LongArray,
    followers: IntArray,
    rates: FloatArray,
    served: Served,
    demand: FloatArray,
    delivered: FloatArray,
    weight: FloatArray,
    is_binary: bool,
    enough: float,
    first: int,
    last: int,
    losses: FloatArray,
) -> None:
    """Add up, for some topics, what their followers would lose without them."""
    for topic in range(first, last):
        if not served[topic]:
            continue
        rate = rates[topic]
        loss = 0.0
        for i in range(indptr[topic], indptr[topic + 1]):
            subscriber = followers[i]
            need = demand[subscriber]
            if need <= 0.0:
                continue
            got = delivered[subscriber]
            if is_binary:
                if got >= need * enough and got - rate < need * enough:
                    loss += weight[subscriber]
            else:
                before = min(1.0, got / need)
                loss += weight[subscriber] * (before - min(1.0, (got - rate) / need))
        losses[topic] = loss
