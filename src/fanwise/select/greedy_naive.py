"""The paper's "Slow" greedy: the choices of ``greedy``, every benefit computed from scratch.

After each accepted topic, all topics that share a subscriber with it are computed anew, as in lines
6 and 7 of the paper's Alg. 2, for the fractional metric as well (ModifiedGreedyFB3MSlow). It exists
to be compared with.

Guarantee
    The same plans as ``greedy``.

Complexity
    The pairs two hops away from every accepted topic: as popular topics are computed again and
    again, time grows with about the square of the workload.

References
----------
    V. Setty, G. Kreitz, G. Urdaneta, R. Vitenberg, M. van Steen: Maximizing the number of satisfied
    subscribers in pub/sub systems under capacity constraints. IEEE INFOCOM 2014.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE, most_within
from fanwise.planning.problem import Outcome, Run
from fanwise.select.greedy import is_better, scaled_price, share_scale, start_from
from fanwise.select.problem import Selection


def solve(problem: Selection, run: Run) -> Outcome:
    """Serve topics greedily, slowly."""
    problem.refuse_weighed_changes()
    with run.progress.step("greedy selection from scratch"):
        if problem.metric == "binary":
            served = _served(problem, order_binary(problem))
        else:
            served, by_cost = (
                _served(problem, order_fractional(problem, by_cost=by_cost))
                for by_cost in (False, True)
            )
            if is_better(problem.value(by_cost), problem.value(served)):
                served = by_cost
    return Outcome({"topics": problem.table(served)})


def order_binary(problem: Selection) -> IntArray:
    """Alg. 2 with eager recomputation: the topics in the order served."""
    scale = share_scale(problem)
    price = scaled_price(problem.cost, scale)
    return _order(problem, price, np.floor(problem.weight * scale))


def order_fractional(problem: Selection, *, by_cost: bool) -> IntArray:
    """Alg. 5 of type R (``by_cost``) or G with eager recomputation: topics in the order served."""
    demand = problem.demand
    worth = np.divide(problem.weight, demand, out=np.zeros_like(demand), where=demand > 0)
    price = scaled_price(problem.cost, 1.0) if by_cost else np.ones(len(problem.cost))
    return _order(problem, price, worth)


def _order(problem: Selection, price: FloatArray, worth: FloatArray) -> IntArray:
    from fanwise.select.benefits.naive_kernels import naive_order

    workload = problem.workload
    start = start_from(problem, None)
    order: IntArray = naive_order(
        *workload.followers,
        *workload.interests,
        start.rates,
        problem.cost,
        price,
        start.missing.copy(),
        worth,
        RELATIVE_TOLERANCE * problem.demand,
        most_within(problem.limit),
        start.used,
        problem.metric == "binary",
    )
    return order


def _served(problem: Selection, order: IntArray) -> npt.NDArray[np.bool_]:
    served = problem.is_pinned.copy()
    served[order] = True
    return served
