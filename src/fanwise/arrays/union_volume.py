"""The volume of a union of many rectangles, by a sweep over one axis after the other."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel


def sweep_volume(lo: FloatArray, hi: FloatArray) -> float:
    """Return the volume of a union: O(k log k) up to two dimensions, times 2k for each beyond.

    Rectangles that are equal, flat or empty are set aside first.
    """
    solid = (lo < hi).all(axis=1)
    if not solid.any():
        return 0.0
    both = np.unique(np.hstack([lo[solid], hi[solid]]), axis=0)
    dims = lo.shape[1]
    return _sweep(np.ascontiguousarray(both[:, :dims]), np.ascontiguousarray(both[:, dims:]))


def _sweep(lo: FloatArray, hi: FloatArray) -> float:
    dims = lo.shape[1]
    if dims == 1:
        order = np.argsort(lo[:, 0])
        return float(covered_length(lo[order, 0], hi[order, 0]))
    if dims == 2:
        return _sweep_plane(lo, hi)
    total = 0.0
    sides = np.unique(np.concatenate([lo[:, 0], hi[:, 0]]))
    for left, right in pairwise(sides):
        inside = (lo[:, 0] <= left) & (hi[:, 0] >= right)
        if inside.any():
            total += float(right - left) * _sweep(
                np.ascontiguousarray(lo[inside, 1:]), np.ascontiguousarray(hi[inside, 1:])
            )
    return total


def _sweep_plane(lo: FloatArray, hi: FloatArray) -> float:
    heights = np.unique(np.concatenate([lo[:, 1], hi[:, 1]]))
    bottom = np.searchsorted(heights, lo[:, 1]).astype(np.int64)
    top = np.searchsorted(heights, hi[:, 1]).astype(np.int64)
    at = np.concatenate([lo[:, 0], hi[:, 0]])
    order = np.argsort(at, kind="stable")
    return float(sweep_plane(at, order, bottom, top, heights))


@kernel
def covered_length(lo: FloatArray, hi: FloatArray) -> float:
    """Length of a union of intervals that ascend by their lower end. Changes nothing."""
    total = 0.0
    reached = -np.inf
    for i in range(len(lo)):
        if hi[i] > reached:
            total += hi[i] - max(lo[i], reached)
            reached = hi[i]
    return total


@kernel
def sweep_plane(
    at: FloatArray, order: LongArray, bottom: LongArray, top: LongArray, heights: FloatArray
) -> float:
    """Area of a union of rectangles, from left to right over a tree of covered heights.

    Changes nothing.

    Parameters
    ----------
    at
        Left sides of all rectangles, then their right sides.
    order
        The same, ascending.
    bottom, top
        Ranks of the rectangles' heights.
    heights
        Distinct, ascending. The tree's leaves are the gaps between neighbours.
    """
    num_rectangles = len(bottom)
    size = 1
    while size < len(heights) - 1:
        size *= 2
    times = np.zeros(2 * size, dtype=np.int64)
    length = np.zeros(2 * size, dtype=np.float64)
    area = 0.0
    last = 0.0
    for event in order:
        area += (at[event] - last) * length[1]
        last = at[event]
        rectangle = event % num_rectangles
        change = 1 if event < num_rectangles else -1
        left = bottom[rectangle] + size
        right = top[rectangle] + size
        first, end = left, right
        while first < end:
            if first & 1:
                cover_node(times, length, heights, first, change, size)
                first += 1
            if end & 1:
                end -= 1
                cover_node(times, length, heights, end, change, size)
            first //= 2
            end //= 2
        renew_parents(times, length, heights, left, size)
        renew_parents(times, length, heights, right - 1, size)
    return area


@kernel
def cover_node(
    times: LongArray, length: FloatArray, heights: FloatArray, node: int, change: int, size: int
) -> None:
    """Cover a node of the tree once more, or once less, and renew its covered length.

    Changes ``times`` and ``length``.
    """
    times[node] += change
    if times[node] > 0:
        span, first = 1, node
        while first < size:
            first *= 2
            span *= 2
        left = first - size
        right = min(left + span, len(heights) - 1)
        length[node] = heights[right] - heights[left]
    elif node < size:
        length[node] = length[2 * node] + length[2 * node + 1]
    else:
        length[node] = 0.0


@kernel
def renew_parents(
    times: LongArray, length: FloatArray, heights: FloatArray, leaf: int, size: int
) -> None:
    """Renew the covered lengths above a leaf. Changes ``length``."""
    node = leaf // 2
    while node >= 1:
        if times[node] == 0:
            length[node] = length[2 * node] + length[2 * node + 1]
        node //= 2
