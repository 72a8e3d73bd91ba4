"""Axis-parallel rectangles in any dimension: containment, unions, and events inside them.

A set of rectangles is two arrays of the shape (rectangles, dimensions): lower sides and upper
sides. Rectangles are closed, and may be flat or points. The empty rectangle, of somebody who wants
nothing, has the sides (+inf, -inf): every rectangle holds it, and bounding boxes ignore it.

The loops of greedy algorithms call :mod:`fanwise.arrays.rectangle_kernels` and
:mod:`fanwise.arrays.rectangle_moves` themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray, read_only
from fanwise.arrays.jit import kernel
from fanwise.arrays.rectangle_kernels import (
    Density,
    Scratch,
    is_box_covered,
    load_box,
    union_measures,
)
from fanwise.arrays.union_volume import sweep_volume

FEW = 8
"""Up to so many rectangles, cutting is quicker than sweeping."""


def make_scratch(slots: int, dims: int) -> Scratch:
    """Return scratch for cutting boxes by filters of up to ``slots`` rectangles."""
    rows = 2 * dims * max(slots, 1) + 2
    return Scratch(np.empty((rows, 2 * dims)), np.zeros(rows, dtype=np.int64), np.empty(2 * dims))


def uniform_density(dims: int) -> Density:
    """Return the density under which measure is volume."""
    return _sealed(np.empty((0, dims)), np.empty((0, dims)), np.empty(0), 0.0)


def make_density(lo: FloatArray, hi: FloatArray, rates: FloatArray) -> Density:
    """Return the density of events from disjoint cells with a volume, and their events each."""
    order = np.argsort(lo[:, 0], kind="stable")
    sides = hi[order] - lo[order]
    reach = float(sides[:, 0].max()) if len(sides) else 0.0
    return _sealed(
        np.ascontiguousarray(lo[order], dtype=np.float64),
        np.ascontiguousarray(hi[order], dtype=np.float64),
        rates[order] / sides.prod(axis=1),
        reach,
    )


def contains(
    outer_lo: npt.ArrayLike, outer_hi: npt.ArrayLike, lo: npt.ArrayLike, hi: npt.ArrayLike
) -> npt.NDArray[np.bool_]:
    """Whether each rectangle lies in its outer one; the usual broadcasting."""
    inside = (np.asarray(outer_lo) <= np.asarray(lo)) & (np.asarray(hi) <= np.asarray(outer_hi))
    return np.asarray(inside.all(axis=-1))


def are_covered(
    lo: FloatArray, hi: FloatArray, union_lo: FloatArray, union_hi: FloatArray
) -> npt.NDArray[np.bool_]:
    """Whether each rectangle lies in one union. Exact, for flat rectangles as well.

    Complexity: O(k) for each where one of the k rectangles holds it by itself; where it takes
    several, their arrangement inside it is cut up, O(k ** dimensions) at worst.
    """
    lo, hi = _boxes(lo, hi)
    union_lo, union_hi = _boxes(union_lo, union_hi)
    scratch = make_scratch(len(union_lo), lo.shape[1])
    return cover_each(lo, hi, union_lo[None], union_hi[None], len(union_lo), scratch)


def union_volumes(lo: FloatArray, hi: FloatArray, counts: LongArray) -> FloatArray:
    """Volume of the union of each filter, in arrays of the shape (filters, slots, dimensions)."""
    lo, hi = (np.ascontiguousarray(sides, dtype=np.float64) for sides in (lo, hi))
    _, slots, dims = lo.shape
    counts = np.ascontiguousarray(counts, dtype=np.int64)
    return union_measures(lo, hi, counts, uniform_density(dims), make_scratch(slots, dims))


def union_volume(lo: FloatArray, hi: FloatArray) -> float:
    """Volume of the union of rectangles.

    Few are cut by each other. Many are swept: O(k log k) in up to two dimensions, times another 2k
    for each dimension beyond.
    """
    lo, hi = _boxes(lo, hi)
    if len(lo) <= FEW:
        return float(union_volumes(lo[None], hi[None], np.array([len(lo)]))[0])
    return sweep_volume(lo, hi)


def union_mass(lo: FloatArray, hi: FloatArray, density: Density) -> float:
    """Events in the union of rectangles; under a uniform density its volume.

    Few rectangles are cut by each other. For many the volume of the union is taken in each cell
    that any of them meets.
    """
    lo, hi = _boxes(lo, hi)
    if len(density.lo) == 0:
        return union_volume(lo, hi)
    if len(lo) <= FEW:
        scratch = make_scratch(len(lo), lo.shape[1])
        counts = np.array([len(lo)])
        return float(union_measures(lo[None], hi[None], counts, density, scratch)[0])
    total = 0.0
    for cell_lo, cell_hi, intensity in zip(
        density.lo, density.hi, density.intensity.tolist(), strict=True
    ):
        inner_lo, inner_hi = np.maximum(lo, cell_lo), np.minimum(hi, cell_hi)
        meets = (inner_lo < inner_hi).all(axis=1)
        if intensity > 0 and meets.any():
            total += intensity * union_volume(inner_lo[meets], inner_hi[meets])
    return total


def bounding_box(lo: FloatArray, hi: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the smallest rectangle that holds all; the empty one where there are none."""
    dims = lo.shape[1]
    return (
        lo.min(axis=0, initial=np.inf) if len(lo) else np.full(dims, np.inf),
        hi.max(axis=0, initial=-np.inf) if len(hi) else np.full(dims, -np.inf),
    )


def bounding_boxes(
    lo: FloatArray, hi: FloatArray, group: IntArray, num_groups: int
) -> tuple[FloatArray, FloatArray]:
    """Return the smallest rectangle that holds each group; rectangles of group -1 are left out."""
    return bound_groups(lo, hi, group, num_groups)


@kernel
def bound_groups(
    lo: FloatArray, hi: FloatArray, group: IntArray, num_groups: int
) -> tuple[FloatArray, FloatArray]:
    """Bounding boxes in one pass over the rectangles. Changes nothing."""
    dims = lo.shape[1]
    out_lo = np.full((num_groups, dims), np.inf)
    out_hi = np.full((num_groups, dims), -np.inf)
    for row in range(len(group)):
        g = group[row]
        if g >= 0:
            for axis in range(dims):
                out_lo[g, axis] = min(out_lo[g, axis], lo[row, axis])
                out_hi[g, axis] = max(out_hi[g, axis], hi[row, axis])
    return out_lo, out_hi


@kernel
def cover_each(
    lo: FloatArray,
    hi: FloatArray,
    union_lo: FloatArray,
    union_hi: FloatArray,
    count: int,
    scratch: Scratch,
) -> npt.NDArray[np.bool_]:
    """Whether each box lies in the union of the first filter; empty boxes always do.

    Changes ``scratch``.
    """
    covered = np.empty(lo.shape[0], dtype=np.bool_)
    for row in range(lo.shape[0]):
        is_empty = False
        for axis in range(lo.shape[1]):
            is_empty = is_empty or lo[row, axis] > hi[row, axis]
        if is_empty:
            covered[row] = True
        else:
            load_box(lo[row], hi[row], scratch)
            covered[row] = is_box_covered(union_lo, union_hi, 0, count, scratch)
    return covered


def _boxes(lo: Any, hi: Any) -> tuple[FloatArray, FloatArray]:
    return np.ascontiguousarray(lo, dtype=np.float64), np.ascontiguousarray(hi, dtype=np.float64)


def _sealed(lo: FloatArray, hi: FloatArray, intensity: FloatArray, reach: float) -> Density:
    for array in (lo, hi, intensity):
        read_only(array)
    return Density(lo, hi, intensity, reach)
