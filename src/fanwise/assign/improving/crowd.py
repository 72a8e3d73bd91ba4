"""Subscribers as the search sees them: alike ones together, the largest wishes first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanwise.arrays.csr import Csr, IntArray, LongArray
from fanwise.arrays.flows import group_alike
from fanwise.arrays.jit import kernel
from fanwise.assign.ground import Ground


@dataclass(frozen=True, eq=False)
class Crowd:
    """Types of subscribers: the same rectangle and the same brokers to choose from.

    Attributes
    ----------
    ground
        The problem with a type in the place of each subscriber.
    type_of_subscriber
        Types descend by the volume of what they want; those who want nothing come last.
    weight
        Members of each type.
    """

    ground: Ground
    type_of_subscriber: LongArray
    weight: LongArray

    @property
    def num_types(self) -> int:
        return len(self.weight)

    def amounts(self, broker_of_subscriber: IntArray) -> IntArray:
        """Return how many of a type are on each broker of its row."""
        ground = self.ground
        return count_amounts(
            ground.indptr, ground.brokers, self.type_of_subscriber, broker_of_subscriber
        )

    def brokers_of_subscribers(self, amounts: IntArray) -> IntArray:
        """Return an assignment with these amounts, members in the order of their ids."""
        ground = self.ground
        return deal_amounts(ground.indptr, ground.brokers, self.type_of_subscriber, amounts)


def gather_crowd(ground: Ground, choices: Csr) -> Crowd:
    """Collapse alike subscribers. O(subscribers log subscribers + pairs)."""
    alike = group_alike(choices, ground.num_brokers)
    wants = ground.lo[:, 0] <= ground.hi[:, 0]
    with np.errstate(invalid="ignore"):
        volume = np.where(wants, (ground.hi - ground.lo).prod(axis=1), -1.0)
    keys = np.column_stack([ground.lo, ground.hi, alike.group_of_subscriber, -volume])
    order = np.lexsort(keys.T)
    ranked = keys[order]
    starts = np.ones(len(order), dtype=np.bool_)
    starts[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
    type_of: LongArray = np.empty(len(order), dtype=np.int64)
    type_of[order] = np.cumsum(starts) - 1
    first = order[starts]
    lengths = np.diff(choices.indptr)[first]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    places = np.repeat(choices.indptr[first] - indptr[:-1], lengths) + np.arange(indptr[-1])
    types = ground._replace(
        lo=np.ascontiguousarray(ground.lo[first]),
        hi=np.ascontiguousarray(ground.hi[first]),
        indptr=indptr,
        brokers=np.ascontiguousarray(choices.indices[places]),
    )
    weight = np.bincount(type_of, minlength=len(first)).astype(np.int64)
    return Crowd(types, type_of, weight)


@kernel
def count_amounts(
    indptr: LongArray, brokers: IntArray, type_of: LongArray, broker_of_subscriber: IntArray
) -> IntArray:
    """Count members of types on each of their brokers."""
    amounts = np.zeros(len(brokers), dtype=np.int32)
    for j in range(len(type_of)):
        t = type_of[j]
        for place in range(indptr[t], indptr[t + 1]):
            if brokers[place] == broker_of_subscriber[j]:
                amounts[place] += 1
                break
    return amounts


@kernel
def deal_amounts(
    indptr: LongArray, brokers: IntArray, type_of: LongArray, amounts: IntArray
) -> IntArray:
    """Deal the members of each type to its brokers, in the order of ids."""
    left = amounts.copy()
    cursor = indptr[:-1].copy()
    chosen = np.full(len(type_of), -1, dtype=np.int32)
    for j in range(len(type_of)):
        t = type_of[j]
        while cursor[t] < indptr[t + 1] and left[cursor[t]] == 0:
            cursor[t] += 1
        if cursor[t] < indptr[t + 1]:
            left[cursor[t]] -= 1
            chosen[j] = brokers[cursor[t]]
    return chosen
