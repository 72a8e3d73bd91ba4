"""A selection with the worth of every topic kept up to date while topics come and go.

A topic that is not served has a *benefit*: the sum over its unsatisfied followers of weight x
min(1, rate / missing)^p. The larger p, the less a step towards satisfaction counts that does not
get there. A topic that is served has a *loss*: the weight of the followers that would not be
satisfied without it, and maybe (rate / slack)^q of those that would, slack being what they get
beyond their need. Serving or dropping a topic changes what its followers miss, so the worth of the
topics that these follow, too; that is all that is touched.

Topics stand in two tournaments, in the order of their costs, so that the best of those that still
fit is the best of the first so many: benefit per cost of what is not served, loss per cost, least
first, of what is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tournament import mend_tree, set_leaf

Flags = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]

HAIR = 1e-11
"""Of what is needed: whoever misses less misses nothing but rounding."""
LEAST_BENEFIT = 1e-9
USED, VALUE, WORK = 0, 1, 2


class Field(NamedTuple):
    """What does not change: who follows what, rates, costs, needs.

    Attributes
    ----------
    place, topic_at
        Where each topic stands in the tournaments, and the other way round.
    costs
        Of the topics in the order of their places: ascending.
    is_open
        Whether each topic may be served and dropped.
    """

    topic_indptr: LongArray
    followers: IntArray
    indptr: LongArray
    interests: IntArray
    rates: FloatArray
    cost: FloatArray
    need: FloatArray
    weight: FloatArray
    place: IntArray
    topic_at: IntArray
    costs: FloatArray
    is_open: Flags


class Standing(NamedTuple):
    """What changes.

    Attributes
    ----------
    got
        What each subscriber gets.
    worth
        The benefit of each topic that is not served, the loss of each that is.
    adding, dropping
        Tournaments of what may be served, and dropped.
    touched, is_touched
        Scratch for topics whose worth has changed.
    totals
        The cost in use, the weight of the satisfied, and the steps taken so far.
    """

    got: FloatArray
    served: Flags
    worth: FloatArray
    adding: FloatArray
    dropping: FloatArray
    touched: IntArray
    is_touched: Flags
    totals: FloatArray


class Powers(NamedTuple):
    """How benefits and losses of what is not yet at stake count; halves, and 0 for not at all."""

    benefit: float
    slack: float


@kernel
def raised(base: float, power: float) -> float:
    """Return a share to a power that is a multiple of a half. Changes nothing."""
    result = 1.0
    while power >= 1.0:
        result *= base
        power -= 1.0
    return result * np.sqrt(base) if power > 0.0 else result


@kernel
def worth_for(rate: float, lack: float, hair: float, is_served: bool, powers: Powers) -> float:
    """Return a topic's share of worth for a follower that lacks so much, or has it to spare.

    Changes nothing.
    """
    if is_served:
        if lack > hair:
            return 0.0
        if rate + lack > hair:
            return 1.0
        if powers.slack <= 0.0 or -lack <= hair:
            return 0.0
        return raised(rate / -lack, powers.slack)
    if lack <= hair:
        return 0.0
    if rate >= lack - hair:
        return 1.0
    return raised(rate / lack, powers.benefit)


@kernel
def show_worth(field: Field, standing: Standing, topic: int) -> None:
    """Enter a topic into the tournament that it belongs to, with its worth now.

    Changes the tournaments of ``standing``.
    """
    place, cost, worth = field.place[topic], field.cost[topic], standing.worth[topic]
    add, drop = -np.inf, -np.inf
    if field.is_open[topic]:
        if standing.served[topic]:
            drop = -np.inf if cost <= 0.0 else -(worth + LEAST_BENEFIT) / cost
        elif worth > LEAST_BENEFIT:
            add = 1e300 if cost <= 0.0 else worth / cost
    set_leaf(standing.adding, place, add)
    set_leaf(standing.dropping, place, drop)


@kernel
def take_stock(field: Field, standing: Standing, powers: Powers) -> None:
    """Work out everything anew from what is served.

    Changes ``standing``.
    """
    got, served, worth, totals = standing.got, standing.served, standing.worth, standing.totals
    worth[:] = 0.0
    totals[USED] = totals[VALUE] = 0.0
    for subscriber in range(len(got)):
        total = 0.0
        for i in range(field.indptr[subscriber], field.indptr[subscriber + 1]):
            if served[field.interests[i]]:
                total += field.rates[field.interests[i]]
        got[subscriber] = total
        weight = field.weight[subscriber]
        if weight <= 0.0:
            continue
        lack, hair = field.need[subscriber] - total, HAIR * field.need[subscriber]
        if lack <= hair:
            totals[VALUE] += weight
        for i in range(field.indptr[subscriber], field.indptr[subscriber + 1]):
            topic = field.interests[i]
            share = worth_for(field.rates[topic], lack, hair, served[topic], powers)
            worth[topic] += weight * share
    standing.adding[:] = -np.inf
    standing.dropping[:] = -np.inf
    half = len(standing.adding) // 2
    for topic in range(len(served)):
        cost, place = field.cost[topic], half + field.place[topic]
        if served[topic]:
            totals[USED] += cost
            if field.is_open[topic] and cost > 0.0:
                standing.dropping[place] = -(worth[topic] + LEAST_BENEFIT) / cost
        elif field.is_open[topic] and worth[topic] > LEAST_BENEFIT:
            standing.adding[place] = 1e300 if cost <= 0.0 else worth[topic] / cost
    mend_tree(standing.adding)
    mend_tree(standing.dropping)
    totals[WORK] += len(field.interests)


@kernel
def switch(field: Field, standing: Standing, topic: int, powers: Powers) -> None:
    """Serve a topic that is not served, or drop one that is.

    Changes ``standing``.
    """
    got, served, worth, totals = standing.got, standing.served, standing.worth, standing.totals
    touched, is_touched = standing.touched, standing.is_touched
    interests, rates = field.interests, field.rates
    sign = -1.0 if served[topic] else 1.0
    served[topic] = not served[topic]
    totals[USED] += sign * field.cost[topic]
    own, many, steps = 0.0, 0, 0
    for i in range(field.topic_indptr[topic], field.topic_indptr[topic + 1]):
        subscriber = field.followers[i]
        need, weight = field.need[subscriber], field.weight[subscriber]
        lack = need - got[subscriber]
        got[subscriber] += sign * rates[topic]
        if weight <= 0.0:
            continue
        lacks, hair = need - got[subscriber], HAIR * need
        was_missing, is_missing = lack > hair, lacks > hair
        if was_missing != is_missing:
            totals[VALUE] += -weight if is_missing else weight
        own += weight * worth_for(rates[topic], lacks, hair, served[topic], powers)
        first, last = field.indptr[subscriber], field.indptr[subscriber + 1]
        steps += last - first
        for j in range(first, last):
            other = interests[j]
            is_served = served[other]
            if other == topic or (is_served and was_missing and is_missing):
                continue
            rate = rates[other]
            change = worth_for(rate, lacks, hair, is_served, powers) - worth_for(
                rate, lack, hair, is_served, powers
            )
            if change != 0.0:
                worth[other] += weight * change
                if not is_touched[other]:
                    is_touched[other] = True
                    touched[many] = other
                    many += 1
    worth[topic] = own
    show_worth(field, standing, topic)
    for i in range(many):
        is_touched[touched[i]] = False
        show_worth(field, standing, touched[i])
    totals[WORK] += steps + 4 * many + 10
