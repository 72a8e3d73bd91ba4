"""Every way to satisfy a subscriber without a topic too many.

Sums of rates are added up topic by topic in ascending id, as measuring and verification do, so that
nothing is enough here and too little there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.tolerance import least_enough, most_within
from fanwise.provision.problem import Provisioning

MAX_FOLLOWED = 12
"""Topics of one subscriber up to which all of its covers are listed."""


class Demand(NamedTuple):
    """What one subscriber needs: enough events, from topics that fit a machine, ascending."""

    subscriber: int
    enough: float
    topics: tuple[int, ...]
    rates: tuple[float, ...]

    def is_met(self, bits: int) -> bool:
        """Whether topics are enough; bit i of ``bits`` stands for topic i."""
        total = 0.0
        for bit, rate in enumerate(self.rates):
            if bits >> bit & 1:
                total += rate
        return total >= self.enough


def list_demands(problem: Provisioning) -> list[Demand]:
    """Return what each subscriber with a demand needs."""
    indptr, indices = problem.workload.interests
    rates, thresholds = problem.workload.rates, problem.demand
    fits = topics_that_fit(problem)
    demands = []
    for subscriber in np.flatnonzero(thresholds > 0).tolist():
        topics = indices[indptr[subscriber] : indptr[subscriber + 1]]
        topics = topics[fits[topics]]
        enough = float(least_enough(thresholds[subscriber]))
        demands.append(
            Demand(subscriber, enough, tuple(topics.tolist()), tuple(rates[topics].tolist()))
        )
    return demands


def topics_that_fit(problem: Provisioning) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Say of each topic whether some machine holds one pair of it."""
    limit = max(full_limits(problem))
    return 2 * problem.needs <= limit


def full_limits(problem: Provisioning) -> list[float]:
    """Return what each type that is worth renting moves at most, by verification's own measure."""
    return [most_within(problem.usable_bytes(kind.machine)) for kind in problem.bins]


def minimal_covers(demand: Demand) -> list[int]:
    """Return the sets of topics that are enough, and are not without any one of them."""
    count = len(demand.topics)
    sums = subset_sums(demand.rates)
    is_enough = sums >= demand.enough
    is_minimal = is_enough.copy()
    every = np.arange(len(sums))
    for bit in range(count):
        has = (every >> bit & 1).astype(bool)
        is_minimal[has] &= ~is_enough[every[has] ^ (1 << bit)]
    return [int(bits) for bits in np.flatnonzero(is_minimal)]


def maximal_shortfalls(demand: Demand) -> list[int]:
    """Return the sets of topics that are not enough, and are with any one more; the largest first.

    Each asks for a topic beside it; together they say what a cover is.
    """
    every = np.arange(1 << len(demand.topics))
    is_short = subset_sums(demand.rates) < demand.enough
    is_maximal = is_short.copy()
    size = np.zeros(len(every), dtype=np.int64)
    for bit in range(len(demand.topics)):
        lacks = (every >> bit & 1) == 0
        is_maximal[lacks] &= ~is_short[every[lacks] | (1 << bit)]
        size += every >> bit & 1
    found = np.flatnonzero(is_maximal)
    return [int(bits) for bits in found[np.argsort(-size[found], kind="stable")]]


def subset_sums(rates: tuple[float, ...]) -> FloatArray:
    """Return the sum of every subset, added up in the order of the places."""
    sums = np.zeros(1)
    for rate in rates:
        sums = np.concatenate([sums, sums + rate])
    return sums
