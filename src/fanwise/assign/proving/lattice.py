"""A coarse lattice over the event space, and which of its places each subscription holds.

Few lines cut each axis. Lines and the spans between them are the axis' ends and middles in turn:
number 2k is line k, number 2k + 1 the span after it. A place is one such number for each axis: a
point, a stretch of a line, or a cell. Lines are such that every subscription has one of each axis
inside, so that everybody holds a place, as long as there may be so many.

On a line of events the lattice has a second axis with a single line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.rectangle_kernels import Density
from fanwise.assign.cells import cell_measures

LINES = {1: 160, 2: 48}
"""Lines of an axis, about, by dimensions."""
MOST_STABBED = 3
"""So many times that are taken where it needs more for a line in every subscription."""


class Lattice(NamedTuple):
    """Lines of two axes, ascending, and what lies at each place.

    Attributes
    ----------
    measure
        By place; nothing but at cells.
    """

    lines: tuple[FloatArray, FloatArray]
    measure: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """Places of each axis."""
        return self.measure.shape


class Spans(NamedTuple):
    """Lines that subscriptions have inside: the first and the last of each axis.

    Who has none of an axis has the last before the first, and holds no place.
    """

    first: LongArray
    last: LongArray


def make_lattice(lo: FloatArray, hi: FloatArray, density: Density) -> Lattice | None:
    """Choose lines for subscriptions; None where there would be too many, or too many axes."""
    dims = lo.shape[1]
    if dims not in LINES:
        return None
    lines = []
    for axis in range(dims):
        sides = np.concatenate([density.lo[:, axis], density.hi[:, axis]])
        inside = (sides > lo[:, axis].min()) & (sides < hi[:, axis].max())
        given = np.unique(sides[inside])
        if len(given) > LINES[dims]:
            return None  # events must be even between lines
        lines.append(choose_lines(lo[:, axis], hi[:, axis], given, LINES[dims]))
    return lay_lattice(lines, density)


def lay_lattice(lines: list[FloatArray], density: Density) -> Lattice:
    """Return the lattice of lines of one or two axes."""
    measures = cell_measures(lines, density).reshape([len(own) - 1 for own in lines])
    if len(lines) == 1:
        measure = np.zeros((2 * len(lines[0]) - 1, 1))
        measure[1::2, 0] = measures
        return Lattice((lines[0], np.zeros(1)), measure)
    measure = np.zeros((2 * len(lines[0]) - 1, 2 * len(lines[1]) - 1))
    measure[1::2, 1::2] = measures
    return Lattice((lines[0], lines[1]), measure)


def choose_lines(lo: FloatArray, hi: FloatArray, given: FloatArray, count: int) -> FloatArray:
    """Return given lines, those that every interval has one of inside, and sides evenly ranked."""
    sides = np.unique(np.concatenate([lo, hi]))
    if len(sides) + len(given) <= count:
        return np.unique(np.concatenate([sides, given]))
    order = np.argsort(hi, kind="stable")
    some = stab_intervals(np.ascontiguousarray(lo[order]), np.ascontiguousarray(hi[order]))
    if len(some) > MOST_STABBED * count:
        some = some[np.linspace(0, len(some) - 1, MOST_STABBED * count).astype(np.int64)]
    more = max(count - len(some) - len(given), 2)
    ranked = sides[np.linspace(0, len(sides) - 1, more).astype(np.int64)]
    return np.unique(np.concatenate([given, some, ranked]))


@kernel
def stab_intervals(lo: FloatArray, hi: FloatArray) -> FloatArray:
    """Return the fewest points that meet all intervals, which ascend by their ends.

    The end of each that no point before has met. Changes nothing.
    """
    points, count = np.empty(len(hi)), 0
    for j in range(len(hi)):
        if count == 0 or lo[j] > points[count - 1]:
            points[count] = hi[j]
            count += 1
    return points[:count].copy()


def spans_of(lattice: Lattice, lo: FloatArray, hi: FloatArray) -> Spans:
    """Return the lines inside each rectangle."""
    count = len(lo)
    first, last = np.zeros((count, 2), np.int64), np.zeros((count, 2), np.int64)
    for axis in range(lo.shape[1]):
        own = lattice.lines[axis]
        first[:, axis] = np.searchsorted(own, lo[:, axis], "left")
        last[:, axis] = np.searchsorted(own, hi[:, axis], "right") - 1
    return Spans(first, last)


def corner_places(spans: Spans) -> LongArray:
    """Return two places of each subscription in opposite corners, the same twice if it has one.

    Of the shape (subscriptions, 2, axes). A rectangle that holds both holds all places between
    them. Cells and not points where there are any, because what pays at a line is collected by
    rectangles without volume.
    """
    is_line = spans.first >= spans.last
    low = np.where(is_line, 2 * spans.first, 2 * spans.first + 1)
    high = np.where(is_line, 2 * spans.first, 2 * spans.last - 1)
    ends = np.stack([low, high], axis=1)
    # The one diagonal or the other, in turn.
    turned = np.arange(len(low)) % 2 == 1
    ends[turned, :, 1] = ends[turned, ::-1, 1]
    return ends
