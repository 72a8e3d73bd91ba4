"""Cells of a grid in plain NumPy: what lies in each, who holds it, how many brokers it takes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from fanwise.assign.verify_limits import Floats, Ints


def measure_cells(grid: list[Floats], cells: Any) -> Floats:
    """Return volume or events in each cell of a grid, in C order."""
    shape = [len(lines) - 1 for lines in grid]
    result = np.zeros(shape)
    if cells is None:
        boxes: list[tuple[Any, Any, float]] = [(None, None, 1.0)]
    else:
        rates = cells.rate / (cells.hi - cells.lo).prod(axis=1)
        boxes = list(zip(cells.lo, cells.hi, rates.tolist(), strict=True))
    for low, high, rate in boxes:
        mass: Any = np.full((), rate)
        for k, lines in enumerate(grid):
            side = lines if low is None else np.clip(lines, low[k], high[k])
            mass = np.multiply.outer(mass, np.diff(side))
        result += mass
    return result.reshape(-1)


def spans_of(grid: list[Floats], lo: Floats, hi: Floats) -> tuple[Ints, Ints]:
    """Return the first cell that each rectangle holds on each axis, and that after the last."""
    first = [np.searchsorted(lines, lo[:, k], "left") for k, lines in enumerate(grid)]
    last = [np.searchsorted(lines, hi[:, k], "right") - 1 for k, lines in enumerate(grid)]
    return np.column_stack(first), np.column_stack(last)


def count_cells(grid: list[Floats], lo: Floats, hi: Floats) -> Ints:
    """Return how many rectangles hold each cell as a whole, in C order."""
    shape = tuple(len(lines) for lines in grid)
    first, last = spans_of(grid, lo, hi)
    holds = (first < last).all(axis=1)
    steps = np.zeros(shape, dtype=np.int64)
    for ends in product((0, 1), repeat=len(grid)):
        at = tuple((last if end else first)[holds, k] for k, end in enumerate(ends))
        np.add.at(steps, at, (-1) ** sum(ends))
    for axis in range(len(shape)):
        steps = steps.cumsum(axis=axis)
    return steps[tuple(slice(0, size - 1) for size in shape)].reshape(-1)


def brokers_needed(counts: Ints, room: Ints) -> Ints:
    """Return how many brokers must serve so many subscribers, each no more than its room."""
    reach = np.cumsum(room)
    needed = np.minimum(np.searchsorted(reach, counts, "left") + 1, max(len(reach), 1))
    return np.where(counts > 0, needed, 0)
