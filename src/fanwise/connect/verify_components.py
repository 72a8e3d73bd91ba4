"""Components of topics under an overlay, in plain NumPy: what checks and certificates share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from fanwise.workload.topic import TopicWorkload

CHUNK = 1 << 20
Ints = npt.NDArray[np.int64]


def slots_of(workload: TopicWorkload) -> tuple[Ints, Ints]:
    """Return node and topic of every pair of interest, node by node."""
    sizes = np.diff(workload.interests.indptr)
    nodes = np.repeat(np.arange(workload.num_subscribers, dtype=np.int64), sizes)
    return nodes, workload.interests.indices.astype(np.int64)


def component_roots(workload: TopicWorkload, u: Ints, v: Ints) -> Ints:
    """Return, per pair of interest, the first one of the same component of the same topic."""
    return join_in_order(workload, u, v)[0]


def join_in_order(workload: TopicWorkload, u: Ints, v: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Return the components of all links, and which links joined any when they were made.

    Those are the links of the spanning forests of topics that prefer earlier links, found for many
    links at a time by Boruvka's rule: every component takes the first link that leads out of it.
    """
    nodes, topics = slots_of(workload)
    root = np.arange(len(topics))
    is_useful = np.zeros(len(u), dtype=bool)
    for link, one, other in common_topics(workload, nodes, topics, u, v):
        while True:
            a, b = root[one], root[other]
            differ = a != b
            if not differ.any():
                break
            link, one, other, a, b = link[differ], one[differ], other[differ], a[differ], b[differ]
            first = np.full(len(root), len(u))
            np.minimum.at(first, a, link)
            np.minimum.at(first, b, link)
            taken = (first[a] == link) | (first[b] == link)
            is_useful[link[taken]] = True
            unite(root, one[taken], other[taken])
    return root, is_useful


def common_topics(
    workload: TopicWorkload, nodes: Ints, topics: Ints, u: Ints, v: Ints
) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yield, for blocks of links in order, each common topic: the link, and both ends' pairs."""
    indptr = workload.interests.indptr
    keys = nodes * max(workload.num_topics, 1) + topics
    sizes = np.diff(indptr)
    few = np.where(sizes[u] <= sizes[v], u, v)
    many = u + v - few
    offsets = np.concatenate([[0], np.cumsum(sizes[few])])
    for start, stop in cuts(offsets):
        length = sizes[few[start:stop]]
        within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
        one = np.repeat(indptr[few[start:stop]], length) + within
        wanted = np.repeat(many[start:stop], length) * max(workload.num_topics, 1) + topics[one]
        other = np.searchsorted(keys, wanted)
        other[other == len(keys)] = 0
        found = keys[other] == wanted if len(keys) else np.zeros(0, dtype=bool)
        link = np.repeat(np.arange(start, stop), length)
        yield link[found], one[found], other[found]


def cuts(offsets: Ints) -> Iterator[tuple[int, int]]:
    """Cut rows that start at ``offsets`` into blocks of about CHUNK entries."""
    start, end = 0, len(offsets) - 1
    while start < end:
        stop = int(np.searchsorted(offsets, offsets[start] + CHUNK, side="right")) - 1
        stop = min(max(stop, start + 1), end)
        yield start, stop
        start = stop


def unite(root: Ints, one: Ints, other: Ints) -> None:
    """Hook the larger of two roots onto the smaller, and flatten, until nothing changes."""
    while len(one):
        a, b = root[one], root[other]
        differ = a != b
        one, other, a, b = one[differ], other[differ], a[differ], b[differ]
        np.minimum.at(root, np.maximum(a, b), np.minimum(a, b))
        while True:
            flat = root[root]
            if np.array_equal(flat, root):
                break
            root[:] = flat
