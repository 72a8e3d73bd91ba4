"""Cells that fill the event space, by splitting it axis after axis; and which one holds an event.

All on plain arrays, on the driver and in Spark's workers alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.errors import ParameterError

By = Literal["width", "depth"]
WAYS: tuple[By, ...] = ("width", "depth")
MOST_CELLS = 65_536


@dataclass(frozen=True, eq=False)
class Cells:
    """A tree of splits whose leaves are the cells, numbered from left to right.

    An event goes right where its value on the axis of a split is at least the cut: cells are
    half-open, but for the upper end of the space, which belongs to the last ones.

    Attributes
    ----------
    lo, hi
        Sides of the cells.
    axis, cut
        Of each split; the first split is the root.
    left, right
        What follows each split: another one, or ``-1 - cell``.
    """

    lo: FloatArray
    hi: FloatArray
    axis: IntArray
    cut: FloatArray
    left: IntArray
    right: IntArray

    def __len__(self) -> int:
        return len(self.lo)

    def find(self, points: FloatArray) -> IntArray:
        """Return the cell of each point; O(depth of the tree) each."""
        node = np.full(len(points), 0 if len(self.axis) else -1, dtype=np.int32)
        waiting = np.flatnonzero(node >= 0)
        while len(waiting):
            at = node[waiting]
            goes_right = points[waiting, self.axis[at]] >= self.cut[at]
            node[waiting] = np.where(goes_right, self.right[at], self.left[at])
            waiting = waiting[node[waiting] >= 0]
        return (-1 - node).astype(np.int32)


def check_cells(num_cells: int, by: str, parameter: str) -> None:
    """Refuse a number of cells, or a way to cut, that there is not."""
    if not 1 <= num_cells <= MOST_CELLS:
        raise ParameterError(parameter, f"a whole number from 1 to {MOST_CELLS}", num_cells)
    if by not in WAYS:
        raise ParameterError(f"{parameter}-by", f"one of {', '.join(WAYS)}", by)


def widened(ends: Sequence[tuple[float, float]]) -> tuple[FloatArray, FloatArray]:
    """Return the lower and upper ends of axes, with a width also where all events are alike."""
    lo, hi = (np.array(side, dtype=np.float64) for side in zip(*ends, strict=True))
    margin = np.where(lo == hi, np.maximum(0.5, np.abs(lo) * 1e-9), 0.0)
    return lo - margin, hi + margin


def cut(lo: FloatArray, hi: FloatArray, num_cells: int, by: By, points: FloatArray) -> Cells:
    """Cut a box into cells; ``points`` matter for equal depth alone."""
    if by == "width":
        return cut_by_width(lo, hi, num_cells)
    return cut_by_depth(lo, hi, num_cells, points)


def cut_by_width(lo: FloatArray, hi: FloatArray, num_cells: int) -> Cells:
    """Cut a box into cells of equal volume.

    Each split shares its cells as evenly as whole numbers allow, and its width as the cells: in one
    dimension equal intervals, in d dimensions a regular grid where the number is a power of 2.
    """

    def split(box: _Box) -> _Split | None:
        part = (box.num_cells + 1) // 2
        axis = box.level % len(lo)
        cut = box.lo[axis] + (box.hi[axis] - box.lo[axis]) * (part / box.num_cells)
        if not box.lo[axis] < cut < box.hi[axis]:
            return None
        return _Split(axis, float(cut), part, None, None)

    return _grow(_Box(lo, hi, num_cells, 0, None), split)


def cut_by_depth(lo: FloatArray, hi: FloatArray, num_cells: int, points: FloatArray) -> Cells:
    """Cut a box into cells with equally many of the points, as near as ties allow.

    Cuts lie half-way between two different values. Where points coincide there is nothing to cut,
    and fewer cells come out.
    """

    def split(box: _Box) -> _Split | None:
        assert box.points is not None
        for turn in range(len(lo)):
            axis = (box.level + turn) % len(lo)
            cut = _quantile_cut(box.points[:, axis], (box.num_cells + 1) // 2 / box.num_cells)
            if cut is not None and box.lo[axis] < cut < box.hi[axis]:
                below = box.points[:, axis] < cut
                share = np.count_nonzero(below) / len(below)
                part = min(max(int(box.num_cells * share + 0.5), 1), box.num_cells - 1)
                return _Split(axis, cut, part, box.points[below], box.points[~below])
        return None

    return _grow(_Box(lo, hi, num_cells, 0, points), split)


@dataclass(frozen=True, eq=False)
class _Box:
    lo: FloatArray
    hi: FloatArray
    num_cells: int
    level: int
    points: FloatArray | None


@dataclass(frozen=True, eq=False)
class _Split:
    axis: int
    cut: float
    num_left: int
    points_left: FloatArray | None
    points_right: FloatArray | None


def _grow(whole: _Box, split: Callable[[_Box], _Split | None]) -> Cells:
    splits: list[tuple[int, float, int, int]] = []
    leaves: list[_Box] = []

    def grow(box: _Box) -> int:
        found = split(box) if box.num_cells > 1 else None
        if found is None:
            leaves.append(box)
            return -len(leaves)
        node = len(splits)
        splits.append((found.axis, found.cut, 0, 0))
        middle_hi, middle_lo = box.hi.copy(), box.lo.copy()
        middle_hi[found.axis] = middle_lo[found.axis] = found.cut
        left = _Box(box.lo, middle_hi, found.num_left, box.level + 1, found.points_left)
        rest = box.num_cells - found.num_left
        right = _Box(middle_lo, box.hi, rest, box.level + 1, found.points_right)
        splits[node] = (found.axis, found.cut, grow(left), grow(right))
        return node

    grow(whole)
    axis, cut, left, right = zip(*splits, strict=True) if splits else ((), (), (), ())
    return Cells(
        lo=np.array([box.lo for box in leaves]),
        hi=np.array([box.hi for box in leaves]),
        axis=np.array(axis, dtype=np.int32),
        cut=np.array(cut, dtype=np.float64),
        left=np.array(left, dtype=np.int32),
        right=np.array(right, dtype=np.int32),
    )


def _quantile_cut(values: FloatArray, share: float) -> float | None:
    """Return a value that has ``share`` of the others below it, as nearly as ties allow."""
    ordered = np.sort(values)
    steps = np.flatnonzero(ordered[1:] > ordered[:-1]) + 1
    if not len(steps):
        return None
    step = steps[np.argmin(np.abs(steps - share * len(ordered)))]
    below, above = float(ordered[step - 1]), float(ordered[step])
    middle = below + (above - below) / 2
    return middle if middle > below else above
