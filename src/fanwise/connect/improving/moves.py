"""Moves that improve an overlay: take a few links away, make others greedily, keep what is better.

Better means a larger mu, or the same mu for less: fewer links, or cheaper ones where links cost
something. Equal overlays are kept too, so that the search wanders over plateaus; with some heat,
slightly worse ones now and then, as in simulated annealing. What is not kept is taken back.

Links to go are chosen along random walks, whose nodes tend to want the same topics: one walk that
starts at a link that added little, or two from a node and from a partner that it would gain from,
so that what is apart can meet. New links join the nodes that lost one, with each other and with
their listed partners. For two links u-v and x-y taken away that includes the exchange to u-x, v-y,
the move that matters when every degree is used up.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import ROUNDING
from fanwise.connect.arrays import Budget, Network
from fanwise.connect.components import gain_of
from fanwise.connect.improving.linking import link, restore, retract, unlink
from fanwise.connect.improving.overlay import (
    COST,
    FREE_EDGES,
    FREE_LABELS,
    FREE_RECORDS,
    LOGGED,
    NUM_EDGES,
    READS_PER_STEP,
    STEPS_PER_CHANGE,
    STEPS_PER_PAIR,
    VALUE,
    WORK,
    ChangingOverlay,
)
from fanwise.connect.improving.relabelling import take_back
from fanwise.connect.kernels import NOBODY, cost_of

# Of the random numbers of a move, 0 says whether there are two walks, 1 and 2 where they start, 3
# how many links go, 4 to 6 which link is first, 7 which loss is kept; walks and noise share the
# rest.
NUM_DRAWS = 48
"""Random numbers that a move may look at."""
MAX_REMOVED = 14
"""Links that a move takes away at most; smaller moves are quicker and rarely find anything."""
MAX_MADE = 20
"""Links that a move makes at most."""
MAX_TOUCHED = 2 * MAX_REMOVED + 2
"""Nodes that new links may start from: ends of links that went, and starts of walks."""
TWO_WALKS = 0.4
"""Share of moves with two walks."""
REMOVED_SHARE = 0.7
"""Share of links on a walk that go."""
NOISE = 0.1
"""Keys of new links are lowered by up to this share at random, so that moves differ."""


@kernel
def try_moves(
    network: Network,
    overlay: ChangingOverlay,
    budget: Budget,
    partners: IntArray,
    charge: FloatArray,
    draws: FloatArray,
    widest: int,
    heat: float,
) -> tuple[int, int]:
    """Try a move per row of random numbers; return how many were tried and how many were better.

    New links are chosen by gain less what their ends are charged. A loss is kept with probability
    exp(-loss / heat). Stops early when slots for links run out. Changes ``overlay``.
    """
    num_candidates = MAX_TOUCHED * (MAX_TOUCHED + partners.shape[1])
    pairs = np.empty((num_candidates, 2), dtype=np.int32)
    keys = np.empty(num_candidates)
    is_fresh = np.empty(num_candidates, dtype=np.bool_)
    gone = np.empty((MAX_REMOVED, 2), dtype=np.int32)
    gone_worth = np.empty(MAX_REMOVED)
    made = np.empty(MAX_MADE, dtype=np.int32)
    touched = np.empty(MAX_TOUCHED, dtype=np.int32)
    label_of = np.full(len(network.weight), NOBODY, dtype=np.int32)
    num_better = 0
    # Keys are raised by as much as two ends are charged at most: all that gain are above 0.
    raised = 2.0 * charge.max() if len(charge) > 0 else 0.0
    for k in range(len(draws)):
        # A move is only begun where even its largest outcome fits: kernels cannot grow arrays.
        short = overlay.counters[FREE_RECORDS] < MAX_MADE * widest
        if short or overlay.counters[FREE_EDGES] < MAX_MADE:
            return k, num_better
        row = draws[k]
        value, cost, num_free = (
            overlay.totals[VALUE],
            overlay.totals[COST],
            overlay.counters[FREE_LABELS],
        )
        overlay.counters[LOGGED] = 0
        num_gone = ruin(network, overlay, partners, row, gone, gone_worth)
        num_touched = touch(partners, row, gone, num_gone, touched)
        count = list_pairs(
            network, overlay, budget, partners, charge, raised, touched, num_touched, label_of,
            pairs, keys,
        )  # fmt: skip
        for i in range(count):
            gain = keys[i] - raised + charge[pairs[i, 0]] + charge[pairs[i, 1]]
            keys[i] -= gain * NOISE * row[8 + i % (NUM_DRAWS - 8)]
            is_fresh[i] = True
        num_made = recreate(
            network, overlay, budget, charge, raised, pairs, keys, is_fresh, count, made
        )
        changes = STEPS_PER_CHANGE * overlay.counters[LOGGED]
        overlay.counters[WORK] += changes + STEPS_PER_PAIR * count
        rounding = ROUNDING * (1.0 + value)
        gain = overlay.totals[VALUE] - value
        thrift = cost - overlay.totals[COST]
        # Negative: the loss that the number drawn lets pass, with the probability exp(-loss /
        # heat).
        allowed = heat * np.log(max(row[7], 1e-300))
        if gain > rounding or (gain >= -rounding and thrift > ROUNDING * (1.0 + cost)):
            num_better += 1
        elif gain < allowed - rounding or (gain >= -rounding and thrift < 0.0):
            undo(network, overlay, gone, gone_worth, num_gone, made, num_made, num_free)
            # As they were, not as sums come back: rounding would add up over millions of moves.
            overlay.totals[VALUE], overlay.totals[COST] = value, cost
    return len(draws), num_better


@kernel
def ruin(
    network: Network,
    overlay: ChangingOverlay,
    partners: IntArray,
    row: FloatArray,
    gone: IntArray,
    gone_worth: FloatArray,
) -> int:
    """Take links away as the random numbers say; return how many went.

    Changes ``overlay``, ``gone`` and ``gone_worth``.
    """
    wished = 2 + int(row[3] * (MAX_REMOVED - 1))
    if row[0] < TWO_WALKS and len(partners) > 0:
        node, other = start_walks(partners, row)
        if other != NOBODY:
            count = walk_away(network, overlay, node, wished // 2, row, 8, gone, gone_worth, 0)
            return walk_away(network, overlay, other, wished, row, 24, gone, gone_worth, count)
    if overlay.counters[NUM_EDGES] == 0:
        return 0
    edge = pick_weak(overlay, row[4], row[5])
    node = overlay.links.ends[edge, 0] if row[6] < 0.5 else overlay.links.ends[edge, 1]
    drop(network, overlay, edge, gone, gone_worth, 0)
    return walk_away(network, overlay, node, wished, row, 8, gone, gone_worth, 1)


@kernel
def start_walks(partners: IntArray, row: FloatArray) -> tuple[int, int]:
    """Return the two nodes that walks start from; the second is ``NOBODY`` without a partner.

    Changes no array.
    """
    node = int(row[1] * len(partners))
    return node, partners[node, int(row[2] * partners.shape[1])]


@kernel
def drop(
    network: Network,
    overlay: ChangingOverlay,
    edge: int,
    gone: IntArray,
    gone_worth: FloatArray,
    count: int,
) -> None:
    """Take a link away and note what it was, after ``count`` others.

    Changes ``overlay``, ``gone`` and ``gone_worth``.
    """
    gone_worth[count] = overlay.links.worth[edge]
    gone[count, 0], gone[count, 1] = overlay.links.ends[edge, 0], overlay.links.ends[edge, 1]
    unlink(network, overlay, edge)


@kernel
def walk_away(
    network: Network,
    overlay: ChangingOverlay,
    node: int,
    wished: int,
    row: FloatArray,
    offset: int,
    gone: IntArray,
    gone_worth: FloatArray,
    count: int,
) -> int:
    """Take links away along a random walk until there are as many as wished; return how many.

    Changes ``overlay``, ``gone`` and ``gone_worth``.
    """
    step, start = 0, count
    while count < wished and step < 2 * MAX_REMOVED:
        draw = row[8 + (offset + 2 * step) % (NUM_DRAWS - 8)]
        chance = row[8 + (offset + 2 * step + 1) % (NUM_DRAWS - 8)]
        step += 1
        if overlay.links.degree[node] == 0:
            if count == start:
                break
            # The walk has taken every link of the node: it goes on at an end of a link that went.
            node = gone[start + int(draw * (count - start)), step % 2]
            continue
        edge = link_at(overlay, node, int(draw * overlay.links.degree[node]))
        following = (
            overlay.links.ends[edge, 0]
            if overlay.links.ends[edge, 1] == node
            else overlay.links.ends[edge, 1]
        )
        if chance < REMOVED_SHARE:
            drop(network, overlay, edge, gone, gone_worth, count)
            count += 1
        node = following
    return count


@kernel
def link_at(overlay: ChangingOverlay, node: int, position: int) -> int:
    """Return one of a node's links; hubs are entered among their first few. Changes no array."""
    half = overlay.links.head[node]
    for _ in range(min(position, 32)):
        half = overlay.links.onward[half]
    return int(half >> 1)


@kernel
def pick_weak(overlay: ChangingOverlay, one: float, other: float) -> int:
    """Return the weaker of two links drawn at random. Changes no array."""
    num_edges = overlay.counters[NUM_EDGES]
    first, second = (
        overlay.links.alive[int(one * num_edges)],
        overlay.links.alive[int(other * num_edges)],
    )
    return int(first if overlay.links.worth[first] <= overlay.links.worth[second] else second)


@kernel
def touch(
    partners: IntArray, row: FloatArray, gone: IntArray, num_gone: int, touched: IntArray
) -> int:
    """List the ends of links taken away and the nodes that walks started from, each once.

    Returns how many they are. Changes ``touched``.
    """
    count = 0
    if row[0] < TWO_WALKS and len(partners) > 0:
        node, other = start_walks(partners, row)
        if other != NOBODY:
            touched[0], touched[1] = node, other
            count = 2
    for k in range(2 * num_gone):
        node = gone[k >> 1, k & 1]
        is_new = True
        for i in range(count):
            if touched[i] == node:
                is_new = False
        if is_new:
            touched[count] = node
            count += 1
    return count


@kernel
def list_pairs(
    network: Network,
    overlay: ChangingOverlay,
    budget: Budget,
    partners: IntArray,
    charge: FloatArray,
    raised: float,
    touched: IntArray,
    num_touched: int,
    label_of: IntArray,
    pairs: IntArray,
    keys: FloatArray,
) -> int:
    """List pairs of touched nodes, and of touched nodes with their partners, that would gain.

    The labels of one node are written down by topic, and the others compare theirs: one look per
    interest instead of a walk along both lists. Changes ``pairs`` and ``keys``, and ``label_of``,
    which is all ``NOBODY`` before and after.
    """
    indptr, topics, slot_of = network.indptr, network.topics, network.slot_of
    degree, limit, label = overlay.links.degree, network.degree_limit, overlay.labels.label
    count, num_read = 0, 0
    for k in range(num_touched):
        node = touched[k]
        if degree[node] >= limit[node]:
            continue
        for i in range(indptr[node], indptr[node + 1]):
            label_of[topics[i]] = label[slot_of[i]]
        # Touched nodes before this one, so that each pair comes up once; then its partners.
        for candidate in range(k + partners.shape[1]):
            other = touched[candidate] if candidate < k else partners[node, candidate - k]
            if other != NOBODY and degree[other] < limit[other]:
                cost = cost_of(network.positions, node, other)
                if overlay.totals[COST] + cost <= budget.max_cost:
                    gain = 0.0
                    for i in range(indptr[other], indptr[other + 1]):
                        mine = label_of[topics[i]]
                        if mine != NOBODY and mine != label[slot_of[i]]:
                            gain += network.weight[topics[i]]
                    num_read += indptr[other + 1] - indptr[other]
                    if gain > 0.0:
                        keys[count] = gain / cost + raised - charge[node] - charge[other]
                        pairs[count, 0], pairs[count, 1] = node, other
                        count += 1
        for i in range(indptr[node], indptr[node + 1]):
            label_of[topics[i]] = NOBODY
    overlay.counters[WORK] += num_read // READS_PER_STEP
    return count


@kernel
def undo(
    network: Network,
    overlay: ChangingOverlay,
    gone: IntArray,
    gone_worth: FloatArray,
    num_gone: int,
    made: IntArray,
    num_made: int,
    num_free: int,
) -> None:
    """Take a move back: from the log, or link by link where the log was too short.

    Changes ``overlay``.
    """
    if overlay.counters[LOGGED] > len(overlay.labels.log):
        for i in range(num_made):
            unlink(network, overlay, made[i])
        for i in range(num_gone):
            link(network, overlay, gone[i, 0], gone[i, 1])
        return
    # Links come back, not their ids: nothing outside a move remembers those.
    for i in range(num_made):
        retract(overlay, made[i])
    for i in range(num_gone):
        restore(network, overlay, gone[i, 0], gone[i, 1], gone_worth[i])
    take_back(overlay.labels, overlay.counters)
    overlay.counters[FREE_LABELS] = num_free


@kernel
def recreate(
    network: Network,
    overlay: ChangingOverlay,
    budget: Budget,
    charge: FloatArray,
    raised: float,
    pairs: IntArray,
    keys: FloatArray,
    is_fresh: IntArray,
    count: int,
    made: IntArray,
) -> int:
    """Make the best of the listed links, again and again, while they add something and fit.

    Returns how many were made. Changes ``overlay``, ``keys``, ``is_fresh`` and ``made``.
    """
    num_made = 0
    while num_made < MAX_MADE and overlay.counters[NUM_EDGES] < budget.max_edges:
        best, top = -1, 0.0
        for i in range(count):
            if keys[i] > top:
                best, top = i, keys[i]
        if best < 0:
            break
        if is_fresh[best]:
            made[num_made] = link(network, overlay, pairs[best, 0], pairs[best, 1])
            num_made += 1
            keys[best] = 0.0
            is_fresh[:count] = False
        else:
            # Lazy greedy: gains only fall (mu is submodular), so that stale keys are upper bounds.
            # The noise stays in: a key never rises.
            u, v = pairs[best, 0], pairs[best, 1]
            keys[best] = min(top, key_of(network, overlay, budget, charge, raised, u, v))
            is_fresh[best] = True
    return num_made


@kernel
def key_of(
    network: Network,
    overlay: ChangingOverlay,
    budget: Budget,
    charge: FloatArray,
    raised: float,
    u: int,
    v: int,
) -> float:
    """Return gain per cost of a link less what its ends are charged, raised above 0.

    0 where it does not fit or gains nothing. Changes no array.
    """
    limit = network.degree_limit
    if overlay.links.degree[u] >= limit[u] or overlay.links.degree[v] >= limit[v]:
        return 0.0
    cost = cost_of(network.positions, u, v)
    if overlay.totals[COST] + cost > budget.max_cost:
        return 0.0
    gain = gain_of(network, overlay.labels.label, u, v)
    return gain / cost + raised - charge[u] - charge[v] if gain > 0.0 else 0.0


@kernel
def drop_redundant(network: Network, overlay: ChangingOverlay) -> int:
    """Take away, one after another, links that mu does not need; return how many went.

    Changes ``overlay``.
    """
    dropped = 0
    edges = overlay.links.alive[: overlay.counters[NUM_EDGES]].copy()
    for edge in edges[np.argsort(overlay.links.worth[edges])]:
        u, v, value, cost = (
            overlay.links.ends[edge, 0],
            overlay.links.ends[edge, 1],
            overlay.totals[VALUE],
            overlay.totals[COST],
        )
        if unlink(network, overlay, edge) > 0.0:
            link(network, overlay, u, v)
            overlay.totals[VALUE], overlay.totals[COST] = value, cost
        else:
            dropped += 1
    return dropped
