"""Links of a live overlay made, taken away and taken back.

:mod:`fanwise.connect.improving.state` tells what is kept of an overlay.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.arrays.jit import kernel
from fanwise.connect.improving.components import join, split
from fanwise.connect.improving.ground import Ground, cost_of
from fanwise.connect.improving.state import (
    COST,
    FIRST_FREE,
    FREE_EDGES,
    FREE_RECORDS,
    LOG_LENGTH,
    LOGGED,
    NOTHING,
    NUM_EDGES,
    VALUE,
    Live,
)


def make_live(ground: Ground, edges: IntArray, *, spare_edges: int, spare_records: int) -> Live:
    """Return the state after linking ``edges``, with room for more links and slot links."""
    records = count_common(ground, edges) + spare_records
    links = len(edges) + spare_edges
    num_slots, num_nodes = len(ground.nodes), len(ground.indptr) - 1
    longest = int(np.diff(ground.topic_indptr).max(initial=0)) + 1
    counters = np.zeros(7, dtype=np.int64)
    counters[FREE_RECORDS], counters[FREE_EDGES] = records, links
    chain = np.arange(1, records + 1, dtype=np.int32)
    live = Live(
        label=np.arange(num_slots, dtype=np.int32),
        size=np.ones(num_slots, dtype=np.int32),
        free_labels=np.zeros(num_slots, dtype=np.int32),
        head=np.full(num_slots, NOTHING, dtype=np.int32),
        to=np.empty(2 * records, dtype=np.int32),
        onward=np.empty(2 * records, dtype=np.int32),
        back=np.empty(2 * records, dtype=np.int32),
        chain=chain,
        first=np.full(links, NOTHING, dtype=np.int32),
        ends=np.empty((links, 2), dtype=np.int32),
        worth=np.zeros(links, dtype=np.float64),
        node_head=np.full(num_nodes, NOTHING, dtype=np.int32),
        node_onward=np.empty(2 * links, dtype=np.int32),
        node_back=np.empty(2 * links, dtype=np.int32),
        degree=np.zeros(num_nodes, dtype=np.int32),
        alive=np.arange(links, dtype=np.int32),
        place=np.arange(links, dtype=np.int32),
        counters=counters,
        totals=np.zeros(2, dtype=np.float64),
        mark=np.zeros(num_slots, dtype=np.int64),
        near=np.empty(longest, dtype=np.int32),
        far=np.empty(longest, dtype=np.int32),
        log=np.empty((min(LOG_LENGTH, 64 * num_slots + 64), 2), dtype=np.int32),
    )
    link_all(ground, live, edges)
    return live


def edges_in(live: Live) -> IntArray:
    """Return the links there are, the smaller node first, in no particular order."""
    alive = live.alive[: live.counters[NUM_EDGES]]
    return np.ascontiguousarray(np.sort(live.ends[alive], axis=1))


@kernel
def count_common(ground: Ground, edges: IntArray) -> int:
    """Count the topics that both ends of a link want, over all links."""
    total, topics = 0, ground.topics
    for k in range(len(edges)):
        i, i_end = ground.indptr[edges[k, 0]], ground.indptr[edges[k, 0] + 1]
        j, j_end = ground.indptr[edges[k, 1]], ground.indptr[edges[k, 1] + 1]
        while i < i_end and j < j_end:
            if topics[i] < topics[j]:
                i += 1
            elif topics[i] > topics[j]:
                j += 1
            else:
                total += 1
                i += 1
                j += 1
    return total


@kernel
def link_all(ground: Ground, live: Live, edges: IntArray) -> None:
    """Make links one after another."""
    for k in range(len(edges)):
        link(ground, live, edges[k, 0], edges[k, 1])
    live.counters[LOGGED] = 0


@kernel
def link(ground: Ground, live: Live, u: int, v: int) -> int:
    """Make the link u-v and return its id; there must be room for it and its slot links."""
    edge = enter_link(live, u, v)
    topics = ground.topics
    i, i_end = ground.indptr[u], ground.indptr[u + 1]
    j, j_end = ground.indptr[v], ground.indptr[v + 1]
    gain = 0.0
    while i < i_end and j < j_end:
        if topics[i] < topics[j]:
            i += 1
        elif topics[i] > topics[j]:
            j += 1
        else:
            if join(live, ground.slot_of[i], ground.slot_of[j]):
                gain += ground.weight[topics[i]]
            enter_record(live, edge, ground.slot_of[i], ground.slot_of[j])
            i += 1
            j += 1
    live.worth[edge] = gain
    live.totals[VALUE] += gain
    live.totals[COST] += cost_of(ground, u, v)
    return edge


@kernel
def unlink(ground: Ground, live: Live, edge: int) -> float:
    """Take a link away and return what mu loses."""
    loss, record = 0.0, live.first[edge]
    while record != NOTHING:
        other, one = live.to[2 * record], live.to[2 * record + 1]
        following = live.chain[record]
        erase_record(live, record)
        if split(live, one, other):
            loss += ground.weight[ground.topic_of[one]]
        record = following
    erase_link(live, edge)
    live.totals[VALUE] -= loss
    live.totals[COST] -= cost_of(ground, live.ends[edge, 0], live.ends[edge, 1])
    return loss


@kernel
def restore(ground: Ground, live: Live, u: int, v: int, worth: float) -> None:
    """Make a link without a look at components: labels are taken back from the log."""
    edge = enter_link(live, u, v)
    topics = ground.topics
    i, i_end = ground.indptr[u], ground.indptr[u + 1]
    j, j_end = ground.indptr[v], ground.indptr[v + 1]
    while i < i_end and j < j_end:
        if topics[i] < topics[j]:
            i += 1
        elif topics[i] > topics[j]:
            j += 1
        else:
            enter_record(live, edge, ground.slot_of[i], ground.slot_of[j])
            i += 1
            j += 1
    live.worth[edge] = worth


@kernel
def retract(live: Live, edge: int) -> None:
    """Take a link away without a look at components."""
    record = live.first[edge]
    while record != NOTHING:
        following = live.chain[record]
        erase_record(live, record)
        record = following
    erase_link(live, edge)


@kernel
def enter_link(live: Live, u: int, v: int) -> int:
    """Note a link at both of its ends and return its id."""
    edge = live.alive[live.counters[NUM_EDGES]]
    live.counters[NUM_EDGES] += 1
    live.counters[FREE_EDGES] -= 1
    live.ends[edge, 0], live.ends[edge, 1] = u, v
    live.first[edge] = NOTHING
    hang(live.node_head, live.node_onward, live.node_back, u, 2 * edge)
    hang(live.node_head, live.node_onward, live.node_back, v, 2 * edge + 1)
    live.degree[u] += 1
    live.degree[v] += 1
    return int(edge)


@kernel
def erase_link(live: Live, edge: int) -> None:
    """Strike a link out at both of its ends."""
    counters = live.counters
    u, v = live.ends[edge, 0], live.ends[edge, 1]
    take_down(live.node_head, live.node_onward, live.node_back, u, 2 * edge)
    take_down(live.node_head, live.node_onward, live.node_back, v, 2 * edge + 1)
    live.degree[u] -= 1
    live.degree[v] -= 1
    counters[NUM_EDGES] -= 1
    counters[FREE_EDGES] += 1
    last, gap = live.alive[counters[NUM_EDGES]], live.place[edge]
    live.alive[gap], live.place[last] = last, gap
    live.alive[counters[NUM_EDGES]], live.place[edge] = edge, counters[NUM_EDGES]


@kernel
def enter_record(live: Live, edge: int, one: int, other: int) -> None:
    """Note a slot link at both of its ends."""
    counters = live.counters
    record = counters[FIRST_FREE]
    counters[FIRST_FREE] = live.chain[record]
    counters[FREE_RECORDS] -= 1
    live.chain[record] = live.first[edge]
    live.first[edge] = record
    live.to[2 * record], live.to[2 * record + 1] = other, one
    hang(live.head, live.onward, live.back, one, 2 * record)
    hang(live.head, live.onward, live.back, other, 2 * record + 1)


@kernel
def erase_record(live: Live, record: int) -> None:
    """Strike a slot link out at both of its ends."""
    take_down(live.head, live.onward, live.back, live.to[2 * record + 1], 2 * record)
    take_down(live.head, live.onward, live.back, live.to[2 * record], 2 * record + 1)
    live.chain[record] = live.counters[FIRST_FREE]
    live.counters[FIRST_FREE] = record
    live.counters[FREE_RECORDS] += 1


@kernel
def hang(head: IntArray, onward: IntArray, back: IntArray, at: int, half: int) -> None:
    """Put a half link first in the list of where it starts."""
    onward[half], back[half] = head[at], NOTHING
    if head[at] != NOTHING:
        back[head[at]] = half
    head[at] = half


@kernel
def take_down(head: IntArray, onward: IntArray, back: IntArray, at: int, half: int) -> None:
    """Take a half link out of the list of where it starts."""
    if back[half] == NOTHING:
        head[at] = onward[half]
    else:
        onward[back[half]] = onward[half]
    if onward[half] != NOTHING:
        back[onward[half]] = back[half]
