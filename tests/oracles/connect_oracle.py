"""Plain-Python twin of connect: sets, dictionaries and the definitions, nothing clever.

``subscriptions`` lists the topics of each node. Edges are pairs (u, v) with u < v. ``weight`` maps
a topic to what it counts, ``length`` a pair to what it costs; both default to the paper's case.
"""

from __future__ import annotations

import math
from itertools import combinations


def pairs(num_nodes):
    return list(combinations(range(num_nodes), 2))


def components(subscriptions, edges, topic):
    """Count the components of a topic's sub-overlay by flooding."""
    members = {v for v, topics in enumerate(subscriptions) if topic in topics}
    neighbours = {v: set() for v in members}
    for u, v in edges:
        if u in members and v in members:
            neighbours[u].add(v)
            neighbours[v].add(u)
    count = 0
    while members:
        count += 1
        reached = [members.pop()]
        while reached:
            for other in neighbours[reached.pop()]:
                if other in members:
                    members.discard(other)
                    reached.append(other)
    return count


def mu(subscriptions, edges, weight=None):
    """Components without links less components with them, over all topics."""
    total = 0
    for topic in sorted({t for topics in subscriptions for t in topics}):
        gone = components(subscriptions, [], topic) - components(subscriptions, edges, topic)
        total += gone * (1 if weight is None else weight[topic])
    return total


def mu_complete(subscriptions, weight=None):
    return mu(subscriptions, pairs(len(subscriptions)), weight)


class Overlay:
    """An overlay that grows: a label per (topic, node) says which component it is in."""

    def __init__(self, subscriptions, weight=None):
        self.subscriptions = [sorted(topics) for topics in subscriptions]
        self.weight = weight
        self.labels = {(t, v): v for v, topics in enumerate(subscriptions) for t in topics}
        self.edges = []
        self.degree = [0] * len(subscriptions)

    def contribution(self, u, v):
        total = 0
        for topic in self.subscriptions[u]:
            if topic in self.subscriptions[v] and self.labels[topic, u] != self.labels[topic, v]:
                total += 1 if self.weight is None else self.weight[topic]
        return total

    def add(self, u, v):
        for topic in self.subscriptions[u]:
            if topic in self.subscriptions[v]:
                one, other = self.labels[topic, u], self.labels[topic, v]
                for key, label in self.labels.items():
                    if key[0] == topic and label == other:
                        self.labels[key] = one
        self.edges.append((u, v))
        self.degree[u] += 1
        self.degree[v] += 1

    def is_complete(self):
        seen = {}
        return all(seen.setdefault(t, label) == label for (t, _), label in self.labels.items())


def _ratio(gain, cost):
    if cost is None or gain == 0:
        return gain
    return gain / cost if cost > 0 else math.inf


def _pick(overlay, candidates, length):
    """Return the candidate of largest contribution (per cost), the smallest pair of equals."""
    best, best_value = None, -1
    for u, v in candidates:
        value = _ratio(overlay.contribution(u, v), None if length is None else length[u, v])
        if value > best_value:
            best, best_value = (u, v), value
    return best, best_value


class Limits:
    """What an overlay may not exceed; None for what is not limited."""

    def __init__(self, degrees=None, edges=None, cost=None):
        self.degrees, self.edges, self.cost = degrees, edges, cost

    def allows(self, overlay, pair, length, spent):
        if self.degrees is not None and any(overlay.degree[v] >= self.degrees[v] for v in pair):
            return False
        return self.cost is None or spent + length[pair] <= self.cost * (1 + 5e-10)

    def is_full(self, overlay):
        return self.edges is not None and len(overlay.edges) >= self.edges


def greedy(subscriptions, limits=None, weight=None, length=None):
    """GPA with an edge limit, GM without: the best pair again and again, while it adds anything."""
    limits = limits or Limits()
    overlay, spent = Overlay(subscriptions, weight), 0.0
    while not limits.is_full(overlay):
        candidates = [
            pair
            for pair in pairs(len(subscriptions))
            if pair not in overlay.edges and limits.allows(overlay, pair, length, spent)
        ]
        pair, value = _pick(overlay, candidates, length)
        if pair is None or value == 0:
            break
        spent += length[pair] if length is not None else 0.0
        overlay.add(*pair)
    return overlay.edges


def phases(subscriptions, limits=None, weight=None, length=None):
    """GPM with degree limits, MinMaxODA without: pairs that keep the largest degree lowest."""
    limits = limits or Limits()
    overlay, spent = Overlay(subscriptions, weight), 0.0
    while not overlay.is_complete() and not limits.is_full(overlay):
        allowed = [
            pair
            for pair in pairs(len(subscriptions))
            if pair not in overlay.edges and limits.allows(overlay, pair, length, spent)
        ]
        if not allowed:
            break
        largest = max(overlay.degree)
        after = {p: max(largest, *(overlay.degree[v] + 1 for v in p)) for p in allowed}
        candidates = [p for p in allowed if after[p] == min(after.values())]
        pair, _ = _pick(overlay, candidates, length)
        spent += length[pair] if length is not None else 0.0
        overlay.add(*pair)
    return overlay.edges


def optimum(subscriptions, limits, weight=None, length=None):
    """Return the largest mu of any edge set within the limits, by trying all; few pairs only."""
    useful = [p for p in pairs(len(subscriptions)) if Overlay(subscriptions).contribution(*p)]
    best = 0
    most = len(useful) if limits.edges is None else min(limits.edges, len(useful))
    for size in range(most + 1):
        for edges in combinations(useful, size):
            degree = [sum(v in edge for edge in edges) for v in range(len(subscriptions))]
            if limits.degrees is not None and any(
                have > most_of for have, most_of in zip(degree, limits.degrees, strict=True)
            ):
                continue
            if limits.cost is not None and sum(length[e] for e in edges) > limits.cost * (
                1 + 5e-10
            ):
                continue
            best = max(best, mu(subscriptions, edges, weight))
    return best
