"""k-means, for super-subscriptions and for filters of few rectangles.

Guarantee
    k-means++ seeds are within O(log clusters) of the least squared distance, in expectation.

Complexity
    O(points x clusters x dimensions) for each of ROUNDS rounds at most.

References
----------
    D. Arthur, S. Vassilvitskii: k-means++: the advantages of careful seeding. ACM-SIAM SODA 2007.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel

ROUNDS = 20
"""Lloyd's rounds at most; the clusters only guide, so that the last few moves do not matter."""


def cluster(points: FloatArray, count: int, rng: np.random.Generator) -> LongArray:
    """Return the cluster of each point: k-means++ seeds, then Lloyd's rounds.

    Clusters may stay empty where there are fewer different points. O(points x count x dimensions)
    a round.
    """
    if len(points) <= count:
        return np.arange(len(points), dtype=np.int64)
    centres = _seed(points, count, rng)
    label: LongArray = np.full(len(points), -1, dtype=np.int64)
    for _ in range(ROUNDS):
        if not move_points(points, centres, label):
            break
        members = np.bincount(label, minlength=count)
        for axis in range(points.shape[1]):
            sums = np.bincount(label, weights=points[:, axis], minlength=count)
            np.divide(sums, members, out=centres[:, axis], where=members > 0)
    return label


def _seed(points: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Return different points, far ones with a greater chance."""
    centres = np.empty((count, points.shape[1]))
    # k-means++ (Arthur and Vassilvitskii, 2007): the chance of a point is its squared distance to
    # the nearest centre so far.
    centres[0] = points[rng.integers(len(points))]
    far = ((points - centres[0]) ** 2).sum(axis=1)
    for i in range(1, count):
        total = far.cumsum()
        if total[-1] > 0:
            chosen = np.searchsorted(total, rng.random() * total[-1], side="right")
            centres[i] = points[min(chosen, len(points) - 1)]
        else:
            centres[i] = centres[0]
        np.minimum(far, ((points - centres[i]) ** 2).sum(axis=1), out=far)
    return centres


@kernel
def move_points(points: FloatArray, centres: FloatArray, label: LongArray) -> bool:
    """Give each point to the nearest centre, ties to the first; whether any point moved.

    Changes ``label``.
    """
    moved = False
    for i in range(points.shape[0]):
        best, nearest = np.inf, 0
        for c in range(centres.shape[0]):
            distance = 0.0
            for axis in range(points.shape[1]):
                distance += (points[i, axis] - centres[c, axis]) ** 2
            if distance < best:
                best, nearest = distance, c
        if label[i] != nearest:
            label[i] = nearest
            moved = True
    return moved
