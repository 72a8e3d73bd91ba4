"""Better selections: rounding what the relaxation says, and dropping what earns least."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.threads import cut_rows, in_threads
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE
from fanwise.select.greedy import complete
from fanwise.select.problem import Selection, Served
from fanwise.select.relaxing.relaxation import Relaxation
from fanwise.select.topic_kernels import add_losses


def round_shares(problem: Selection, relaxation: Relaxation, threshold: float) -> Served:
    """Serve what the relaxation mostly serves, as far as it fits, then go on greedily."""
    return complete(problem, likely_topics(problem, relaxation, threshold))


def likely_topics(problem: Selection, relaxation: Relaxation, threshold: float) -> Served:
    """Return what the relaxation serves by at least so much, as far as it fits."""
    shares, served = relaxation.shares, problem.is_pinned.copy()
    room = problem.limit - float(problem.cost[served].sum())
    likely = np.flatnonzero((shares >= threshold) & ~served & ~problem.is_excluded)
    order = likely[np.lexsort((-relaxation.reduced_profit()[likely], -shares[likely]))]
    fitting = np.cumsum(problem.cost[order]) <= room
    served[order[fitting]] = True
    return served


def drop_and_refill(problem: Selection, served: Served, share: float) -> Served:
    """Drop the topics that earn least for their cost, a share of the capacity, and refill."""
    return complete(problem, drop_worst(problem, served, share, problem.cost))


def drop_worst(problem: Selection, served: Served, share: float, price: FloatArray) -> Served:
    """Return a selection without what earns least for its price, up to a share of the capacity."""
    chosen = np.flatnonzero(served & ~problem.is_pinned)
    losses, price = topic_losses(problem, served)[chosen], price[chosen]
    ratio = np.divide(losses, price, out=np.full(len(chosen), np.inf), where=price > 0)
    order = chosen[np.argsort(ratio, kind="stable")]
    kept = served.copy()
    kept[order[np.cumsum(problem.cost[order]) <= share * problem.limit]] = False
    return kept


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
