"""What a decision means for subscribers: who becomes satisfied, and who no longer is."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fanwise.arrays.tolerance import is_enough
from fanwise.select.problem import Selection

Mask = npt.NDArray[np.bool_]


def weigh_effect(problem: Selection, was_served: Mask, served: Mask) -> dict[str, Any]:
    """Return how a selection changes who is satisfied, on the same window.

    ``gain`` and ``lose`` count subscribers that become satisfied and that no longer are;
    ``before`` says what the selection in force is worth on this window, and what it takes.
    """
    before, after = _satisfied(problem, was_served), _satisfied(problem, served)
    return {
        "gain": int(np.count_nonzero(after & ~before)),
        "lose": int(np.count_nonzero(before & ~after)),
        "before": {
            "satisfied": int(np.count_nonzero(before)),
            "served": int(np.count_nonzero(was_served)),
            "used": float(problem.cost[was_served].sum()),
            "value": problem.value(was_served),
        },
    }


def _satisfied(problem: Selection, served: Mask) -> Mask:
    enough = is_enough(problem.delivered(served), problem.demand)
    return np.asarray(enough & (problem.demand > 0), dtype=bool)
