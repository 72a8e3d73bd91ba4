"""The paper's "Slow" greedy: the choices of ``greedy``, every benefit computed from scratch.

O(sum over accepted topics of the pairs two hops away) for the binary metric, O(topics x pairs) for
the fractional one. It exists to be compared with.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.planning.problem import Outcome, Run
from fanwise.select.greedy import is_better, scaled_price, share_scale
from fanwise.select.problem import Selection
from fanwise.workload.topic import RELATIVE_TOLERANCE


def solve(problem: Selection, run: Run) -> Outcome:
    """Serve topics greedily, slowly."""
    with run.progress.step("greedy selection from scratch"):
        if problem.metric == "binary":
            order = order_binary(problem)
        else:
            plain = order_fractional(problem, by_cost=False)
            by_cost = order_fractional(problem, by_cost=True)
            values = [_value(problem, order) for order in (plain, by_cost)]
            order = by_cost if is_better(values[1], values[0]) else plain
    served = np.zeros(problem.workload.num_topics, dtype=bool)
    served[order] = True
    return Outcome({"topics": problem.table(served)})


def order_binary(problem: Selection) -> IntArray:
    """Alg. 2 with eager recomputation."""
    from fanwise.select.kernels import naive_order

    workload = problem.workload
    scale = share_scale(problem)
    order: IntArray = naive_order(
        *workload.followers,
        *workload.interests,
        workload.rates,
        problem.cost,
        scaled_price(problem.cost, scale),
        problem.demand,
        np.floor(problem.weight * scale),
        problem.limit * (1 + RELATIVE_TOLERANCE),
        RELATIVE_TOLERANCE,
    )
    return order


def order_fractional(problem: Selection, *, by_cost: bool) -> IntArray:
    """Alg. 5 with all gains computed anew before every choice."""
    from fanwise.select.kernels import naive_gain_order

    workload, demand = problem.workload, problem.demand
    worth = np.divide(problem.weight, demand, out=np.zeros_like(demand), where=demand > 0)
    price = scaled_price(problem.cost, 1.0) if by_cost else np.ones(workload.num_topics)
    order: IntArray = naive_gain_order(
        *workload.followers,
        workload.rates,
        problem.cost,
        price,
        np.column_stack([np.where(worth > 0, demand, 0.0), worth]),
        RELATIVE_TOLERANCE * demand,
        problem.limit * (1 + RELATIVE_TOLERANCE),
    )
    return order


def _value(problem: Selection, order: IntArray) -> float:
    served = np.zeros(problem.workload.num_topics, dtype=bool)
    served[order] = True
    return problem.value(served)
