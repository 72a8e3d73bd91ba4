"""Everybody to a broker whose filter holds them, by max-flow, under a load limit that rises.

Where even the last limit leaves somebody over, the minimum cut names the types and brokers that are
too tight. Then filters of brokers outside the cut are enlarged to hold types inside it, first where
they grow least for those they let through. Each round either lets more flow or widens the cut, so
that a cut with no allowed broker outside proves the limit too tight for anybody's filters.

Guarantee
    Everybody within the last limit, wherever any filters allow that.

Complexity
    A max-flow over groups of types for each step of the limit and each round of enlarging.

References
----------
    A. Yu, P. Agarwal, J. Yang: Subscriber assignment for wide-area content-based publish/subscribe,
    Sec. IV-B. IEEE ICDE 2011. The repair is our own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanwise.arrays import flow_kernels
from fanwise.arrays.csr import IntArray, LongArray
from fanwise.arrays.flows import Flow, max_flow
from fanwise.arrays.jit import kernel
from fanwise.arrays.rectangles import make_scratch
from fanwise.assign.arrays import Filters
from fanwise.assign.slp_steps.covering import covering_brokers, grow_pairs, growth_of_pairs
from fanwise.assign.slp_steps.level import Level

MOST_REPAIRS = 60
"""Rounds of enlarging filters before everybody allowed counts as covered."""

FEW = 8


@dataclass(frozen=True, eq=False)
class Assigned:
    """Who serves whom at one level.

    Attributes
    ----------
    broker_of_subscriber
        -1 for those whom the last limit leaves over.
    filters
        Enlarged where that was needed.
    step
        Of the load-balance factor.
    repairs
        Rounds of enlarging; ``is_balanced`` where they gave up, and filters were set aside.
    """

    broker_of_subscriber: IntArray
    filters: Filters
    step: int
    repairs: int
    is_balanced: bool


def assign(level: Level, filters: Filters) -> Assigned:
    """Assign everybody within the limits, if anybody's filters allow that."""
    groups = level.groups(covering_brokers(level, filters))
    last = len(level.limits) - 1
    flow = max_flow(groups, level.limits[0])
    for step in range(last + 1):
        if step > 0:
            flow = max_flow(groups, level.limits[step], start=flow)
        if flow.num_left == 0:
            return Assigned(deal(level, flow), filters, step, 0, False)
    filters = filters.copy()
    for repairs in range(1, MOST_REPAIRS + 1):
        if not _enlarge_at_cut(level, filters, flow):
            return Assigned(deal(level, flow), filters, last, repairs - 1, False)
        flow = max_flow(level.groups(covering_brokers(level, filters)), level.limits[-1])
        if flow.num_left == 0:
            return Assigned(deal(level, flow), filters, last, repairs, False)
    flow = max_flow(level.groups(level.allowed), level.limits[-1])
    return Assigned(deal(level, flow), filters, last, MOST_REPAIRS, True)


def deal(level: Level, flow: Flow) -> IntArray:
    """Return an assignment with a flow's counts that keeps neighbours in the event space together.

    A flow only says how many of those with the same covering brokers each broker serves.
    """
    order = np.argsort(level.curve[level.type_of_subscriber], kind="stable")
    brokers = np.empty(level.num_subscribers, dtype=np.int32)
    brokers[order] = flow_kernels.deal_members(
        flow.groups.group_of_subscriber[order], *flow.groups.candidates, flow.counts
    )
    return brokers


def _enlarge_at_cut(level: Level, filters: Filters, flow: Flow) -> bool:
    """Enlarge filters outside the cut for types inside; False where no broker is allowed there."""
    types, brokers = _pairs_across(level, flow)
    if len(types) == 0:
        return False
    scratch = make_scratch(filters.lo.shape[1], level.lo.shape[1])
    arrays = level.lo, level.hi, filters, level.alpha, level.density, scratch
    growth = growth_of_pairs(types, brokers, *arrays)
    # Growth for each subscriber whom it lets through; more than are left over do not count.
    order = np.argsort(growth / np.minimum(level.weight[types], flow.num_left), kind="stable")
    room = np.maximum(flow.limits - flow.loads, 0)
    chosen = take_enough(types[order], brokers[order], level.weight, room, flow.num_left)
    grow_pairs(types[order][chosen], brokers[order][chosen], *arrays)
    return True


def _pairs_across(level: Level, flow: Flow) -> tuple[LongArray, LongArray]:
    """Return pairs of a type in the cut and an allowed broker outside it."""
    in_cut = np.zeros(level.num_brokers, dtype=np.bool_)
    in_cut[flow.bottleneck.brokers] = True
    is_stuck = np.zeros(level.num_types, dtype=np.bool_)
    is_stuck[level.type_of_subscriber[flow.bottleneck.subscribers]] = True
    types = np.repeat(np.arange(level.num_types), np.diff(level.allowed.indptr))
    brokers = level.allowed.indices.astype(np.int64)
    useful = is_stuck[types] & ~in_cut[brokers] & (level.limits[-1] > 0)[brokers]
    return types[useful], brokers[useful]


@kernel
def take_enough(
    types: LongArray, brokers: LongArray, weight: LongArray, room: LongArray, needed: int
) -> LongArray:
    """Return the first pairs that free what is needed, no broker beyond its room twice over.

    Where no broker of any pair has room, the first few: through them the cut widens.
    Changes nothing.
    """
    chosen = np.empty(len(types), dtype=np.int64)
    is_taken = np.zeros(len(weight), dtype=np.bool_)
    # Twice, because whoever may move does not have to: a tight choice would need another round.
    left = 2 * room
    count = 0
    for i in range(len(types)):
        if needed <= 0:
            break
        t, b = types[i], brokers[i]
        if left[b] > 0 and not is_taken[t]:
            is_taken[t] = True
            moved = min(weight[t], left[b])
            left[b] -= moved
            needed -= moved
            chosen[count] = i
            count += 1
    if count == 0:
        count = min(FEW, len(types))
        chosen[:count] = np.arange(count)
    return chosen[:count]
