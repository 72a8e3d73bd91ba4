"""A third party's geometry: space cut into pieces along all that is wanted."""

from itertools import product

import numpy as np


def cut_space(q):
    """Cut space along all sides and middles into pieces, points and spans; note who wants each."""
    q.middle = (q.lo + q.hi) / 2
    lines = np.concatenate([q.lo, q.hi, q.middle, *(ends for *ends, _ in q.cells)]).T
    lines = [
        np.unique([*own[np.isfinite(own)], *more])
        for own, more in zip(lines, q.lattice, strict=True)
    ]
    spans = [[(own[k // 2], own[(k + 1) // 2]) for k in range(2 * len(own) - 1)] for own in lines]
    q.first, q.last = np.array(list(product(*spans))).transpose(2, 0, 1)
    q.mass = measure(q, q.first, q.last)
    q.pieces = [inside(q, low, high) for low, high in zip(q.lo, q.hi, strict=True)]


def measure(q, low, high):
    """Return what boxes measure: their volume, or the events in them."""
    both = [(np.minimum(high, b) - np.maximum(low, a), rate) for a, b, rate in q.cells]
    return sum(rate * np.maximum(sides, 0).prod(axis=-1) for sides, rate in both)


def inside(q, low, high):
    """Return which pieces a box holds."""
    return set(np.flatnonzero(((q.first >= low) & (q.last <= high)).all(axis=1)).tolist())
