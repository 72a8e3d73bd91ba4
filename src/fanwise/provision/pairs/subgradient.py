"""Shares raised together, by steps along subgradients.

Raising shares topic by topic, as :mod:`fanwise.provision.pairs.dual_ascent` does, ends where none
alone can be split better, which may be well below the best shares: where subscribers choose from
dozens of topics, prices have to move together. The bound is a concave function of all shares, and
whoever takes a topic says in which direction it rises: those who take it pay more, the others less,
and what they pay together stays its price. Steps aim at a value some way ahead, less far when it
turns out of reach (a level method), and keep half of the direction before.

Guarantee
    The shares that come back prove a bound at least as high as those that were given.

Complexity
    At most MAX_STEPS steps and MAX_ITEMS items looked at; a step takes one cover for each
    undecided subscriber, where a sweep takes two for every item.

References
----------
    M. Held, P. Wolfe, H. P. Crowder: Validation of subgradient optimization. Mathematical
    Programming 6, 1974.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.provision.pairs.core import Undecided
from fanwise.provision.pairs.dual_ascent_kernels import shift_shares, turn_upwards

MAX_STEPS, MIN_STEPS = 400, 40
"""With fewer steps there is no point in beginning."""
MIN_ITEMS = 100
"""With fewer items, topics raised one by one are good enough."""
MAX_ITEMS = 30_000_000
"""Items looked at in all steps together."""
FIRST_AHEAD, LEAST_AHEAD = 0.05, 1e-5
"""How far ahead steps aim, as a share of the value."""
PATIENCE = 8
"""Steps without success before the aim comes nearer."""
NEARER = 0.7
MEMORY = 0.5
LEAST_RISE = 1e-6
"""Relative: steps that raise the bound by less are no success."""


def climb(
    undecided: Undecided,
    shares: FloatArray,
    price: Callable[[FloatArray, npt.NDArray[np.bool_]], float],
    is_enough: Callable[[float], bool],
) -> FloatArray:
    """Return shares of a higher bound, or the same ones.

    Parameters
    ----------
    price
        Returns the bound for shares, and marks the items taken at these prices.
    is_enough
        Says of a bound whether to stop.
    """
    contests = movable(undecided)
    num_steps = min(MAX_STEPS, MAX_ITEMS // max(len(shares), 1))
    if not len(contests) or len(shares) < MIN_ITEMS or num_steps < MIN_STEPS:
        return shares
    best_shares, shares = shares.copy(), shares.copy()
    is_taken = np.zeros(len(shares), dtype=np.bool_)
    direction = np.zeros(len(shares))
    best = value = price(shares, is_taken)
    ahead, num_failures = FIRST_AHEAD, 0
    for _ in range(num_steps):
        length = turn_upwards(undecided, contests, is_taken, MEMORY, direction)
        if length == 0.0 or ahead < LEAST_AHEAD or is_enough(best):
            break
        shift_shares(undecided, contests, direction, (best * (1 + ahead) - value) / length, shares)
        value = price(shares, is_taken)
        if value > best * (1 + LEAST_RISE):
            best, num_failures = value, 0
            best_shares[:] = shares
            continue
        num_failures += 1
        if num_failures == PATIENCE:
            ahead *= NEARER
            num_failures = 0
            shares[:] = best_shares
            direction[:] = 0.0
            value = price(shares, is_taken)
    return best_shares


def movable(undecided: Undecided) -> LongArray:
    """Return the contests with several followers, whom one machine could serve."""
    num_items = np.diff(undecided.contest_indptr)
    return np.flatnonzero((num_items > 1) & (num_items <= undecided.held[undecided.contested]))
