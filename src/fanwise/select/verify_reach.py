"""Who is out of reach of a capacity, for the check of certificates: plain NumPy, nothing shared.

What the page on certificates calls a case: some topics are served, others are not. Topics that cost
more than the capacity left are not served either, and who cannot get what it needs within that
capacity is not satisfied.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fanwise.planning.verify import ROUNDING
from fanwise.select.verify_question import Question, blocks
from fanwise.workload.topic import RELATIVE_TOLERANCE

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

ENOUGH = 1 - RELATIVE_TOLERANCE - ROUNDING
"""Who has less than this share of its demand is not satisfied, however sums are rounded."""


@dataclass(frozen=True, eq=False)
class Case:
    """Selections that serve some topics and leave out others.

    Attributes
    ----------
    room
        The capacity that the served topics leave.
    weight
        What each subscriber counts, 0 where it is out of reach.
    is_empty
        Whether there are no such selections.
    """

    served: Flags
    dropped: Flags
    room: float
    weight: Floats
    is_empty: bool


def all_selections(question: Question) -> Case:
    """Return the case of every selection that may be chosen."""
    nothing = np.zeros(len(question.cost), dtype=bool)
    return case_of(question, nothing, nothing)


def case_of(question: Question, served: Flags, dropped: Flags) -> Case:
    """Return the case of selections that serve some topics and leave out others."""
    served, dropped = served | question.is_pinned, dropped | question.is_excluded
    room = question.capacity * (1 + RELATIVE_TOLERANCE) - float(question.cost[served].sum())
    is_empty = bool((served & dropped).any()) or room < 0
    reached = room * (1 + ROUNDING)
    dropped = dropped | (~served & (question.cost > reached))
    if question.max_changes is not None:
        was = question.was_served
        forced = np.count_nonzero(served & ~was) + np.count_nonzero(dropped & was)
        is_empty |= bool(forced > question.max_changes)
    weight = question.weight
    if question.is_binary and not is_empty:
        weight = np.where(_is_near(question, served, dropped, reached), weight, 0.0)
    return Case(served, dropped, room, weight, is_empty)


def _is_near(question: Question, served: Flags, dropped: Flags, reached: float) -> Flags:
    """Return who may get what it needs from topics that cost no more than what can be reached."""
    is_near = np.ones(len(question.weight), dtype=bool)
    is_open = ~served & ~dropped
    rates, cost = np.where(is_open, question.rates, 0.0), np.where(is_open, question.cost, 0.0)
    given = np.where(served, question.rates, 0.0) if served.any() else None
    chosen = np.flatnonzero((question.weight > 0) & (np.diff(question.indptr) > 0))
    for first, last, topics, _, starts in blocks(question.indptr, question.indices, chosen):
        lack = question.demand[chosen[first:last]] * ENOUGH
        if given is not None:
            lack = lack - np.add.reduceat(given[topics], starts)
        is_short = np.zeros(last - first, dtype=bool)
        if dropped.any():
            is_short = np.add.reduceat(rates[topics], starts) < lack * ENOUGH
        is_dear = np.add.reduceat(cost[topics], starts) > reached
        asked = np.flatnonzero((lack > 0) & is_dear & ~is_short)
        if len(asked):
            row = np.repeat(np.arange(last - first), np.diff(starts, append=len(topics)))
            meant = np.flatnonzero(np.isin(row, asked) & (rates[topics] > 0))
            least = _least_costs(row[meant], topics[meant], rates, cost, lack)
            is_dear[asked] = least[asked] > reached
        is_near[chosen[first:last]] = (lack <= 0) | ~(is_short | is_dear)
    return is_near


def _least_costs(
    row: npt.NDArray[np.int64],
    topics: npt.NDArray[np.int32],
    rates: Floats,
    cost: Floats,
    lack: Floats,
) -> Floats:
    """Return, by row, what topics that carry what it lacks cost at least, the last in part."""
    amount = np.minimum(rates[topics], lack[row])
    order = np.lexsort((cost[topics] / amount, row))
    row, amount, dear = row[order], amount[order], cost[topics][order]
    first = np.searchsorted(row, row)
    sums = np.append(0.0, np.cumsum(amount))
    before = sums[:-1] - sums[first]
    taken = np.clip((lack[row] - before) / amount, 0.0, 1.0)
    least = np.bincount(row, weights=taken * dear, minlength=len(lack))
    return least.astype(np.float64, copy=False)
