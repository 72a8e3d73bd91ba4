"""Why a search ended, from what it found."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.planning.plan import certified_gap
from fanwise.planning.problem import Stopped
from fanwise.select.problem import Selection

ROUNDING = 1e-8
"""Gaps below this are none: thresholds and sums are as blurred."""


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
