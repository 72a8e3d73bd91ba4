"""One inequality per subscriber, mixed from up to eight sets of its topics.

Every inequality the relaxation uses follows from a set of a subscriber's topics (see
:mod:`fanwise.select.relaxing.covers` and :mod:`fanwise.select.relaxing.gain_cuts`). A mix of valid
inequalities is valid, so what is kept of a subscriber is its sets, a bit per pair each, and a whole
number per set: its part in the mix. That is all a certificate needs; coefficients follow from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE, ROUNDING
from fanwise.select.problem import Selection

Coefficients = npt.NDArray[np.float32]
Sets = npt.NDArray[np.uint8]
Parts = npt.NDArray[np.uint8]

NUM_SETS = 8
LARGE_PAIRS, LARGE_SETS = 1_000_000, 4
"""Above so many pairs, fewer sets are kept: checking them takes time."""
MOST_PARTS = 127
"""Parts add up to at most this before another set takes as many: they stay within a byte."""
LEAST_SHORTAGE = 2e-6
"""A set must fall short of tau_v by this share of it: beyond, differences are mostly rounding."""
ROUND_UP = 1 + 2.0**-23
ENOUGH = 1 - RELATIVE_TOLERANCE - ROUNDING
"""The share of tau_v that satisfies for sure what counts as satisfied, however sums are rounded."""


class Rows(NamedTuple):
    """Subscribers as kernels see them: the topics of each, rates of topics, what each one needs."""

    indptr: LongArray
    interests: IntArray
    rates: FloatArray
    demand: FloatArray


@dataclass
class Inequalities:
    """Satisfaction of v is at most c_v + the sum of b_vt x_t.

    Attributes
    ----------
    sets
        Per pair of the subscriber CSR, bit k: whether the topic is in the subscriber's set k.
    parts
        Per subscriber and set, its part in the mix; 0 for a set that is not used. There may be
        fewer than eight.
    coefficients, constants
        b_vt per pair and c_v per subscriber, which follow from them, rounded up.
    """

    sets: Sets
    parts: Parts
    coefficients: Coefficients
    constants: Coefficients

    @classmethod
    def unfilled(cls, problem: Selection) -> Inequalities:
        """Return inequalities with one empty set each, coefficients still to be filled in."""
        num_pairs, num_subscribers = problem.workload.num_pairs, problem.workload.num_subscribers
        num_sets = NUM_SETS if num_pairs <= LARGE_PAIRS else LARGE_SETS
        parts = np.zeros((num_subscribers, num_sets), dtype=np.uint8)
        parts[:, 0] = 1
        return cls(
            np.zeros(num_pairs, dtype=np.uint8),
            parts,
            np.empty(num_pairs, dtype=np.float32),
            np.zeros(num_subscribers, dtype=np.float32),
        )

    def copy(self) -> Inequalities:
        """Return a copy that can be changed."""
        return Inequalities(
            self.sets.copy(), self.parts.copy(), self.coefficients.copy(), self.constants.copy()
        )


@kernel
def free_slot(parts: Parts) -> int:
    """Return the slot for one more set in a mix, and give it half of the mix.

    Changes ``parts``.

    The others keep their proportions as far as bytes can hold them; what becomes too small goes.
    """
    total = 0
    for k in range(len(parts)):
        total += parts[k]
    if total > MOST_PARTS:
        total = 0
        for k in range(len(parts)):
            parts[k] = parts[k] // 2
            total += parts[k]
    slot = 0
    for k in range(1, len(parts)):
        if parts[k] < parts[slot]:
            slot = k
    parts[slot] = max(1, total - parts[slot])
    return slot


@kernel
def put_set(sets: Sets, slot: int, is_inside: npt.NDArray[np.bool_]) -> None:
    """Write one set of a subscriber over what was in its slot.

    Changes ``sets``.
    """
    bit = np.uint8(1 << slot)
    for i in range(len(sets)):
        if is_inside[i]:
            sets[i] = sets[i] | bit
        else:
            sets[i] = sets[i] & ~bit
