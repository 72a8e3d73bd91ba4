"""The leaves that prove a bound: of a search over attachments as little as that takes.

Every node of the search whose bound is below what is to be proven is branched, all others are
leaves. Children come in the order of broker ids; those without room are none. Nodes are listed
level by level, so that whoever checks them can take a level at a time.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import IntArray
from fanwise.arrays.jit import kernel
from fanwise.wire.branching import Question, Search, attach_user, begin_search, bound_children

SLACK = 1e-10
"""Relative: leaves so little below what is to be proven are not worth branching."""
MOST_NODES = 90_000
"""A bit each: what fits into the size that a certificate may have anyway."""
HALVINGS = 7


def find_leaves(
    question: Question, value: float, floor: float
) -> tuple[float, npt.NDArray[np.bool_]]:
    """Return what leaves prove, and which nodes are branched, level by level.

    That is ``value``, which must be true, or as much of it above ``floor`` as a certificate holds.
    """
    marks = list_nodes(question, value)
    if marks is not None:
        return value, marks
    least, most, found = floor, value, None
    for _ in range(HALVINGS):
        middle = (least + most) / 2
        marks = list_nodes(question, middle)
        if marks is None:
            most = middle
        else:
            least, found = middle, marks
    if found is None:
        return 0.0, np.zeros(1, dtype=np.bool_)
    return least, found


def list_nodes(question: Question, value: float) -> npt.NDArray[np.bool_] | None:
    """Return which nodes must be branched to prove a value; None where they are too many."""
    users = len(question.demand)
    if users == 0:
        return np.zeros(0, dtype=np.bool_)
    search = begin_search(question, np.zeros(users, dtype=np.int32), np.inf)
    marks = np.zeros(MOST_NODES, dtype=np.bool_)
    depths = np.zeros(MOST_NODES, dtype=np.int32)
    count = mark_nodes(question, search, value * (1 - SLACK), marks, depths)
    if count < 0:
        return None
    return marks[:count][np.argsort(depths[:count], kind="stable")]


@kernel
def mark_nodes(
    question: Question,
    search: Search,
    target: float,
    marks: npt.NDArray[np.bool_],
    depths: IntArray,
) -> int:
    """Mark the nodes that are branched, going down first; return how many nodes, -1: too many."""
    users, brokers = search.tried.shape
    bounds = np.empty((users, brokers))
    root = search.core[0].sum() + max(question.rest_cost[0], question.rest_priced[0])
    marks[0], depths[0] = root < target, 0
    count = 1
    depth = 0 if marks[0] else -1
    while depth >= 0:
        if search.following[depth] < 0:
            bound_children(question, search, depth)
            for place in range(brokers):
                bounds[depth, search.tried[depth, place]] = search.bounds[depth, place]
            search.following[depth] = 0
        b = search.following[depth]
        if b == brokers:
            search.following[depth] = -1
            depth -= 1
            continue
        search.following[depth] += 1
        if bounds[depth, b] == np.inf or depth + 1 == users:
            continue
        if count == len(marks):
            return -1
        marks[count], depths[count] = bounds[depth, b] < target, depth + 1
        count += 1
        if marks[count - 1]:
            attach_user(question, search, depth, b)
            search.following[depth + 1] = -1
            depth += 1
    return count
