"""A decentralised protocol: nodes with partial views, rounds of gossip, links by proposal.

The paper leaves protocols with local knowledge to future work; this is one. A node knows its own
interests, its neighbours, and ``view`` other nodes with their interests, half of them by chance and
half because a link to them would be worth most. In every round

1. *labels*: each node tells its neighbours, for every topic that both want, the smallest node it
   has heard of over links inside the topic. Two nodes with different labels are, as far as they
   know, in different components;
2. *views*: each node swaps half of its chance acquaintances with the one it has not heard of for
   longest (a Cyclon shuffle) and looks through that one's friends for better ones of its own;
3. *links*: each node proposes a link to the one in view with whom it has most topics of different
   labels. An end without links to spare gives up the link over which it hears least, and both
   agree if the new link joins more than the old ones carry.

Labels are a round old per hop, so some links are made that join nothing; they are what ends give up
first. It stops after ``rounds`` rounds, or when nothing has changed for a while.

Guarantee
    None but the budgets. Nothing is global but the clock, the number of links and their cost.

Complexity
    O(interests of those in view), per node and round.

References
----------
    Views: S. Voulgaris, D. Gavidia, M. van Steen: CYCLON: inexpensive membership management for
    unstructured P2P overlays. Journal of Network and Systems Management 13(2), 2005. The protocol
    is our own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.connect.arrays import Network, as_edges
from fanwise.connect.gossip_kernels import (
    NUM_DRAWS,
    NUM_MADE,
    NUM_MESSAGES,
    Peers,
    act_in_turn,
    spread_labels,
)
from fanwise.connect.kernels import NOBODY
from fanwise.connect.problem import Connection, edge_table
from fanwise.planning.problem import Outcome, Run

VIEW, ROUNDS = 20, 40
"""Where the settings say nothing."""
SETTLING = 4
"""Rounds that a link is kept in any case: labels need time to spread."""
QUIET = 6
"""Rounds without a change after which it stops."""


@dataclass(frozen=True)
class Round:
    """The overlay after a round, and the messages sent until then."""

    number: int
    edges: IntArray
    num_messages: int


def solve(problem: Connection, run: Run) -> Outcome:
    """Let nodes gossip, and return the overlay they end with."""
    problem.require_budget("gossip")
    view = int(run.settings.get("view", VIEW))
    rounds = int(run.settings.get("rounds", ROUNDS))
    run.default_limits(rounds=rounds)
    last = Round(0, as_edges([]), 0)
    with run.progress.step("rounds of gossip", total=rounds) as step:
        for last in gossip(problem, run.random(), view=view, rounds=rounds):
            step.advance()
            step.note(f"{len(last.edges):,} links")
    return Outcome(
        {"edges": edge_table(last.edges)},
        metrics={
            "rounds": last.number,
            "messages": last.num_messages,
            "messages_per_node": last.num_messages / max(1, problem.network.num_nodes),
        },
        stopped="work" if last.number >= rounds else "exhausted",
    )


def support_by_view_and_rounds(
    problem: Connection, views: Sequence[int], rounds: Sequence[int], *, seed: int = 0
) -> list[dict[str, Any]]:
    """Return support against view size and number of rounds, one run per view size.

    A protocol that stopped early keeps its last overlay for the rounds it did not need.
    """
    whole = problem.network.complete_value
    rows = []
    for view in views:
        history = list(
            gossip(problem, np.random.default_rng(seed), view=view, rounds=max(rounds, default=0))
        )
        for wanted in rounds:
            reached = [now for now in history if now.number <= wanted]
            edges = reached[-1].edges if reached else as_edges([])
            rows.append(
                {
                    "view": view,
                    "rounds": wanted,
                    "support": problem.value(edges) / whole if whole else 1.0,
                    "edges": len(edges),
                    "messages": reached[-1].num_messages if reached else 0,
                }
            )
    return rows


def gossip(
    problem: Connection, rng: np.random.Generator, *, view: int, rounds: int
) -> Iterator[Round]:
    """Yield the state after each round."""
    network, budget = problem.network, problem.budget
    peers = _meet(network, rng, view)
    num_nodes, quiet = len(peers.degree), 0
    made_before = [0] * SETTLING
    for number in range(1, rounds + 1):
        spread_labels(network, peers)
        order = rng.permutation(num_nodes).astype(np.int32)
        draws = rng.random((num_nodes, NUM_DRAWS))
        # Links made in the last rounds may not be given up: labels have not spread over them yet.
        changed = act_in_turn(network, budget, peers, order, draws, made_before[-SETTLING])
        made_before.append(int(peers.counters[NUM_MADE]))
        yield Round(number, _edges_of(peers), int(peers.counters[NUM_MESSAGES]))
        quiet = 0 if changed else quiet + 1
        if quiet >= QUIET:
            return


def _meet(network: Network, rng: np.random.Generator, view: int) -> Peers:
    """Return nodes that each know a few others at random."""
    num_nodes = network.num_nodes
    by_chance = (view + 1) // 2
    strangers = np.full((num_nodes, by_chance), NOBODY, dtype=np.int32)
    if num_nodes > 1:
        # A step of at least 1 around the ring of nodes: nobody draws itself.
        steps = rng.integers(1, num_nodes, size=strangers.shape)
        drawn = (np.arange(num_nodes)[:, None] + steps) % num_nodes
        drawn.sort(axis=1)
        is_repeated = np.zeros(drawn.shape, dtype=bool)
        is_repeated[:, 1:] = drawn[:, 1:] == drawn[:, :-1]
        strangers[:] = np.where(is_repeated, NOBODY, drawn)
    most = int(min(network.degree_limit.max(initial=0), max(num_nodes - 1, 0)))
    return Peers(
        strangers,
        np.zeros(strangers.shape, dtype=np.int32),
        np.full((num_nodes, view - by_chance), NOBODY, dtype=np.int32),
        np.full((num_nodes, most), NOBODY, dtype=np.int32),
        np.zeros((num_nodes, most), dtype=np.int64),
        np.zeros(num_nodes, dtype=np.int32),
        network.nodes.copy(),
        np.zeros(network.num_slots, dtype=np.int32),
        np.full(network.num_slots, NOBODY, dtype=np.int32),
        np.zeros(num_nodes),
        np.zeros(3, dtype=np.int64),
        np.zeros(1),
    )


def _edges_of(peers: Peers) -> IntArray:
    """Return the links there are, in the order they were made."""
    nodes, ranks = np.nonzero(np.arange(peers.neighbours.shape[1]) < peers.degree[:, None])
    others = peers.neighbours[nodes, ranks]
    is_once = nodes < others
    order = np.argsort(peers.serial[nodes, ranks][is_once], kind="stable")
    return as_edges(np.column_stack([nodes, others])[is_once][order])
