"""The fractional yardstick: the value of the relaxation for everybody, and what it bounds.

SLP's relaxation, here over all subscribers as types, at the desired load (raised where that cannot
be held). Its value is the least *sum* of the measures of rectangles, taken in parts from the
*candidates*, of any assignment at that load in which one rectangle holds each subscription. It is a
yardstick and no bound on the objective: a union measures less than the sum, down to 1 / alpha of
it; rectangles that are no candidates may be smaller; loads may go up to the allowed factor; and two
rectangles may hold a subscription together.

What does prove a bound for every plan within the allowed load is a relaxation of another kind:
:mod:`fanwise.assign.proving.market`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanwise.assign.choices import pairs_of
from fanwise.assign.problem import Assignment
from fanwise.assign.slp_steps.coreset import Knobs, relax_types
from fanwise.assign.slp_steps.level import level_of_leaves

EVERYBODY = "everybody"
MOST_PAIRS = 8000
"""Pairs of a type and a broker in time above which nobody waits for the relaxation."""


@dataclass(frozen=True)
class Fractional:
    """The yardstick.

    Attributes
    ----------
    value
        Of the relaxation, from below; None where there is none.
    of
        ``"everybody"``, or why there is no value.
    """

    value: float | None
    of: str


def fractional(problem: Assignment, accuracy: float = 0.02) -> Fractional:
    """Solve the relaxation for everybody, where that is small enough. Time: that of the LP."""
    arrays = problem.arrays
    if not (arrays.parent < 0).all():
        return Fractional(None, "nobody: for trees of one level only")
    level = level_of_leaves(problem, pairs_of(problem))
    wanting = np.flatnonzero(level.lo[:, 0] <= level.hi[:, 0])
    pairs = int(np.diff(level.allowed.indptr)[wanting].sum())
    if pairs > MOST_PAIRS:
        why = f"{pairs:,} pairs of a type and a broker are more than {MOST_PAIRS:,}"
        return Fractional(None, f"nobody: {why}")
    if len(wanting) == 0:
        return Fractional(0.0, EVERYBODY)
    knobs = Knobs(accuracy=accuracy)
    found = relax_types(level, wanting, level.weight[wanting], knobs, np.random.default_rng(0))
    if found.relaxed is None:
        return Fractional(None, "nobody: loads cannot be held")
    return Fractional(found.relaxed.bound, EVERYBODY)
