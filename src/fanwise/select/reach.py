"""What no selection can do, whatever the prices: topics too dear, subscribers out of reach.

A topic that costs more than the capacity cannot be served. A subscriber whose cheapest set of
topics costs more than the capacity cannot be satisfied: such subscribers count for nothing in every
bound, and searching need not look at them. What a set costs at least is found by taking topics by
cost per event, the last one in part. Where some topics are served and others are not, as on one
side of a case distinction, the same holds for the capacity and the needs that are left.

Guarantee
    No selection of the case serves what is ``dropped`` here, or satisfies whoever has no weight.

Complexity
    One pass over the pairs; a sort of the topics of those subscribers that cannot have all of them.

References
----------
    The cheapest set with the last topic in part: G. B. Dantzig: Discrete-variable extremum
    problems. Operations Research 5(2), 1957.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.threads import cut_rows, in_threads
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE, ROUNDING, most_within

if TYPE_CHECKING:
    from fanwise.select.problem import Selection

Flags = npt.NDArray[np.bool_]

PIECES = 16
ENOUGH = 1 - RELATIVE_TOLERANCE - ROUNDING
"""As inequalities take it: less than this share of tau_v satisfies nobody, however sums round."""
CAREFUL = 1 + 1e-9
"""Only what costs more than this much of the capacity left is out of reach: a check in another
order of sums finds the same."""


class Case(NamedTuple):
    """Selections that serve some topics and leave out others.

    Attributes
    ----------
    served, dropped
        What they all serve, and what they all leave out: what was asked for and what is too dear.
    room
        The capacity that the served topics leave; below 0 there are no such selections.
    weight
        What each subscriber counts; 0 for those out of reach.
    """

    served: Flags
    dropped: Flags
    room: float
    weight: FloatArray


def plain_case(problem: Selection) -> Case:
    """Return the case of all selections, at any capacity."""
    served = problem.is_pinned
    return Case(served, problem.is_excluded, _room(problem, served), problem.weight)


def case_of(problem: Selection, served: Flags, dropped: Flags) -> Case:
    """Return the case of all selections that serve some topics and leave out others."""
    room = _room(problem, served)
    dropped = dropped | (~served & (problem.cost > room * CAREFUL))
    weight = problem.weight
    if problem.metric == "binary" and room >= 0:
        is_near = _within_reach(problem, served, dropped, room * CAREFUL)
        if not is_near.all():
            weight = np.where(is_near, weight, 0.0)
    return Case(served, dropped, room, weight)


def _room(problem: Selection, served: Flags) -> float:
    return most_within(problem.limit) - float(problem.cost[served].sum())


def _within_reach(problem: Selection, served: Flags, dropped: Flags, room: float) -> Flags:
    workload = problem.workload
    is_near: Flags = np.ones(workload.num_subscribers, dtype=np.bool_)
    state = np.zeros(workload.num_topics, dtype=np.int8)
    state[served], state[dropped] = 1, -1
    need = np.where(problem.weight > 0, problem.demand * ENOUGH, 0.0)

    def work(piece: tuple[int, int]) -> None:
        mark_near(
            *workload.interests, workload.rates, problem.cost, need, state, room, *piece, is_near
        )

    in_threads(work, cut_rows(workload.interests.indptr, PIECES))
    return is_near


@kernel
def mark_near(
    indptr: LongArray,
    interests: IntArray,
    rates: FloatArray,
    cost: FloatArray,
    need: FloatArray,
    state: npt.NDArray[np.int8],
    room: float,
    first: int,
    last: int,
    is_near: Flags,
) -> None:
    """Say which of some subscribers could get what they need from topics that fit.

    Changes ``is_near``.

    Parameters
    ----------
    state
        Of each topic: 1 if it is served, -1 if it is not, 0 if that is open.
    """
    for subscriber in range(first, last):
        lack, most, total = need[subscriber], 0.0, 0.0
        start, stop = indptr[subscriber], indptr[subscriber + 1]
        many = 0
        for i in range(start, stop):
            topic = interests[i]
            if state[topic] > 0:
                lack -= rates[topic]
            elif state[topic] == 0:
                most += rates[topic]
                total += cost[topic]
                many += 1
        if lack <= 0.0:
            continue
        if most < lack * ENOUGH:
            is_near[subscriber] = False
        elif total > room:
            is_near[subscriber] = (
                least_cost(interests[start:stop], rates, cost, state, lack, many) <= room
            )


@kernel
def least_cost(
    interests: IntArray,
    rates: FloatArray,
    cost: FloatArray,
    state: npt.NDArray[np.int8],
    lack: float,
    many: int,
) -> float:
    """Return what open topics that carry so much cost at least, the last one taken in part.

    Changes nothing.
    """
    slope, amount = np.empty(many), np.empty(many)
    at = 0
    for topic in interests:
        if state[topic] == 0:
            amount[at] = min(rates[topic], lack)
            slope[at] = cost[topic] / amount[at]
            at += 1
    total, left = 0.0, lack
    for i in np.argsort(slope, kind="mergesort"):
        taken = min(amount[i], left)
        total += slope[i] * taken
        left -= taken
        if left <= 0.0:
            break
    return total
