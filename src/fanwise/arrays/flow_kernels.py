"""Maximum flow from groups of alike subscribers to brokers with room for so many each.

Dinic's algorithm on the bipartite graph itself: the flow is a count on each allowed pair, and what
is left of a group, and the room left at a broker, stand for the edges of source and sink.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.arrays.jit import kernel

BoolArray = npt.NDArray[np.bool_]


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
def pour(
    indptr: LongArray, indices: IntArray, left: LongArray, room: LongArray, flow: LongArray
) -> None:
    """Give what is left of each group to its brokers with most room: where the search starts.

    Changes ``left``, ``room`` and ``flow``.
    """
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
def measure_distances(
    indptr: LongArray,
    indices: IntArray,
    starts: LongArray,
    groups: IntArray,
    room: LongArray,
    flow: LongArray,
    group_distance: IntArray,
    broker_distance: IntArray,
    queue: IntArray,
) -> None:
    """Count the moves from each broker, and each group's nearest broker, to one with room.

    A move takes members of a group from a broker to another one. -1: there is no way. Changes
    ``group_distance``, ``broker_distance`` and ``queue``.
    """
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
def push_group(
    source: int,
    indptr: LongArray,
    indices: IntArray,
    starts: LongArray,
    groups: IntArray,
    edges: LongArray,
    left: LongArray,
    room: LongArray,
    flow: LongArray,
    group_distance: IntArray,
    broker_distance: IntArray,
    group_next: LongArray,
    broker_next: LongArray,
    taken: LongArray,
    given: LongArray,
) -> None:
    """Send what is left of one group along shortest ways; edges found useless are not tried again.

    ``taken`` and ``given`` hold the way: the edge by which each group on it gets to a broker, and
    the edge by which the next group leaves that broker. Changes ``left``, ``room``, ``flow``,
    ``group_next``, ``broker_next``, ``taken`` and ``given``.
    """
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
def run_dinic(
    indptr: LongArray,
    indices: IntArray,
    starts: LongArray,
    groups: IntArray,
    edges: LongArray,
    left: LongArray,
    room: LongArray,
    flow: LongArray,
) -> None:
    """Make the flow a maximum one, starting from what it is; ``left`` and ``room`` follow it.

    Changes ``left``, ``room`` and ``flow``.
    """
    num_groups, num_brokers = len(left), len(room)
    group_distance = np.empty(num_groups, dtype=np.int32)
    broker_distance = np.empty(num_brokers, dtype=np.int32)
    queue = np.empty(num_brokers, dtype=np.int32)
    taken = np.empty(num_brokers + 1, dtype=np.int64)
    given = np.empty(num_brokers + 1, dtype=np.int64)
    pour(indptr, indices, left, room, flow)
    while True:
        measure_distances(
            indptr, indices, starts, groups, room, flow, group_distance, broker_distance, queue
        )
        group_next = indptr[:-1].copy()
        broker_next = starts[:-1].copy()
        tried = False
        for group in range(num_groups):
            if left[group] > 0 and group_distance[group] >= 0:
                tried = True
                push_group(
                    group, indptr, indices, starts, groups, edges, left, room, flow,
                    group_distance, broker_distance, group_next, broker_next, taken, given,
                )  # fmt: skip
        if not tried:
            return


@kernel
def find_bottleneck(
    indptr: LongArray,
    indices: IntArray,
    starts: LongArray,
    groups: IntArray,
    edges: LongArray,
    left: LongArray,
    flow: LongArray,
) -> tuple[BoolArray, BoolArray]:
    """Return the groups and brokers that moves from groups with something left can reach.

    Under a maximum flow those brokers are full with members of those groups, who have nowhere else
    to go: the smallest of the minimum cuts. Changes nothing.
    """
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
