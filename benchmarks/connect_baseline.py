"""GPA and GPM as one writes them with NetworkX, frozen: what connect is compared with.

Topic components are found by NetworkX on the sub-overlay of each topic that a new link touches;
every step looks at all absent pairs.
"""

from __future__ import annotations

from itertools import combinations

import networkx as nx


class Overlay:
    def __init__(self, subscriptions: list[list[int]]) -> None:
        self.graph = nx.Graph()
        self.graph.add_nodes_from(range(len(subscriptions)))
        self.topics = [set(topics) for topics in subscriptions]
        self.members: dict[int, list[int]] = {}
        for node, topics in enumerate(subscriptions):
            for topic in topics:
                self.members.setdefault(topic, []).append(node)
        self.component = {(t, v): v for t, nodes in self.members.items() for v in nodes}

    def contribution(self, u: int, v: int) -> int:
        common = self.topics[u] & self.topics[v]
        return sum(self.component[t, u] != self.component[t, v] for t in common)

    def add(self, u: int, v: int) -> None:
        self.graph.add_edge(u, v)
        for topic in self.topics[u] & self.topics[v]:
            of_topic = self.graph.subgraph(self.members[topic])
            for nodes in nx.connected_components(of_topic):
                first = min(nodes)
                for node in nodes:
                    self.component[topic, node] = first

    def best(self, candidates) -> tuple[tuple[int, int] | None, int]:
        best, most = None, -1
        for u, v in candidates:
            value = self.contribution(u, v)
            if value > most:
                best, most = (u, v), value
        return best, most


def gpa(subscriptions: list[list[int]], max_edges: int) -> list[tuple[int, int]]:
    overlay = Overlay(subscriptions)
    edges: list[tuple[int, int]] = []
    while len(edges) < max_edges:
        pairs = combinations(overlay.graph, 2)
        best, value = overlay.best(p for p in pairs if not overlay.graph.has_edge(*p))
        if best is None or value == 0:
            break
        overlay.add(*best)
        edges.append(best)
    return edges


def gpm(subscriptions: list[list[int]], max_edges: int) -> list[tuple[int, int]]:
    """The first links of GPM, whatever the degree."""
    overlay = Overlay(subscriptions)
    edges: list[tuple[int, int]] = []
    while len(edges) < max_edges:
        degree = dict(overlay.graph.degree)
        largest = max(degree.values())
        absent = [p for p in combinations(overlay.graph, 2) if not overlay.graph.has_edge(*p)]
        low = [p for p in absent if degree[p[0]] < largest and degree[p[1]] < largest]
        best, _ = overlay.best(low or absent)
        overlay.add(*best)
        edges.append(best)
    return edges
