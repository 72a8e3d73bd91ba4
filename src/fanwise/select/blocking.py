"""Sets of topics that a subscriber cannot lack: inequalities that make mixed-integer programs easy.

A set of its topics *blocks* a subscriber if all its other topics together do not satisfy it. Then
its satisfaction is at most the sum of the served shares of that set. All minimal blocking sets
together say exactly which selections satisfy it, so that satisfaction need be no whole variable,
and they cut off far more fractional selections than one row of rates does.

Complexity
    Exponential in the topics of a subscriber: for those with at most MOST_TOPICS.

References
----------
    Blockers of monotone systems: J. Edmonds, D. R. Fulkerson: Bottleneck extrema. Journal of
    Combinatorial Theory 8, 1970.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.select.problem import Selection
from fanwise.select.relaxing.inequalities import ENOUGH

MOST_TOPICS = 6
MOST_SUBSCRIBERS = 20_000
"""Where more need something, enumerating would take longer than it saves."""


def blocking_sets(problem: Selection, subscriber: int) -> list[IntArray] | None:
    """Return the minimal sets of topics that a subscriber cannot lack; None for too many topics.

    Whoever is so close to its demand that sums as they are rounded decide is taken to be satisfied.
    """
    indptr, interests = problem.workload.interests
    topics = interests[indptr[subscriber] : indptr[subscriber + 1]]
    if len(topics) > MOST_TOPICS:
        return None
    rates = problem.workload.rates[topics]
    order = np.argsort(-rates, kind="stable")
    need = float(problem.demand[subscriber]) * ENOUGH
    return [topics[order[list(places)]] for places in _minimal(rates[order], need)]


def _minimal(rates: FloatArray, need: float) -> Iterator[tuple[int, ...]]:
    """Yield places of rates, the largest of which come first, whose lack is the least that blocks.

    Topics join by descending rate, so that a set is minimal if without its last one it would not
    block.
    """
    listed: list[float] = rates.tolist()

    def lacks(places: tuple[int, ...]) -> bool:
        left = sum(rate for place, rate in enumerate(listed) if place not in places)
        return left < need

    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        places = waiting.pop()
        if lacks(places):
            yield places
            continue
        first = places[-1] + 1 if places else 0
        waiting += [(*places, place) for place in range(first, len(listed))]
