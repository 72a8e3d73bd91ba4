"""Candidate filters: rectangles to choose from, few yet never far from any one wanted.

Along each axis there is a hierarchy of intervals, their lengths doubling from level to level and
their starts at least half a length apart; candidates are all products of them, each shrunk to the
subscriptions inside. The paper's printed limits leave long intervals in no candidate and fail on
points, so that there is one more level, the overall interval is always there, and so is every
point. Then each bounding box of a subset of the given rectangles lies in a candidate of at most 4^d
times its volume (the paper's Lemma 4), as long as intervals are not cut off below a finest length.

Guarantee
    Each bounding box of a subset of the rectangles given lies in a candidate of at most 4^d times
    its volume (Lemma 4), unless levels are cut off.

Complexity
    O(n log(extent / finest)) intervals for each axis, and their product; O(n^3) at worst for the
    boxes of an agglomeration.

References
----------
    A. Yu, P. Agarwal, J. Yang: Subscriber assignment for wide-area content-based publish/subscribe,
    Sec. IV-A.3. IEEE ICDE 2011.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fanwise.arrays.csr import Csr, FloatArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.rectangle_kernels import Density, union_measures
from fanwise.arrays.rectangles import bounding_boxes, make_scratch
from fanwise.arrays.tolerance import ROUNDING
from fanwise.assign.slp_steps.clustering import cluster


@dataclass(frozen=True, eq=False)
class Candidates:
    """Rectangles each broker may choose from, each shrunk to what the broker may serve inside.

    Attributes
    ----------
    indptr
        Those of broker b are ``indptr[b]:indptr[b + 1]``.
    measure
        Events in each rectangle, or its volume.
    """

    indptr: LongArray
    lo: FloatArray
    hi: FloatArray
    measure: FloatArray

    @property
    def broker(self) -> LongArray:
        """The broker of each."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))


def super_subscriptions(
    lo: FloatArray, hi: FloatArray, positions: FloatArray, count: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return bounding boxes of clusters of subscriptions alike in network and event space.

    Both spaces are scaled to the same spread, so that their units do not matter.
    """
    label = cluster(joint_points(lo, hi, positions), count, rng)
    box_lo, box_hi = bounding_boxes(lo, hi, label.astype(np.int32), int(label.max()) + 1)
    full = box_lo[:, 0] <= box_hi[:, 0]
    return box_lo[full], box_hi[full]


def joint_points(lo: FloatArray, hi: FloatArray, positions: FloatArray) -> FloatArray:
    """Return a point of both spaces for each subscriber: its position and its rectangle's sides."""
    events = np.hstack([lo, hi])
    parts = [part / max(float(part.std()), np.finfo(float).tiny) for part in (positions, events)]
    return np.ascontiguousarray(np.hstack(parts))


def axis_intervals(lo: FloatArray, hi: FloatArray, most_levels: int | None = None) -> FloatArray:
    """Return the hierarchy of intervals over some intervals, without repeats, ascending.

    Parameters
    ----------
    most_levels
        How often lengths may double: what is shorter than the extent by more than that is held by
        intervals of the finest length alone. None: as often as it takes.
    """
    start, end = float(lo.min()), float(hi.max())
    extent = end - start
    found = {(start, end)}
    found.update((x, x) for x in lo[lo == hi].tolist())
    ends = np.unique(np.concatenate([lo, hi]))
    if len(ends) > 1 and extent > 0:
        # The paper's delta is the shortest interval, which is nothing for points: the least
        # distance between ends is as fine as any bounding box can need.
        finest = float(np.diff(ends).min())
        if most_levels is not None:
            finest = max(finest, extent * 2.0**-most_levels)
        # One level more than the paper's log2(extent / finest): its longest intervals only take in
        # what is up to half the extent.
        for j in range(1, math.ceil(math.log2(extent / finest)) + 2):
            length = finest * 2.0**j
            found.update(_intervals_of_length(lo, hi, length, extent * ROUNDING))
    return np.array(sorted(found))


def _intervals_of_length(
    lo: FloatArray, hi: FloatArray, length: float, slack: float
) -> set[tuple[float, float]]:
    """Return intervals up to one length that hold every given one of up to half that length."""
    short = hi - lo <= length / 2 + slack
    lo, hi = lo[short], hi[short]
    order = np.argsort(lo, kind="stable")
    lo, hi = lo[order], hi[order]
    found = set()
    first = 0
    while first < len(lo):
        start = lo[first]
        last = np.searchsorted(lo, start + length + slack, side="right")
        inside = hi[first:last] <= start + length + slack
        found.add((float(start), float(hi[first:last][inside].max())))
        # The paper's eta = 1/2: intervals of one length begin more than half of it apart, and what
        # begins in between still fits, being no longer than the other half.
        first = int(np.searchsorted(lo, start + length / 2, side="right"))
    return found


def product_boxes(
    lo: FloatArray, hi: FloatArray, most_boxes: int, most_levels: int | None
) -> tuple[FloatArray, FloatArray]:
    """Return products of the axes' intervals, with fewer levels where there are too many."""
    while True:
        axes = [
            axis_intervals(lo[:, axis], hi[:, axis], most_levels) for axis in range(lo.shape[1])
        ]
        few_enough = math.prod(len(axis) for axis in axes) <= most_boxes
        if most_levels is None or few_enough or most_levels == 0:
            break
        most_levels -= 1
    which = np.indices([len(axis) for axis in axes]).reshape(len(axes), -1)
    box_lo = np.column_stack([axis[at, 0] for axis, at in zip(axes, which, strict=True)])
    box_hi = np.column_stack([axis[at, 1] for axis, at in zip(axes, which, strict=True)])
    return box_lo, box_hi


def filter_boxes(
    lo: FloatArray,
    hi: FloatArray,
    super_lo: FloatArray,
    super_hi: FloatArray,
    most_boxes: int = 100_000,
    most_levels: int | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return candidates for all brokers: products shrunk to the subscriptions inside.

    Where levels are cut off, neighbours that are close for the extent fall into no small candidate;
    the boxes of an agglomeration hold them.
    """
    box_lo, box_hi = product_boxes(super_lo, super_hi, most_boxes, most_levels)
    near_lo, near_hi = merged_boxes(super_lo, super_hi)
    box_lo, box_hi = np.concatenate([box_lo, near_lo]), np.concatenate([box_hi, near_hi])
    return _distinct(*shrink_boxes(box_lo, box_hi, lo, hi))


def merged_boxes(lo: FloatArray, hi: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the given boxes, and those of merging always the two whose box measures least.

    O(n^2) memory, O(n^3) time at worst, in vectors of n^2.
    """
    low, high = lo.copy(), hi.copy()
    alive = np.ones(len(lo), dtype=np.bool_)
    cost = np.empty((len(lo), len(lo)))
    for i in range(len(lo)):
        cost[i] = _joint_measures(low, high, i)
    np.fill_diagonal(cost, np.inf)
    lows, highs = [lo], [hi]
    for _ in range(len(lo) - 1):
        # Cluster i lives on in row i, j is gone. Ties: the lowest rows.
        i, j = divmod(int(cost.argmin()), len(lo))
        low[i], high[i] = np.minimum(low[i], low[j]), np.maximum(high[i], high[j])
        alive[j] = False
        cost[j], cost[:, j] = np.inf, np.inf
        row = np.where(alive, _joint_measures(low, high, i), np.inf)
        row[i] = np.inf
        cost[i], cost[:, i] = row, row
        lows.append(low[i : i + 1].copy())
        highs.append(high[i : i + 1].copy())
    return np.concatenate(lows), np.concatenate(highs)


def _joint_measures(lo: FloatArray, hi: FloatArray, which: int) -> FloatArray:
    sides = np.maximum(hi, hi[which]) - np.minimum(lo, lo[which])
    measures: FloatArray = sides.prod(axis=1)
    return measures


def candidates_by_broker(
    box_lo: FloatArray,
    box_hi: FloatArray,
    lo: FloatArray,
    hi: FloatArray,
    served: Csr,
    density: Density,
) -> Candidates:
    """Shrink candidates to what each broker may serve; the bounding box of all that is one too.

    Parameters
    ----------
    served
        The subscriptions each broker may serve.
    """
    parts_lo, parts_hi, counts = [], [], [0]
    for broker in range(served.num_rows):
        members = served.indices[served.indptr[broker] : served.indptr[broker + 1]]
        own_lo, own_hi = np.ascontiguousarray(lo[members]), np.ascontiguousarray(hi[members])
        shrunk = shrink_boxes(box_lo, box_hi, own_lo, own_hi)
        if len(members):
            shrunk = (
                np.vstack([shrunk[0], own_lo.min(axis=0)]),
                np.vstack([shrunk[1], own_hi.max(axis=0)]),
            )
        some_lo, some_hi = _distinct(*shrunk)
        parts_lo.append(some_lo)
        parts_hi.append(some_hi)
        counts.append(len(some_lo))
    all_lo, all_hi = np.vstack(parts_lo), np.vstack(parts_hi)
    return Candidates(
        np.cumsum(counts).astype(np.int64), all_lo, all_hi, measures(all_lo, all_hi, density)
    )


def measures(lo: FloatArray, hi: FloatArray, density: Density) -> FloatArray:
    """Return the events in each rectangle."""
    ones = np.ones(len(lo), dtype=np.int64)
    scratch = make_scratch(1, lo.shape[1])
    return union_measures(
        np.ascontiguousarray(lo[:, None]), np.ascontiguousarray(hi[:, None]), ones, density, scratch
    )


def _distinct(lo: FloatArray, hi: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Drop empty rectangles and repeats."""
    dims = lo.shape[1]
    both = np.hstack([lo, hi])[lo[:, 0] <= hi[:, 0]]
    order = np.lexsort(both.T[::-1])
    both = both[order]
    keep = np.ones(len(both), dtype=np.bool_)
    keep[1:] = (both[1:] != both[:-1]).any(axis=1)
    both = both[keep]
    return np.ascontiguousarray(both[:, :dims]), np.ascontiguousarray(both[:, dims:])


@kernel
def shrink_boxes(
    box_lo: FloatArray, box_hi: FloatArray, lo: FloatArray, hi: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Shrink each box to the bounding box of the rectangles inside it, or to the empty one.

    Rectangles are looked at in the order of their first lower side, only those that can be inside.
    Changes nothing.
    """
    dims = lo.shape[1]
    out_lo = np.full(box_lo.shape, np.inf)
    out_hi = np.full(box_hi.shape, -np.inf)
    order = np.argsort(lo[:, 0])
    starts = lo[order, 0]
    for b in range(box_lo.shape[0]):
        for at in range(np.searchsorted(starts, box_lo[b, 0]), len(order)):
            r = order[at]
            if lo[r, 0] > box_hi[b, 0]:
                break
            inside = True
            for axis in range(dims):
                if lo[r, axis] < box_lo[b, axis] or hi[r, axis] > box_hi[b, axis]:
                    inside = False
                    break
            if inside:
                for axis in range(dims):
                    out_lo[b, axis] = min(out_lo[b, axis], lo[r, axis])
                    out_hi[b, axis] = max(out_hi[b, axis], hi[r, axis])
    return out_lo, out_hi
