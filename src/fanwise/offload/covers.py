"""Small vertex covers: which brokers to restart so that every new link has an end among them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import NamedTuple

MAX_NODES = 100
"""Larger pieces of a graph are covered greedily."""
MAX_STEPS = 20_000
"""Branches looked at in each piece until the exact search gives up."""
Neighbours = dict[int, set[int]]


class Cover(NamedTuple):
    """Nodes that have an end of every link, and whether fewer are impossible."""

    nodes: frozenset[int]
    is_least: bool


def cover_links(links: Iterable[tuple[int, int]]) -> Cover:
    """Return a small vertex cover, the least where a search of bounded length finds it.

    Piece by piece by branch and bound: a node with most links is taken, or all its neighbours are;
    nodes with one link never are taken before their neighbour. Where that takes more than
    ``MAX_STEPS`` branches, the best cover found so far is kept, and pieces of more than
    ``MAX_NODES`` nodes are covered greedily: a node with most uncovered links is taken again and
    again, which may be ln(degree) times too many.
    """
    neighbours: Neighbours = {}
    for u, v in links:
        neighbours.setdefault(u, set()).add(v)
        neighbours.setdefault(v, set()).add(u)
    nodes: set[int] = set()
    is_least = True
    for piece in _pieces(neighbours):
        if len(piece) > MAX_NODES:
            nodes |= _cover_greedily({node: set(neighbours[node]) for node in piece})
            is_least = False
            continue
        search = _Search()
        search.branch({node: set(neighbours[node]) for node in sorted(piece)}, frozenset())
        nodes |= search.best or frozenset()
        is_least &= search.steps <= MAX_STEPS
    return Cover(frozenset(nodes), is_least)


class _Search:
    def __init__(self) -> None:
        self.best: frozenset[int] | None = None
        self.steps = 0

    def branch(self, left: Neighbours, taken: frozenset[int]) -> None:
        """Depth first, greedy choice first: the first leaf is the greedy cover."""
        self.steps += 1
        if self.best is not None and self.steps > MAX_STEPS:
            return
        left, taken = _take_leaves(left, taken)
        if self.best is not None and len(taken) + _least_more(left) >= len(self.best):
            return
        if not left:
            self.best = taken
            return
        node = max(left, key=lambda one: (len(left[one]), -one))
        self.branch(_without(left, {node}), taken | {node})
        self.branch(_without(left, left[node]), taken | left[node])


def _cover_greedily(left: Neighbours) -> set[int]:
    """O(links · log nodes): degrees only fall, so that a stale one is put back when it comes up."""
    waiting = [(-len(others), node) for node, others in left.items()]
    heapq.heapify(waiting)
    taken = set()
    while waiting:
        degree, node = heapq.heappop(waiting)
        if -degree != len(left[node]):
            heapq.heappush(waiting, (-len(left[node]), node))
        elif degree:
            taken.add(node)
            for other in left[node]:
                left[other].discard(node)
            left[node] = set()
    return taken


def _take_leaves(left: Neighbours, taken: frozenset[int]) -> tuple[Neighbours, frozenset[int]]:
    """Take the neighbour of every node with one link: no cover is smaller for another choice."""
    while True:
        leaf = next((node for node in left if len(left[node]) == 1), None)
        if leaf is None:
            return left, taken
        (other,) = left[leaf]
        left, taken = _without(left, {other}), taken | {other}


def _without(left: Neighbours, gone: Iterable[int]) -> Neighbours:
    """Return what is left without some nodes, and without those that have no link any more."""
    gone = set(gone)
    rest = {node: others - gone for node, others in left.items() if node not in gone}
    return {node: others for node, others in rest.items() if others}


def _least_more(left: Mapping[int, set[int]]) -> int:
    """Return how many nodes any cover needs: no node covers more than the largest degree."""
    if not left:
        return 0
    degrees = [len(others) for others in left.values()]
    return -(-sum(degrees) // (2 * max(degrees)))


def _pieces(neighbours: Neighbours) -> list[set[int]]:
    waiting, pieces = dict.fromkeys(sorted(neighbours)), []
    while waiting:
        piece: set[int] = set()
        near = {next(iter(waiting))}
        while near:
            piece |= near
            near = set().union(*(neighbours[node] for node in near)) - piece
        for node in piece:
            del waiting[node]
        pieces.append(piece)
    return pieces
