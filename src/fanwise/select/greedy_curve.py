"""Value against capacity along one greedy run, with the paper's bound at many capacities.

Greedy makes the same choices with less capacity until a topic does not fit: its run is a curve. The
paper's bound takes subscribers by price, so one sort gives it for every capacity.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.select.bounds import paper_bounds
from fanwise.select.greedy import Trajectory, greedy
from fanwise.select.problem import Selection

POINTS = 400
"""Points of a curve: more cannot be seen."""
BOUND_POINTS = 60


class Curve(NamedTuple):
    """What greedy reached after using some capacity, and the paper's bound for some capacities."""

    used: FloatArray
    value: FloatArray
    capacity: FloatArray
    bound: FloatArray | None


def greedy_curve(problem: Selection, run: Trajectory | None = None) -> Curve:
    """Return the curve of a problem up to its capacity, from a greedy run or a new one."""
    run = greedy(problem) if run is None else run
    end = float(run.used[-1]) if len(run.used) else 0.0
    wanted = np.searchsorted(run.used, spread(end, POINTS), side="right") - 1
    shown = np.unique(wanted[wanted >= 0])
    # The bound where the run is drawn, too: lines between far points would cross it.
    capacity = np.union1d(spread(problem.limit, BOUND_POINTS), run.used[shown])
    return Curve(
        np.append(0.0, run.used[shown]),
        np.append(0.0, run.value[shown]),
        capacity,
        paper_bounds(problem, capacity),
    )


def spread(end: float, count: int) -> FloatArray:
    """Return capacities from 0 to an end, closer together near 0, where curves are steep."""
    return end * np.linspace(0.0, 1.0, count) ** 3
