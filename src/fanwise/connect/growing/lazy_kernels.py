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
from fanwise.arrays.tournament import first_largest, mend_tree, set_leaf
from fanwise.connect.arrays import Network
from fanwise.connect.components import Components, gain_of, link_nodes, sum_gains
from fanwise.connect.growing.cursor import PHASE
from fanwise.connect.kernels import NOBODY, link_length

SPENT, MOST = range(2)
"""Entries of ``money``: what the links cost so far, and what they may."""


class Candidates(NamedTuple):
    """The best pairs of each node with larger ones: what is known of each row.

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
        Scratch to add up a row.
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
def value_of(worth: float, positions: FloatArray, u: int, v: int) -> float:
    """Return what a pair is chosen by: its worth, per cost where links cost something.

    Changes no array.
    """
    if positions.shape[1] == 0 or worth == 0.0:
        return worth
    length = link_length(positions, u, v)
    return worth / length if length > 0.0 else np.inf


@kernel
def is_affordable(money: FloatArray, positions: FloatArray, u: int, v: int) -> bool:
    """Whether the money that is left pays for a link. Changes no array."""
    if money[MOST] == np.inf:
        return True
    return bool(money[SPENT] + link_length(positions, u, v) <= money[MOST])


@kernel
def add_up(
    network: Network, components: Components, candidates: Candidates, limits: Limits, u: int
) -> None:
    """Add up a row: renew its bound, list its best free nodes, bound the rest of them.

    Changes ``candidates``.
    """
    gain, touched = candidates.gain, candidates.touched
    is_free, money, positions = limits.is_free, limits.money, limits.positions
    count = sum_gains(network, components.label, components.worth, u, True, gain, touched)
    near, value = candidates.near[u], candidates.value[u]
    value[:] = 0.0
    bound, partner, rest = 0.0, NOBODY, 0.0
    # The list stays unsorted: only its smallest value matters here, the one to fall out next.
    worst = 0
    for k in range(count):
        v = touched[k]
        worth = value_of(gain[v], positions, u, v)
        gain[v] = 0.0
        # The bound counts nodes that are not free as well: a later phase may free them again.
        if worth > bound or (worth == bound and v < partner):
            bound, partner = worth, v
        if not is_free[v] or not is_affordable(money, positions, u, v):
            continue
        if worth > value[worst] or (worth == value[worst] and v < near[worst]):
            rest = max(rest, value[worst])
            near[worst], value[worst] = v, worth
            worst = worst_listed(near, value)
        else:
            rest = max(rest, worth)
    candidates.bound[u] = bound
    candidates.partner[u] = partner
    candidates.rest[u] = rest


@kernel
def worst_listed(near: IntArray, value: FloatArray) -> int:
    """Return where the smallest value is listed, of equals the largest node. Changes no array."""
    worst = 0
    for k in range(1, len(value)):
        if value[k] < value[worst] or (value[k] == value[worst] and near[k] > near[worst]):
            worst = k
    return worst


@kernel
def best_listed(near: IntArray, value: FloatArray) -> int:
    """Return where the largest value is listed, of equals the smallest node. Changes no array."""
    best = 0
    for k in range(1, len(value)):
        if value[k] > value[best] or (value[k] == value[best] and near[k] < near[best]):
            best = k
    return best


@kernel
def take_pair(
    network: Network, components: Components, limits: Limits, phase: int, u: int, v: int
) -> None:
    """Link u-v and count it against the limits. Changes ``components`` and ``limits``."""
    link_nodes(network, components, u, v)
    use_up(limits, phase, u, v)


@kernel
def use_up(limits: Limits, phase: int, u: int, v: int) -> None:
    """Count a link against money and degrees. Changes ``limits``."""
    limits.money[SPENT] += link_length(limits.positions, u, v)
    use_up_end(limits, phase, u)
    use_up_end(limits, phase, v)


@kernel
def use_up_end(limits: Limits, phase: int, node: int) -> None:
    """Count a link at one end; a node at its limit is no longer free. Changes ``limits``."""
    limits.degree[node] += 1
    if limits.degree[node] >= min(phase, limits.limit[node]):
        limits.is_free[node] = False


@kernel
def open_rows(candidates: Candidates, limits: Limits, phase: int) -> None:
    """Free the nodes below a phase's degree and set up the tournament of their bounds.

    Changes ``candidates`` and ``limits``.
    """
    tree = candidates.tree
    half = len(tree) // 2
    for u in range(half):
        is_node = u < len(limits.limit)
        if is_node:
            limits.is_free[u] = limits.degree[u] < min(phase, limits.limit[u])
        tree[half + u] = candidates.bound[u] if is_node and limits.is_free[u] else 0.0
        if is_node:
            # Lists of the phase before only held nodes that were free in it: nothing is known of a
            # row but its bound.
            candidates.rest[u] = candidates.bound[u]
            candidates.value[u] = 0.0
    mend_tree(tree)


@kernel
def take_by_row(
    network: Network,
    components: Components,
    candidates: Candidates,
    limits: Limits,
    cursor: LongArray,
    edges: IntArray,
    taken: int,
) -> int:
    """Take pairs of free nodes until ``edges`` is full or none adds anything; return how many.

    Changes all arrays but those of the network.
    """
    leaves = len(candidates.tree) // 2
    while taken < len(edges) and components.missing[0] > 0:
        # Of equal rows the first, and of equal values in a row the smallest node: the smallest
        # pair.
        u = first_largest(candidates.tree)
        highest = candidates.tree[leaves + u]
        if highest <= 0.0:
            break
        if not limits.is_free[u]:
            set_leaf(candidates.tree, u, 0.0)
            continue
        near, value = candidates.near[u], candidates.value[u]
        best = best_listed(near, value)
        is_listed = value[best] == highest
        v = near[best] if is_listed else candidates.partner[u]
        worth = 0.0
        # A new phase begins with bounds alone. Where the partner that set the bound is still worth
        # it, no pair of the row can be better, and adding up the row is saved.
        if (is_listed or candidates.bound[u] == highest) and v != NOBODY:
            worth = value_now(network, components, limits, u, v)
        if worth == highest:
            edges[taken, 0] = u
            edges[taken, 1] = v
            taken += 1
            take_pair(network, components, limits, cursor[PHASE], u, v)
            worth = 0.0
            candidates.partner[u] = NOBODY
        elif not is_listed:
            add_up(network, components, candidates, limits, u)
        if is_listed:
            renew_listed(value, best, worth, candidates.rest[u])
        set_leaf(candidates.tree, u, max(value.max(), candidates.rest[u]))
    return taken


@kernel
def renew_listed(value: FloatArray, best: int, worth: float, rest: float) -> None:
    """Lower a listed value; strike off what the rest covers. Changes ``value``.

    A node that falls to the value of the rest may come before listed nodes of that value, or after
    others of the rest: only adding up the row tells, so all of that value are struck off.
    """
    value[best] = worth if worth > rest else 0.0
    if worth == rest:
        for k in range(len(value)):
            if value[k] == rest:
                value[k] = 0.0


@kernel
def value_now(network: Network, components: Components, limits: Limits, u: int, v: int) -> float:
    """Return what a pair is chosen by now; 0 where it may not be chosen. Changes no array."""
    if not limits.is_free[v] or not is_affordable(limits.money, limits.positions, u, v):
        return 0.0
    return value_of(gain_of(network, components.label, u, v), limits.positions, u, v)
