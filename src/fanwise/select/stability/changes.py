"""What few changes cost at least, and what they give up."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.errors import InfeasibleError
from fanwise.select.problem import Selection
from fanwise.workload.topic import RELATIVE_TOLERANCE

Served = npt.NDArray[np.bool_]


def compare_with_free(problem: Selection, served: Served, free: Served) -> dict[str, float | None]:
    """Return what the free plan reaches, with how many changes, and what is given up for fewer."""
    value = problem.value(served)
    free_value = max(problem.value(free), value)
    return {
        "free_value": free_value,
        "free_changes": problem.num_changes(free),
        "given_up": free_value - value,
    }


def nearest(problem: Selection) -> Served:
    """Return the admitted selection with the fewest changes: the largest topics go first.

    Raises
    ------
    InfeasibleError
        If that takes more changes than are allowed.
    """
    served = (problem.before | problem.is_pinned) & ~problem.is_excluded
    over = float(problem.cost[served].sum()) - problem.limit
    if over > problem.limit * RELATIVE_TOLERANCE:
        droppable = np.flatnonzero(served & ~problem.is_pinned)
        largest = droppable[np.argsort(-problem.cost[droppable], kind="stable")]
        freed = np.cumsum(problem.cost[largest])
        enough = over - problem.limit * RELATIVE_TOLERANCE
        served[largest[: int(np.searchsorted(freed, enough)) + 1]] = False
    needed = problem.num_changes(served)
    if problem.max_changes is not None and needed > problem.max_changes:
        raise InfeasibleError(
            f"At most {problem.max_changes:,} changes are allowed, but capacity, pins and "
            f"exclusions force {needed:,}; raise --max-changes or the capacity."
        )
    return served
