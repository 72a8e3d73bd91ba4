"""Who is near enough to whom: latencies as distances in a network space."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import Csr, FloatArray, IntArray, LongArray, read_only
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import most_within


def shortest_latencies(
    positions: FloatArray, broker_positions: FloatArray, path: FloatArray, leaves: IntArray
) -> FloatArray:
    """Return the least latency from the publisher to each subscriber, over all leaf brokers.

    Parameters
    ----------
    positions, broker_positions
        Points of the network space.
    path
        Latency from the publisher to each broker through the tree; zeros to look at the last hop
        only.
    leaves
        The brokers that may serve subscribers.
    """
    return nearest(positions, broker_positions, path, leaves)


def candidates_by_delay(
    positions: FloatArray,
    broker_positions: FloatArray,
    path: FloatArray,
    leaves: IntArray,
    max_delay: float,
) -> Csr:
    """Return the leaf brokers by which a subscriber is at most ``max_delay`` later than need be.

    That is, within (1 + max_delay) times its shortest latency.
    """
    shortest = nearest(positions, broker_positions, path, leaves)
    return candidates_by_limit(
        positions, broker_positions, path, leaves, (1 + max_delay) * shortest
    )


def candidates_by_limit(
    positions: FloatArray,
    broker_positions: FloatArray,
    path: FloatArray,
    leaves: IntArray,
    limits: FloatArray,
) -> Csr:
    """Return the leaf brokers that reach each subscriber within its own limit of latency."""
    loose = most_within(limits)
    leaves = np.sort(leaves)
    counts = count_near(positions, broker_positions, path, leaves, loose)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    indices = list_near(positions, broker_positions, path, leaves, loose, indptr)
    read_only(indptr)
    read_only(indices)
    return Csr(indptr, indices)


@kernel
def distance(a: FloatArray, row: int, b: FloatArray, other: int) -> float:
    """Euclidean distance of two points. Changes nothing."""
    total = 0.0
    for axis in range(a.shape[1]):
        gap = a[row, axis] - b[other, axis]
        total += gap * gap
    return float(np.sqrt(total))


@kernel
def nearest(
    positions: FloatArray, broker_positions: FloatArray, path: FloatArray, leaves: IntArray
) -> FloatArray:
    """Least path plus last hop of each subscriber; infinite without leaves. Changes nothing."""
    least = np.full(positions.shape[0], np.inf)
    for row in range(positions.shape[0]):
        for leaf in leaves:
            latency = path[leaf] + distance(positions, row, broker_positions, leaf)
            if latency < least[row]:
                least[row] = latency
    return least


@kernel
def count_near(
    positions: FloatArray,
    broker_positions: FloatArray,
    path: FloatArray,
    leaves: IntArray,
    limits: FloatArray,
) -> LongArray:
    """Return how many leaves reach each subscriber in time. Changes nothing."""
    counts = np.zeros(positions.shape[0], dtype=np.int64)
    for row in range(positions.shape[0]):
        for leaf in leaves:
            if path[leaf] + distance(positions, row, broker_positions, leaf) <= limits[row]:
                counts[row] += 1
    return counts


@kernel
def list_near(
    positions: FloatArray,
    broker_positions: FloatArray,
    path: FloatArray,
    leaves: IntArray,
    limits: FloatArray,
    indptr: LongArray,
) -> IntArray:
    """Which leaves reach each subscriber in time. Changes nothing."""
    indices = np.empty(indptr[-1], dtype=np.int32)
    for row in range(positions.shape[0]):
        at = indptr[row]
        for leaf in leaves:
            if path[leaf] + distance(positions, row, broker_positions, leaf) <= limits[row]:
                indices[at] = leaf
                at += 1
    return indices
