"""The fractional yardstick: the value of the relaxation for everybody, and what it bounds.

SLP's relaxation, here over all subscribers as types, at the desired load (raised where that cannot
be held). Its value is the least *sum* of the measures of rectangles, taken in parts from the
*candidates*, of any assignment at that load in which one rectangle holds each subscription. It is a
yardstick and no bound on the objective: a union measures less than the sum, down to 1 / alpha of
it; rectangles that are no candidates may be smaller; loads may go up to the allowed factor; and two
rectangles may hold a subscription together.

The prices of the same relaxation do prove a bound, by :mod:`fanwise.assign.priced_bounds`, for
every plan within the allowed load.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.assign.greedy import choices_of, rows_of
from fanwise.assign.priced_bounds import Market, Prices, priced_bound
from fanwise.assign.problem import Assignment
from fanwise.assign.slp_steps.coreset import Knobs, RelaxedTypes, relax_types
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
    bound
        A proven bound on the bandwidth of leaves, or None.
    of
        ``"everybody"``, or why there is no value.
    """

    value: float | None
    bound: float | None
    of: str


def fractional(problem: Assignment, accuracy: float = 0.02) -> Fractional:
    """Solve the relaxation for everybody, where that is small enough. Time: that of the LP."""
    ground = problem.ground
    if not (ground.parent < 0).all():
        return Fractional(None, None, "nobody: for trees of one level only")
    level = level_of_leaves(problem, rows_of(choices_of(problem)))
    wanting = np.flatnonzero(level.lo[:, 0] <= level.hi[:, 0])
    pairs = int(np.diff(level.allowed.indptr)[wanting].sum())
    if pairs > MOST_PAIRS:
        why = f"{pairs:,} pairs of a type and a broker are more than {MOST_PAIRS:,}"
        return Fractional(None, None, f"nobody: {why}")
    if len(wanting) == 0:
        return Fractional(0.0, 0.0, EVERYBODY)
    knobs = Knobs(accuracy=accuracy)
    found = relax_types(level, wanting, level.weight[wanting], knobs, np.random.default_rng(0))
    if found.relaxed is None:
        return Fractional(None, None, "nobody: loads cannot be held")
    brokers = np.arange(ground.num_brokers, dtype=np.int32)
    return Fractional(found.relaxed.bound, bound_of(problem, found, brokers), EVERYBODY)


def bound_of(problem: Assignment, found: RelaxedTypes, brokers: IntArray) -> float | None:
    """Return the bound that a relaxation's prices prove at the allowed load.

    ``brokers`` are those that the relaxation numbers from 0. Its types must be everybody's, or
    fewer.
    """
    sample, relaxed = found.sample, found.relaxed
    if relaxed is None or len(relaxed.pair_price) != len(sample.allowed.indices):
        return None
    limits = problem.limits(problem.lbf_max)[brokers].astype(np.float64)
    market = Market(
        (sample.lo + sample.hi) / 2,
        sample.allowed,
        sample.load,
        limits,
        problem.alpha,
        problem.ground.density,
    )
    return priced_bound(market, Prices(relaxed.pair_price, relaxed.load_price))
