"""Connect for the yardstick: samples of all data sets under small degrees.

A sample has some of the subscribers and all topics that two of them want. ``near`` follows common
topics from one subscriber on, so that those in it have much in common; ``random`` draws them from
all alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from benchmarks.public_data import topic_sources
from benchmarks.quality import Case
from fanwise.connect.problem import Connection
from fanwise.workload.topic import TopicWorkload

NODES = (1000, 5000)
DEGREES = (4, 8, 16)
KINDS = ("near", "random")
PER_TOPIC = 8
"""Followers of a topic that a subscriber leads to: hubs would be all there is otherwise."""


def cases(folders: tuple[Path, ...]) -> Iterator[Case]:
    for name, load in topic_sources(folders):
        for nodes in NODES:
            for kind in KINDS:
                for degree in DEGREES:
                    setting = f"{kind} {nodes}, degree {degree}"
                    yield Case(name, setting, partial(pose, load, nodes, kind, degree))


def pose(load, nodes: int, kind: str, degree: int) -> Connection:
    return Connection(_sample_once(load, nodes, kind), max_degree=degree)


@lru_cache(maxsize=1)
def _sample_once(load, nodes: int, kind: str) -> TopicWorkload:
    return sample(load(), nodes, kind)


def sample(workload: TopicWorkload, nodes: int, kind: str, seed: int = 0) -> TopicWorkload:
    """Return a workload of so many subscribers, of all where there are no more."""
    rng = np.random.default_rng(seed)
    if kind == "random":
        count = min(nodes, workload.num_subscribers)
        chosen = rng.choice(workload.num_subscribers, count, replace=False)
    else:
        chosen = visit(workload, nodes, rng)
    chosen = np.sort(chosen)
    indptr, topics = workload.interests
    wanted = [topics[indptr[node] : indptr[node + 1]] for node in chosen.tolist()]
    subscriber = np.repeat(np.arange(len(chosen)), [len(row) for row in wanted])
    topic = np.concatenate(wanted)
    shared = np.bincount(topic, minlength=workload.num_topics)[topic] > 1
    kept, topic = np.unique(topic[shared], return_inverse=True)
    return TopicWorkload.from_arrays(
        workload.rates[kept], subscriber[shared], topic, num_subscribers=len(chosen)
    )


def visit(workload: TopicWorkload, nodes: int, rng: np.random.Generator) -> np.ndarray:
    """Return subscribers in the order in which common topics lead to them, breadth first."""
    indptr, topics = workload.interests
    starts, followers = workload.followers
    order = rng.permutation(workload.num_subscribers).tolist()
    found: dict[int, None] = {}
    queue: list[int] = []
    is_done = np.zeros(workload.num_topics, dtype=bool)
    while len(found) < min(nodes, workload.num_subscribers):
        node = queue.pop(0) if queue else next(one for one in order if one not in found)
        found.setdefault(node)
        for topic in rng.permutation(topics[indptr[node] : indptr[node + 1]]).tolist():
            if is_done[topic]:
                continue
            is_done[topic] = True
            some = rng.permutation(followers[starts[topic] : starts[topic + 1]])[:PER_TOPIC]
            for other in some.tolist():
                if other not in found and len(found) < nodes:
                    found[other] = None
                    queue.append(other)
    return np.array(list(found))
