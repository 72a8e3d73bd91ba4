"""Subscribers by type: those who want the same and may use the same brokers are alike.

Algorithms then decide how many of a type each broker serves, and deal its members out in the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanwise.arrays.csr import Csr, FloatArray, IntArray, LongArray, take_rows
from fanwise.arrays.flow_kernels import deal_members
from fanwise.arrays.flows import group_alike
from fanwise.arrays.jit import kernel
from fanwise.assign.arrays import AssignmentArrays


@dataclass(frozen=True, eq=False)
class SubscriberTypes:
    """Types of subscribers: the same rectangle and the same brokers to choose from.

    Attributes
    ----------
    arrays
        The problem with a type in place of each subscriber.
    type_of_subscriber
        Types descend by the volume of what they want; those who want nothing come last.
    weight
        Members of each type.
    """

    arrays: AssignmentArrays
    type_of_subscriber: LongArray
    weight: LongArray

    @property
    def num_types(self) -> int:
        return len(self.weight)

    def amounts(self, broker_of_subscriber: IntArray) -> IntArray:
        """Return how many of a type are on each broker of its row."""
        arrays = self.arrays
        return count_amounts(
            arrays.indptr, arrays.brokers, self.type_of_subscriber, broker_of_subscriber
        )

    def brokers_of_subscribers(self, amounts: IntArray) -> IntArray:
        """Return an assignment with these amounts, members in the order of their ids."""
        arrays = self.arrays
        return deal_members(self.type_of_subscriber, arrays.indptr, arrays.brokers, amounts)


def group_into_types(arrays: AssignmentArrays, choices: Csr) -> SubscriberTypes:
    """Collapse alike subscribers. O(subscribers log subscribers + pairs)."""
    alike = group_alike(choices, arrays.num_brokers)
    wants = arrays.lo[:, 0] <= arrays.hi[:, 0]
    with np.errstate(invalid="ignore"):
        volume = np.where(wants, (arrays.hi - arrays.lo).prod(axis=1), -1.0)
    # The last column decides first: types descend by volume, which moves and repairs rely on.
    keys = np.column_stack([arrays.lo, arrays.hi, alike.group_of_subscriber, -volume])
    type_of_subscriber, first = number_types(keys)
    indptr, brokers = take_rows(choices, first)
    of_types = arrays._replace(
        lo=np.ascontiguousarray(arrays.lo[first]),
        hi=np.ascontiguousarray(arrays.hi[first]),
        indptr=indptr,
        brokers=brokers,
    )
    return SubscriberTypes(of_types, type_of_subscriber, np.bincount(type_of_subscriber))


def number_types(keys: FloatArray) -> tuple[LongArray, LongArray]:
    """Return the type of each row, and the first row of each type.

    Rows are of one type where all columns agree; types ascend by the last column, then by the one
    before it, and so on.
    """
    order = np.lexsort(keys.T)
    ranked = keys[order]
    starts = np.ones(len(order), dtype=np.bool_)
    starts[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
    type_of_row: LongArray = np.empty(len(order), dtype=np.int64)
    type_of_row[order] = np.cumsum(starts) - 1
    return type_of_row, order[starts]


@kernel
def count_amounts(
    indptr: LongArray, brokers: IntArray, type_of: LongArray, broker_of_subscriber: IntArray
) -> IntArray:
    """Return the members of types on each of their brokers. Changes nothing."""
    amounts = np.zeros(len(brokers), dtype=np.int32)
    for j in range(len(type_of)):
        t = type_of[j]
        for pair in range(indptr[t], indptr[t + 1]):
            if brokers[pair] == broker_of_subscriber[j]:
                amounts[pair] += 1
                break
    return amounts
