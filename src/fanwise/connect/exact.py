"""The optimum by branch and bound, for a few dozen pairs of nodes that share a topic.

Without any budget, the optimum connects every topic with the fewest links: overlays with one link
less are sought until there is none.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.connect.bounds import upper_bound
from fanwise.connect.branching import IN, NUM_BRANCHED, Pairs, plant_tree, search_tree
from fanwise.connect.improving.completion import complete_greedily
from fanwise.connect.improving.ground import budget_of, lay_ground
from fanwise.connect.network import as_edges
from fanwise.connect.problem import Connection, edge_table
from fanwise.errors import ParameterError
from fanwise.planning.problem import Outcome, Run

MAX_PAIRS = 36
NODES_PER_CALL = 20_000
ALMOST = 4e-12


class Answer(NamedTuple):
    """The best overlay found, and whether no better one exists."""

    edges: IntArray
    is_proven: bool
    num_branched: int


def solve(problem: Connection, run: Run) -> Outcome:
    """Solve to optimality, or to the time limit."""
    pairs = list_pairs(problem)
    if len(pairs.cost) > MAX_PAIRS:
        raise ParameterError(
            "algorithm",
            f"'best' above {MAX_PAIRS} pairs that share a topic (here {len(pairs.cost)} or more)",
            "exact",
        )
    with run.progress.step("branch and bound"):
        answer = search(problem, run, pairs)
    value = problem.value(answer.edges)
    bound = value if answer.is_proven else upper_bound(problem, answer.edges)
    return Outcome(
        {"edges": edge_table(answer.edges)},
        bound=bound,
        metrics={"branched": answer.num_branched, "proven": answer.is_proven},
    )


def count_pairs(problem: Connection, most: int) -> int:
    """Count pairs of nodes that share a topic; stop above ``most``."""
    network = problem.network
    found: set[tuple[int, int]] = set()
    for topic in range(network.num_topics):
        nodes = network.nodes[network.topic_indptr[topic] : network.topic_indptr[topic + 1]]
        if len(nodes) * (len(nodes) - 1) // 2 > most:
            return most + 1
        found.update(combinations(nodes.tolist(), 2))
        if len(found) > most:
            return len(found)
    return len(found)


def list_pairs(problem: Connection) -> Pairs:
    """Return the pairs of nodes that share a topic; topics wanted by the same nodes are one."""
    num_pairs = count_pairs(problem, MAX_PAIRS)
    if num_pairs > MAX_PAIRS:
        empty = np.empty(0, dtype=np.int32)
        return Pairs(
            np.empty((num_pairs, 2), dtype=np.int32), np.empty(num_pairs),
            np.zeros(num_pairs + 1, dtype=np.int64), empty, empty, np.empty(0),
        )  # fmt: skip
    network = problem.network
    weight_of: dict[tuple[int, ...], float] = defaultdict(float)
    for topic in range(network.num_topics):
        nodes = network.nodes[network.topic_indptr[topic] : network.topic_indptr[topic + 1]]
        if len(nodes) > 1:
            weight_of[tuple(nodes.tolist())] += float(network.weight[topic])
    joins: dict[tuple[int, int], list[tuple[int, int, float]]] = defaultdict(list)
    base = 0
    for group, weight in sorted(weight_of.items()):
        for i, j in combinations(range(len(group)), 2):
            joins[group[i], group[j]].append((base + i, base + j, weight))
        base += len(group)
    ends = sorted(joins)
    flat = [join for pair in ends for join in joins[pair]]
    edges = as_edges(ends)
    return Pairs(
        edges,
        problem.network.costs(edges),
        np.cumsum([0, *(len(joins[pair]) for pair in ends)], dtype=np.int64),
        np.array([one for one, _, _ in flat], dtype=np.int32),
        np.array([other for _, other, _ in flat], dtype=np.int32),
        np.array([weight for _, _, weight in flat], dtype=np.float64),
    )


def search(problem: Connection, run: Run, pairs: Pairs, patience: int | None = None) -> Answer:
    """Search all overlays of the pairs, until done, out of time, or after so many branchings."""
    ground, budget = lay_ground(problem), budget_of(problem)
    edges = complete_greedily(ground, budget)
    everything = problem.network.complete_value
    best = _branch(problem, run, pairs, edges, problem.value(edges), budget.max_edges, patience)
    is_complete = problem.value(best.edges) >= everything * (1 - ALMOST)
    num_branched = best.num_branched
    while is_complete and best.is_proven and len(best.edges) > 0:
        almost = everything * (1 - ALMOST)
        fewer = _branch(problem, run, pairs, best.edges, almost, len(best.edges) - 1, patience)
        num_branched += fewer.num_branched
        is_smaller = len(fewer.edges) < len(best.edges)
        best = Answer(fewer.edges, True, num_branched)  # mu is proven already
        if not is_smaller:
            break
    return best._replace(num_branched=num_branched)


def _branch(
    problem: Connection,
    run: Run,
    pairs: Pairs,
    edges: IntArray,
    value: float,
    max_edges: int,
    patience: int | None,
) -> Answer:
    """Look for an overlay worth more than ``value``; without one, return ``edges``."""
    tree = plant_tree(len(pairs.cost), int(pairs.other.max(initial=-1)) + 1, value)
    limits = np.array(problem.network.degree_limit, dtype=np.int32)
    max_cost = budget_of(problem).max_cost
    while True:
        is_proven = search_tree(pairs, tree, limits, max_edges, max_cost, NODES_PER_CALL)
        num_branched = int(tree.counters[NUM_BRANCHED])
        is_tired = patience is not None and num_branched >= patience
        if is_proven or is_tired or run.is_over():
            break
    if tree.best_value[1] > 0:
        edges = np.ascontiguousarray(pairs.ends[tree.best == IN])
    return Answer(edges, is_proven, num_branched)
