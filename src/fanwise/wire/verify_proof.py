"""What the certificate of a wiring proves, from the workload alone: plain NumPy.

Four rules, told apart by the tables. Prices on brokers prove a bound on users at brokers, trees
included. With parts of the core for channels they prove one on bringing messages from user to user
(:mod:`fanwise.wire.verify_gathering`). With prices of others' load by the broker of a user they
prove one on pairs of users (:mod:`fanwise.wire.verify_pairs`). With a search tree they prove the
least of its leaves (:mod:`fanwise.wire.verify_leaves`). Whatever the tables hold, what they
prove is true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fanwise.planning.proof import Proof, ProofError
from fanwise.wire.verify_facts import (
    CHUNK,
    TOLERANCE,
    Question,
    access_rows,
    brokers_needed,
    capacities,
    core_costs,
    measure_traffic,
    wrong_parameter,
)
from fanwise.wire.verify_gathering import gathering_bound
from fanwise.wire.verify_leaves import MAX_BROKERS, MAX_USERS, least_leaf
from fanwise.wire.verify_pairs import pairs_bound
from fanwise.wire.verify_trees import first_links, link_order

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.content import ContentWorkload

RULES = {
    frozenset({"prices", "trees"}),
    frozenset({"prices", "trees", "gathering"}),
    frozenset({"prices", "ways", "pairs"}),
    frozenset({"prices", "order", "tree"}),
}
LARGEST_PRICE = 1e100
"""Above this sums would overflow; no bound needs such a price."""
MOST_ROUNDS = 1_000
"""Beyond it a check would take for ever, and prove no more."""
MOST_CASES = 100_000
"""Attachments up to which a search always fits into a certificate."""


def proven_bound(workload: ContentWorkload, plan: Plan) -> float:
    """Return the lower bound on C1 + C2 that the tables of a proof prove.

    Raises
    ------
    ProofError
        Where a table is malformed, or holds what proves nothing.
    """
    proof = plan.proof
    if proof is None:
        raise ProofError("there is no proof")
    if frozenset(proof.tables) not in RULES:
        raise ProofError(f"the tables {', '.join(sorted(proof.tables))} go by no rule")
    question = _pose(workload, plan)
    if not workload.num_brokers:
        return 0.0
    prices = _prices(proof, question)
    taken_off = float(np.dot(prices[prices > 0], question.room[prices > 0]))
    if "tree" in proof.tables:
        return max(0.0, least_leaf(question, proof, prices, taken_off))
    if "ways" in proof.tables:
        told = _ways(proof, question), _rounds(proof)
        return max(0.0, pairs_bound(question, prices, *told) - taken_off)
    trees = _trees_of_channels(proof, question)
    if "gathering" in proof.tables:
        parts = _parts(proof, trees.shape[1])
        return max(0.0, gathering_bound(question, prices, trees, parts) - taken_off)
    return max(0.0, _users_at_brokers(question, prices, trees) - taken_off)


def may_rest_on_solver(workload: ContentWorkload, plan: Plan) -> bool:
    """Whether the bound may come from a search that is too long to be kept as a certificate."""
    is_searched = plan.algorithm in ("best", "exact")
    users, brokers = workload.num_subscribers, workload.num_brokers
    is_small = users <= MAX_USERS and brokers <= MAX_BROKERS
    return bool(is_searched and is_small and brokers**users > MOST_CASES)


def _pose(workload: ContentWorkload, plan: Plan) -> Question:
    wrong = wrong_parameter(plan)
    if wrong is not None:
        raise ProofError(wrong)
    costs, _ = core_costs(workload, plan.parameters["core_factor"])
    return Question(
        workload,
        measure_traffic(workload),
        costs,
        link_order(costs),
        capacities(workload, plan.parameters["capacity_factor"]) * (1 + TOLERANCE),
        plan.parameters["topology"] == "tree",
    )


def read_ids(proof: Proof, table: str, column: str, count: int) -> Any:
    """Return a column of ids below ``count``."""
    values = proof.table(table, {column: "id"}).column(column).to_numpy()
    if len(values) and not (values.min() >= 0 and values.max() < count):
        raise ProofError(f"proof/{table}.parquet: column {column!r} is not below {count}")
    return values.astype(np.int64)


def read_numbers(proof: Proof, table: str, column: str, most: float = np.inf) -> Any:
    """Return a column of finite numbers from 0 to ``most``."""
    values = proof.table(table, {column: "number"}).column(column).to_numpy().astype(np.float64)
    if not (np.isfinite(values) & (values >= 0) & (values <= most)).all():
        raise ProofError(f"proof/{table}.parquet: column {column!r} has a number out of range")
    return values


def _prices(proof: Proof, question: Question) -> Any:
    """Return the price of a unit of load at each broker; 0 where none is given."""
    count = len(question.room)
    brokers = read_ids(proof, "prices", "broker", count)
    if len(np.unique(brokers)) != len(brokers):
        raise ProofError("proof/prices.parquet: a broker stands twice")
    prices = np.zeros(count)
    prices[brokers] = read_numbers(proof, "prices", "price", LARGEST_PRICE)
    if not np.isfinite(question.room[prices > 0]).all():
        raise ProofError("proof/prices.parquet: a broker without a limit has a price")
    return prices


def _ways(proof: Proof, question: Question) -> Any:
    """Return prices of others' load at each broker, by the broker of a user."""
    count = len(question.room)
    roots, brokers = (read_ids(proof, "ways", of, count) for of in ("root", "broker"))
    if len(np.unique(roots * count + brokers)) != len(roots):
        raise ProofError("proof/ways.parquet: a broker stands twice")
    ways = np.zeros((count, count))
    ways[roots, brokers] = read_numbers(proof, "ways", "price", LARGEST_PRICE)
    if not np.isfinite(question.room[ways.any(axis=0)]).all():
        raise ProofError("proof/ways.parquet: a broker without a limit has a price")
    return ways


def _rounds(proof: Proof) -> int:
    """Return how often users pass on what they cost."""
    rounds = read_ids(proof, "pairs", "rounds", MOST_ROUNDS + 1)
    if len(rounds) != 1:
        raise ProofError(f"proof/pairs.parquet has {len(rounds)} rows, not 1")
    return int(rounds[0])


def _parts(proof: Proof, num_channels: int) -> Any:
    """Return the part of the core by which each channel is gathered; 1 where none is given."""
    channels = read_ids(proof, "gathering", "channel", num_channels)
    if len(np.unique(channels)) != len(channels):
        raise ProofError("proof/gathering.parquet: a channel stands twice")
    parts = np.ones(num_channels)
    parts[channels] = read_numbers(proof, "gathering", "part", 1.0)
    return parts


def _trees_of_channels(proof: Proof, question: Question) -> Any:
    """Return by broker and channel what a tree from there costs at least.

    It spans as many brokers as the channel needs. Without a radius, that is what the cheapest links
    cost that close no cycle. With a radius U it is at least min(U, cost of those near enough).
    """
    count = len(question.room)
    brokers = read_ids(proof, "trees", "broker", count)
    sizes = read_ids(proof, "trees", "brokers", count + 1)
    radii = read_numbers(proof, "trees", "radius")
    needed = brokers_needed(question)
    of_size = np.zeros((count, count + 1))
    asked = np.unique(needed)
    nowhere = np.zeros(len(asked), dtype=np.int64)
    unlimited = np.full(len(asked), np.inf)
    of_size[:, asked] = first_links(
        question.costs, question.numbers, nowhere, unlimited, asked
    )[None, :]  # fmt: skip
    for start in range(0, len(brokers), CHUNK):
        rows = slice(start, start + CHUNK)
        found = first_links(
            question.costs, question.numbers, brokers[rows], radii[rows], sizes[rows]
        )
        np.maximum.at(of_size, (brokers[rows], sizes[rows]), np.minimum(found, radii[rows]))
    return of_size[:, needed]


def _users_at_brokers(question: Question, prices: Any, trees: Any) -> float:
    """Return what all users cost at least, each at the broker where that is least.

    A user costs its traffic times access and price, and trees for what it publishes.
    """
    rates, _, demand = question.traffic
    total = 0.0
    for start in range(0, len(demand), CHUNK):
        rows = slice(start, start + CHUNK)
        costs = access_rows(question.workload, rows) + prices
        costs *= demand[rows, None]
        if trees.any():
            costs += rates[rows] @ trees.T
        total += float(costs.min(axis=1).sum())
    return total
