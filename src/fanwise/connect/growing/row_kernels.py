"""Greedy choice without a table of pairs: each row is added up again when its bound comes up.

Weighted topics, links with a cost, and networks whose pairs no memory holds. When the row of node u
is added up, the best few of its pairs (u, v), v > u, are listed with their values, and the largest
value of all others is kept as a bound on the rest. Values never grow, so the row whose largest
value or bound is largest comes next: if that is a listed pair, it is taken or its value is renewed;
if it is the rest, the row is added up again. Memory is O(nodes + pairs of interests).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.connect.growing.label_kernels import (
    Interests,
    Labels,
    add_up_row,
    join_labels,
    worth_of,
)
from fanwise.connect.kernels import link_length

MISSING, PHASE, STAGE, ROW = 0, 1, 2, 3
"""Places in ``state``: joins that are missing to connect all, the phase, where in it, which row."""
OVER, DESCENDING, FILLING = 0, 1, 2
"""Stages of a phase."""
SPENT, MOST = 0, 1
"""Places in ``money``: what the links cost so far, and what they may."""
NOBODY = -1


class Rows(NamedTuple):
    """What is known of each row.

    Attributes
    ----------
    bound, partner
        Never below the value of any pair of the row; the first node that had it, if it still may.
    near, value, rest
        Listed nodes that were free when the row was added up, never less than their values now (0:
        struck off), and never less than the value of any other free node. Of equal values in the
        list and in the rest, those in the list have the smaller nodes.
    tree
        Tournament over the rows of free nodes: the largest value that any of their pairs may have.
    gain, touched
        Room to add up a row.
    """

    bound: FloatArray
    partner: IntArray
    near: IntArray
    value: FloatArray
    rest: FloatArray
    tree: FloatArray
    gain: FloatArray
    touched: IntArray


class Limits(NamedTuple):
    """What limits links: degrees, who may still get some, where nodes are, and money."""

    limit: IntArray
    degree: IntArray
    is_free: npt.NDArray[np.bool_]
    positions: FloatArray
    money: FloatArray


@kernel
def set_leaf(tree: FloatArray, leaf: int, value: float) -> None:
    """Change one leaf of a tournament of largest values."""
    place = len(tree) // 2 + leaf
    tree[place] = value
    while place > 1:
        place //= 2
        winner = max(tree[2 * place], tree[2 * place + 1])
        if tree[place] == winner:
            break
        tree[place] = winner


@kernel
def first_winner(tree: FloatArray) -> int:
    """Return the first leaf that has the largest value."""
    place = 1
    while place < len(tree) // 2:
        place = 2 * place + (tree[2 * place] < tree[2 * place + 1])
    return place - len(tree) // 2


@kernel
def value_of(worth: float, limits: Limits, u: int, v: int) -> float:
    """Return what a pair is chosen by: its worth, per cost where links cost something."""
    if limits.positions.shape[1] == 0 or worth == 0.0:
        return worth
    length = link_length(limits.positions, u, v)
    return worth / length if length > 0.0 else np.inf


@kernel
def is_affordable(limits: Limits, u: int, v: int) -> bool:
    """Whether the money that is left pays for a link."""
    if limits.money[MOST] == np.inf:
        return True
    return bool(limits.money[SPENT] + link_length(limits.positions, u, v) <= limits.money[MOST])


@kernel
def add_up(interests: Interests, labels: Labels, rows: Rows, limits: Limits, u: int) -> None:
    """Add up a row: renew its bound, list its best free nodes, bound the rest of them."""
    count = add_up_row(interests, labels, u, rows.gain, rows.touched)
    near, value = rows.near[u], rows.value[u]
    value[:] = 0.0
    bound, partner, rest = 0.0, NOBODY, 0.0
    worst = 0
    for k in range(count):
        v = rows.touched[k]
        worth = value_of(rows.gain[v], limits, u, v)
        rows.gain[v] = 0.0
        if worth > bound or (worth == bound and v < partner):
            bound, partner = worth, v
        if not limits.is_free[v] or not is_affordable(limits, u, v):
            continue
        if worth > value[worst] or (worth == value[worst] and v < near[worst]):
            rest = max(rest, value[worst])
            near[worst], value[worst] = v, worth
            worst = worst_listed(near, value)
        else:
            rest = max(rest, worth)
    rows.bound[u] = bound
    rows.partner[u] = partner
    rows.rest[u] = rest


@kernel
def worst_listed(near: IntArray, value: FloatArray) -> int:
    """Return the place of the smallest value in a list, of equals the largest node."""
    worst = 0
    for k in range(1, len(value)):
        if value[k] < value[worst] or (value[k] == value[worst] and near[k] > near[worst]):
            worst = k
    return worst


@kernel
def best_listed(near: IntArray, value: FloatArray) -> int:
    """Return the place of the largest value in a list, of equals the smallest node."""
    best = 0
    for k in range(1, len(value)):
        if value[k] > value[best] or (value[k] == value[best] and near[k] < near[best]):
            best = k
    return best


@kernel
def take_pair(
    interests: Interests, labels: Labels, limits: Limits, state: LongArray, u: int, v: int
) -> None:
    """Link u-v and count it against the limits."""
    state[MISSING] -= join_labels(interests, labels, u, v)
    use_up(limits, state[PHASE], u, v)


@kernel
def use_up(limits: Limits, phase: int, u: int, v: int) -> None:
    """Count a link against money and degrees."""
    limits.money[SPENT] += link_length(limits.positions, u, v)
    use_up_end(limits, phase, u)
    use_up_end(limits, phase, v)


@kernel
def use_up_end(limits: Limits, phase: int, node: int) -> None:
    """Count a link at one end; a node at its limit is no longer free."""
    limits.degree[node] += 1
    if limits.degree[node] >= min(phase, limits.limit[node]):
        limits.is_free[node] = False


@kernel
def open_rows(rows: Rows, limits: Limits, phase: int) -> None:
    """Free the nodes below a phase's degree and set up the tournament of their bounds."""
    tree = rows.tree
    half = len(tree) // 2
    for u in range(half):
        is_node = u < len(limits.limit)
        if is_node:
            limits.is_free[u] = limits.degree[u] < min(phase, limits.limit[u])
        tree[half + u] = rows.bound[u] if is_node and limits.is_free[u] else 0.0
        if is_node:
            rows.rest[u] = rows.bound[u]
            rows.value[u] = 0.0
    for place in range(half - 1, 0, -1):
        tree[place] = max(tree[2 * place], tree[2 * place + 1])


@kernel
def take_by_row(
    interests: Interests,
    labels: Labels,
    rows: Rows,
    limits: Limits,
    state: LongArray,
    edges: IntArray,
    taken: int,
) -> int:
    """Take pairs of free nodes until ``edges`` is full or none adds anything; return how many."""
    leaves = len(rows.tree) // 2
    while taken < len(edges) and state[MISSING] > 0:
        u = first_winner(rows.tree)
        highest = rows.tree[leaves + u]
        if highest <= 0.0:
            break
        if not limits.is_free[u]:
            set_leaf(rows.tree, u, 0.0)
            continue
        near, value = rows.near[u], rows.value[u]
        place = best_listed(near, value)
        is_listed = value[place] == highest
        v = near[place] if is_listed else rows.partner[u]
        worth = 0.0
        if (is_listed or rows.bound[u] == highest) and v != NOBODY:
            worth = value_now(interests, labels, limits, u, v)
        if worth == highest:
            edges[taken, 0] = u
            edges[taken, 1] = v
            taken += 1
            take_pair(interests, labels, limits, state, u, v)
            worth = 0.0
            rows.partner[u] = NOBODY
        elif not is_listed:
            add_up(interests, labels, rows, limits, u)
        if is_listed:
            renew_listed(value, place, worth, rows.rest[u])
        set_leaf(rows.tree, u, max(value.max(), rows.rest[u]))
    return taken


@kernel
def renew_listed(value: FloatArray, place: int, worth: float, rest: float) -> None:
    """Lower a listed value; strike off what the rest covers.

    A node that falls to the value of the rest may come before listed nodes of that value, or after
    others of the rest: only adding up the row tells, so all of that value are struck off.
    """
    value[place] = worth if worth > rest else 0.0
    if worth == rest:
        for k in range(len(value)):
            if value[k] == rest:
                value[k] = 0.0


@kernel
def value_now(interests: Interests, labels: Labels, limits: Limits, u: int, v: int) -> float:
    """Return what a pair is chosen by now; 0 where it may not be chosen."""
    if not limits.is_free[v] or not is_affordable(limits, u, v):
        return 0.0
    return value_of(worth_of(interests, labels, u, v), limits, u, v)
