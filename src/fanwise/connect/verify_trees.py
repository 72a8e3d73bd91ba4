"""Certificates of shares on trees, in plain NumPy: every topic has a spanning tree of its own.

Links in their order give each topic a forest, and what stays apart is joined to its largest
component (of equals, to that with the smallest node). ``levels`` has a row for each join, topic
after topic: first those by links, in their order, then the others by their components' smallest
nodes. Its share is level / 255. Joins of a topic taken by rising share: when two parts meet, that
is the largest share on the way between all nodes of the one and all of the other.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fanwise.connect.verify_components import Ints, common_topics, slots_of
from fanwise.planning.proof import Proof, ProofError

if TYPE_CHECKING:
    from fanwise.connect.verify_proof import Floats, Prices, Question
    from fanwise.workload.topic import TopicWorkload

LEVELS = 255
MOST_SUMS = 1 << 25
"""Entries of a table of sums."""
MOST_PAIRS = 4_000_000_000
"""Pairs of followers above which nobody waits for the end of a check."""


def bound_by_trees(
    workload: TopicWorkload,
    question: Question,
    prices: Prices,
    proof: Proof,
    u: Ints,
    v: Ints,
) -> float:
    """Bound mu by what joins leave to their topics, and what links can pay for the rest."""
    topics = slots_of(workload)[1]
    followers = np.bincount(topics, minlength=workload.num_topics)
    if (followers * (followers - 1) // 2).sum() > MOST_PAIRS:
        raise ProofError("it prices too many pairs of followers to look at")
    level = proof.table("levels", {"level": "id"}).column("level").to_numpy().astype(np.int64)
    sizes = np.maximum(followers - 1, 0)
    if len(level) != sizes.sum():
        raise ProofError(f"proof/levels.parquet must have {sizes.sum()} rows, a join each")
    if len(level) and (level.min() < 0 or level.max() > LEVELS):
        raise ProofError(f"proof/levels.parquet: a level is not between 0 and {LEVELS}")
    share = level / LEVELS
    bound = math.fsum(np.repeat(question.weight, sizes) * (1 - share))
    bound += math.fsum(prices.node * question.limits) + prices.link * question.max_edges
    if prices.cost:
        bound += prices.cost * question.max_cost
    joins = _joins(workload, u, v)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return bound + _surplus(workload, question, prices, joins, share, starts)


def _joins(workload: TopicWorkload, u: Ints, v: Ints) -> list[list[tuple[int, int]]]:
    """Return the joins of every topic in order, as pairs of nodes."""
    nodes, topics = slots_of(workload)
    order = np.argsort(topics, kind="stable")
    ends = np.cumsum(np.bincount(topics, minlength=workload.num_topics))
    followers = [part.tolist() for part in np.split(nodes[order], ends[:-1])] if len(ends) else []
    links: list[list[tuple[int, int]]] = [[] for _ in followers]
    for _, one, other in common_topics(workload, nodes, topics, u, v):
        for topic, a, b in zip(
            topics[one].tolist(), nodes[one].tolist(), nodes[other].tolist(), strict=True
        ):
            links[topic].append((a, b))
    return [_join(part, pairs) for part, pairs in zip(followers, links, strict=True)]


def _join(nodes: list[int], pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the joins of one topic: of its links those that join, then a star."""
    parts = {node: [node] for node in nodes}
    joins = []
    for a, b in pairs:
        one, other = parts[a], parts[b]
        if one is not other:
            joins.append((a, b))
            _merge(parts, one, other)
    apart = {id(part): part for part in parts.values()}
    ranked = sorted((min(part), len(part)) for part in apart.values())
    if ranked:
        centre = max(ranked, key=lambda part: (part[1], -part[0]))[0]
        joins += [(centre, node) for node, _ in ranked if node != centre]
    return joins


def _merge(parts: dict[int, list[int]], one: list[int], other: list[int]) -> None:
    small, large = (one, other) if len(one) < len(other) else (other, one)
    large += small
    for node in small:
        parts[node] = large


def _surplus(
    workload: TopicWorkload,
    question: Question,
    prices: Prices,
    joins: list[list[tuple[int, int]]],
    share: Floats,
    starts: Ints,
) -> float:
    """Add up, over all pairs of nodes, what their priced gain is above their prices."""
    num_nodes, total = workload.num_subscribers, 0.0
    step = max(1, MOST_SUMS // max(num_nodes, 1))
    for low in range(0, num_nodes, step):
        high = min(low + step, num_nodes)
        gain = np.zeros((high - low, num_nodes))
        for topic, pairs in enumerate(joins):
            of_joins = share[starts[topic] : starts[topic + 1]]
            if of_joins.any():
                _add_gains(gain, low, high, pairs, of_joins, float(question.weight[topic]))
        for node in range(low, high):
            rest = gain[node - low, node + 1 :] - prices.node[node] - prices.node[node + 1 :]
            rest -= prices.link
            if prices.cost and workload.positions is not None:
                apart = workload.positions[node] - workload.positions[node + 1 :]
                rest -= prices.cost * np.sqrt((apart**2).sum(axis=1))
            total += float(np.maximum(rest, 0.0).sum())
    return total


def _add_gains(
    gain: Floats,
    low: int,
    high: int,
    pairs: list[tuple[int, int]],
    share: npt.NDArray[np.float64],
    weight: float,
) -> None:
    """Add the weight of a topic times the largest share on the way between any two of its nodes."""
    parts = {node: [node] for pair in pairs for node in pair}
    for join in np.argsort(share, kind="stable").tolist():
        a, b = pairs[join]
        one, other = parts[a], parts[b]
        worth = weight * share[join]
        if worth > 0:
            for rows, columns in ((one, other), (other, one)):
                within = [node - low for node in rows if low <= node < high]
                if within:
                    gain[np.ix_(within, columns)] += worth
        _merge(parts, one, other)
