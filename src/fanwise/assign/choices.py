"""The brokers that each subscriber may be put on, by whatever algorithm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import Csr, IntArray, LongArray, take_ranges
from fanwise.assign.problem import Assignment


class Choices(NamedTuple):
    """Brokers that a subscriber may be put on: ``brokers[first[j]:end[j]]``, ascending.

    Several subscribers may share a range, as those do who have every broker to choose from.
    """

    first: LongArray
    end: LongArray
    brokers: IntArray


def usable_leaves(problem: Assignment) -> IntArray:
    """Return the leaf brokers that have a share."""
    arrays = problem.arrays
    return np.ascontiguousarray(arrays.leaves[arrays.share[arrays.leaves] > 0])


def count_usable(problem: Assignment) -> LongArray:
    """Return how many brokers with a share are in time for each subscriber."""
    arrays = problem.arrays
    row = np.repeat(np.arange(arrays.num_subscribers), np.diff(arrays.indptr))
    counts: LongArray = np.bincount(
        row[arrays.share[arrays.brokers] > 0], minlength=arrays.num_subscribers
    )
    return counts


def every_leaf(problem: Assignment) -> Choices:
    """Return every leaf broker with a share as the choices of each subscriber."""
    count, leaves = problem.workload.num_subscribers, usable_leaves(problem)
    return Choices(np.zeros(count, np.int64), np.full(count, len(leaves), np.int64), leaves)


def choices_of(problem: Assignment) -> Choices:
    """Return the brokers in time that have a share; where there are none, who else might do.

    Then those without a share, and for whom nobody is in time every leaf with a share: such an
    assignment breaks a limit, but no more limits than it must.
    """
    arrays = problem.arrays
    first, end = arrays.indptr[:-1].copy(), arrays.indptr[1:].copy()
    brokers = arrays.brokers
    has_share = arrays.share[brokers] > 0
    if not has_share.all():
        row = np.repeat(np.arange(arrays.num_subscribers), np.diff(arrays.indptr))
        # Brokers without a share have a limit of 0: they only count for whoever has no other.
        keep = has_share | (count_usable(problem)[row] == 0)
        lengths = np.bincount(row[keep], minlength=arrays.num_subscribers)
        end = np.cumsum(lengths).astype(np.int64)
        first, brokers = end - lengths, np.ascontiguousarray(brokers[keep])
    stranded = first == end
    if stranded.any():
        leaves = usable_leaves(problem)
        # One copy of the leaves, shared by all who are stranded.
        first[stranded], end[stranded] = len(brokers), len(brokers) + len(leaves)
        brokers = np.concatenate([brokers, leaves])
    return Choices(first, end, brokers)


def pairs_of(problem: Assignment) -> Csr:
    """Return :func:`choices_of` as a CSR: the pairs of a subscriber and a broker to choose from."""
    first, end, brokers = choices_of(problem)
    indptr = np.concatenate([[0], np.cumsum(end - first)]).astype(np.int64)
    if np.array_equal(indptr[:-1], first) and indptr[-1] == len(brokers):
        return Csr(indptr, brokers)
    return take_ranges(brokers, first, end)
