"""An assignment that breaks the load limit, changed as little as max-flow must to keep it.

Whoever is too many at a broker, those with the smallest wishes first, leaves it. A maximum flow
goes on from the rest: it moves others only along the paths that make room. Filters then grow to
hold whoever has come.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import Csr, IntArray, LongArray
from fanwise.arrays.flows import Flow, Groups, max_flow
from fanwise.arrays.jit import kernel
from fanwise.assign.ground import Filters, Ground
from fanwise.assign.improving.crowd import Crowd
from fanwise.assign.improving.live import Live, make_live
from fanwise.assign.kernels import grow_path


def repair_loads(crowd: Crowd, amounts: IntArray, limits: LongArray) -> IntArray | None:
    """Return amounts within the limits, or None where no assignment keeps them."""
    repaired = relieve_loads(crowd, amounts, limits)
    loads = np.bincount(crowd.ground.brokers, weights=repaired, minlength=len(limits))
    return repaired if (loads <= limits).all() else None


def relieve_loads(crowd: Crowd, amounts: IntArray, limits: LongArray) -> IntArray:
    """Return amounts that are above the limits by as few members as there can be."""
    ground = crowd.ground
    groups = Groups(
        Csr(ground.indptr, ground.brokers),
        crowd.weight,
        crowd.type_of_subscriber,
        ground.num_brokers,
    )
    counts = amounts.astype(np.int64)
    left = drop_excess(ground.indptr, ground.brokers, counts, limits)
    flow = max_flow(groups, limits, start=Flow(groups, limits, counts, left))
    relieved = flow.counts.copy()
    put_back(ground.indptr, relieved, amounts.astype(np.int64), flow.left.copy())
    return relieved.astype(np.int32)


def cover_amounts(crowd: Crowd, amounts: IntArray, filters: Filters) -> Filters:
    """Return filters that hold everybody where they are, grown from the ones given."""
    live = make_live(crowd, amounts, filters, np.zeros(crowd.ground.num_brokers, dtype=np.int64))
    grow_for_all(crowd.ground, live)
    return live.filters


@kernel
def put_back(indptr: LongArray, counts: LongArray, before: LongArray, left: LongArray) -> None:
    """Add members that found no room where they were before, or else anywhere they may be."""
    for t in range(len(left)):
        for place in range(indptr[t], indptr[t + 1]):
            some = min(left[t], max(before[place] - counts[place], 0))
            counts[place] += some
            left[t] -= some
        if left[t] > 0:
            counts[indptr[t]] += left[t]


@kernel
def drop_excess(
    indptr: LongArray, brokers: IntArray, counts: LongArray, limits: LongArray
) -> LongArray:
    """Take members away from overloaded brokers, last types first; return how many of each type."""
    excess = -limits
    for place in range(len(brokers)):
        excess[brokers[place]] += counts[place]
    left = np.zeros(len(indptr) - 1, dtype=np.int64)
    for t in range(len(indptr) - 2, -1, -1):
        for place in range(indptr[t], indptr[t + 1]):
            b = brokers[place]
            some = min(counts[place], max(excess[b], 0))
            counts[place] -= some
            excess[b] -= some
            left[t] += some
    return left


@kernel
def grow_for_all(ground: Ground, live: Live) -> None:
    """Let filters grow until they hold everybody, the largest wishes first."""
    for t in range(len(ground.indptr) - 1):
        for place in range(ground.indptr[t], ground.indptr[t + 1]):
            if live.amounts[place] > 0:
                grow_path(ground, live, ground.brokers[place], t, np.inf, True)
