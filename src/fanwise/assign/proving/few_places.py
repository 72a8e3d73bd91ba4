"""The least that alpha boxes measure which hold some of few places, for every choice of these.

All ways to share places among boxes are tried. What boxes share is counted once, so that nothing
is lost to the question how a union is cut into boxes.

Guarantee
    Exact, for boxes with sides on lines of the lattice.

Complexity
    O((alpha + 1) ^ places / alpha!) ways, at most some 44,000.

References
----------
    Our own.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, LongArray

FEW, FEW_OF_MANY = {1: 15, 2: 10, 3: 9}, 8
"""Places up to which all ways are tried, by alpha, and for more boxes."""


def most_places(alpha: int) -> int:
    """Return up to how many places all ways to hold them are tried."""
    return FEW.get(alpha, FEW_OF_MANY)


def places_of(corners: LongArray, is_paid: npt.NDArray[np.bool_]) -> tuple[LongArray, LongArray]:
    """Return the places where types pay, and for each type a bit for each of its places."""
    places, which = np.unique(corners[is_paid], axis=0, return_inverse=True)
    bits = np.zeros(is_paid.shape, dtype=np.int64)
    bits[is_paid] = 1 << which.reshape(-1)
    return places, bits[:, 0] | bits[:, 1]


def gain_of_few(
    cost: FloatArray, places: LongArray, bits: LongArray, amounts: FloatArray, alpha: int
) -> float:
    """Return the most that alpha boxes gain: types pay if all of their places are in them."""
    held = np.arange(1 << len(places))[:, None]
    paid = (held & bits == bits) @ amounts
    return float((paid - least_of_choices(cost, places, alpha)).max())


def least_of_choices(cost: FloatArray, places: LongArray, alpha: int) -> FloatArray:
    """Return what boxes cost at least that hold each set of places, bit k standing for place k."""
    alpha = min(alpha, max(len(places), 1))
    ways = list_ways(len(places), alpha)
    before = np.zeros((cost.shape[0] + 1, cost.shape[1] + 1))
    before[1:, 1:] = cost.cumsum(axis=0).cumsum(axis=1)
    boxes = [_around(places, ways == number + 1) for number in range(alpha)]
    union = np.zeros(len(ways))
    # What is in several boxes is counted once: inclusion and exclusion.
    for count in range(1, alpha + 1):
        for some in combinations(boxes, count):
            union -= (-1) ** count * _measure(before, np.stack(some))
    least = np.full(1 << len(places), np.inf)
    np.minimum.at(least, (ways > 0) @ (1 << np.arange(len(places))), union)
    return least


def _around(places: LongArray, mine: LongArray) -> LongArray:
    """Return the box around the places of each way: first and last row, first and last column."""
    none = len(places) == 0 or ~mine.any(axis=1)
    box = np.zeros((len(mine), 4), dtype=np.int64)
    for axis in range(2):
        if len(places):
            own = places[:, axis]
            box[:, 2 * axis] = np.where(mine, own, own.max()).min(axis=1)
            box[:, 2 * axis + 1] = np.where(mine, own, own.min()).max(axis=1)
    box[none] = 0, -1, 0, -1
    return box


def _measure(before: FloatArray, boxes: LongArray) -> FloatArray:
    """Return the cost of what boxes have in common, given sums of costs from the first corner."""
    top, left = boxes[..., 0].max(axis=0), boxes[..., 2].max(axis=0)
    bottom = np.maximum(boxes[..., 1].min(axis=0) + 1, top)
    right = np.maximum(boxes[..., 3].min(axis=0) + 1, left)
    measure: FloatArray = (
        before[bottom, right] - before[top, right] - before[bottom, left] + before[top, left]
    )
    return measure


@cache
def list_ways(places: int, alpha: int) -> LongArray:
    """Return every way as a row: the box of each place, numbered as they come into use; 0: none."""
    ways = np.zeros((1, 0), dtype=np.int64)
    for _ in range(places):
        # Only the next box may be opened: ways that differ by numbering alone are the same.
        choices = np.minimum(ways.max(axis=1, initial=0) + 1, alpha) + 1
        rows = np.repeat(np.arange(len(ways)), choices)
        choice = np.arange(len(rows)) - (np.cumsum(choices) - choices)[rows]
        ways = np.column_stack([ways[rows], choice])
    return ways
