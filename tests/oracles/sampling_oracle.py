"""A breadth-first sample of a follow graph, in plain Python on names."""

from __future__ import annotations

import hashlib
from collections import deque


def sample(pairs, nodes, *, seed=0, starts=(), num_starts=1, along="both"):
    """Visit users of (follower, followee) pairs; return them in order, and the pairs among them."""
    neighbours: dict[str, set[str]] = {}
    for follower, followee in pairs:
        neighbours.setdefault(follower, set())
        neighbours.setdefault(followee, set())
        if along in ("both", "followings"):
            neighbours[follower].add(followee)
        if along in ("both", "followers"):
            neighbours[followee].add(follower)

    waiting = sorted(
        neighbours, key=lambda name: hashlib.sha256(f"{seed}:{name}".encode()).hexdigest()
    )
    visited: dict[str, None] = {}
    queue: deque[str] = deque()

    def visit(name):
        if name not in visited and len(visited) < nodes:
            visited[name] = None
            queue.append(name)

    for name in list(starts) or waiting[:num_starts]:
        visit(name)
    started = len(visited)
    while len(visited) < min(nodes, len(neighbours)):
        if queue:
            for name in sorted(neighbours[queue.popleft()]):
                visit(name)
            continue
        for name in [name for name in waiting if name not in visited][:started]:
            visit(name)
        started = started + len(queue)
    inside = {pair for pair in pairs if pair[0] in visited and pair[1] in visited}
    return list(visited), inside, started
