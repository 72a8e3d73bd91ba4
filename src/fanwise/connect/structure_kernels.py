"""Kernels that walk the sub-overlays of topics: hops, and trees that span them."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.arrays.jit import kernel


@kernel
def induce_topic(
    indptr: LongArray,
    neighbours: IntArray,
    members: IntArray,
    place_of: IntArray,
    starts: LongArray,
    inner: IntArray,
) -> int:
    """Write the links between members as a CSR over their places; return how many there are.

    ``place_of`` has an entry per node, all -1 before and after. ``starts`` needs one entry more
    than members, ``inner`` as many as members have links.
    """
    for place in range(len(members)):
        place_of[members[place]] = place
    filled = 0
    for place in range(len(members)):
        starts[place] = filled
        node = members[place]
        for i in range(indptr[node], indptr[node + 1]):
            other = place_of[neighbours[i]]
            if other >= 0:
                inner[filled] = other
                filled += 1
    starts[len(members)] = filled
    for place in range(len(members)):
        place_of[members[place]] = -1
    return filled // 2


@kernel
def walk_from(
    starts: LongArray, inner: IntArray, source: int, hops: IntArray, queue: IntArray
) -> int:
    """Write into ``hops`` how far each place is from a source, breadth first; -1: out of reach.

    Return how many places were reached, the source among them; they are the first of ``queue``, by
    distance.
    """
    hops[:] = -1
    hops[source] = 0
    queue[0] = source
    head, tail = 0, 1
    while head < tail:
        place = queue[head]
        head += 1
        for i in range(starts[place], starts[place + 1]):
            other = inner[i]
            if hops[other] < 0:
                hops[other] = hops[place] + 1
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
    """Walk the sub-overlay of each topic in ``wanted`` from sources given as places in its row.

    Return by topic its links, the sum of hops, the pairs (source, other) they are of, and the
    longest walk. Where only some places are sources, one more walk starts where the longest ended:
    it adds nothing to the sums, and finds the true diameter of a tree.
    """
    num_nodes = len(indptr) - 1
    most = 0
    for k in range(len(wanted)):
        most = max(most, topic_indptr[wanted[k] + 1] - topic_indptr[wanted[k]])
    place_of = np.full(num_nodes, -1, dtype=np.int32)
    starts = np.zeros(most + 1, dtype=np.int64)
    inner = np.empty(len(neighbours), dtype=np.int32)
    hops = np.empty(most, dtype=np.int32)
    queue = np.empty(most, dtype=np.int32)
    links = np.zeros(len(wanted), dtype=np.int64)
    total = np.zeros(len(wanted), dtype=np.int64)
    pairs = np.zeros(len(wanted), dtype=np.int64)
    longest = np.zeros(len(wanted), dtype=np.int64)
    for k in range(len(wanted)):
        members = nodes[topic_indptr[wanted[k]] : topic_indptr[wanted[k] + 1]]
        size = len(members)
        links[k] = induce_topic(indptr, neighbours, members, place_of, starts, inner)
        farthest = -1
        for s in range(source_indptr[k], source_indptr[k + 1]):
            reached = walk_from(starts, inner, sources[s], hops[:size], queue)
            for i in range(reached):
                total[k] += hops[queue[i]]
            pairs[k] += reached - 1
            if hops[queue[reached - 1]] > longest[k]:
                longest[k] = hops[queue[reached - 1]]
                farthest = queue[reached - 1]
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
    several: such trees are shallow. O(links of members, over topics).
    """
    num_nodes, num_topics = len(indptr) - 1, len(topic_indptr) - 1
    most = 0
    for t in range(num_topics):
        most = max(most, topic_indptr[t + 1] - topic_indptr[t])
    place_of = np.full(num_nodes, -1, dtype=np.int32)
    starts = np.zeros(most + 1, dtype=np.int64)
    inner = np.empty(len(neighbours), dtype=np.int32)
    queue = np.empty(most, dtype=np.int32)
    is_reached = np.empty(most, dtype=np.bool_)
    topic = np.empty(len(nodes), dtype=np.int32)
    nearer = np.empty(len(nodes), dtype=np.int32)
    farther = np.empty(len(nodes), dtype=np.int32)
    count = 0
    for t in range(num_topics):
        members = nodes[topic_indptr[t] : topic_indptr[t + 1]]
        if induce_topic(indptr, neighbours, members, place_of, starts, inner) == 0:
            continue
        size = len(members)
        is_reached[:size] = False
        inside = starts[1 : size + 1] - starts[:size]
        for root in np.argsort(-inside, kind="mergesort"):
            if is_reached[root]:
                continue
            is_reached[root] = True
            queue[0] = root
            head, tail = 0, 1
            while head < tail:
                place = queue[head]
                head += 1
                for i in range(starts[place], starts[place + 1]):
                    other = inner[i]
                    if not is_reached[other]:
                        is_reached[other] = True
                        queue[tail] = other
                        tail += 1
                        topic[count] = t
                        nearer[count] = members[place]
                        farther[count] = members[other]
                        count += 1
    return topic[:count], nearer[:count], farther[:count]


@kernel
def count_shared(indptr: LongArray, topics: IntArray, edges: IntArray) -> LongArray:
    """Count the topics that both ends of each link want."""
    shared = np.zeros(len(edges), dtype=np.int64)
    for k in range(len(edges)):
        i, i_end = indptr[edges[k, 0]], indptr[edges[k, 0] + 1]
        j, j_end = indptr[edges[k, 1]], indptr[edges[k, 1] + 1]
        while i < i_end and j < j_end:
            if topics[i] < topics[j]:
                i += 1
            elif topics[i] > topics[j]:
                j += 1
            else:
                shared[k] += 1
                i += 1
                j += 1
    return shared


@kernel
def find_main_roots(
    labels: IntArray, topics: IntArray, num_topics: int
) -> tuple[IntArray, LongArray, LongArray]:
    """Return of each topic the root of its largest component, its size, and how many there are.

    Of components of the same size the one with the smallest node counts as the largest; -1 for a
    topic that nobody wants.
    """
    size = np.zeros(len(labels), dtype=np.int32)
    for slot in range(len(labels)):
        size[labels[slot]] += 1
    main = np.full(num_topics, -1, dtype=np.int32)
    largest = np.zeros(num_topics, dtype=np.int64)
    components = np.zeros(num_topics, dtype=np.int64)
    for slot in range(len(labels)):
        if labels[slot] == slot:
            topic = topics[slot]
            components[topic] += 1
            if size[slot] > largest[topic]:
                largest[topic] = size[slot]
                main[topic] = slot
    return main, largest, components
