"""The leaves of a search over attachments, for checking certificates: plain NumPy.

At the root nobody is attached. A node is either branched on the next user of the order, with a
child for each broker that this one may take and that has room for it, or it is a leaf. So the
leaves cover every attachment that keeps the limits, whatever the table says of which node is
branched. A leaf where all are attached costs what it costs. In any other every user costs at least,
at its broker or at the best one for it: access, with prices or without, and for each of its
messages the cheapest tree over brokers that include its own and those it is known to go to, and at
least as many as its channel's subscribers fill.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fanwise.planning.proof import Proof, ProofError
from fanwise.wire.verify_facts import Question, access_rows, brokers_needed, forbidden
from fanwise.wire.verify_trees import sides_of_one_tree, spanning_trees

MAX_USERS, MAX_BROKERS = 20, 8
CHUNK = 1 << 12

Node = tuple[int, ...]


class Costs(NamedTuple):
    """Users in the order of the search, and what sets of brokers cost, by channel and bit mask.

    ``least`` is the least of any larger set that has as many brokers as the channel needs.
    """

    rates: Any
    wants: Any
    demand: Any
    access: Any
    priced: Any
    taken_off: float
    trees: Any
    least: Any


def least_leaf(question: Question, proof: Proof, prices: Any, taken_off: float) -> float:
    """Return what the cheapest leaf costs at least; infinite where nothing has room."""
    users, brokers = len(question.traffic.demand), len(question.room)
    if users > MAX_USERS or brokers > MAX_BROKERS:
        raise ProofError(f"no search takes {users} users and {brokers} brokers")
    order = _order(proof, users)
    marks = proof.table("tree", {"is_branched": "flag"}).column("is_branched").to_pylist()
    costs = _lay_out(question, order, prices, taken_off)
    found = np.inf
    leaves: list[list[Node]] = [[] for _ in range(users + 1)]
    may_take = ~forbidden(question.workload, order)
    for leaf in _walk(marks, costs.demand, question.room, may_take):
        alike = leaves[len(leaf)]
        alike.append(leaf)
        if len(alike) == CHUNK:
            found = min(found, _least(costs, alike))
            alike.clear()
    return min(found, *(_least(costs, alike) for alike in leaves if alike))


def _walk(marks: list[bool], demand: Any, room: Any, may_take: Any) -> Iterator[Node]:
    """Yield the leaves of a tree in preorder, as the brokers of those who are attached."""
    rows = iter(marks)
    nodes: list[tuple[Node, Any]] = [((), np.zeros(len(room)))]
    while nodes:
        node, load = nodes.pop()
        is_branched = next(rows, None) if len(node) < len(demand) else False
        if is_branched is None:
            raise ProofError("proof/tree.parquet has too few rows")
        if not is_branched:
            yield node
            continue
        heavier = load + np.diag(np.full(len(room), demand[len(node)]))
        fits = np.flatnonzero((heavier.diagonal() <= room) & may_take[len(node)])
        nodes += [((*node, b), heavier[b]) for b in fits[::-1].tolist()]
    if next(rows, None) is not None:
        raise ProofError("proof/tree.parquet has too many rows")


def _order(proof: Proof, users: int) -> Any:
    order = proof.table("order", {"subscriber": "id"}).column("subscriber").to_numpy()
    if len(order) != users or (np.sort(order) != np.arange(users)).any():
        raise ProofError("proof/order.parquet does not have every subscriber once")
    return order.astype(np.int64)


def _lay_out(question: Question, order: Any, prices: Any, taken_off: float) -> Costs:
    rates, wants, demand = (part[order] for part in question.traffic)
    access = access_rows(question.workload, order) * demand[:, None]
    priced = access + demand[:, None] * prices
    trees = _costs_of_sets(question)
    least = np.empty((len(trees), rates.shape[1]))
    sizes = np.array([mask.bit_count() for mask in range(len(trees))])
    for channel, needed in enumerate(brokers_needed(question)):
        least[:, channel] = np.where(sizes >= needed, trees, np.inf)
    for b in range(len(question.room)):
        without = np.flatnonzero(np.arange(len(trees)) >> b & 1 == 0)
        least[without] = np.minimum(least[without], least[without | 1 << b])
    return Costs(rates, wants, demand, access, priced, taken_off, trees, least)


def _costs_of_sets(question: Question) -> Any:
    """Return what the tree over each set of brokers costs, by bit mask."""
    count = len(question.room)
    masks = np.arange(1 << count)
    is_member = (masks[:, None] >> np.arange(count) & 1).astype(bool)
    if question.is_tree:
        low, high, beyond = sides_of_one_tree(question.numbers)
        is_used = is_member @ beyond.T & is_member @ ~beyond.T  # wanted on both sides
        return is_used @ question.costs[low, high]
    joined, ends = spanning_trees(is_member, question.numbers)
    is_link = ends >= 0
    return np.where(is_link, question.costs[joined, ends], 0.0).sum(axis=1)


def _least(costs: Costs, leaves: list[Node]) -> float:
    """Return the least bound of leaves in which as many are attached."""
    users, depth = len(costs.demand), len(leaves[0])
    chosen = np.array(leaves, dtype=np.int64).reshape(len(leaves), depth)
    channels = np.arange(costs.rates.shape[1])
    masks = np.zeros((len(chosen), len(channels)), dtype=np.int64)
    for user in range(depth):
        masks |= np.where(costs.wants[user], 1 << chosen[:, user, None], 0)
    plain, priced = (np.full((len(chosen), users), np.inf) for _ in range(2))
    for b in range(costs.access.shape[1]):
        spanned = masks | 1 << b
        trees = costs.least[spanned, channels] if depth < users else costs.trees[spanned]
        sent = trees @ costs.rates.T
        sent[:, :depth][chosen != b] = np.inf
        np.minimum(plain, sent + costs.access[:, b], out=plain)
        np.minimum(priced, sent + costs.priced[:, b], out=priced)
    bounds = np.maximum(plain.sum(axis=1), priced.sum(axis=1) - costs.taken_off)
    return float(bounds.min())
