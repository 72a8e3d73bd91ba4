"""What few rectangles must cover at least: a lower bound from points that lie apart.

Subscribers who depend on the same few brokers must fit in alpha times as many rectangles. Take one
point of what each of some of them wants. Whichever rectangle holds which point, the filters hold
the bounding boxes of the points that share one; so the least union of such boxes, over all ways to
share, is a lower bound. Points are few and chosen so that any two of them are expensive together.

Guarantee
    No more than any so many rectangles measure whose union holds all boxes.

Complexity
    O(subscribers x MOST_POINTS) to choose points, and MOST_WAYS unions of a few rectangles.

References
----------
    Our own.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.rectangle_kernels import Density, union_measures
from fanwise.arrays.rectangles import bounding_box, make_scratch, union_mass

MOST_POINTS = 9
MOST_WAYS = 5000
"""Ways to share rectangles that are tried at most."""


def bound_by_points(
    lo: FloatArray, hi: FloatArray, rectangles: int, density: Density
) -> tuple[float, LongArray]:
    """Return what so many rectangles measure at least whose union holds all boxes.

    With the boxes whose middles prove it. One rectangle is around all of them, which is exact and
    needs no choice.
    """
    best: tuple[float, LongArray] = 0.0, np.empty(0, dtype=np.int64)
    if not 1 <= rectangles < min(len(lo), MOST_POINTS):
        return best
    if rectangles == 1:
        low, high = bounding_box(lo, hi)
        return union_mass(low[None], high[None], density), best[1]
    middles = (lo + hi) / 2
    chosen = choose_points(middles, MOST_POINTS)
    for count in sorted({rectangles + 1, rectangles + 2, len(chosen)}):
        if rectangles < count <= len(chosen) and num_ways(count, rectangles) <= MOST_WAYS:
            value = _share(middles[chosen[:count]], rectangles, density)
            best = max(best, (value, chosen[:count]), key=lambda found: found[0])
    return best


def choose_points(points: FloatArray, count: int) -> LongArray:
    """Return points far apart, each the one whose least box with those before is the largest."""
    chosen = [int(np.argmin(points.sum(axis=1)))]
    nearest = np.full(len(points), np.inf)
    while len(chosen) < count:
        box = np.abs(points - points[chosen[-1]]).prod(axis=1)
        nearest = np.minimum(nearest, box)
        farthest = int(np.argmax(nearest))
        if nearest[farthest] <= 0:
            break
        chosen.append(farthest)
    return np.array(chosen, dtype=np.int64)


def _share(points: FloatArray, rectangles: int, density: Density) -> float:
    """Return the least union of bounding boxes over all ways to share rectangles."""
    ways = list_ways(len(points), rectangles)
    rows = np.arange(len(ways))
    shape = len(ways), rectangles, points.shape[1]
    lo, hi = np.full(shape, np.inf), np.full(shape, -np.inf)
    for point, box in zip(points, ways.T, strict=True):
        lo[rows, box] = np.minimum(lo[rows, box], point)
        hi[rows, box] = np.maximum(hi[rows, box], point)
    is_empty = lo > hi
    lo[is_empty], hi[is_empty] = 0.0, 0.0
    counts = np.full(len(ways), rectangles, dtype=np.int64)
    scratch = make_scratch(rectangles, points.shape[1])
    return float(union_measures(lo, hi, counts, density, scratch).min())


@cache
def num_ways(points: int, rectangles: int) -> int:
    """Return in how many ways points share at most so many rectangles."""
    # Stirling numbers of the second kind: a point joins one of k rectangles or opens the k-th.
    ways = [1] + [0] * rectangles  # by rectangles in use
    for _ in range(points):
        ways = [0] + [ways[k] * k + ways[k - 1] for k in range(1, rectangles + 1)]
    return sum(ways)


@cache
def list_ways(points: int, rectangles: int) -> LongArray:
    """Return every way as a row: the rectangle of each point, numbered as they come into use."""
    ways = np.zeros((1, 0), dtype=np.int64)
    for _ in range(points):
        # A point may open only the next rectangle: ways that differ by numbering alone are the
        # same.
        used = ways.max(axis=1, initial=-1) + 1
        choices = np.minimum(used + 1, rectangles)
        rows = np.repeat(np.arange(len(ways)), choices)
        first = np.cumsum(choices) - choices
        last = np.arange(len(rows)) - first[rows]
        ways = np.column_stack([ways[rows], last])
    return ways
