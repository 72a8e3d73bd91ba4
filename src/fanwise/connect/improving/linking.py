"""Links of a changing overlay made, taken away and taken back.

:mod:`fanwise.connect.improving.overlay` tells what is kept of an overlay.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.connect.arrays import Network
from fanwise.connect.improving.overlay import (
    COST,
    FIRST_FREE,
    FREE_EDGES,
    FREE_RECORDS,
    LOG_LENGTH,
    LOGGED,
    NUM_EDGES,
    VALUE,
    ChangingOverlay,
    Links,
    SlotLabels,
    SlotLinks,
)
from fanwise.connect.improving.relabelling import join, split
from fanwise.connect.kernels import NOBODY, cost_of, count_shared, first_common, next_common


def make_overlay(
    network: Network, edges: IntArray, *, spare_edges: int, spare_records: int
) -> ChangingOverlay:
    """Return the state after linking ``edges``, with slots for more links and slot links."""
    records = int(count_shared(network.indptr, network.topics, edges).sum()) + spare_records
    links = len(edges) + spare_edges
    num_slots, num_nodes = network.num_slots, network.num_nodes
    longest = int(network.followers.max(initial=0)) + 1
    counters = np.zeros(8, dtype=np.int64)
    counters[FREE_RECORDS], counters[FREE_EDGES] = records, links
    overlay = ChangingOverlay(
        SlotLabels(
            label=np.arange(num_slots, dtype=np.int32),
            size=np.ones(num_slots, dtype=np.int32),
            free_labels=np.zeros(num_slots, dtype=np.int32),
            mark=np.zeros(num_slots, dtype=np.int64),
            walks=np.empty((2, longest), dtype=np.int32),
            log=np.empty((min(LOG_LENGTH, 64 * num_slots + 64), 2), dtype=np.int32),
        ),
        SlotLinks(
            head=np.full(num_slots, NOBODY, dtype=np.int32),
            to=np.empty(2 * records, dtype=np.int32),
            onward=np.empty(2 * records, dtype=np.int32),
            back=np.empty(2 * records, dtype=np.int32),
            chain=np.arange(1, records + 1, dtype=np.int32),
            first=np.full(links, NOBODY, dtype=np.int32),
        ),
        Links(
            ends=np.empty((links, 2), dtype=np.int32),
            worth=np.zeros(links, dtype=np.float64),
            head=np.full(num_nodes, NOBODY, dtype=np.int32),
            onward=np.empty(2 * links, dtype=np.int32),
            back=np.empty(2 * links, dtype=np.int32),
            degree=np.zeros(num_nodes, dtype=np.int32),
            alive=np.arange(links, dtype=np.int32),
            rank=np.arange(links, dtype=np.int32),
        ),
        counters,
        totals=np.zeros(2, dtype=np.float64),
    )
    link_all(network, overlay, edges)
    return overlay


def edges_in(overlay: ChangingOverlay) -> IntArray:
    """Return the links there are, the smaller node first, in no particular order."""
    alive = overlay.links.alive[: overlay.counters[NUM_EDGES]]
    return np.ascontiguousarray(np.sort(overlay.links.ends[alive], axis=1))


@kernel
def link_all(network: Network, overlay: ChangingOverlay, edges: IntArray) -> None:
    """Make links one after another. Changes ``overlay``."""
    for k in range(len(edges)):
        link(network, overlay, edges[k, 0], edges[k, 1])
    overlay.counters[LOGGED] = 0


@kernel
def link(network: Network, overlay: ChangingOverlay, u: int, v: int) -> int:
    """Make the link u-v and return its id; there must be memory for it and its slot links.

    Changes ``overlay``.
    """
    indptr, topics, slot_of = network.indptr, network.topics, network.slot_of
    labels, slot_links, counters = overlay.labels, overlay.slot_links, overlay.counters
    edge = enter_link(overlay.links, counters, u, v)
    slot_links.first[edge] = NOBODY
    label, gain = labels.label, 0.0
    i, j = first_common(indptr, topics, u, v)
    while i != NOBODY:
        one, other = slot_of[i], slot_of[j]
        if label[one] != label[other]:
            join(labels, slot_links, counters, one, other)
            gain += network.weight[topics[i]]
        enter_record(slot_links, counters, edge, one, other)
        i, j = next_common(indptr, topics, u, v, i, j)
    overlay.links.worth[edge] = gain
    overlay.totals[VALUE] += gain
    overlay.totals[COST] += cost_of(network.positions, u, v)
    return edge


@kernel
def unlink(network: Network, overlay: ChangingOverlay, edge: int) -> float:
    """Take a link away and return what mu loses. Changes ``overlay``."""
    labels, slot_links, counters = overlay.labels, overlay.slot_links, overlay.counters
    loss, record = 0.0, slot_links.first[edge]
    while record != NOBODY:
        other, one = slot_links.to[2 * record], slot_links.to[2 * record + 1]
        following = slot_links.chain[record]
        # Before the walk: it must not go over the link that is taken away.
        erase_record(slot_links, counters, record)
        if split(labels, slot_links, counters, one, other):
            loss += network.weight[network.topic_of[one]]
        record = following
    erase_link(overlay.links, counters, edge)
    ends = overlay.links.ends
    overlay.totals[VALUE] -= loss
    overlay.totals[COST] -= cost_of(network.positions, ends[edge, 0], ends[edge, 1])
    return loss


@kernel
def restore(network: Network, overlay: ChangingOverlay, u: int, v: int, worth: float) -> None:
    """Make a link without a look at components: labels are taken back from the log.

    Changes ``overlay``.
    """
    indptr, topics, slot_of = network.indptr, network.topics, network.slot_of
    slot_links, counters = overlay.slot_links, overlay.counters
    edge = enter_link(overlay.links, counters, u, v)
    slot_links.first[edge] = NOBODY
    i, j = first_common(indptr, topics, u, v)
    while i != NOBODY:
        enter_record(slot_links, counters, edge, slot_of[i], slot_of[j])
        i, j = next_common(indptr, topics, u, v, i, j)
    overlay.links.worth[edge] = worth


@kernel
def retract(overlay: ChangingOverlay, edge: int) -> None:
    """Take a link away without a look at components. Changes ``overlay``."""
    slot_links, counters = overlay.slot_links, overlay.counters
    record = slot_links.first[edge]
    while record != NOBODY:
        following = slot_links.chain[record]
        erase_record(slot_links, counters, record)
        record = following
    erase_link(overlay.links, counters, edge)


@kernel
def enter_link(links: Links, counters: LongArray, u: int, v: int) -> int:
    """Note a link at both of its ends and return its id. Changes ``links`` and ``counters``."""
    edge = links.alive[counters[NUM_EDGES]]
    counters[NUM_EDGES] += 1
    counters[FREE_EDGES] -= 1
    links.ends[edge, 0], links.ends[edge, 1] = u, v
    hang(links.head, links.onward, links.back, u, 2 * edge)
    hang(links.head, links.onward, links.back, v, 2 * edge + 1)
    links.degree[u] += 1
    links.degree[v] += 1
    return int(edge)


@kernel
def erase_link(links: Links, counters: LongArray, edge: int) -> None:
    """Strike a link out at both of its ends. Changes ``links`` and ``counters``."""
    u, v = links.ends[edge, 0], links.ends[edge, 1]
    take_down(links.head, links.onward, links.back, u, 2 * edge)
    take_down(links.head, links.onward, links.back, v, 2 * edge + 1)
    links.degree[u] -= 1
    links.degree[v] -= 1
    counters[NUM_EDGES] -= 1
    counters[FREE_EDGES] += 1
    # The last link that there is fills the gap, and the freed id stands right behind those in use:
    # it is the next to be given out, so that a link undone at once has the same id again.
    last, gap = links.alive[counters[NUM_EDGES]], links.rank[edge]
    links.alive[gap], links.rank[last] = last, gap
    links.alive[counters[NUM_EDGES]], links.rank[edge] = edge, counters[NUM_EDGES]


@kernel
def enter_record(
    slot_links: SlotLinks, counters: LongArray, edge: int, one: int, other: int
) -> None:
    """Note a slot link at both of its ends. Changes ``slot_links`` and ``counters``."""
    record = counters[FIRST_FREE]
    counters[FIRST_FREE] = slot_links.chain[record]
    counters[FREE_RECORDS] -= 1
    slot_links.chain[record] = slot_links.first[edge]
    slot_links.first[edge] = record
    slot_links.to[2 * record], slot_links.to[2 * record + 1] = other, one
    hang(slot_links.head, slot_links.onward, slot_links.back, one, 2 * record)
    hang(slot_links.head, slot_links.onward, slot_links.back, other, 2 * record + 1)


@kernel
def erase_record(slot_links: SlotLinks, counters: LongArray, record: int) -> None:
    """Strike a slot link out at both of its ends. Changes ``slot_links`` and ``counters``."""
    head, onward, back, to = (
        slot_links.head,
        slot_links.onward,
        slot_links.back,
        slot_links.to,
    )
    take_down(head, onward, back, to[2 * record + 1], 2 * record)
    take_down(head, onward, back, to[2 * record], 2 * record + 1)
    slot_links.chain[record] = counters[FIRST_FREE]
    counters[FIRST_FREE] = record
    counters[FREE_RECORDS] += 1


@kernel
def hang(head: IntArray, onward: IntArray, back: IntArray, at: int, half: int) -> None:
    """Put a half link first in the list of where it starts. Changes the three lists."""
    onward[half], back[half] = head[at], NOBODY
    if head[at] != NOBODY:
        back[head[at]] = half
    head[at] = half


@kernel
def take_down(head: IntArray, onward: IntArray, back: IntArray, at: int, half: int) -> None:
    """Take a half link out of the list of where it starts. Changes the three lists."""
    if back[half] == NOBODY:
        head[at] = onward[half]
    else:
        onward[back[half]] = onward[half]
    if onward[half] != NOBODY:
        back[onward[half]] = back[half]
