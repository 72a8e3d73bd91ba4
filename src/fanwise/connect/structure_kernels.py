"""Kernels that walk the sub-overlays of topics: hops, and trees that span them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.connect.kernels import NOBODY


class Inside(NamedTuple):
    """Room for the links between the members of a topic, one topic after the other.

    Attributes
    ----------
    rank_of
        The rank of each node among the members; -1 between two topics.
    starts, inner
        The links as a CSR over ranks.
    queue
        For walks over ranks.
    """

    rank_of: IntArray
    starts: LongArray
    inner: IntArray
    queue: IntArray


@kernel
def make_inside(
    indptr: LongArray, neighbours: IntArray, topic_indptr: LongArray, wanted: LongArray
) -> Inside:
    """Return room for the largest of some topics. Changes no array."""
    most = 0
    for topic in wanted:
        most = max(most, topic_indptr[topic + 1] - topic_indptr[topic])
    return Inside(
        np.full(len(indptr) - 1, -1, dtype=np.int32),
        np.zeros(most + 1, dtype=np.int64),
        np.empty(len(neighbours), dtype=np.int32),
        np.empty(most, dtype=np.int32),
    )


@kernel
def induce_topic(indptr: LongArray, neighbours: IntArray, members: IntArray, inside: Inside) -> int:
    """Write the links between members as a CSR over their ranks among them; return how many.

    Changes ``inside``.
    """
    rank_of, starts, inner, _ = inside
    for rank in range(len(members)):
        rank_of[members[rank]] = rank
    filled = 0
    for rank in range(len(members)):
        starts[rank] = filled
        node = members[rank]
        for i in range(indptr[node], indptr[node + 1]):
            other = rank_of[neighbours[i]]
            if other >= 0:
                inner[filled] = other
                filled += 1
    starts[len(members)] = filled
    for rank in range(len(members)):
        rank_of[members[rank]] = NOBODY
    return filled // 2


@kernel
def walk_from(
    starts: LongArray, inner: IntArray, source: int, hops: IntArray, queue: IntArray
) -> int:
    """Write into ``hops`` how far each member is from a source, breadth first; -1: out of reach.

    Return how many were reached, the source among them; they are the first of ``queue``, by
    distance. Changes ``hops`` and ``queue``.
    """
    hops[:] = -1
    hops[source] = 0
    queue[0] = source
    head, tail = 0, 1
    while head < tail:
        rank = queue[head]
        head += 1
        for i in range(starts[rank], starts[rank + 1]):
            other = inner[i]
            if hops[other] < 0:
                hops[other] = hops[rank] + 1
                queue[tail] = other
                tail += 1
    return tail


@kernel
def measure_hops(
    indptr: LongArray,
    neighbours: IntArray,
    topic_indptr: LongArray,
    nodes: IntArray,
    wanted: LongArray,
    source_indptr: LongArray,
    sources: IntArray,
) -> tuple[LongArray, LongArray, LongArray, LongArray]:
    """Walk the sub-overlay of each topic in ``wanted`` from sources given by rank.

    Return by topic its links, the sum of hops, the pairs (source, other) they are of, and the
    longest walk. Where only some members are sources, one more walk starts where the longest ended:
    it adds nothing to the sums, and finds the true diameter of a tree. Changes no array.
    """
    inside = make_inside(indptr, neighbours, topic_indptr, wanted)
    _, starts, inner, queue = inside
    hops = np.empty(len(queue), dtype=np.int32)
    links = np.zeros(len(wanted), dtype=np.int64)
    total = np.zeros(len(wanted), dtype=np.int64)
    pairs = np.zeros(len(wanted), dtype=np.int64)
    longest = np.zeros(len(wanted), dtype=np.int64)
    for k in range(len(wanted)):
        members = nodes[topic_indptr[wanted[k]] : topic_indptr[wanted[k] + 1]]
        size = len(members)
        links[k] = induce_topic(indptr, neighbours, members, inside)
        farthest = -1
        for s in range(source_indptr[k], source_indptr[k + 1]):
            reached = walk_from(starts, inner, sources[s], hops[:size], queue)
            for i in range(reached):
                total[k] += hops[queue[i]]
            pairs[k] += reached - 1
            if hops[queue[reached - 1]] > longest[k]:
                longest[k] = hops[queue[reached - 1]]
                farthest = queue[reached - 1]
        # The farthest member from anywhere is an end of a longest path in a tree; elsewhere, a
        # lower bound.
        if farthest >= 0 and source_indptr[k + 1] - source_indptr[k] < size:
            reached = walk_from(starts, inner, farthest, hops[:size], queue)
            longest[k] = max(longest[k], hops[queue[reached - 1]])
    return links, total, pairs, longest


@kernel
def span_topics(
    indptr: LongArray, neighbours: IntArray, topic_indptr: LongArray, nodes: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the links of breadth-first trees of every topic as (topic, nearer end, farther end).

    In each component the tree starts at the member with most links inside the topic, the first of
    several: such trees are shallow. O(links of members, over topics). Changes no array.
    """
    num_topics = len(topic_indptr) - 1
    inside = make_inside(indptr, neighbours, topic_indptr, np.arange(num_topics))
    _, starts, inner, queue = inside
    is_reached = np.empty(len(queue), dtype=np.bool_)
    topic = np.empty(len(nodes), dtype=np.int32)
    nearer = np.empty(len(nodes), dtype=np.int32)
    farther = np.empty(len(nodes), dtype=np.int32)
    count = 0
    for t in range(num_topics):
        members = nodes[topic_indptr[t] : topic_indptr[t + 1]]
        if induce_topic(indptr, neighbours, members, inside) == 0:
            continue
        size = len(members)
        is_reached[:size] = False
        num_links = starts[1 : size + 1] - starts[:size]
        for root in np.argsort(-num_links, kind="mergesort"):
            if is_reached[root]:
                continue
            is_reached[root] = True
            queue[0] = root
            head, tail = 0, 1
            while head < tail:
                rank = queue[head]
                head += 1
                for i in range(starts[rank], starts[rank + 1]):
                    other = inner[i]
                    if not is_reached[other]:
                        is_reached[other] = True
                        queue[tail] = other
                        tail += 1
                        topic[count] = t
                        nearer[count] = members[rank]
                        farther[count] = members[other]
                        count += 1
    return topic[:count], nearer[:count], farther[:count]


@kernel
def find_main_labels(
    label: IntArray, size: IntArray, topic_indptr: LongArray
) -> tuple[IntArray, LongArray]:
    """Return of each topic the label of its largest component, and how many nodes that has.

    Of components of the same size the one with the smallest node counts as the largest; ``NOBODY``
    for a topic that nobody wants. Changes no array.
    """
    num_topics = len(topic_indptr) - 1
    main = np.full(num_topics, NOBODY, dtype=np.int32)
    largest = np.zeros(num_topics, dtype=np.int64)
    for topic in range(num_topics):
        for slot in range(topic_indptr[topic], topic_indptr[topic + 1]):
            if size[label[slot]] > largest[topic]:
                largest[topic] = size[label[slot]]
                main[topic] = label[slot]
    return main, largest
