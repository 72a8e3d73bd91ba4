"""An assignment problem as plain arrays, and filters as every algorithm lays them out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import Csr, FloatArray, IntArray, LongArray
from fanwise.arrays.rectangle_kernels import Density, Scratch, union_measures
from fanwise.arrays.rectangles import make_scratch


class AssignmentArrays(NamedTuple):
    """Who wants what, and who may serve whom.

    Attributes
    ----------
    lo, hi
        Sides of each subscriber's rectangle; (+inf, -inf): wants nothing.
    indptr, brokers
        The leaf brokers that each subscriber may be assigned to, ascending.
    parent
        Of each broker in the tree; -1: attached to the publisher.
    share
        Capacity fraction of each leaf broker; 0 for inner brokers.
    leaves
        Brokers that serve subscribers, ascending.
    density
        Where events happen.
    alpha
        Most rectangles of a filter.
    """

    lo: FloatArray
    hi: FloatArray
    indptr: LongArray
    brokers: IntArray
    parent: IntArray
    share: FloatArray
    leaves: IntArray
    density: Density
    alpha: int

    @property
    def num_subscribers(self) -> int:
        return len(self.lo)

    @property
    def num_brokers(self) -> int:
        return len(self.parent)

    @property
    def event_dims(self) -> int:
        return int(self.lo.shape[1])

    @property
    def candidates(self) -> Csr:
        """The allowed brokers as rows."""
        return Csr(self.indptr, self.brokers)

    @property
    def bottom_up(self) -> IntArray:
        """Brokers, each before its parent; those as deep as each other by id."""
        return np.argsort(-depths(self.parent), kind="stable").astype(np.int32)

    def scratch(self, slots: int | None = None) -> Scratch:
        """Return space for cutting boxes by filters of so many rectangles; by default alpha."""
        return make_scratch(self.alpha if slots is None else slots, self.event_dims)

    def no_filters(self) -> Filters:
        """Return empty filters with slots for alpha rectangles each."""
        shape = self.num_brokers, self.alpha, self.event_dims
        counts = np.zeros(self.num_brokers, dtype=np.int64)
        return Filters(np.zeros(shape), np.zeros(shape), counts)

    def measures(self, filters: Filters) -> FloatArray:
        """Return the bandwidth of each broker: the measure of the union of its rectangles."""
        scratch = self.scratch(filters.lo.shape[1])
        return union_measures(filters.lo, filters.hi, filters.counts, self.density, scratch)


class Filters(NamedTuple):
    """What each broker lets through: the union of its first ``counts`` rectangles.

    Attributes
    ----------
    lo, hi
        Of the shape (brokers, slots, event dimensions).
    counts
        Rectangles of each broker.
    """

    lo: FloatArray
    hi: FloatArray
    counts: LongArray

    def copy(self) -> Filters:
        """Return filters that can be changed without changing these."""
        return Filters(self.lo.copy(), self.hi.copy(), self.counts.copy())


def depths(parent: IntArray) -> IntArray:
    """Return how many brokers are on the way from the publisher to each one, itself included."""
    depth = np.ones(len(parent), dtype=np.int32)
    ancestor = parent.copy()
    while (ancestor >= 0).any():
        depth += ancestor >= 0
        ancestor = np.where(ancestor >= 0, parent[ancestor], -1).astype(parent.dtype)
    return depth
