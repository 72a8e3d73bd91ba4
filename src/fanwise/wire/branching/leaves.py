"""The leaves that prove a bound: of a search over attachments as little as that takes.

Every node of the search whose bound is below what is to be proven is branched, all others are
leaves. Children come in the order of broker ids; those without room are none. Nodes are listed in
preorder: after a node that is branched come all nodes of its first child, then of the next.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.jit import kernel
from fanwise.wire.branching.tables import BranchingTables
from fanwise.wire.branching.walk import Branching, attach_user, begin_branching, bound_children

NOT_WORTH_BRANCHING = 1e-10
"""Relative: leaves so little below what is to be proven are not worth branching."""
MOST_NODES = 90_000
"""A bit each: what fits into the size that a certificate may have anyway."""
HALVINGS = 7
"""Of the distance between what is known anyway and what is to be proven, to find what fits."""


def find_leaves(
    tables: BranchingTables, value: float, floor: float
) -> tuple[float, npt.NDArray[np.bool_]]:
    """Return what leaves prove, and which nodes are branched, in preorder.

    That is ``value``, which must be true, or as much of it above ``floor`` as a certificate holds.
    """
    marks = list_nodes(tables, value)
    if marks is not None:
        return value, marks
    least, most, found = floor, value, None
    for _ in range(HALVINGS):
        middle = (least + most) / 2
        marks = list_nodes(tables, middle)
        if marks is None:
            most = middle
        else:
            least, found = middle, marks
    if found is None:
        return 0.0, np.zeros(1, dtype=np.bool_)
    return least, found


def list_nodes(tables: BranchingTables, value: float) -> npt.NDArray[np.bool_] | None:
    """Return which nodes must be branched to prove a value; None where they are too many."""
    users = len(tables.demand)
    if users == 0:
        return np.zeros(0, dtype=np.bool_)
    walk = begin_branching(tables, np.zeros(users, dtype=np.int32), np.inf)
    marks = np.zeros(MOST_NODES, dtype=np.bool_)
    count = mark_nodes(tables, walk, value * (1 - NOT_WORTH_BRANCHING), marks)
    return None if count < 0 else marks[:count]


@kernel
def mark_nodes(
    tables: BranchingTables,
    walk: Branching,
    target: float,
    marks: npt.NDArray[np.bool_],
) -> int:
    """Mark the nodes that are branched, in preorder; return how many nodes, -1: too many.

    Changes the walk and ``marks``.
    """
    users, brokers = walk.tried.shape
    bounds = np.empty((users, brokers))
    root = walk.core[0].sum() + max(tables.rest_cost[0], tables.rest_priced[0])
    marks[0] = root < target
    count = 1
    depth = 0 if marks[0] else -1
    while depth >= 0:
        if walk.following[depth] < 0:
            bound_children(tables, walk, depth)
            # The walk sorts children by bound, a certificate by id: whoever checks it need not
            # sort.
            for child in range(brokers):
                bounds[depth, walk.tried[depth, child]] = walk.bounds[depth, child]
            walk.following[depth] = 0
        b = walk.following[depth]
        if b == brokers:
            walk.following[depth] = -1
            depth -= 1
            continue
        walk.following[depth] += 1
        if bounds[depth, b] == np.inf or depth + 1 == users:
            continue
        if count == len(marks):
            return -1
        marks[count] = bounds[depth, b] < target
        count += 1
        if marks[count - 1]:
            attach_user(tables, walk, depth, b)
            walk.following[depth + 1] = -1
            depth += 1
    return count
