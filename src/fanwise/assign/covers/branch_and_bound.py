"""Covers by three rectangles and more, every one that may matter, by branch and bound.

What has to be held is cut along the grid into pieces: cells, and flat pieces of what is flat. A
closed rectangle on the grid holds a piece as a whole or not at all. Take the first piece that
nothing holds yet, in the order of the first axis: some rectangle has to hold it, and that one need
not reach beyond the bounding box of the pieces it is the first to hold. So every such rectangle is
tried, and after it the same with one rectangle less; the last one is the bounding box of what is
left. Of any cover, this finds one that lies within it.

What has to be held, together with the rectangles so far, measures no more than any cover they lead
to: branches above the best cover known are cut.

Guarantee
    Complete up to rounding, or TooMuchWorkError: no cover is passed over that could be better.

Complexity
    Exponential in alpha: the rectangles of the grid, to the power of alpha - 1, times cells and
    pieces / 64. Budgets count the steps.

References
----------
    A. Land, A. Doig: An automatic method of solving discrete programming problems. Econometrica
    28(3), 1960. The branching is our own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.assign.covers.cell_kernels import held_cells, merge_down
from fanwise.assign.covers.search_kernels import pieces_of, search_covers

FIRST_SLOTS = 256
"""Covers that there are slots for at first."""


STEPS_PER_SECOND = 50_000_000
"""No machine that is in use takes fewer."""


class TooMuchWorkError(Exception):
    """A search would take more steps, or more time, than is left."""


@dataclass
class Budget:
    """Steps that searches may still take; a step is a rectangle, 64 pieces or a cell looked at.

    Attributes
    ----------
    seconds_left
        Says for how long they may still go on.
    """

    steps: int
    seconds_left: Callable[[], float] = lambda: math.inf

    def allowed(self) -> int:
        """Return the steps that a search may take which does not look at the clock."""
        return int(max(0, min(self.steps, STEPS_PER_SECOND * self.seconds_left())))

    def spend(self, steps: int) -> None:
        """Take steps off; raise TooMuchWorkError where there is nothing left."""
        self.steps -= steps
        if self.steps < 0 or self.seconds_left() <= 0:
            raise TooMuchWorkError


class Covers(NamedTuple):
    """Some covers by lines of a grid: ``lo[k, :counts[k]]``, and their measures."""

    lo: LongArray
    hi: LongArray
    counts: LongArray
    mass: FloatArray


def best_cover(
    cells: FloatArray,
    shape: tuple[int, ...],
    lo: LongArray,
    hi: LongArray,
    alpha: int,
    budget: Budget,
) -> Covers:
    """Return a cover of boxes with the least measure, by at most alpha rectangles.

    Parameters
    ----------
    cells, shape
        Measure of each cell of the grid, flattened in C order, and cells along each axis.
    lo, hi
        Boxes by the lines that their sides are on.

    Raises
    ------
    TooMuchWorkError
        Where the budget is used up.
    """
    sizes = np.array(shape, dtype=np.int64)
    quick = quick_cover(cells, shape, lo, hi, alpha)
    most = float(quick.mass[0])
    covers = _search(cells, sizes, lo, hi, alpha, most, budget, is_listing=False)
    return covers if len(covers.mass) else quick


def quick_cover(
    cells: FloatArray, shape: tuple[int, ...], lo: LongArray, hi: LongArray, alpha: int
) -> Covers:
    """Return a cover made by merging boxes; parameters as of :func:`best_cover`."""
    sizes = np.array(shape, dtype=np.int64)
    lo, hi, count = merge_down(cells, sizes, lo, hi, alpha)
    mass = cells[held_cells(sizes, lo, hi, count)].sum()
    counts = np.array([count], dtype=np.int64)
    return Covers(lo[None, :count], hi[None, :count], counts, np.array([mass]))


def all_covers(
    cells: FloatArray,
    shape: tuple[int, ...],
    lo: LongArray,
    hi: LongArray,
    alpha: int,
    most: float,
    budget: Budget,
) -> Covers:
    """Return covers up to a measure of which any other one up to it holds one.

    Parameters and errors as of :func:`best_cover`.
    """
    sizes = np.array(shape, dtype=np.int64)
    return _search(cells, sizes, lo, hi, alpha, most, budget, is_listing=True)


def _search(
    cells: FloatArray,
    sizes: LongArray,
    lo: LongArray,
    hi: LongArray,
    alpha: int,
    most: float,
    budget: Budget,
    *,
    is_listing: bool,
) -> Covers:
    needed = held_cells(sizes, lo, hi, len(lo))
    piece_lo, piece_hi = pieces_of(sizes, lo, hi, needed)
    slots = FIRST_SLOTS if is_listing else 1
    while True:
        shape = slots, alpha, lo.shape[1]
        found = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        counts, mass = np.zeros(slots, np.int64), np.zeros(slots)
        arrays = cells, sizes, piece_lo, piece_hi, needed
        allowed = budget.allowed()
        total, steps = search_covers(
            *arrays, alpha, most, allowed, is_listing, *found, counts, mass
        )
        budget.spend(steps)
        if steps > allowed:
            raise TooMuchWorkError
        if total <= slots:
            return Covers(found[0][:total], found[1][:total], counts[:total], mass[:total])
        # The search has gone to its end and counted. It does the same again, now with slots for
        # all.
        slots = total
