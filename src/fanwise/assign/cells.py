"""A grid of cells over the event space: what lies in each, and how many brokers it needs."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.rectangle_kernels import Density

MOST_CELLS = 1 << 18
"""Cells of the grid on which events are counted; sides beyond are thinned out, which is valid."""
FEW_LINES = 1024
"""So many lines of an axis are kept in any case; more, if there are more subscribers."""


def brokers_needed(counts: LongArray, limits: LongArray) -> LongArray:
    """Return how many brokers it takes to serve so many subscribers; all where none suffice."""
    reach = np.cumsum(np.sort(limits[limits > 0])[::-1])
    # The largest limits first: no other brokers could do with fewer.
    needed = np.searchsorted(reach, counts, side="left") + 1
    return np.where(counts > 0, np.minimum(needed, max(len(reach), 1)), 0)


def make_grid(lo: FloatArray, hi: FloatArray, most: int = MOST_CELLS) -> list[FloatArray]:
    """Return cutting lines of each axis: all sides of rectangles, or evenly ranked ones."""
    dims = lo.shape[1]
    each = max(min(int(most ** (1 / dims)), max(FEW_LINES, len(lo))), 2)
    grid = []
    for axis in range(dims):
        sides = np.unique(np.concatenate([lo[:, axis], hi[:, axis]]))
        if len(sides) > each:
            sides = sides[np.linspace(0, len(sides) - 1, each).astype(np.int64)]
        grid.append(sides)
    return grid


def count_cells(grid: list[FloatArray], lo: FloatArray, hi: FloatArray) -> LongArray:
    """Return how many rectangles hold each cell of a grid, cells flattened in C order.

    Rectangles that hold a cell in part do not count: the number is a lower bound inside the cell.
    """
    shape = tuple(len(sides) for sides in grid)
    first = np.column_stack(
        [np.searchsorted(sides, lo[:, axis], "left") for axis, sides in enumerate(grid)]
    )
    last = np.column_stack(
        [np.searchsorted(sides, hi[:, axis], "right") - 1 for axis, sides in enumerate(grid)]
    )
    solid = (first < last).all(axis=1)
    # A difference array in every axis: each rectangle adds +1 and -1 at its corners, and sums along
    # the axes turn that into counts, in time that does not depend on how many cells it holds.
    steps = np.zeros(shape, dtype=np.int64)
    dims = len(grid)
    for corner in range(1 << dims):
        picks = [(corner >> axis) & 1 for axis in range(dims)]
        at = tuple((last if pick else first)[solid, axis] for axis, pick in enumerate(picks))
        np.add.at(steps, at, (-1) ** sum(picks))
    for axis in range(dims):
        steps = np.cumsum(steps, axis=axis)
    return steps[tuple(slice(0, size - 1) for size in shape)].reshape(-1)


def cell_measures(grid: list[FloatArray], density: Density) -> FloatArray:
    """Return volume or events of each cell of a grid."""
    if len(density.lo) == 0:
        total = np.ones(1)
        for sides in grid:
            total = np.multiply.outer(total, np.diff(sides))
        return total.reshape(-1)
    result = np.zeros(tuple(len(sides) - 1 for sides in grid))
    for low, high, intensity in zip(density.lo, density.hi, density.intensity, strict=True):
        inside = [
            np.maximum(np.minimum(sides[1:], high[k]) - np.maximum(sides[:-1], low[k]), 0.0)
            for k, sides in enumerate(grid)
        ]
        spans = [np.flatnonzero(part) for part in inside]
        if all(len(span) for span in spans):
            mass = np.full((), intensity)
            for part, span in zip(inside, spans, strict=True):
                mass = np.multiply.outer(mass, part[span])
            result[np.ix_(*spans)] += mass
    return result.reshape(-1)
