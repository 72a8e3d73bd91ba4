"""Rounding of bounds where what is maximised counts heads."""

from __future__ import annotations

import math

from fanwise.arrays.tolerance import most_within
from fanwise.select.problem import Selection

SUM_ERROR = 1e-11
"""Raised by this much before rounding down: sums added in another order still carry the claim."""


def counts_heads(problem: Selection) -> bool:
    """Whether what is maximised is a whole number whatever is served."""
    has_parts = problem.workload.weight is not None or problem.change_price is not None
    return problem.metric == "binary" and not has_parts


def rounded_down(problem: Selection, bound: float) -> float:
    """Return a bound, whole where what is maximised counts heads."""
    return float(math.floor(most_within(bound))) if counts_heads(problem) else bound


def claimed(problem: Selection, bound: float) -> float:
    """Return the bound to claim: whole where heads are counted, the same in any order of sums."""
    return rounded_down(problem, bound + SUM_ERROR * abs(bound)) if counts_heads(problem) else bound
