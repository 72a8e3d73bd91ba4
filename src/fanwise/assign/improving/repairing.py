"""An assignment that breaks the load limit, changed as little as max-flow must to keep it.

Whoever is too many at a broker, those with the smallest wishes first, leaves it. A maximum flow
goes on from the rest: it moves others only along the paths that make room. Filters then grow to
hold whoever has come.

Guarantee
    Within the limits wherever any assignment in time is; else above them by as few as there can be.

Complexity
    That of a max-flow over types and brokers, and of growing filters once for each pair in use.

References
----------
    E. Dinic: Algorithm for solution of a problem of maximum flow in networks with power estimation.
    Soviet Mathematics Doklady 11, 1970.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import Csr, IntArray, LongArray
from fanwise.arrays.flows import Flow, Groups, max_flow
from fanwise.arrays.jit import kernel
from fanwise.assign.arrays import AssignmentArrays, Filters
from fanwise.assign.greedy_kernels import grow_path
from fanwise.assign.improving.move_state import MoveState, make_state
from fanwise.assign.subscriber_types import SubscriberTypes


def relieve_loads(types: SubscriberTypes, amounts: IntArray, limits: LongArray) -> IntArray:
    """Return amounts that are above the limits by as few members as there can be."""
    arrays = types.arrays
    groups = Groups(
        Csr(arrays.indptr, arrays.brokers),
        types.weight,
        types.type_of_subscriber,
        arrays.num_brokers,
    )
    counts = amounts.astype(np.int64)
    # A flow to go on from must be within its limits.
    left = drop_excess(arrays.indptr, arrays.brokers, counts, limits)
    flow = max_flow(groups, limits, start=Flow(groups, limits, counts, left))
    relieved = flow.counts.copy()
    put_back(arrays.indptr, relieved, amounts.astype(np.int64), flow.left.copy())
    return relieved.astype(np.int32)


def cover_amounts(types: SubscriberTypes, amounts: IntArray, filters: Filters) -> Filters:
    """Return filters that hold everybody where they are, grown from the ones given."""
    state = make_state(types, amounts, filters, np.zeros(types.arrays.num_brokers, dtype=np.int64))
    grow_for_all(types.arrays, state)
    return state.filters


@kernel
def put_back(indptr: LongArray, counts: LongArray, before: LongArray, left: LongArray) -> None:
    """Add members that found no room where they were before, or else anywhere they may be.

    Changes ``counts`` and ``left``.
    """
    for t in range(len(left)):
        for pair in range(indptr[t], indptr[t + 1]):
            some = min(left[t], max(before[pair] - counts[pair], 0))
            counts[pair] += some
            left[t] -= some
        if left[t] > 0:
            counts[indptr[t]] += left[t]


@kernel
def drop_excess(
    indptr: LongArray, brokers: IntArray, counts: LongArray, limits: LongArray
) -> LongArray:
    """Take members away from overloaded brokers, last types first; return how many of each type.

    Changes ``counts``.
    """
    excess = -limits
    for pair in range(len(brokers)):
        excess[brokers[pair]] += counts[pair]
    left = np.zeros(len(indptr) - 1, dtype=np.int64)
    # Types descend by volume: the last ones want least, and filters elsewhere grow least for them.
    for t in range(len(indptr) - 2, -1, -1):
        for pair in range(indptr[t], indptr[t + 1]):
            b = brokers[pair]
            some = min(counts[pair], max(excess[b], 0))
            counts[pair] -= some
            excess[b] -= some
            left[t] += some
    return left


@kernel
def grow_for_all(arrays: AssignmentArrays, state: MoveState) -> None:
    """Let filters grow until they hold everybody, the largest wishes first.

    Changes the filters of ``state``.
    """
    for t in range(len(arrays.indptr) - 1):
        for pair in range(arrays.indptr[t], arrays.indptr[t + 1]):
            if state.amounts[pair] > 0:
                grow_path(arrays, state, arrays.brokers[pair], t, np.inf, True)
