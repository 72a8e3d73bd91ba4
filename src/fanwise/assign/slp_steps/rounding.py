"""From parts of rectangles to whole ones: random rounding, then dropping what is not needed.

Guarantee
    Every type of the sample is covered. The paper's: the expected measure grows by a factor of
    ln(types) at most.

Complexity
    O(pairs held) for each draw, and a max-flow for each rectangle that may be dropped.

References
----------
    A. Yu, P. Agarwal, J. Yang: Subscriber assignment for wide-area content-based publish/subscribe,
    Sec. IV-A.1. IEEE ICDE 2011. The dropping is our own.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import Csr, IntArray, LongArray, take_rows
from fanwise.arrays.flows import Groups, group_alike, max_flow
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import least_enough
from fanwise.assign.slp_steps.candidates import Candidates
from fanwise.assign.slp_steps.relaxation import Relaxed, Sample, holding_pairs

TRIES = 20
"""Draws before the types that none of them covers get the rectangle with the largest part."""


def round_parts(
    sample: Sample, candidates: Candidates, relaxed: Relaxed, rng: np.random.Generator
) -> LongArray:
    """Return candidates that together cover every type of the sample, ascending.

    Each one in use is drawn with the probability 1 - (1 - y) ** ln(types), again until everybody is
    covered. Then those that are not needed go, the largest first: as long as a flow serves as many
    of the sample without them as before.
    """
    # Sec. IV-A.1: as if each were drawn ln|S_a| times with the chance y.
    draws = max(math.log(len(sample.lo)), 1.0)
    chance = 1 - (1 - relaxed.part) ** draws
    held = take_rows(Csr(*holding_pairs(sample, candidates)), relaxed.chosen)  # type: ignore[arg-type]
    types = np.repeat(np.arange(len(sample.lo)), np.diff(sample.allowed.indptr))
    taken = np.zeros(len(chance), dtype=np.bool_)
    for _ in range(TRIES):
        taken = rng.random(len(chance)) < chance
        covered = _covered(held, taken, types, len(sample.lo))
        if covered.all():
            break
    for candidate in np.argsort(-relaxed.part, kind="stable"):
        if covered.all():
            break
        own = types[held.indices[held.indptr[candidate] : held.indptr[candidate + 1]]]
        if not covered[own].all():
            taken[candidate] = True
            covered[own] = True
    _drop(sample, held, taken, candidates.measure[relaxed.chosen])
    return relaxed.chosen[taken]


def _drop(
    sample: Sample, held: Csr, taken: npt.NDArray[np.bool_], measure: npt.NDArray[np.float64]
) -> None:
    """Drop rectangles that are not needed, in place."""
    times = np.zeros(len(sample.allowed.indices), dtype=np.int64)
    for candidate in np.flatnonzero(taken):
        times[held.indices[held.indptr[candidate] : held.indptr[candidate + 1]]] += 1
    unserved = _unserved(sample, times)
    chosen = np.flatnonzero(taken)
    # Reverse deletion, which the paper does without: rounding takes many rectangles that others
    # make superfluous. Flows are only asked where a pair is no longer covered at all.
    for candidate in chosen[np.argsort(-measure[chosen], kind="stable")]:
        own = held.indices[held.indptr[candidate] : held.indptr[candidate + 1]]
        times[own] -= 1
        if (times[own] == 0).any() and (
            _is_uncovered(sample, times) or _unserved(sample, times) > unserved
        ):
            times[own] += 1
        else:
            taken[candidate] = False


def _is_uncovered(sample: Sample, times: LongArray) -> bool:
    return bool((np.add.reduceat(times, sample.allowed.indptr[:-1]) == 0).any())


def _unserved(sample: Sample, times: LongArray) -> int:
    """Return how much load of the sample no assignment to covering brokers can serve."""
    keep = times > 0
    indptr = np.concatenate([[0], np.cumsum(keep)])[sample.allowed.indptr].astype(np.int64)
    covering = Csr(indptr, np.ascontiguousarray(sample.allowed.indices[keep]))
    alike = group_alike(covering, len(sample.limits))
    sizes = np.zeros(len(alike.sizes), dtype=np.int64)
    np.add.at(sizes, alike.group_of_subscriber, sample.load.astype(np.int64))
    groups = Groups(alike.candidates, sizes, alike.group_of_subscriber, len(sample.limits))
    return max_flow(groups, np.ceil(least_enough(sample.limits))).num_left


def _covered(
    held: Csr, taken: npt.NDArray[np.bool_], types: LongArray, num_types: int
) -> npt.NDArray[np.bool_]:
    covered = np.zeros(num_types, dtype=np.bool_)
    mark_covered(*held, taken, types, covered)
    return covered


@kernel
def mark_covered(
    indptr: LongArray,
    pairs: IntArray,
    taken: npt.NDArray[np.bool_],
    types: LongArray,
    covered: npt.NDArray[np.bool_],
) -> None:
    """Mark the types in any of the candidates taken. Changes ``covered``."""
    for candidate in range(len(indptr) - 1):
        if taken[candidate]:
            for at in range(indptr[candidate], indptr[candidate + 1]):
                covered[types[pairs[at]]] = True
