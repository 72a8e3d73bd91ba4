"""Final filters of leaf brokers: few rectangles, no larger than what is assigned to them.

Guarantee
    Filters of at most alpha rectangles that hold what is assigned to their leaf, each the smallest
    of several.

Complexity
    O(subscribers x alpha^3) to take them in one by one, and k-means for each leaf.

References
----------
    A. Yu, P. Agarwal, J. Yang: Subscriber assignment for wide-area content-based publish/subscribe,
    Sec. IV-C. IEEE ICDE 2011.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.flow_kernels import BoolArray
from fanwise.assign.arrays import AssignmentArrays, Filters
from fanwise.assign.filters import (
    find_homes,
    fit_filters,
    insert_boxes,
    list_rectangles,
    tighten_filters,
)
from fanwise.assign.slp_steps.clustering import cluster


def adjust_filters(
    arrays: AssignmentArrays,
    broker_of_subscriber: IntArray,
    filters: Filters,
    rng: np.random.Generator,
) -> Filters:
    """Return for each leaf the smallest of several filters of at most alpha rectangles.

    The preliminary one, each rectangle shrunk to the subscriptions it is the first to hold, and
    merged down where it has too many; bounding boxes of alpha clusters of the subscriptions [1]_;
    and the one that takes them in one by one. Inner brokers get none.

    .. [1] Sec. IV-C of the paper. It merges nothing: a preliminary filter of too many rectangles
       is not among its choices.
    """
    rivals = [
        _merged(arrays, broker_of_subscriber, filters),
        _clustered(arrays, broker_of_subscriber, rng),
        fit_filters(arrays, broker_of_subscriber),
    ]
    measures = np.array([arrays.measures(rival) for rival in rivals])
    # Only the first may miss somebody: a leaf may have been given subscribers, in a repair, whom
    # its preliminary filter does not hold.
    measures[0, ~_holds_all(arrays, broker_of_subscriber, rivals[0])] = np.inf
    winner = measures.argmin(axis=0)
    best = arrays.no_filters()
    for which, rival in enumerate(rivals):
        own = arrays.leaves[winner[arrays.leaves] == which]
        best.lo[own], best.hi[own] = rival.lo[own], rival.hi[own]
        best.counts[own] = rival.counts[own]
    return best


def _merged(arrays: AssignmentArrays, broker_of_subscriber: IntArray, filters: Filters) -> Filters:
    tight = tighten_filters(arrays, broker_of_subscriber, filters)
    lo, hi, broker = list_rectangles(tight, arrays.leaves.astype(np.int64))
    return _insert(arrays, lo, hi, broker)


def _insert(arrays: AssignmentArrays, lo: FloatArray, hi: FloatArray, broker: LongArray) -> Filters:
    """Take rectangles in, the largest of each broker first."""
    few = arrays.no_filters()
    order = np.lexsort((-(hi - lo).prod(axis=1), broker)).astype(np.int64)
    insert_boxes(arrays, few, lo, hi, broker.astype(np.int32), order, arrays.scratch())
    return few


def _clustered(
    arrays: AssignmentArrays, broker_of_subscriber: IntArray, rng: np.random.Generator
) -> Filters:
    """Bounding boxes of clusters of each leaf's subscriptions, those alike taken once."""
    filters = arrays.no_filters()
    order = np.argsort(broker_of_subscriber, kind="stable")
    starts = np.searchsorted(broker_of_subscriber[order], np.arange(arrays.num_brokers + 1))
    for broker in arrays.leaves:
        own = order[starts[broker] : starts[broker + 1]]
        boxes = np.hstack([arrays.lo[own], arrays.hi[own]])
        boxes = np.unique(boxes[boxes[:, 0] <= boxes[:, arrays.event_dims]], axis=0)
        label = cluster(boxes, arrays.alpha, rng)
        for slot, which in enumerate(np.unique(label)):
            inside = boxes[label == which]
            filters.lo[broker, slot] = inside[:, : arrays.event_dims].min(axis=0)
            filters.hi[broker, slot] = inside[:, arrays.event_dims :].max(axis=0)
            filters.counts[broker] = slot + 1
    return filters


def _holds_all(
    arrays: AssignmentArrays, broker_of_subscriber: IntArray, filters: Filters
) -> BoolArray:
    """Whether a filter's rectangles hold each subscription of its broker, one by itself."""
    homes = find_homes(filters, arrays.lo, arrays.hi, broker_of_subscriber)
    lost = (homes < 0) & (arrays.lo[:, 0] <= arrays.hi[:, 0]) & (broker_of_subscriber >= 0)
    holds = np.ones(arrays.num_brokers, dtype=np.bool_)
    holds[broker_of_subscriber[lost]] = False
    return holds
