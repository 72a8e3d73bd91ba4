"""What it would take to serve one more topic, or to satisfy one more subscriber."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fanwise.arrays.tolerance import RELATIVE_TOLERANCE
from fanwise.select.explain.ranking import by_earnings
from fanwise.select.problem import Selection

Mask = npt.NDArray[np.bool_]
MOST_NAMED = 5
"""Topics that would make room, of those named."""


@dataclass(frozen=True)
class Serving:
    """What it would take to serve a topic that is offloaded.

    Attributes
    ----------
    more
        Capacity that is missing for it, beside all that is served; 0 where it fits.
    is_possible
        Whether it could be served within the capacity if others made room.
    dropped, names
        How many of the served topics that earn least would make room, and the first of them.
    subscribers
        How many more (or, below 0, fewer) would be satisfied after that exchange.
    """

    more: float
    is_possible: bool
    dropped: int
    names: tuple[str, ...]
    subscribers: int


def to_serve(problem: Selection, served: Mask, topic: int) -> Serving:
    """Say what serving a topic would take: more capacity, or the weakest topics out."""
    used, cost = float(problem.cost[served].sum()), float(problem.cost[topic])
    more = max(0.0, used + cost - problem.limit)
    if problem.fits(used + cost):
        more = 0.0
    changed = served.copy()
    changed[topic] = True
    gone = []
    for other in by_earnings(problem, served).tolist() if more else ():
        if problem.fits(used + cost):
            break
        used -= float(problem.cost[other])
        changed[other] = False
        gone.append(other)
    names = problem.workload.topic_names
    return Serving(
        more=more,
        is_possible=problem.fits(used + cost),
        dropped=len(gone),
        names=tuple(names[other].as_py() for other in gone[:MOST_NAMED]),
        subscribers=problem.num_satisfied(changed) - problem.num_satisfied(served),
    )


@dataclass(frozen=True)
class Satisfying:
    """What it would take to satisfy a subscriber: topics to serve, and what they cost."""

    topics: tuple[str, ...]
    cost: float


def to_satisfy(problem: Selection, served: Mask, subscriber: int) -> Satisfying | None:
    """Return the topics that would satisfy a subscriber, the cheapest per event first.

    None for one that is satisfied, or that has no topics left to be satisfied by.
    """
    workload = problem.workload
    indptr, indices = workload.interests
    topics = indices[indptr[subscriber] : indptr[subscriber + 1]]
    rates = workload.rates
    needs = float(problem.demand[subscriber])
    missing = needs - float(rates[topics[served[topics]]].sum())
    if missing <= RELATIVE_TOLERANCE * needs:
        return None
    offloaded = topics[~served[topics]]
    chosen = []
    for topic in offloaded[np.argsort(problem.cost[offloaded] / rates[offloaded], kind="stable")]:
        chosen.append(int(topic))
        missing -= float(rates[topic])
        if missing <= RELATIVE_TOLERANCE * needs:
            names = tuple(workload.topic_names[one].as_py() for one in chosen)
            return Satisfying(names, float(problem.cost[chosen].sum()))
    return None
