"""One level of the tree as SLP sees it: alike subscribers, sibling brokers, load limits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fanwise.arrays.csr import Csr, FloatArray, LongArray, take_rows
from fanwise.arrays.flows import Groups, group_alike
from fanwise.arrays.rectangle_kernels import Density
from fanwise.assign.subscriber_types import number_types

if TYPE_CHECKING:
    from fanwise.assign.problem import Assignment

STEPS = 4
"""In so many steps the load-balance factor rises from the desired one to the maximum."""

CURVE_DIGITS = 60


@dataclass(frozen=True, eq=False)
class Level:
    """Subscribers to be shared out among sibling brokers.

    Subscribers with the same rectangle and the same allowed brokers are one type.

    Attributes
    ----------
    lo, hi
        The rectangle of each type; nobody here wants nothing.
    positions
        Where a member of each type is in the network; it only guides clustering.
    weight
        Members of each type.
    type_of_subscriber
        Which type each subscriber is of.
    allowed
        The brokers each type may be given to, numbered from 0.
    limits
        Most subscribers of each broker: a row for each step of the load-balance factor, desired
        first, maximum last.
    alpha
        Rectangles of a filter.
    """

    lo: FloatArray
    hi: FloatArray
    positions: FloatArray
    weight: LongArray
    type_of_subscriber: LongArray
    allowed: Csr
    limits: LongArray
    alpha: int
    density: Density

    @property
    def num_types(self) -> int:
        return len(self.lo)

    @property
    def num_brokers(self) -> int:
        return int(self.limits.shape[1])

    @property
    def num_subscribers(self) -> int:
        return len(self.type_of_subscriber)

    @cached_property
    def curve(self) -> LongArray:
        """Where the centre of each type lies on a space-filling curve (by interleaved digits)."""
        wants = self.lo[:, 0] <= self.hi[:, 0]
        position: LongArray = np.zeros(self.num_types, dtype=np.int64)
        if not wants.any():
            return position
        centre = np.where(wants[:, None], self.lo, 0.0) + np.where(wants[:, None], self.hi, 0.0)
        low, high = centre[wants].min(axis=0), centre[wants].max(axis=0)
        steps = 2 ** (CURVE_DIGITS // len(low))
        cell = (centre - low) / np.where(high > low, high - low, 1.0) * (steps - 1)
        cell = np.clip(cell, 0, steps - 1).astype(np.int64)
        # A Z-order curve: the binary digits of the axes, interleaved.
        for digit in range(CURVE_DIGITS // len(low)):
            for axis in range(len(low)):
                position |= ((cell[:, axis] >> digit) & 1) << (digit * len(low) + axis)
        return position

    def groups(self, covered: Csr) -> Groups:
        """Take types that the same brokers may serve together, for a flow of subscribers."""
        alike = group_alike(covered, self.num_brokers)
        sizes = np.zeros(len(alike.sizes), dtype=np.int64)
        np.add.at(sizes, alike.group_of_subscriber, self.weight)
        of_subscriber = alike.group_of_subscriber[self.type_of_subscriber]
        return Groups(alike.candidates, sizes, of_subscriber, self.num_brokers)


def make_level(
    lo: FloatArray,
    hi: FloatArray,
    positions: FloatArray,
    allowed: Csr,
    limits: LongArray,
    alpha: int,
    density: Density,
) -> Level:
    """Collapse alike subscribers. O(subscribers log subscribers + pairs)."""
    alike = group_alike(allowed, int(limits.shape[1]))
    keys = np.column_stack([lo, hi, alike.group_of_subscriber.astype(np.float64)])
    type_of_subscriber, first = number_types(keys)
    return Level(
        lo=np.ascontiguousarray(lo[first]),
        hi=np.ascontiguousarray(hi[first]),
        positions=np.ascontiguousarray(positions[first]),
        weight=np.bincount(type_of_subscriber),
        type_of_subscriber=type_of_subscriber,
        allowed=take_rows(allowed, first),
        limits=limits,
        alpha=alpha,
        density=density,
    )


def level_of_leaves(problem: Assignment, allowed: Csr) -> Level:
    """Return all leaves as one level, under the global limits; brokers keep their ids."""
    arrays = problem.arrays
    factors = np.linspace(problem.lbf, problem.lbf_max, STEPS + 1)
    limits = np.array([problem.limits(float(lbf)) for lbf in factors])
    positions = problem.workload.positions
    return make_level(
        arrays.lo, arrays.hi, positions, allowed, limits, arrays.alpha, arrays.density
    )
