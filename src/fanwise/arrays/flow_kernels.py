"""Maximum flow from groups of alike subscribers to brokers with room for so many each.

Dinic's algorithm on the bipartite graph itself: the flow is a count on each allowed pair, and what
is left of a group, and the room left at a broker, stand for the edges of source and sink.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.arrays.jit import kernel

BoolArray = npt.NDArray[np.bool_]


class Graph(NamedTuple):
    """Who may be served where.

    Attributes
    ----------
    indptr, indices
        The brokers of each group.
    starts, groups, edges
        Of each broker the groups, and the positions of these edges in ``indices``.
    """

    indptr: LongArray
    indices: IntArray
    starts: LongArray
    groups: IntArray
    edges: LongArray


class Served(NamedTuple):
    """A flow: what is left of each group, room left at each broker, members on each edge."""

    left: LongArray
    room: LongArray
    flow: LongArray


class Search(NamedTuple):
    """What one round of Dinic's algorithm knows.

    Attributes
    ----------
    group_distance, broker_distance
        Moves to a broker with room; -1 where there is no way.
    group_next, broker_next
        The first edge that is not known to be useless.
    taken, given
        The way at hand: the edge by which each group on it gets to a broker, and the edge by which
        the next group leaves that broker.
    queue
        Brokers to look at.
    """

    group_distance: IntArray
    broker_distance: IntArray
    group_next: LongArray
    broker_next: LongArray
    taken: LongArray
    given: LongArray
    queue: IntArray


@kernel
def turn_edges(
    indptr: LongArray, indices: IntArray, num_brokers: int
) -> tuple[LongArray, IntArray, LongArray]:
    """Return where each broker's edges start, and of each the group and its position in the CSR.

    Changes nothing.
    """
    starts = np.zeros(num_brokers + 1, dtype=np.int64)
    for broker in indices:
        starts[broker + 1] += 1
    for broker in range(num_brokers):
        starts[broker + 1] += starts[broker]
    cursor = starts[:-1].copy()
    groups = np.empty(len(indices), dtype=np.int32)
    edges = np.empty(len(indices), dtype=np.int64)
    for group in range(len(indptr) - 1):
        for edge in range(indptr[group], indptr[group + 1]):
            slot = cursor[indices[edge]]
            groups[slot] = group
            edges[slot] = edge
            cursor[indices[edge]] += 1
    return starts, groups, edges


@kernel
def pour(graph: Graph, served: Served) -> None:
    """Give what is left of each group to its brokers with most room: where the search starts.

    Changes ``served``.
    """
    indptr, indices, (left, room, flow) = graph.indptr, graph.indices, served
    for group in range(len(left)):
        while left[group] > 0:
            best = -1
            for edge in range(indptr[group], indptr[group + 1]):
                if room[indices[edge]] > 0 and (
                    best < 0 or room[indices[edge]] > room[indices[best]]
                ):
                    best = edge
            if best < 0:
                break
            amount = min(left[group], room[indices[best]])
            flow[best] += amount
            left[group] -= amount
            room[indices[best]] -= amount


@kernel
def measure_distances(graph: Graph, served: Served, search: Search) -> None:
    """Count the moves from each broker, and each group's nearest broker, to one with room.

    A move takes members of a group from a broker to another one. Changes the distances and the
    queue of ``search``.
    """
    indptr, indices, starts, groups, _ = graph
    _, room, flow = served
    group_distance, broker_distance = search.group_distance, search.broker_distance
    queue = search.queue
    group_distance[:] = -1
    broker_distance[:] = -1
    tail = 0
    for broker in range(len(room)):
        if room[broker] > 0:
            broker_distance[broker] = 0
            queue[tail] = broker
            tail += 1
    head = 0
    while head < tail:
        broker = queue[head]
        head += 1
        for slot in range(starts[broker], starts[broker + 1]):
            group = groups[slot]
            if group_distance[group] >= 0:
                continue
            # Breadth first from the brokers with room: the first broker that reaches a group is its
            # nearest.
            group_distance[group] = broker_distance[broker]
            for edge in range(indptr[group], indptr[group + 1]):
                other = indices[edge]
                if flow[edge] > 0 and broker_distance[other] < 0:
                    broker_distance[other] = broker_distance[broker] + 1
                    queue[tail] = other
                    tail += 1


@kernel
def push_group(source: int, graph: Graph, served: Served, search: Search) -> None:
    """Send what is left of one group along shortest ways; edges found useless are not tried again.

    Changes ``served``, and all of ``search`` but distances and queue.
    """
    indptr, indices, starts, groups, edges = graph
    left, room, flow = served
    group_distance, broker_distance, group_next, broker_next, taken, given, _ = search
    # Depth first without recursion. ``taken[depth]`` is the edge into the broker at that depth;
    # full, it hands on members of another group by ``given[depth]``, one step nearer to a broker
    # with room. Cursors never go back during a phase: an edge passed over is used up, or leads
    # nowhere until distances are measured anew. That is what keeps a phase short.
    while left[source] > 0:
        depth = 0
        group = source
        while True:
            found = False
            while group_next[group] < indptr[group + 1]:
                broker = indices[group_next[group]]
                if broker_distance[broker] == group_distance[group]:
                    found = True
                    break
                group_next[group] += 1
            if not found:
                if depth == 0:
                    return
                # A dead end: the broker before must send on somebody else.
                depth -= 1
                broker = indices[taken[depth]]
                broker_next[broker] += 1
            else:
                taken[depth] = group_next[group]
                if broker_distance[broker] == 0 and room[broker] > 0:
                    break
            moved = False
            while broker_distance[broker] > 0 and broker_next[broker] < starts[broker + 1]:
                slot = broker_next[broker]
                other = groups[slot]
                if flow[edges[slot]] > 0 and group_distance[other] == broker_distance[broker] - 1:
                    given[depth] = edges[slot]
                    depth += 1
                    group = other
                    moved = True
                    break
                broker_next[broker] += 1
            if not moved:
                group = source if depth == 0 else group_at(given[depth - 1], indptr)
                group_next[group] += 1
        # As much as the room at the end and every hand-over on the way allow; then from the source
        # again.
        amount = min(left[source], room[broker])
        for level in range(depth):
            amount = min(amount, flow[given[level]])
        flow[taken[depth]] += amount
        for level in range(depth):
            flow[taken[level]] += amount
            flow[given[level]] -= amount
        left[source] -= amount
        room[broker] -= amount


@kernel
def group_at(edge: int, indptr: LongArray) -> int:
    """Return the group that an edge belongs to. Changes nothing."""
    return int(np.searchsorted(indptr, edge, side="right")) - 1


@kernel
def run_dinic(graph: Graph, served: Served) -> None:
    """Make the flow a maximum one, starting from what it is.

    Changes ``served``.
    """
    num_groups, num_brokers = len(served.left), len(served.room)
    search = Search(
        np.empty(num_groups, dtype=np.int32),
        np.empty(num_brokers, dtype=np.int32),
        np.empty(num_groups, dtype=np.int64),
        np.empty(num_brokers, dtype=np.int64),
        np.empty(num_brokers + 1, dtype=np.int64),
        np.empty(num_brokers + 1, dtype=np.int64),
        np.empty(num_brokers, dtype=np.int32),
    )
    pour(graph, served)
    while True:
        measure_distances(graph, served, search)
        search.group_next[:] = graph.indptr[:-1]
        search.broker_next[:] = graph.starts[:-1]
        tried = False
        for group in range(num_groups):
            if served.left[group] > 0 and search.group_distance[group] >= 0:
                tried = True
                push_group(group, graph, served, search)
        if not tried:
            return


@kernel
def find_bottleneck(graph: Graph, left: LongArray, flow: LongArray) -> tuple[BoolArray, BoolArray]:
    """Return the groups and brokers that moves from groups with something left can reach.

    Under a maximum flow those brokers are full with members of those groups, who have nowhere else
    to go: the smallest of the minimum cuts. Changes nothing.
    """
    indptr, indices, starts, groups, edges = graph
    num_groups, num_brokers = len(indptr) - 1, len(starts) - 1
    in_groups = left > 0
    in_brokers = np.zeros(num_brokers, dtype=np.bool_)
    queue = np.empty(num_brokers, dtype=np.int32)
    tail = 0
    for group in range(num_groups):
        if in_groups[group]:
            for edge in range(indptr[group], indptr[group + 1]):
                if not in_brokers[indices[edge]]:
                    in_brokers[indices[edge]] = True
                    queue[tail] = indices[edge]
                    tail += 1
    head = 0
    while head < tail:
        broker = queue[head]
        head += 1
        for slot in range(starts[broker], starts[broker + 1]):
            group = groups[slot]
            if flow[edges[slot]] > 0 and not in_groups[group]:
                in_groups[group] = True
                for edge in range(indptr[group], indptr[group + 1]):
                    if not in_brokers[indices[edge]]:
                        in_brokers[indices[edge]] = True
                        queue[tail] = indices[edge]
                        tail += 1
    return in_groups, in_brokers


@kernel
def hash_rows(indptr: LongArray, indices: IntArray) -> npt.NDArray[np.uint64]:
    """Hash each row of a CSR to 64 bits. Changes nothing."""
    prime = np.uint64(0x100000001B3)
    hashes = np.empty(len(indptr) - 1, dtype=np.uint64)
    for row in range(len(indptr) - 1):
        value = np.uint64(0xCBF29CE484222325)
        for i in range(indptr[row], indptr[row + 1]):
            value = (value ^ np.uint64(indices[i])) * prime
            value ^= value >> np.uint64(29)
        hashes[row] = value
    return hashes


@kernel
def rows_agree(indptr: LongArray, indices: IntArray, like: LongArray) -> bool:
    """Whether every row equals the row named for it. Changes nothing."""
    for row in range(len(indptr) - 1):
        other = like[row]
        length = indptr[row + 1] - indptr[row]
        if indptr[other + 1] - indptr[other] != length:
            return False
        for i in range(length):
            if indices[indptr[row] + i] != indices[indptr[other] + i]:
                return False
    return True


@kernel
def deal_members(
    group_of_member: LongArray, indptr: LongArray, indices: IntArray, flow: LongArray | IntArray
) -> IntArray:
    """Give each member a broker by its group's flow, ascending in both; -1 for who is left.

    Changes nothing.
    """
    remaining = flow.copy()
    cursor = indptr[:-1].copy()
    broker_of_member = np.full(len(group_of_member), -1, dtype=np.int32)
    for member in range(len(group_of_member)):
        group = group_of_member[member]
        while cursor[group] < indptr[group + 1] and remaining[cursor[group]] == 0:
            cursor[group] += 1
        if cursor[group] < indptr[group + 1]:
            broker_of_member[member] = indices[cursor[group]]
            remaining[cursor[group]] -= 1
    return broker_of_member
