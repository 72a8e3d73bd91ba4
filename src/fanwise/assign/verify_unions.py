"""Unions of rectangles in plain NumPy, for the independent check: cut space along every side.

Slower than cutting boxes by each other, and nothing in common with it.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt

CHUNK = 1 << 14
FEW = 24
"""Up to so many rectangles, space is cut along every side."""
Floats = npt.NDArray[np.float64]


def measure_union(lo: Floats, hi: Floats, cells: Any) -> float:
    """Volume of a union of rectangles, or events inside it given cells of events."""
    if len(lo) == 0:
        return 0.0
    low, high = _pieces(lo, hi)
    if cells is None:
        return float((high - low).prod(axis=1).sum())
    rate = cells.rate / (cells.hi - cells.lo).prod(axis=1)
    total = 0.0
    for row in range(0, len(low), CHUNK):
        for cell in range(len(rate)):
            sides = np.minimum(high[row : row + CHUNK], cells.hi[cell])
            sides = sides - np.maximum(low[row : row + CHUNK], cells.lo[cell])
            total += float(rate[cell] * np.maximum(sides, 0.0).prod(axis=1).sum())
    return total


def measure_many(lo: Floats, hi: Floats, cells: Any) -> float:
    """Measure the union of any number of rectangles: space is halved until few are left."""
    both = np.unique(np.hstack([lo, hi]), axis=0)
    dims = lo.shape[1]
    lo, hi = both[:, :dims], both[:, dims:]
    if cells is None:
        return _volume(lo, hi)
    total = 0.0
    for low, high, rate in zip(cells.lo, cells.hi, cells.rate, strict=True):
        total += rate / (high - low).prod() * _volume(np.maximum(lo, low), np.minimum(hi, high))
    return float(total)


def _volume(lo: Floats, hi: Floats) -> float:
    solid = (lo < hi).all(axis=1)
    lo, hi = lo[solid], hi[solid]
    if len(lo) <= FEW:
        return measure_union(lo, hi, None)
    return _halve(lo, hi, lo.min(axis=0), hi.max(axis=0))


def _halve(lo: Floats, hi: Floats, low: Floats, high: Floats) -> float:
    """Return the volume of a union inside a region that all rectangles meet."""
    whole = (lo <= low) & (high <= hi)
    if whole.all(axis=1).any():
        return float((high - low).prod())
    if len(lo) <= FEW:
        return measure_union(np.maximum(lo, low), np.minimum(hi, high), None)
    sides = [
        np.concatenate([lo[lo[:, axis] > low[axis], axis], hi[hi[:, axis] < high[axis], axis]])
        for axis in range(len(low))
    ]
    axis = int(np.argmax([len(some) for some in sides]))
    cut = float(np.partition(sides[axis], len(sides[axis]) // 2)[len(sides[axis]) // 2])
    total = 0.0
    for start, end in ((low[axis], cut), (cut, high[axis])):
        meets = (lo[:, axis] < end) & (hi[:, axis] > start)
        if end > start and meets.any():
            below, above = low.copy(), high.copy()
            below[axis], above[axis] = start, end
            total += _halve(lo[meets], hi[meets], below, above)
    return total


def _pieces(lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
    """Return the grid cells that lie in the union, the grid being all sides."""
    sides = [np.unique(np.concatenate([lo[:, axis], hi[:, axis]])) for axis in range(lo.shape[1])]
    starts = [side[:-1] for side in sides]
    inside = np.zeros([len(start) for start in starts], dtype=bool)
    for below, above in zip(lo, hi, strict=True):
        part = tuple(
            slice(np.searchsorted(side, a), np.searchsorted(side, b))
            for side, a, b in zip(sides, below, above, strict=True)
        )
        inside[part] = True
    where = np.nonzero(inside)
    low = np.column_stack([side[at] for side, at in zip(sides, where, strict=True)])
    high = np.column_stack([side[at + 1] for side, at in zip(sides, where, strict=True)])
    return low, high


def is_inside(lo: Floats, hi: Floats, union_lo: Floats, union_hi: Floats) -> bool:
    """Whether a rectangle lies in a union: test every corner, edge and cell of a grid over it.

    Rectangles are closed: a grid point between two of them is covered if either touches it.
    """
    axes = []
    for axis in range(len(lo)):
        sides = np.concatenate([union_lo[:, axis], union_hi[:, axis]])
        within = sides[(sides > lo[axis]) & (sides < hi[axis])]
        points = np.unique(np.concatenate([[lo[axis], hi[axis]], within]))
        axes.append([(a, a) for a in points] + list(pairwise(points)))
    for ranges in product(*axes):
        below, above = np.array(ranges).T
        if not ((union_lo <= below) & (above <= union_hi)).all(axis=1).any():
            return False
    return True


def first_outside(
    lo: Floats, hi: Floats, broker: Any, boxes: dict[int, tuple[Floats, Floats]]
) -> int:
    """Return the first rectangle that its broker's union does not hold, or -1; empty ones fit."""
    wants = np.asarray((lo <= hi).all(axis=1))
    order = np.argsort(broker, kind="stable")
    splits = np.searchsorted(broker[order], np.unique(broker))
    found = -1
    for rows in np.split(order, splits[1:]):
        rows = rows[wants[rows]]
        if len(rows) == 0:
            continue
        union_lo, union_hi = boxes.get(int(broker[rows[0]]), (np.empty((0, lo.shape[1])),) * 2)
        held = np.zeros(len(rows), dtype=bool)
        for below, above in zip(union_lo, union_hi, strict=True):
            held |= ((below <= lo[rows]) & (hi[rows] <= above)).all(axis=1)
        for row in rows[~held]:
            if found >= 0 and row > found:
                break
            if len(union_lo) == 0 or not is_inside(lo[row], hi[row], union_lo, union_hi):
                found = int(row)
                break
    return found
