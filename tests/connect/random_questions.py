"""Random tiny questions with odd features, each with its true optimum by trying every overlay."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from tests.oracles import connect_oracle

import fanwise as fw
from fanwise.workload.topic import TopicWorkload

MOST_PAIRS = 15
RATES = (1.0, 1.0, 2.0, 3.0, 7.0, 0.25, 0.1, 1 / 3, 1e-6, 1e6)


def draw_question(rng: random.Random) -> tuple[fw.Connection, Callable[[fw.Connection], float]]:
    """Return a question, and what gives the optimum of it or of one with other budgets."""
    workload = _draw_workload(rng)
    question: dict[str, Any] = {"topic_weight": rng.choice(("one", "one", "rate"))}
    if workload.positions is not None and rng.random() < 0.7:
        question["link_cost"] = "distance"
        if rng.random() < 0.7:
            question["max_link_cost"] = rng.choice((0.0, 1.0, 2.0, 3.5, 6.0, 5**0.5, 11.0))
    kind = rng.randrange(6)
    if kind == 0:
        question["budget_ratio"] = rng.choice((0.0, 0.2, 0.29, 0.5, 0.75, 1.0, 1.5))
    if kind in (1, 2):
        question["max_edges"] = rng.randrange(0, 10)
    if kind == 3:
        question["avg_degree"] = rng.choice((0.0, 0.5, 1.0, 1.7, 2.0, 3.0))
    if kind in (2, 3, 4):
        has_column = workload.max_degree is not None and rng.random() < 0.7
        question["max_degree"] = "column" if has_column else rng.randrange(0, 4)
    return fw.Connection(workload, **question), optimum


def _draw_workload(rng: random.Random) -> TopicWorkload:
    num_nodes, num_topics = rng.choice((0, 1, 2, 3, 4, 5, 5, 6, 6, 7, 8)), rng.randrange(0, 8)
    while True:
        chance = rng.choice((0.2, 0.5, 0.8, 1.0))
        interests = [
            [topic for topic in range(num_topics) if rng.random() < chance]
            for _ in range(num_nodes)
        ]
        if interests and rng.random() < 0.3:  # the same again: ties
            interests[-1] = list(interests[0])
        if len(_sharing(interests)) <= MOST_PAIRS:
            break
    pairs = [(v, topic) for v, topics in enumerate(interests) for topic in topics]
    places = [[float(rng.randrange(4)), rng.choice((0.0, 1.0, 1.0, 2.5))] for _ in interests]
    limits = [rng.choice((0, 1, 1, 2, 3, 9)) for _ in interests]
    return TopicWorkload.from_arrays(
        [rng.choice(RATES) for _ in range(num_topics)],
        np.array([v for v, _ in pairs], dtype=np.int32),
        np.array([topic for _, topic in pairs], dtype=np.int32),
        num_subscribers=num_nodes,
        max_degree=limits if rng.random() < 0.5 else None,
        positions=np.array(places).reshape(num_nodes, 2) if rng.random() < 0.5 else None,
    )


def _sharing(interests: list[list[int]]) -> list[tuple[int, int]]:
    pairs = combinations(range(len(interests)), 2)
    return [(u, v) for u, v in pairs if set(interests[u]) & set(interests[v])]


def optimum(problem: fw.Connection) -> float:
    """Return the largest mu within the budgets, by trying all sets of links that share a topic."""
    workload = problem.workload
    indptr, indices = (array.tolist() for array in workload.interests)
    interests = [indices[a:b] for a, b in pairwise(indptr)]
    weighted = problem.topic_weight == "rate"
    weight = [float(rate) if weighted else 1.0 for rate in workload.rates]
    length = None
    if problem.link_cost is not None:
        places = workload.positions.tolist()
        ends = combinations(range(len(places)), 2)
        length = {(u, v): math.dist(places[u], places[v]) for u, v in ends}
    degrees, links = _limits(problem, interests, weight if weighted else None, length)
    money = math.inf
    if problem.max_link_cost is not None:
        money = problem.max_link_cost * (1 + 1e-9)
    pairs = _sharing(interests)
    common = [sorted(set(interests[u]) & set(interests[v])) for u, v in pairs]
    everything = math.fsum(
        weight[topic] * max(0, sum(topic in topics for topics in interests) - 1)
        for topic in range(len(weight))
    )
    best = 0.0

    def extend(start, value, label, spare, left, rest):
        nonlocal best
        best = max(best, value)
        if left <= 0 or best >= everything:
            return
        for k in range(start, len(pairs)):
            u, v = pairs[k]
            cost = 0.0 if length is None else length[u, v]
            if spare[u] <= 0 or spare[v] <= 0 or cost > rest:
                continue
            joined, gain = dict(label), 0.0
            for topic in common[k]:
                old, new = joined[topic][v], joined[topic][u]
                if old != new:
                    gain += weight[topic]
                    joined[topic] = [new if one == old else one for one in joined[topic]]
            if gain == 0.0:
                continue  # the others are worth as much without it
            fewer = list(spare)
            fewer[u] -= 1
            fewer[v] -= 1
            extend(k + 1, value + gain, joined, fewer, left - 1, rest - cost)

    label = {topic: list(range(len(interests))) for topic in range(len(weight))}
    extend(0, 0.0, label, degrees, links, money)
    return best


def _limits(problem, interests, weight, length) -> tuple[list[int], int]:
    """Return most links of each node and in all; a ratio by growing the complete overlay anew."""
    num_nodes = len(interests)
    degree, links = problem.max_degree, problem.max_edges
    if problem.avg_degree is not None:
        links = math.floor(Fraction(repr(problem.avg_degree)) * num_nodes / 2)
    if problem.budget_ratio is not None:
        edges = connect_oracle.phases(interests, weight=weight, length=length)
        ratio = Fraction(repr(problem.budget_ratio))
        if problem.budget_of == "edges":
            links = math.floor(ratio * len(edges))
        else:
            counts = [sum(v in edge for edge in edges) for v in range(num_nodes)]
            degree = math.floor(ratio * max(counts, default=0))
    every = num_nodes * num_nodes
    if degree == "column":
        degrees = problem.workload.max_degree.tolist()
    else:
        degrees = [every if degree is None else degree] * num_nodes
    return degrees, every if links is None else links
