"""Inequalities for fractional satisfaction that know when topics overlap.

Satisfaction min(1, sum of rates / tau_v) is a submodular function f of the served topics, so for
*any* set S of a subscriber's topics N (Nemhauser and Wolsey 1981)

    satisfaction <= f(S) + sum over t outside S of (f(S + t) - f(S)) x_t
                         - sum over t in S of (f(N) - f(N - t)) (1 - x_t).

With S empty this is the plain inequality, which counts a topic fully even where others leave little
to gain. S is fitted to the relaxation: of the topics with the largest shares, as many as make the
right side smallest. Where the shares break that inequality it is mixed in half and half; a mix of
valid inequalities is valid. Coefficients and constants are float32, rounded up.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.threads import cut_rows, in_threads
from fanwise.select.problem import Selection
from fanwise.select.relaxing.covers import PIECES, ROUND_UP, Coefficients, order_by_share
from fanwise.workload.topic import RELATIVE_TOLERANCE

Constants = npt.NDArray[np.float32]

MAX_PREFIX = 16
"""Largest S tried: subscribers that need more topics than this keep what they have."""
BROKEN = 1e-5


def no_constants(problem: Selection) -> Constants:
    """Return the constants of inequalities that have none."""
    return np.zeros(problem.workload.num_subscribers, dtype=np.float32)


def fit_gains(
    problem: Selection, shares: FloatArray, coefficients: Coefficients, constants: Constants
) -> int:
    """Mix in, in place, inequalities that the shares break worse; return for how many."""
    workload = problem.workload
    interests = workload.interests
    demand = problem.demand * (1 - RELATIVE_TOLERANCE)
    widest = int(np.diff(interests.indptr).max(initial=0))

    def work(piece: tuple[int, int]) -> int:
        return mix_gains(
            *interests, workload.rates, demand, shares, piece[0], piece[1], widest,
            coefficients, constants,
        )  # fmt: skip

    return sum(in_threads(work, cut_rows(interests.indptr, PIECES)))


@kernel
def mix_gains(
    indptr: LongArray,
    interests: IntArray,
    rates: FloatArray,
    demand: FloatArray,
    shares: FloatArray,
    first: int,
    last: int,
    widest: int,
    coefficients: Coefficients,
    constants: Constants,
) -> int:
    """Mix in the best inequality of a prefix by shares for subscribers where it is broken."""
    order = np.empty(widest, dtype=np.int64)
    keys = np.empty(widest)
    share = np.empty(widest)
    last_gain = np.empty(widest)
    num_mixed = 0
    for subscriber in range(first, last):
        start, stop = indptr[subscriber], indptr[subscriber + 1]
        need = demand[subscriber]
        size = stop - start
        if need <= 0.0 or size < 2:
            continue
        row = interests[start:stop]
        order_by_share(row, shares, rates, order, keys)
        total = 0.0
        reached_now = float(constants[subscriber])
        for i in range(size):
            share[i] = rates[row[i]] / need
            total += share[i]
            reached_now += coefficients[start + i] * shares[row[i]]
        for i in range(size):
            last_gain[i] = min(1.0, total) - min(1.0, total - share[i])
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
        inside, constant = 0.0, 0.0
        for j in range(best_size):
            inside += share[order[j]]
            constant -= last_gain[order[j]]
        base = min(1.0, inside)
        constant = 0.5 * (max(0.0, base + constant) + constants[subscriber])
        constants[subscriber] = np.float32(constant * ROUND_UP)
        for j in range(size):
            i = order[j]
            slope = last_gain[i] if j < best_size else min(1.0, inside + share[i]) - base
            mixed = 0.5 * (np.float64(coefficients[start + i]) + slope)
            coefficients[start + i] = np.float32(mixed * ROUND_UP)
    return num_mixed
