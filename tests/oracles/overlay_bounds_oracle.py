"""Overlays by definition, and the best of them by trying all: plain Python."""

from itertools import combinations
from math import dist, inf


def components(nodes, edges):
    """Count the components of a graph by flooding it."""
    unseen, count = set(nodes), 0
    while unseen:
        count += 1
        frontier = [unseen.pop()]
        while frontier:
            node = frontier.pop()
            for u, v in edges:
                for here, there in ((u, v), (v, u)):
                    if here == node and there in unseen:
                        unseen.discard(there)
                        frontier.append(there)
    return count


def mu(interests, edges, weight=None):
    """Components without links less components with links, over all topics, weighted."""
    total = 0
    for topic in {topic for topics in interests for topic in topics}:
        nodes = [node for node, topics in enumerate(interests) if topic in topics]
        inside = [(u, v) for u, v in edges if u in nodes and v in nodes]
        joined = len(nodes) - components(nodes, inside)
        total += joined * (1 if weight is None else weight[topic])
    return total


def is_within(edges, num_nodes, max_degree=None, max_edges=None, positions=None, max_cost=None):
    """Whether an overlay keeps its budgets; ``max_degree`` is a number or a list."""
    limits = max_degree if isinstance(max_degree, list) else [max_degree] * num_nodes
    degrees = [sum(node in edge for edge in edges) for node in range(num_nodes)]
    if any(limit is not None and degrees[v] > limit for v, limit in enumerate(limits)):
        return False
    if max_edges is not None and len(edges) > max_edges:
        return False
    if max_cost is None:
        return True
    return sum(dist(positions[u], positions[v]) for u, v in edges) <= max_cost * (1 + 1e-12)


def optimum(interests, *, weight=None, **budgets):
    """Return the largest mu of all overlays within the budgets; for at most six nodes."""
    best = -inf
    for edges in all_overlays(interests):
        if is_within(edges, len(interests), **budgets):
            best = max(best, mu(interests, edges, weight))
    return best


def fewest_edges(interests):
    """Return how many links connect every topic at least."""
    sharing = sharing_pairs(interests)
    everything = mu(interests, sharing)
    for size in range(len(sharing) + 1):
        if any(mu(interests, edges) == everything for edges in combinations(sharing, size)):
            return size
    raise AssertionError


def sharing_pairs(interests):
    """Return the pairs that both want some topic: other links are worth nothing."""
    pairs = combinations(range(len(interests)), 2)
    return [(u, v) for u, v in pairs if set(interests[u]) & set(interests[v])]


def all_overlays(interests):
    """Yield every set of links between nodes that share a topic."""
    pairs = sharing_pairs(interests)
    for size in range(len(pairs) + 1):
        yield from combinations(pairs, size)
