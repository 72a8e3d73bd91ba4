"""What one machine's load counts as at most, where large topics count for more: plain NumPy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

GRID = 5040
"""Steps of a machine in which sizes are looked at, rounded down."""
MOST_SIZE = 1e100
"""The largest number of bytes that a copy may count as."""
MOST_LISTED = 1000
"""Topics that may count for more."""
SUM_ERROR = 1e-12

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]


def most_counted(sizes: Floats, needs: Floats, followers: Longs, room: float) -> float:
    """Return the most that listed topics and bytes of others on one machine count as.

    A topic is on it with a copy in and at least one out, at most one for each follower, or not at
    all.
    """
    counted = np.zeros(GRID + 1)
    for size, need, wanted in zip(sizes, needs, followers, strict=True):
        step, before = int(need / room * GRID), counted
        fit = min(int(room / need * (1 + SUM_ERROR)), GRID // step, int(wanted) + 1)
        counted = before.copy()
        for copies in range(2, fit + 1):
            shifted = before[: GRID + 1 - copies * step] + copies * size
            np.maximum(counted[copies * step :], shifted, out=counted[copies * step :])
    rest = room * (1 - np.arange(GRID + 1) / GRID)
    return float((counted + rest).max() * (1 + SUM_ERROR))
