"""The leaves of a search over attachments, for checking certificates: plain NumPy, level by level.

At the root nobody is attached. A node is either branched on the next user of the order, with a
child for each broker that has room for it, or it is a leaf. So the leaves cover every attachment
that keeps the capacities, whatever the table says of which node is branched. A leaf where all are
attached costs what it costs. Any other costs at least: access of those attached, the cheapest
access of the others, with prices or without, and for every message the cheapest tree over brokers
that include those it is known to go to, and at least as many as its channel's subscribers fill.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fanwise.planning.proof import Proof, ProofError
from fanwise.wire.verify_facts import Question, access_rows, brokers_needed
from fanwise.wire.verify_trees import sides_of_one_tree, spanning_trees

MAX_USERS, MAX_BROKERS = 20, 8
CHUNK = 1 << 12


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
    is_branched = proof.table("nodes", {"is_branched": "flag"}).column("is_branched").to_numpy()
    costs = _lay_out(question, order, prices, taken_off)
    chosen, load = np.zeros((1, 0), dtype=np.int64), np.zeros((1, brokers))
    found, at = np.inf, 0
    for depth in range(users):
        marks = is_branched[at : at + len(chosen)]
        if len(marks) < len(chosen):
            raise ProofError("proof/nodes.parquet has too few rows")
        at += len(marks)
        found = min(found, _least(costs, chosen[~marks]))
        chosen, load = _branch(costs.demand[depth], question.room, chosen[marks], load[marks])
    if at < len(is_branched):
        raise ProofError("proof/nodes.parquet has too many rows")
    return min(found, _least(costs, chosen))


def _order(proof: Proof, users: int) -> Any:
    order = proof.table("order", {"subscriber": "id"}).column("subscriber").to_numpy()
    if len(order) != users or (np.sort(order) != np.arange(users)).any():
        raise ProofError("proof/order.parquet does not have every subscriber once")
    return order.astype(np.int64)


def _branch(demand: float, room: Any, chosen: Any, load: Any) -> tuple[Any, Any]:
    """Attach the next user to each broker with room for it."""
    node, broker = np.nonzero(load + demand <= room)
    heavier = load[node]
    heavier[np.arange(len(node)), broker] += demand
    return np.column_stack([chosen[node], broker]), heavier


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


def _least(costs: Costs, chosen: Any) -> float:
    """Return the least bound of nodes, given the brokers of those who are attached in each."""
    bounds = [
        _bound(costs, chosen[start : start + CHUNK]).min() for start in range(0, len(chosen), CHUNK)
    ]
    return float(min(bounds, default=np.inf))


def _bound(costs: Costs, chosen: Any) -> Any:
    users, depth = len(costs.demand), chosen.shape[1]
    attached = np.arange(depth)
    plain = costs.access[attached, chosen].sum(axis=1) + costs.access[depth:].min(axis=1).sum()
    priced = costs.priced[attached, chosen].sum(axis=1) + costs.priced[depth:].min(axis=1).sum()
    total = np.maximum(plain, priced - costs.taken_off) if depth < users else plain
    channels = np.arange(costs.rates.shape[1])
    masks = np.zeros((len(chosen), len(channels)), dtype=np.int64)
    for user in range(depth):
        masks |= np.where(costs.wants[user], 1 << chosen[:, user, None], 0)
    least = costs.least if depth < users else np.repeat(costs.trees[:, None], len(channels), axis=1)
    for user in range(depth):
        there = least[masks | 1 << chosen[:, user, None], channels]
        total = total + _times(costs.rates[user], there)
    return total + _times(costs.rates[depth:].sum(axis=0), least[masks, channels])


def _times(rates: Any, costs: Any) -> Any:
    """Sum what messages cost; where there are none, no tree is too dear."""
    return np.where(rates > 0, costs, 0.0) @ rates
