"""Plain-Python twin of an offload network: sets, and the definitions."""

from __future__ import annotations

from itertools import combinations, product


def components(nodes, links):
    """Connected pieces of some nodes as frozensets."""
    pieces = [frozenset([node]) for node in nodes]
    for u, v in links:
        (one,) = [piece for piece in pieces if u in piece]
        (other,) = [piece for piece in pieces if v in piece]
        if one != other:
            pieces = [piece for piece in pieces if piece not in (one, other)] + [one | other]
    return set(pieces)


def wanting(interests, topic):
    return {node for node, topics in interests.items() if topic in topics}


def pieces_of(interests, links, topic):
    """Components of a topic in a plan: those who want it, joined by links between them."""
    nodes = wanting(interests, topic)
    return components(nodes, [(u, v) for u, v in links if u in nodes and v in nodes])


def find_fault(interests, links, bridges):
    """Say what is wrong with the topics of bridges, None if every topic has trees that span it.

    ``interests`` is topics by node, ``links`` the plan's pairs of nodes, ``bridges`` topics by
    (node, other).
    """
    known = {frozenset(link) for link in links}
    seen = [frozenset(ends) for ends in bridges]
    if len(seen) != len(set(seen)):
        return "two bridges for one link"
    for ends in bridges:
        if frozenset(ends) not in known:
            return f"{ends} is no link of the plan"
    for topic in {topic for topics in interests.values() for topic in topics}:
        carrying = [ends for ends, topics in bridges.items() if topic in topics]
        nodes = wanting(interests, topic)
        if any(node not in nodes for ends in carrying for node in ends):
            return f"{topic} goes to somebody who does not want it"
        if len({frozenset(ends) for ends in carrying}) != len(carrying):
            return f"{topic} is twice on a link"
        found = components(nodes, carrying)
        if len(carrying) != len(nodes) - len(found):
            return f"{topic} has a loop"
        if found != pieces_of(interests, links, topic):
            return f"{topic} does not reach everybody it could"
    return None


def receivers(interests, links, topic, node):
    """Who must get a message of a topic that is published at a node: its whole piece."""
    (piece,) = [piece for piece in pieces_of(interests, links, topic) if node in piece]
    return piece


def fewest_restarts(before, after, staying):
    """Try every choice of ends for the bridges of ``after``; return the fewest restarts.

    ``before`` is topics by (node, other): what each broker is configured with. ``after`` is topics
    by link. A broker that stays restarts if the bridges at it are not what they were.
    """
    links = sorted(tuple(sorted(link)) for link in after)
    nodes = {node for ends in [*before, *links] for node in ends}
    best = None
    for ends in product((0, 1), repeat=len(links)):
        chosen = {}
        for link, end in zip(links, ends, strict=True):
            chosen[link[end], link[1 - end]] = set(after[frozenset(link)])
        restarts = 0
        for node in nodes & set(staying):
            old = {key: set(topics) for key, topics in before.items() if key[0] == node}
            new = {key: topics for key, topics in chosen.items() if key[0] == node}
            restarts += old != new
        best = restarts if best is None else min(best, restarts)
    return 0 if best is None else best


def least_cover(links):
    """Return the size of a smallest vertex cover, by trying all sets from the smallest on."""
    nodes = sorted({node for link in links for node in link})
    for size in range(len(nodes) + 1):
        for some in combinations(nodes, size):
            if all(u in some or v in some for u, v in links):
                return size
    raise AssertionError
