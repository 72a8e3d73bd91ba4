"""Why a search ended, from what it found."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.planning.plan import certified_gap
from fanwise.planning.problem import Run, Stopped
from fanwise.select.problem import Selection

ROUNDING = 1e-8
"""Gaps below this are none: thresholds and sums are as blurred."""
DEFAULT_GAP = 1e-4
TINY_PAIRS = 150
"""Up to so many pairs all selections are searched, so that no gap need be left."""


def target_gap(problem: Selection, run: Run) -> float:
    """Return the gap at which a search may stop: the one asked for, or the default."""
    if run.gap is not None:
        return run.gap
    return 0.0 if problem.workload.num_pairs <= TINY_PAIRS else DEFAULT_GAP


def is_reached(problem: Selection, served: npt.NDArray[np.bool_], bound: float, gap: float) -> bool:
    """Whether a selection is as close to a bound as was asked for."""
    found = certified_gap(problem.net_value(served), bound, is_feasible=True)
    return found is not None and found <= max(gap, ROUNDING)


def why_stopped(
    problem: Selection, served: npt.NDArray[np.bool_], bound: float, gap: float, *, is_over: bool
) -> Stopped:
    """Say why a search ended: the gap is closed, time was over, or nothing was left to try."""
    if is_reached(problem, served, bound, gap):
        return "gap"
    return "limit" if is_over else "exhausted"
