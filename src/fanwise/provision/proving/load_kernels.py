"""The load of one machine that counts as most: a knapsack with at least two of each kind."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel


@kernel
def best_load(
    steps: LongArray, most_copies: LongArray, worth: FloatArray, rest_worth: float, grid: int
) -> tuple[float, LongArray, int]:
    """Return what a machine's load counts as at most, its copies of each topic, steps they take.

    A topic is left out or has from two to ``most_copies`` copies, of ``steps`` and ``worth`` each;
    all together take at most ``grid`` steps. Steps that are left count for ``rest_worth``, all of
    the grid that is. O(topics x copies x grid). Changes nothing.
    """
    num_topics = len(steps)
    value = np.zeros(grid + 1)
    choice = np.zeros((num_topics, grid + 1), dtype=np.int64)
    for i in range(num_topics):
        if worth[i] <= 0.0:
            continue
        before = value.copy()
        for copies in range(2, most_copies[i] + 1):
            size = copies * steps[i]
            if size > grid:
                break
            gain = copies * worth[i]
            for place in range(size, grid + 1):
                if before[place - size] + gain > value[place]:
                    value[place] = before[place - size] + gain
                    choice[i, place] = copies
    best, at = -1.0, 0
    for place in range(grid + 1):
        total = value[place] + rest_worth * (1.0 - place / grid)
        if total > best:
            best, at = total, place
    load = np.zeros(num_topics, dtype=np.int64)
    used = 0
    for i in range(num_topics - 1, -1, -1):
        load[i] = choice[i, at]
        at -= load[i] * steps[i]
        used += load[i] * steps[i]
    return best, load, used
