"""Rounding of bounds where what is maximised counts heads."""

from __future__ import annotations

import math

from fanwise.select.problem import Selection
from fanwise.workload.topic import RELATIVE_TOLERANCE


def counts_heads(problem: Selection) -> bool:
    """Whether what is maximised is a whole number whatever is served."""
    has_parts = problem.workload.weight is not None or problem.change_price is not None
    return problem.metric == "binary" and not has_parts


def whole(problem: Selection, bound: float) -> float:
    """Round a bound down where what is maximised counts heads."""
    if counts_heads(problem):
        return float(math.floor(bound * (1 + RELATIVE_TOLERANCE)))
    return bound
