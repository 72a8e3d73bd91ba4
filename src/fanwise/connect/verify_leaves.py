"""Certificates of searches: cases that cover every overlay, and a bound for each of them.

Pairs of nodes that share a topic are numbered in lexicographic order. The table ``tree`` lists, in
preorder, the pair that is decided next, or -1 for a leaf: first all cases with the link, then those
without. Whatever stands there, the leaves of a complete tree cover every set of links; what is
worth bounding is the best overlay of each.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.connect.verify_components import Ints, slots_of
from fanwise.planning.proof import ProofError

if TYPE_CHECKING:
    from fanwise.connect.verify_proof import Floats, Prices, Question
    from fanwise.workload.topic import TopicWorkload

MOST_PAIRS = 64
MOST_ROWS = 1 << 18
CHUNK = 4096
UNDECIDED, IN, OUT = range(3)
LEAF = -1


class Pairs(NamedTuple):
    """Pairs that share a topic: ends and cost; and topics with the positions of their nodes."""

    u: Ints
    v: Ints
    cost: Floats
    topics: list[tuple[int, Ints, list[tuple[int, int, int]]]]
    """Topic, its nodes, and (pair, position of one end, position of the other) for each pair."""


def bound_by_leaves(
    workload: TopicWorkload, question: Question, prices: Prices, tree: npt.NDArray[Any]
) -> float:
    """Return the largest bound of any leaf; an overlay without links is worth nothing."""
    pairs = _list_pairs(workload)
    decisions = _read_leaves(tree, len(pairs.u))
    best = 0.0
    for start in range(0, len(decisions), CHUNK):
        bounds = _bound_cases(question, prices, pairs, decisions[start : start + CHUNK])
        best = max(best, float(bounds.max(initial=0.0)))
    return best


def _list_pairs(workload: TopicWorkload) -> Pairs:
    nodes, topics = slots_of(workload)
    order = np.argsort(topics, kind="stable")
    ends = np.cumsum(np.bincount(topics, minlength=workload.num_topics))
    followers = np.split(nodes[order], ends[:-1]) if len(ends) else []
    found: set[tuple[int, int]] = set()
    for part in followers:
        if len(part) * (len(part) - 1) // 2 > MOST_PAIRS:
            raise ProofError("a tree of so many pairs is not looked at")
        found.update((int(a), int(b)) for i, a in enumerate(part) for b in part[i + 1 :])
        if len(found) > MOST_PAIRS:
            raise ProofError("a tree of so many pairs is not looked at")
    number = {pair: k for k, pair in enumerate(sorted(found))}
    listed = [
        (
            topic,
            part,
            [
                (number[int(part[i]), int(part[j])], i, j)
                for i in range(len(part))
                for j in range(i + 1, len(part))
            ],
        )
        for topic, part in enumerate(followers)
        if len(part) > 1
    ]
    u, v = np.array(sorted(found), dtype=np.int64).reshape(-1, 2).T
    cost = np.zeros(len(u))
    if workload.positions is not None:
        cost = np.sqrt(((workload.positions[u] - workload.positions[v]) ** 2).sum(axis=1))
    return Pairs(u, v, cost, listed)


def _read_leaves(tree: npt.NDArray[Any], num_pairs: int) -> npt.NDArray[np.int8]:
    """Return what each leaf has decided, a row each."""
    if len(tree) > MOST_ROWS:
        raise ProofError(f"a tree of {len(tree)} rows is too large to look at")
    path: list[tuple[int, int]] = []
    decided = np.zeros(num_pairs, dtype=np.int8)
    leaves = []
    is_over = False
    for pair in tree.tolist():
        if is_over:
            raise ProofError("proof/tree.parquet has rows after its last leaf")
        if pair != LEAF:
            if not 0 <= pair < num_pairs or decided[pair] != UNDECIDED:
                raise ProofError(f"proof/tree.parquet: pair {pair} is unknown or decided before")
            decided[pair] = IN
            path.append((pair, IN))
            continue
        leaves.append(decided.copy())
        while path and path[-1][1] == OUT:
            decided[path.pop()[0]] = UNDECIDED
        is_over = not path
        if path:
            pair = path[-1][0]
            decided[pair] = OUT
            path[-1] = (pair, OUT)
    if not is_over:
        raise ProofError("proof/tree.parquet ends before its last leaf")
    return np.array(leaves, dtype=np.int8).reshape(len(leaves), num_pairs)


def _bound_cases(
    question: Question, prices: Prices, pairs: Pairs, decisions: npt.NDArray[np.int8]
) -> Floats:
    """Bound the overlays of each case; 0 where no overlay keeps the budgets.

    A case has links in, worth mu of them, budgets left, and pairs that may still be linked. What
    these add is at most the sum of the largest gains, as many as links are left, and at most what
    prices prove, with links and budgets as they are.
    """
    num_cases, num_nodes = len(decisions), len(question.limits)
    is_in = (decisions == IN).astype(np.int64)
    degree = np.zeros((num_cases, num_nodes), dtype=np.int64)
    for k, (a, b) in enumerate(zip(pairs.u, pairs.v, strict=True)):
        degree[:, a] += is_in[:, k]
        degree[:, b] += is_in[:, k]
    spare = question.limits - degree
    links = question.max_edges - is_in.sum(axis=1)
    money = np.full(num_cases, math.inf)
    if not math.isinf(question.max_cost):
        money = question.max_cost - is_in @ pairs.cost
    is_possible = (spare >= 0).all(axis=1) & (links >= 0) & (money >= 0)
    is_open = (decisions == UNDECIDED) & (spare[:, pairs.u] > 0) & (spare[:, pairs.v] > 0)
    is_open &= (links > 0)[:, None] & (pairs.cost <= money[:, None])

    value, rest = np.zeros(num_cases), np.zeros(num_cases)
    num_pairs = len(pairs.u)
    gains, priced = np.zeros((num_cases, num_pairs)), np.zeros((num_cases, num_pairs))
    for topic, nodes, joins in pairs.topics:
        weight, share = question.weight[topic], prices.topic[topic]
        label = np.tile(np.arange(len(nodes)), (num_cases, 1))
        for pair, i, j in joins:
            old, new = label[:, j].copy(), label[:, i].copy()
            meets = (is_in[:, pair] > 0) & (old != new)
            value += weight * meets
            label = np.where(meets[:, None] & (label == old[:, None]), new[:, None], label)
        for pair, i, j in joins:
            is_split = label[:, i] != label[:, j]
            gains[:, pair] += weight * is_split
            priced[:, pair] += share * weight * is_split
        is_free = np.zeros(label.shape, dtype=bool)
        case, position = np.nonzero(spare[:, nodes] > 0)
        is_free[case, label[case, position]] = True
        room = np.maximum(spare[:, nodes], 0).sum(axis=1) // 2
        most = np.minimum(np.maximum(is_free.sum(axis=1) - 1, 0), np.minimum(room, links))
        rest += (1 - share) * weight * most
    gains = np.where(is_open, gains, 0.0)
    largest = np.concatenate(
        [np.zeros((num_cases, 1)), np.cumsum(-np.sort(-gains, axis=1), axis=1)], axis=1
    )
    most_links = np.clip(links, 0, num_pairs)
    by_gains = largest[np.arange(num_cases), most_links]
    charge = prices.node[pairs.u] + prices.node[pairs.v] + prices.link + prices.cost * pairs.cost
    surplus = np.where(is_open, np.maximum(0.0, priced - charge), 0.0).sum(axis=1)
    by_prices = rest + spare @ prices.node + prices.link * links + surplus
    if prices.cost:
        by_prices = by_prices + prices.cost * money
    return np.where(is_possible, value + np.minimum(by_gains, by_prices), 0.0)
