"""Greedy links under every limit at once: degrees, number of links, cost of links.

Each step makes the link that adds most to mu (per cost, where links cost something) among pairs
whose ends both have links to spare. Every node keeps a short list of its best partners with what
links to them were worth when last looked at, and a ceiling on what is not in the list. Worth only
falls while links are added, so old numbers are upper bounds: the largest is looked at again, and
taken if it is still the largest. A node whose ceiling is above its list counts all its partners
anew, which costs the followers of its topics.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.connect.improving.ground import Budget, Ground, cost_of, gain_of, label_slots
from fanwise.connect.improving.live import edges_in, link, make_live
from fanwise.connect.improving.state import COST, FREE_EDGES, FREE_RECORDS, NUM_EDGES, Live
from fanwise.connect.network import NO_EDGES
from fanwise.planning.problem import Run

LIST_LENGTH = 12
DONE, OUT_OF_ROOM, OUT_OF_WORK = range(3)
WORK_PER_CALL = 50_000_000
MAX_LISTING_WORK = 100_000_000
"""Followers of topics, squared, that are counted to list partners."""


class Lists(NamedTuple):
    """The best partners of each node, keys never too low, and a tree that finds the largest."""

    partner: IntArray
    key: FloatArray
    ceiling: FloatArray
    tree: FloatArray


def counting_work(ground: Ground) -> int:
    """Return what counting the worth of all pairs costs: followers of a topic, squared."""
    followers = np.diff(ground.topic_indptr)
    return int(np.dot(followers, followers))


def complete_greedily(
    ground: Ground, budget: Budget, edges: IntArray = NO_EDGES, run: Run | None = None
) -> IntArray:
    """Return ``edges`` and the greedy links that still fit, in the order chosen.

    Stops early, with what it has, when the run's time is up.
    """
    widest = int(np.diff(ground.indptr).max(initial=0))
    num_nodes = len(ground.indptr) - 1
    lists = _empty_lists(num_nodes)
    spare_edges, spare_records = 1024, 64 * widest
    live = make_live(ground, edges, spare_edges=spare_edges, spare_records=spare_records)
    chosen = [edges]
    while True:
        batch = np.empty((int(live.counters[FREE_EDGES]), 2), dtype=np.int32)
        status, count = add_links(ground, live, budget, lists, batch, widest, WORK_PER_CALL)
        chosen.append(batch[:count])
        if status == DONE or (run is not None and run.is_over()):
            return np.concatenate(chosen)
        if status == OUT_OF_ROOM:
            spare_edges, spare_records = 2 * spare_edges, 2 * spare_records
            live = make_live(
                ground, edges_in(live), spare_edges=spare_edges, spare_records=spare_records
            )


def _empty_lists(num_nodes: int) -> Lists:
    leaves = 1
    while leaves < max(1, num_nodes):
        leaves *= 2
    tree = np.zeros(2 * leaves)
    tree[leaves : leaves + num_nodes] = np.inf
    for i in range(leaves - 1, 0, -1):
        tree[i] = max(tree[2 * i], tree[2 * i + 1])
    return Lists(
        np.full((num_nodes, LIST_LENGTH), -1, dtype=np.int32),
        np.zeros((num_nodes, LIST_LENGTH)),
        np.full(num_nodes, np.inf),
        tree,
    )


@kernel
def add_links(
    ground: Ground,
    live: Live,
    budget: Budget,
    lists: Lists,
    made: IntArray,
    widest: int,
    work: int,
) -> tuple[int, int]:
    """Add links until none helps, room or work runs out; return which, and how many were made."""
    num_nodes = len(ground.indptr) - 1
    worth, found = np.zeros(num_nodes), np.empty(num_nodes, dtype=np.int32)
    leaves, count = len(lists.tree) // 2, 0
    while live.counters[NUM_EDGES] < budget.max_edges:
        if lists.tree[1] <= 0.0:
            break
        if work < 0:
            return OUT_OF_WORK, count
        if live.counters[FREE_RECORDS] < widest or count == len(made):
            return OUT_OF_ROOM, count
        node = largest_leaf(lists.tree) - leaves
        place, best = 0, -1.0
        for k in range(LIST_LENGTH):
            if lists.key[node, k] > best:
                place, best = k, lists.key[node, k]
        if lists.ceiling[node] > best:
            work -= list_partners(ground, live, budget, lists, node, worth, found)
        else:
            partner = lists.partner[node, place]
            key = key_of(ground, live, budget, node, partner)
            lists.key[node, place] = key
            work -= 8
            if key > 0.0 and key >= lists.tree[1]:
                link(ground, live, node, partner)
                made[count, 0], made[count, 1] = min(node, partner), max(node, partner)
                count += 1
                lists.key[node, place] = 0.0
        top = lists.ceiling[node]
        for k in range(LIST_LENGTH):
            top = max(top, lists.key[node, k])
        set_leaf(lists.tree, leaves + node, top)
    return DONE, count


@kernel
def key_of(ground: Ground, live: Live, budget: Budget, u: int, v: int) -> float:
    """Return gain per cost of a link, 0 where it does not fit."""
    if live.degree[u] >= ground.degree_limit[u] or live.degree[v] >= ground.degree_limit[v]:
        return 0.0
    cost = cost_of(ground, u, v)
    if live.totals[COST] + cost > budget.max_cost:
        return 0.0
    return gain_of(ground, live.label, u, v) / cost


@kernel
def list_partners(
    ground: Ground,
    live: Live,
    budget: Budget,
    lists: Lists,
    node: int,
    worth: FloatArray,
    found: IntArray,
) -> int:
    """Count what links of a node to everybody are worth; list the best. Return the work done."""
    lists.key[node, :] = 0.0
    lists.ceiling[node] = 0.0
    if live.degree[node] >= ground.degree_limit[node]:
        return 1
    num_found, work = count_row(ground, live.label, ground.weight, node, worth, found)
    for k in range(num_found):
        other = found[k]
        gain, worth[other] = worth[other], 0.0
        if live.degree[other] >= ground.degree_limit[other]:
            continue
        cost = cost_of(ground, node, other)
        if live.totals[COST] + cost <= budget.max_cost:
            keep_best(lists.partner[node], lists.key[node], lists.ceiling, node, other, gain / cost)
    return work


@kernel
def count_row(
    ground: Ground,
    label: IntArray,
    weight: FloatArray,
    node: int,
    worth: FloatArray,
    found: IntArray,
) -> tuple[int, int]:
    """Add up, for each other node, the weight of topics whose components a link would join.

    ``worth`` must be zero and holds the sums after; nodes with one are listed in ``found``. Returns
    their number and the work done.
    """
    num_found, work = 0, 1
    for i in range(ground.indptr[node], ground.indptr[node + 1]):
        topic = ground.topics[i]
        gain, mine = weight[topic], label[ground.slot_of[i]]
        if gain <= 0.0:
            continue
        start, end = ground.topic_indptr[topic], ground.topic_indptr[topic + 1]
        work += end - start
        for slot in range(start, end):
            if label[slot] != mine:
                other = ground.nodes[slot]
                if worth[other] == 0.0:
                    found[num_found] = other
                    num_found += 1
                worth[other] += gain
    return num_found, work


@kernel
def keep_best(
    partner: IntArray, key: FloatArray, ceiling: FloatArray, node: int, other: int, value: float
) -> None:
    """Put a partner into a list sorted by falling key; what falls out raises the ceiling."""
    last = len(key) - 1
    if value <= key[last]:
        ceiling[node] = max(ceiling[node], value)
        return
    ceiling[node] = max(ceiling[node], key[last])
    k = last
    while k > 0 and key[k - 1] < value:
        key[k], partner[k] = key[k - 1], partner[k - 1]
        k -= 1
    key[k], partner[k] = value, other


@kernel
def largest_leaf(tree: FloatArray) -> int:
    """Return the leftmost leaf with the largest value of a complete binary tree of maxima."""
    i = 1
    while i < len(tree) // 2:
        i = 2 * i if tree[2 * i] >= tree[2 * i + 1] else 2 * i + 1
    return i


@kernel
def set_leaf(tree: FloatArray, leaf: int, value: float) -> None:
    """Change a leaf and the maxima above it."""
    tree[leaf] = value
    i = leaf // 2
    while i >= 1:
        tree[i] = max(tree[2 * i], tree[2 * i + 1])
        i //= 2


def best_partners(ground: Ground, edges: IntArray, length: int) -> IntArray:
    """Return, per node, partners whose links would add most to an overlay, whatever their degree.

    One count over all pairs that share a topic, the most wanted topics left out where that is too
    much work: what is hard to connect are the others. Unused places hold -1.
    """
    followers = np.diff(ground.topic_indptr)
    rare_first = np.argsort(followers, kind="stable")
    is_counted = np.zeros(len(followers), dtype=bool)
    is_counted[rare_first] = np.cumsum(followers[rare_first] ** 2) <= MAX_LISTING_WORK
    partner = np.full((len(ground.indptr) - 1, length), -1, dtype=np.int32)
    weight = np.where(is_counted, ground.weight, 0.0)
    rank_partners(ground, label_slots(ground, edges), weight, partner)
    return partner


@kernel
def rank_partners(
    ground: Ground, label: IntArray, weight: FloatArray, partner: IntArray
) -> LongArray:
    """Fill in the best partners of each node by gain per cost; return how many each has."""
    num_nodes, length = partner.shape
    worth, found = np.zeros(num_nodes), np.empty(num_nodes, dtype=np.int32)
    key, ceiling = np.zeros(length), np.zeros(num_nodes)
    counts = np.zeros(num_nodes, dtype=np.int64)
    for node in range(num_nodes):
        num_found, _ = count_row(ground, label, weight, node, worth, found)
        key[:] = 0.0
        for k in range(num_found):
            other = found[k]
            value = worth[other] / cost_of(ground, node, other)
            worth[other] = 0.0
            keep_best(partner[node], key, ceiling, node, other, value)
        counts[node] = min(num_found, length)
    return counts
