"""Inequalities for fractional satisfaction that know when topics overlap.

Satisfaction min(1, sum of rates / tau_v) is a submodular function f of the served topics, so for
*any* set S of a subscriber's topics N (Nemhauser and Wolsey 1981)

    satisfaction <= f(S) + sum over t outside S of (f(S + t) - f(S)) x_t
                         - sum over t in S of (f(N) - f(N - t)) (1 - x_t).

With S empty this is the plain inequality, which counts a topic fully even where others leave little
to gain. S is fitted to the relaxation: of the topics with the largest shares, as many as make the
right side smallest. Where the shares break that inequality it is mixed in half and half; a mix of
valid inequalities is valid (see :mod:`fanwise.select.relaxing.inequalities`). Coefficients and
constants are float32, rounded up.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.arrays.jit import kernel
from fanwise.select.problem import Selection
from fanwise.select.relaxing.covers import mix_in, order_by_share
from fanwise.select.relaxing.inequalities import (
    ROUND_UP,
    Coefficients,
    Inequalities,
    Parts,
    Rows,
    Sets,
    free_slot,
    put_set,
)

MAX_PREFIX = 16
"""Largest S tried: subscribers that need more topics than this keep what they have."""
BROKEN = 1e-5


def fit_gains(problem: Selection, shares: FloatArray, inequalities: Inequalities) -> int:
    """Mix in, in place, inequalities that the shares break worse; return for how many."""
    changed = inequalities.sets, inequalities.parts, inequalities.coefficients
    return mix_in(problem, shares, mix_gains, *changed, inequalities.constants)


@kernel
def mix_gains(
    rows: Rows,
    shares: FloatArray,
    first: int,
    last: int,
    widest: int,
    sets: Sets,
    parts: Parts,
    coefficients: Coefficients,
    constants: Coefficients,
) -> int:
    """Mix in the best inequality of a prefix by shares for subscribers where it is broken.

    Changes ``sets``, ``parts``, ``coefficients`` and ``constants``.
    """
    indptr, interests, rates, demand = rows
    order = np.empty(widest, dtype=np.int64)
    keys = np.empty(widest)
    share = np.empty(widest)
    last_gain = np.empty(widest)
    is_inside = np.empty(widest, dtype=np.bool_)
    mixed = np.empty(widest)
    num_mixed = 0
    for subscriber in range(first, last):
        start, stop = indptr[subscriber], indptr[subscriber + 1]
        need = demand[subscriber]
        size = stop - start
        if need <= 0.0 or size < 2:
            continue
        row = interests[start:stop]
        order_by_share(row, shares, rates, order, keys)
        reached_now = float(constants[subscriber])
        for i in range(size):
            reached_now += coefficients[start + i] * shares[row[i]]
        find_gains(row, rates, need, share, last_gain)
        best, best_size = reached_now - BROKEN, -1
        inside, penalty = 0.0, 0.0
        for prefix in range(min(size, MAX_PREFIX) + 1):
            base = min(1.0, inside)
            if base - penalty >= best:
                if base >= 1.0:
                    break
            else:
                reached = base - penalty
                for j in range(prefix, size):
                    i = order[j]
                    reached += (min(1.0, inside + share[i]) - base) * shares[row[i]]
                if reached < best:
                    best, best_size = reached, prefix
            if base >= 1.0:
                break
            if prefix < size:
                i = order[prefix]
                inside += share[i]
                penalty += last_gain[i] * (1.0 - shares[row[i]])
        if best_size < 0:
            continue
        num_mixed += 1
        for j in range(size):
            is_inside[order[j]] = j < best_size
        slot = free_slot(parts[subscriber])
        put_set(sets[start:stop], slot, is_inside)
        constant = mix_row(sets[start:stop], parts[subscriber], share, last_gain, mixed)
        constants[subscriber] = np.float32(constant * ROUND_UP)
        for i in range(size):
            coefficients[start + i] = np.float32(mixed[i] * ROUND_UP)
    return num_mixed


@kernel
def find_gains(
    interests: IntArray, rates: FloatArray, need: float, share: FloatArray, last_gain: FloatArray
) -> None:
    """Write what each topic of a subscriber gives alone, and what it gives last of all.

    Changes ``share`` and ``last_gain``.
    """
    total = 0.0
    for i in range(len(interests)):
        share[i] = rates[interests[i]] / need
        total += share[i]
    for i in range(len(interests)):
        last_gain[i] = min(1.0, total) - min(1.0, total - share[i])


@kernel
def mix_row(
    sets: Sets, parts: Parts, share: FloatArray, last_gain: FloatArray, mixed: FloatArray
) -> float:
    """Write one subscriber's mixed coefficients; return its constant.

    Changes ``mixed``.
    """
    size = len(sets)
    total, constant = 0.0, 0.0
    mixed[:size] = 0.0
    for k in range(len(parts)):
        if parts[k] == 0:
            continue
        total += parts[k]
        inside, last = 0.0, 0.0
        for i in range(size):
            if sets[i] >> k & 1:
                inside += share[i]
                last += last_gain[i]
        base = min(1.0, inside)
        constant += parts[k] * max(0.0, base - last)
        for i in range(size):
            if sets[i] >> k & 1:
                mixed[i] += parts[k] * last_gain[i]
            else:
                mixed[i] += parts[k] * (min(1.0, inside + share[i]) - base)
    for i in range(size):
        mixed[i] /= total
    return constant / total
