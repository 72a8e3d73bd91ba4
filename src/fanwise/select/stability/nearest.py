"""The selection with the fewest changes against the plan in force."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.tolerance import RELATIVE_TOLERANCE
from fanwise.errors import InfeasibleError
from fanwise.select.problem import Selection, Served


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
