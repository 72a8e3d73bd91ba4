"""Every way to cover some boxes with at most alpha rectangles that may matter, for few boxes.

Rectangles whose sides are sides of boxes (or of cells of events) are enough. Take the filters of a
whole tree and a side of a rectangle strictly between two neighbouring such sides. Between the two,
boxes and events do not change along that axis. So all sides at one coordinate, in all filters, can
be moved together, one way or the other, without a growing sum of measures, until they meet another
side; whatever was held is held all along, boxes by unions and filters by filters above them.

One rectangle has to be the bounding box. Of two, take any on the grid of sides: the other has to
be the bounding box of what the first leaves over of the boxes. That may be a part of a box: boxes
may be held by the two together, so that bounding boxes of subsets of boxes would not do. Boxes that
are no more than alpha are their own cover, which no other one can be within. What three rectangles
and more can hold, :mod:`fanwise.assign.covers.branch_and_bound` finds.

Guarantee
    Rectangles on the grid are enough, as shown above: the least of these covers is the least of
    all.

Complexity
    O(rectangles of the grid x boxes) for two rectangles; see
    :mod:`fanwise.assign.covers.branch_and_bound` for more.

References
----------
    Our own.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.rectangle_kernels import Density
from fanwise.assign.cells import cell_measures
from fanwise.assign.covers.branch_and_bound import (
    Budget,
    Covers,
    all_covers,
    best_cover,
    quick_cover,
)
from fanwise.assign.covers.cell_kernels import box_mass

AnyArray = TypeVar("AnyArray", LongArray, FloatArray)


class Cover(NamedTuple):
    """Rectangles by lines of the grid, and the measure of their union."""

    lo: LongArray
    hi: LongArray
    mass: float


class Grid(NamedTuple):
    """The sides of boxes, and all rectangles between them.

    Attributes
    ----------
    sides
        Coordinates along each axis, ascending.
    cells
        Events in each cell, flattened in C order.
    table, strides
        Events below and left of each corner of the grid, flattened in C order.
    lo, hi, mass
        All rectangles on the grid by the lines that their sides are on, points among them; none
        where nobody needs the list.
    """

    sides: list[FloatArray]
    cells: FloatArray
    table: FloatArray
    strides: LongArray
    lo: LongArray
    hi: LongArray
    mass: FloatArray

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each axis."""
        return tuple(len(some) - 1 for some in self.sides)

    def lines_of(self, lo: FloatArray, hi: FloatArray) -> tuple[LongArray, LongArray]:
        """Return boxes by the lines that their sides are on."""
        at = [
            np.column_stack([np.searchsorted(s, x[:, k]) for k, s in enumerate(self.sides)])
            for x in (lo, hi)
        ]
        return at[0].astype(np.int64), at[1].astype(np.int64)

    def coordinates(self, lines: LongArray) -> FloatArray:
        """Return lines as coordinates."""
        return np.column_stack([s[lines[:, k]] for k, s in enumerate(self.sides)])


def sides_of(lo: FloatArray, hi: FloatArray, density: Density) -> list[FloatArray]:
    """Return the sides of boxes along each axis, and those of cells of events between them."""
    found = []
    for axis in range(lo.shape[1]):
        own = np.unique(np.concatenate([lo[:, axis], hi[:, axis]]))
        cells = np.concatenate([density.lo[:, axis], density.hi[:, axis]])
        # Beyond the outermost sides nothing has to be held: events change there without effect.
        inside = cells[(cells > own[0]) & (cells < own[-1])] if len(own) else own
        found.append(np.union1d(own, inside))
    return found


def count_rectangles(sides: list[FloatArray]) -> int:
    """Return how many rectangles lie on a grid."""
    total = 1
    for some in sides:
        total *= len(some) * (len(some) + 1) // 2
    return total


def make_grid(sides: list[FloatArray], density: Density, alpha: int = 2) -> Grid:
    """Lay out a grid, with the measures of its rectangles where two of them make a cover."""
    shape = tuple(len(some) for some in sides)
    table = np.zeros(shape)
    inner = tuple(slice(1, None) for _ in shape)
    cells = cell_measures(sides, density)
    masses = cells.reshape([size - 1 for size in shape])
    for axis in range(len(shape)):
        masses = np.cumsum(masses, axis=axis)
    table[inner] = masses
    strides = np.array(table.strides, dtype=np.int64) // table.itemsize
    flat = table.reshape(-1)
    if alpha != 2:
        none = np.empty((0, len(shape)), dtype=np.int64)
        return Grid(sides, cells, flat, strides, none, none, np.empty(0))
    spans = [np.column_stack(np.triu_indices(size)) for size in shape]
    picks = np.meshgrid(*(np.arange(len(span)) for span in spans), indexing="ij")
    both = [span[pick.reshape(-1)] for span, pick in zip(spans, picks, strict=True)]
    lo, hi = (np.ascontiguousarray(np.column_stack([b[:, k] for b in both])) for k in (0, 1))
    return Grid(sides, cells, flat, strides, lo, hi, rectangle_masses(flat, strides, lo, hi))


def least_cover(grid: Grid, lo: LongArray, hi: LongArray, alpha: int, budget: Budget) -> Cover:
    """Return the cover of boxes with the least measure.

    O(rectangles of the grid x boxes) for two rectangles. Two and more draw on the budget of steps.
    """
    if len(lo) <= alpha or alpha == 1:
        return own_cover(grid, lo, hi, alpha)
    if alpha == 2:
        budget.spend(len(grid.mass))
        return _shrunk(grid, lo, hi, int(np.argmin(_masses(grid, lo, hi, np.inf))))
    return _unpack(best_cover(grid.cells, grid.shape, lo, hi, alpha, budget))[0]


def merged_cover(grid: Grid, lo: LongArray, hi: LongArray, alpha: int) -> Cover:
    """Return a cover of boxes that takes no time to find."""
    if len(lo) <= alpha or alpha == 1:
        return own_cover(grid, lo, hi, alpha)
    return _unpack(quick_cover(grid.cells, grid.shape, lo, hi, alpha))[0]


def list_covers(
    grid: Grid, lo: LongArray, hi: LongArray, alpha: int, most: float, budget: Budget
) -> list[Cover]:
    """Return the covers up to a measure, cheapest first, of which any other one holds one."""
    if len(lo) <= alpha or alpha == 1:
        own = own_cover(grid, lo, hi, alpha)
        return [own] if own.mass <= most else []
    if alpha == 2:
        budget.spend(len(grid.mass))
        mass = _masses(grid, lo, hi, most)
        order = np.argsort(mass, kind="stable")
        found = [_shrunk(grid, lo, hi, int(which)) for which in order if mass[which] <= most]
    else:
        found = _unpack(all_covers(grid.cells, grid.shape, lo, hi, alpha, most, budget))
    known: dict[bytes, Cover] = {}
    for cover in found:
        both = np.hstack([cover.lo, cover.hi])
        known.setdefault(both[np.lexsort(both.T)].tobytes(), cover)
    return sorted(known.values(), key=lambda cover: cover.mass)


def _unpack(covers: Covers) -> list[Cover]:
    """Return covers one by one."""
    rows = zip(*covers, strict=True)
    return [Cover(lo[:count], hi[:count], float(mass)) for lo, hi, count, mass in rows]


def distinct(lo: AnyArray, hi: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return boxes that are within no other one, each once."""
    both = np.unique(np.hstack([lo, hi]), axis=0)
    dims = lo.shape[1]
    lo, hi = np.ascontiguousarray(both[:, :dims]), np.ascontiguousarray(both[:, dims:])
    inside = (lo[:, None] >= lo).all(axis=2) & (hi[:, None] <= hi).all(axis=2)
    # Equal boxes are gone by now, so that each is within itself alone or within another one.
    keep = inside.sum(axis=1) == 1
    return lo[keep], hi[keep]


def own_cover(grid: Grid, lo: LongArray, hi: LongArray, alpha: int) -> Cover:
    """Return the bounding box of boxes, or, where alpha allows it, each for itself."""
    if len(lo) > alpha:
        lo, hi = lo.min(axis=0, keepdims=True), hi.max(axis=0, keepdims=True)
    return Cover(lo, hi, union_mass(grid, lo, hi))


def union_mass(grid: Grid, lo: LongArray, hi: LongArray) -> float:
    """Return the measure of the union of boxes on a grid, cell by cell."""
    cells = grid.cells.reshape(grid.shape)
    inside = np.zeros(grid.shape, dtype=np.bool_)
    for below, above in zip(lo, hi, strict=True):
        inside[tuple(slice(a, b) for a, b in zip(below, above, strict=True))] = True
    return float(cells[inside].sum())


def _masses(grid: Grid, lo: LongArray, hi: LongArray, most: float) -> FloatArray:
    return all_masses(grid.table, grid.strides, grid.lo, grid.hi, grid.mass, lo, hi, most)


def _shrunk(grid: Grid, lo: LongArray, hi: LongArray, which: int) -> Cover:
    """Return a rectangle and the other it needs, the first no larger than the other needs it."""
    other, first = np.empty((2, lo.shape[1]), np.int64), np.empty((2, lo.shape[1]), np.int64)
    if not bound_rest(lo, hi, grid.lo[which], grid.hi[which], other[0], other[1]):
        return own_cover(grid, lo, hi, 1)
    if not bound_rest(lo, hi, other[0], other[1], first[0], first[1]):
        return Cover(other[:1], other[1:], union_mass(grid, other[:1], other[1:]))
    both = np.stack([first, other])
    lo, hi = np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1])
    return Cover(lo, hi, union_mass(grid, lo, hi))


@kernel
def rectangle_masses(
    table: FloatArray, strides: LongArray, lo: LongArray, hi: LongArray
) -> FloatArray:
    """Return the events in each of some rectangles. Changes nothing."""
    masses = np.empty(len(lo))
    for row in range(len(lo)):
        masses[row] = box_mass(table, strides, lo[row], hi[row])
    return masses


@kernel
def bound_rest(
    lo: LongArray,
    hi: LongArray,
    cut_lo: LongArray,
    cut_hi: LongArray,
    out_lo: LongArray,
    out_hi: LongArray,
) -> bool:
    """Put the bounding box of boxes without a rectangle in ``out``; False if nothing is left.

    A box loses an end where the rectangle holds it along all axes but one, and reaches that end.
    Changes ``out_lo`` and ``out_hi``.
    """
    is_left = False
    dims = lo.shape[1]
    for row in range(len(lo)):
        num_open, axis = 0, -1
        for k in range(dims):
            if lo[row, k] < cut_lo[k] or hi[row, k] > cut_hi[k]:
                num_open += 1
                axis = k
        if num_open == 0:
            continue
        for k in range(dims):
            low, high = lo[row, k], hi[row, k]
            # The rectangle cuts a slab off the box only where it is open along one axis; what is
            # left is closed, so that it begins on the cut. Open along two axes or more, a box keeps
            # its bounding box whatever is cut out of it.
            if num_open == 1 and k == axis:
                if cut_lo[k] <= low <= cut_hi[k]:
                    low = cut_hi[k]
                elif cut_lo[k] <= high <= cut_hi[k]:
                    high = cut_lo[k]
            if is_left:
                out_lo[k] = min(out_lo[k], low)
                out_hi[k] = max(out_hi[k], high)
            else:
                out_lo[k] = low
                out_hi[k] = high
        is_left = True
    return is_left


@kernel
def all_masses(
    table: FloatArray,
    strides: LongArray,
    grid_lo: LongArray,
    grid_hi: LongArray,
    mass: FloatArray,
    lo: LongArray,
    hi: LongArray,
    most: float,
) -> FloatArray:
    """Return what each rectangle and the one it leaves to be taken measure together.

    Infinite where the rectangle alone is above ``most``. Changes nothing.
    """
    dims = lo.shape[1]
    found = np.full(len(mass), np.inf)
    rest_lo, rest_hi = np.empty(dims, np.int64), np.empty(dims, np.int64)
    both_lo, both_hi = np.empty(dims, np.int64), np.empty(dims, np.int64)
    for row in range(len(mass)):
        if mass[row] > most:
            continue
        found[row] = mass[row]
        if bound_rest(lo, hi, grid_lo[row], grid_hi[row], rest_lo, rest_hi):
            meets = True
            for k in range(dims):
                both_lo[k] = max(rest_lo[k], grid_lo[row, k])
                both_hi[k] = min(rest_hi[k], grid_hi[row, k])
                meets = meets and both_lo[k] < both_hi[k]
            found[row] += box_mass(table, strides, rest_lo, rest_hi)
            if meets:
                found[row] -= box_mass(table, strides, both_lo, both_hi)
    return found
