"""Plain-Python twin of an overlay's measures: dictionaries, queues and the definitions."""

from __future__ import annotations

from collections import deque


def sub_overlay(interests, edges, topic):
    """Neighbours of each node that wants the topic, among those that do."""
    neighbours = {v: set() for v, topics in enumerate(interests) if topic in topics}
    for u, v in edges:
        if u in neighbours and v in neighbours:
            neighbours[u].add(v)
            neighbours[v].add(u)
    return neighbours


def distances(neighbours, source):
    """Hops to every node in reach."""
    hops = {source: 0}
    queue = deque([source])
    while queue:
        node = queue.popleft()
        for other in neighbours[node]:
            if other not in hops:
                hops[other] = hops[node] + 1
                queue.append(other)
    return hops


def pieces(neighbours):
    """Connected components as sets."""
    left, found = set(neighbours), []
    while left:
        piece = set(distances(neighbours, min(left)))
        found.append(piece)
        left -= piece
    return found


def all_hops(neighbours, sources=None):
    """Hops of every ordered pair in reach of each other, from some sources or all."""
    return [
        hops
        for source in (neighbours if sources is None else sources)
        for other, hops in distances(neighbours, source).items()
        if other != source
    ]


def is_forest(links):
    """Whether links make no loop."""
    label = {}
    for u, v in links:
        one, other = label.setdefault(u, u), label.setdefault(v, v)
        if one == other:
            return False
        for node, name in label.items():
            if name == other:
                label[node] = one
    return True
