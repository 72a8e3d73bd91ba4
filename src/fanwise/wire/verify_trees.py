"""Trees between brokers for the independent check: plain NumPy, many trees at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

FAR = np.iinfo(np.int64).max
CELLS = 1 << 22
"""Of sets times brokers: how much is looked at together."""


class Trees(NamedTuple):
    """Minimum spanning trees of several sets of brokers, a row each, as brokers join.

    ``joined`` are the brokers, -1 after the last; ``ends`` the broker that each is linked to, -1
    for the first.
    """

    joined: Any
    ends: Any


def link_order(costs: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Number links from 1 by (cost, ids); 0 on the diagonal: no link."""
    count = len(costs)
    low, high = np.nonzero(np.arange(count)[:, None] < np.arange(count)[None, :])
    order = np.lexsort((high, low, costs[low, high]))
    numbers = np.zeros((count, count), dtype=np.int64)
    numbers[low[order], high[order]] = np.arange(1, len(order) + 1)
    return numbers + numbers.T


def spanning_trees(is_member: Any, numbers: Any) -> Trees:
    """Return the minimum spanning tree of each set of brokers (Prim, all sets step by step)."""
    sizes = is_member.sum(axis=1)
    found = Trees(*(np.full(is_member.shape, -1, dtype=np.int64) for _ in range(2)))
    sets = np.flatnonzero(sizes)
    if not len(sets):
        return found
    sets = sets[np.argsort(-sizes[sets], kind="stable")]
    left = is_member[sets]
    last = left.argmax(axis=1)
    rows = np.arange(len(sets))
    nearest = np.full(left.shape, FAR)
    ends = np.full(left.shape, -1, dtype=np.int64)
    for step in range(left.shape[1]):
        found.joined[sets, step], found.ends[sets, step] = last, ends[rows, last]
        left[rows, last] = False
        nearest[rows, last] = FAR
        going = int(np.searchsorted(-sizes[sets], -(step + 1), side="left"))  # with more to join
        if not going:
            break
        sets, rows, left, last = sets[:going], rows[:going], left[:going], last[:going]
        nearest, ends = nearest[:going], ends[:going]
        offered = numbers[last]
        is_nearer = left & (offered < nearest)
        np.copyto(nearest, offered, where=is_nearer)
        np.copyto(ends, last[:, None], where=is_nearer)
        last = nearest.argmin(axis=1)
    return found


def mesh_traffic(published: Any, is_member: Any, numbers: Any) -> Any:
    """Return the traffic of each link (upper triangle) with a tree per broker and channel.

    ``published`` and ``is_member`` have a row for each channel.
    """
    count = len(numbers)
    traffic = np.zeros(count * count)
    width = max(1, CELLS // max(count, 1))
    for start in range(0, len(published), width):
        rows = slice(start, start + width)
        trees = spanning_trees(is_member[rows], numbers)
        for sent, member, joined, ends in zip(
            published[rows], is_member[rows], *trees, strict=True
        ):
            size = int(np.count_nonzero(member))
            own = joined[1:size], ends[1:size]
            links = np.minimum(*own) * count + np.maximum(*own)
            traffic[links] += sent[member].sum()
            outside = np.flatnonzero((sent > 0) & ~member)
            if size and len(outside):
                _add_newcomers(traffic, numbers, joined[:size], ends[:size], outside, sent)
    return traffic.reshape(count, count)


def _add_newcomers(
    traffic: Any, numbers: Any, joined: Any, ends: Any, outside: Any, sent: Any
) -> None:
    """Add what each outside broker sends over the tree that it makes with those inside.

    From the last broker to join backwards: of the link by which it joined and the best link to the
    newcomer from it or from beyond it, the lighter is in the tree. The heavier may still serve the
    broker at the other end, being the heaviest on no cycle so far.
    """
    count = len(numbers)
    position = np.empty(count, dtype=np.int64)
    position[joined] = np.arange(len(joined))
    rank = numbers[joined[:, None], outside[None, :]]
    code = np.minimum(joined[:, None], outside) * count + np.maximum(joined[:, None], outside)
    weights = sent[outside]
    for at in range(len(joined) - 1, 0, -1):
        end = position[ends[at]]
        link, link_rank = _code(joined[at], ends[at], count), numbers[joined[at], ends[at]]
        is_lighter = rank[at] < link_rank
        np.add.at(traffic, np.where(is_lighter, code[at], link), weights)
        heavier_rank = np.where(is_lighter, link_rank, rank[at])
        heavier = np.where(is_lighter, link, code[at])
        is_useful = heavier_rank < rank[end]
        rank[end][is_useful] = heavier_rank[is_useful]
        code[end][is_useful] = heavier[is_useful]
    np.add.at(traffic, code[0], weights)


def _code(one: int, other: int, count: int) -> int:
    return int(min(one, other)) * count + int(max(one, other))


def sides_of_one_tree(numbers: Any) -> tuple[Any, Any, Any]:
    """Return the links of the tree of all brokers, and which brokers lie beyond each (a row)."""
    count = len(numbers)
    joined, ends = (rows[0] for rows in spanning_trees(np.ones((1, count), dtype=bool), numbers))
    beyond = np.eye(count, dtype=bool)
    for at in range(count - 1, 0, -1):
        beyond[ends[at]] |= beyond[joined[at]]
    links = joined[1:], ends[1:]
    return np.minimum(*links), np.maximum(*links), beyond[joined[1:]]


def tree_traffic(published: Any, is_member: Any, numbers: Any) -> tuple[Any, Any, Any]:
    """Return the links of the one tree of all brokers, and the traffic on each.

    Without a link the tree falls in two: what is sent on one side crosses it on every channel that
    is wanted on the other.
    """
    low, high, beyond = sides_of_one_tree(numbers)
    traffic = np.zeros(len(low))
    for here in (beyond, ~beyond):
        sent = published @ here.T.astype(np.float64)
        is_wanted = is_member.astype(np.float64) @ (~here).T.astype(np.float64) > 0
        traffic += np.where(is_wanted, sent, 0.0).sum(axis=0)
    return low, high, traffic


def first_links(costs: Any, numbers: Any, roots: Any, radii: Any, sizes: Any) -> Any:
    """Return what the first links within reach cost that join as many brokers as asked for.

    For each root a link is within reach if the way from the root to its nearer end and the link
    together cost at most the radius. Links are taken in their order unless they close a cycle
    (Kruskal). Infinite where there are not enough of them.
    """
    count = len(costs)
    low, high = np.nonzero(np.triu(numbers))
    order = np.argsort(numbers[low, high])
    low, high = low[order], high[order]
    total, missing = np.zeros(len(roots)), np.maximum(np.asarray(sizes) - 1, 0)
    part = np.tile(np.arange(count), (len(roots), 1))
    going = np.flatnonzero(missing)
    for a, b in zip(low, high, strict=True):
        if not len(going):
            break
        cost = costs[a, b]
        from_root = np.minimum(costs[roots[going], a], costs[roots[going], b])
        one, two = part[going, a], part[going, b]
        taken = (one != two) & (from_root + cost <= radii[going])
        if not taken.any():
            continue
        rows = going[taken]
        is_joined = part[rows] == one[taken][:, None]
        part[rows] = np.where(is_joined, two[taken][:, None], part[rows])
        total[rows] += cost
        missing[rows] -= 1
        if not missing[rows].all():
            going = going[missing[going] > 0]
    total[going] = np.inf
    return total
