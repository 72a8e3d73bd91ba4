"""Every way to satisfy a subscriber without a topic too many.

Sums of rates are added up topic by topic in ascending id, as measuring and verification do, so that
nothing is enough here and too little there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.provision.problem import Provisioning
from fanwise.workload.topic import RELATIVE_TOLERANCE

MAX_FOLLOWED = 12
"""Topics of one subscriber up to which all of its covers are listed."""


class Wish(NamedTuple):
    """What one subscriber needs: enough events, from topics that fit a machine, ascending."""

    subscriber: int
    enough: float
    topics: tuple[int, ...]
    rates: tuple[float, ...]

    def is_met(self, places: int) -> bool:
        """Whether topics are enough; bit i of ``places`` stands for topic i."""
        total = 0.0
        for place, rate in enumerate(self.rates):
            if places >> place & 1:
                total += rate
        return total >= self.enough


def list_wishes(problem: Provisioning) -> list[Wish]:
    """Return what each subscriber with a demand needs."""
    indptr, indices = problem.workload.interests
    rates, demand = problem.workload.rates, problem.demand
    fits = topics_that_fit(problem)
    wishes = []
    for subscriber in np.flatnonzero(demand > 0).tolist():
        topics = indices[indptr[subscriber] : indptr[subscriber + 1]]
        topics = topics[fits[topics]]
        enough = float(demand[subscriber] * (1 - RELATIVE_TOLERANCE))
        wishes.append(
            Wish(subscriber, enough, tuple(topics.tolist()), tuple(rates[topics].tolist()))
        )
    return wishes


def topics_that_fit(problem: Provisioning) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Say of each topic whether some machine holds one pair of it."""
    limit = max(full_limits(problem))
    return 2 * problem.needs <= limit


def full_limits(problem: Provisioning) -> list[float]:
    """Return what each type that is worth renting moves at most, by verification's own measure."""
    return [problem.usable_bytes(kind.machine) * (1 + RELATIVE_TOLERANCE) for kind in problem.bins]


def minimal_covers(wish: Wish) -> list[int]:
    """Return the sets of topics that are enough, and are not without any one of them."""
    count = len(wish.topics)
    sums = subset_sums(wish.rates)
    is_enough = sums >= wish.enough
    is_minimal = is_enough.copy()
    every = np.arange(len(sums))
    for place in range(count):
        has = (every >> place & 1).astype(bool)
        is_minimal[has] &= ~is_enough[every[has] ^ (1 << place)]
    return [int(places) for places in np.flatnonzero(is_minimal)]


def maximal_shortfalls(wish: Wish) -> list[int]:
    """Return the sets of topics that are not enough, and are with any one more; the largest first.

    Each asks for a topic beside it; together they say what a cover is.
    """
    every = np.arange(1 << len(wish.topics))
    is_short = subset_sums(wish.rates) < wish.enough
    is_maximal = is_short.copy()
    size = np.zeros(len(every), dtype=np.int64)
    for place in range(len(wish.topics)):
        lacks = (every >> place & 1) == 0
        is_maximal[lacks] &= ~is_short[every[lacks] | (1 << place)]
        size += every >> place & 1
    found = np.flatnonzero(is_maximal)
    return [int(places) for places in found[np.argsort(-size[found], kind="stable")]]


def subset_sums(rates: tuple[float, ...]) -> FloatArray:
    """Return the sum of every subset, added up in the order of the places."""
    sums = np.zeros(1)
    for rate in rates:
        sums = np.concatenate([sums, sums + rate])
    return sums
