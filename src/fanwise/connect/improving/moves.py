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
from fanwise.connect.improving.completion import key_of
from fanwise.connect.improving.components import take_back
from fanwise.connect.improving.ground import Budget, Ground, cost_of
from fanwise.connect.improving.live import link, restore, retract, unlink
from fanwise.connect.improving.state import (
    COST,
    FREE_EDGES,
    FREE_LABELS,
    FREE_RECORDS,
    LOGGED,
    NOTHING,
    NUM_EDGES,
    VALUE,
    Live,
)

NUM_DRAWS = 48
"""Random numbers that a move may look at."""
MAX_REMOVED = 14
"""Links that a move takes away at most; smaller moves are quicker and rarely find anything."""
MAX_MADE = 20
MAX_TOUCHED = 2 * MAX_REMOVED + 2
APART = 0.4
"""Share of moves with two walks."""
REMOVED_SHARE = 0.7
"""Share of links on a walk that go."""
ROUNDING = 1e-12
NOISE = 0.1
"""Keys of new links are lowered by up to this share at random, so that moves differ."""


@kernel
def try_moves(
    ground: Ground,
    live: Live,
    budget: Budget,
    partners: IntArray,
    draws: FloatArray,
    widest: int,
    heat: float,
) -> tuple[int, int]:
    """Try a move per row of random numbers; return how many were tried and how many were better.

    A loss is kept with probability exp(-loss / heat). Stops early when room for links runs out.
    """
    num_candidates = MAX_TOUCHED * (MAX_TOUCHED + partners.shape[1])
    pairs = np.empty((num_candidates, 2), dtype=np.int32)
    keys = np.empty(num_candidates)
    is_fresh = np.empty(num_candidates, dtype=np.bool_)
    gone = np.empty((MAX_REMOVED, 2), dtype=np.int32)
    gone_worth = np.empty(MAX_REMOVED)
    made = np.empty(MAX_MADE, dtype=np.int32)
    touched = np.empty(MAX_TOUCHED, dtype=np.int32)
    board = np.full(len(ground.weight), NOTHING, dtype=np.int32)
    num_better = 0
    for k in range(len(draws)):
        short = live.counters[FREE_RECORDS] < MAX_MADE * widest
        if short or live.counters[FREE_EDGES] < MAX_MADE:
            return k, num_better
        row = draws[k]
        value, cost, num_free = live.totals[VALUE], live.totals[COST], live.counters[FREE_LABELS]
        live.counters[LOGGED] = 0
        num_gone = ruin(ground, live, partners, row, gone, gone_worth)
        num_touched = touch(partners, row, gone, num_gone, touched)
        count = list_pairs(ground, live, budget, partners, touched, num_touched, board, pairs, keys)
        for i in range(count):
            keys[i] *= 1.0 - NOISE * row[8 + i % (NUM_DRAWS - 8)]
            is_fresh[i] = True
        num_made = recreate(ground, live, budget, pairs, keys, is_fresh, count, made)
        rounding = ROUNDING * (1.0 + value)
        gain = live.totals[VALUE] - value
        thrift = cost - live.totals[COST]
        allowed = heat * np.log(max(row[7], 1e-300))
        if gain > rounding or (gain >= -rounding and thrift > ROUNDING * (1.0 + cost)):
            num_better += 1
        elif gain < allowed - rounding or (gain >= -rounding and thrift < 0.0):
            undo(ground, live, gone, gone_worth, num_gone, made, num_made, num_free)
            live.totals[VALUE], live.totals[COST] = value, cost
    return len(draws), num_better


@kernel
def ruin(
    ground: Ground,
    live: Live,
    partners: IntArray,
    row: FloatArray,
    gone: IntArray,
    gone_worth: FloatArray,
) -> int:
    """Take links away as the random numbers say; return how many went."""
    wished = 2 + int(row[3] * (MAX_REMOVED - 1))
    if row[0] < APART and len(partners) > 0:
        node, other = apart(partners, row)
        if other != NOTHING:
            count = walk_away(ground, live, node, wished // 2, row, 8, gone, gone_worth, 0)
            return walk_away(ground, live, other, wished, row, 24, gone, gone_worth, count)
    if live.counters[NUM_EDGES] == 0:
        return 0
    edge = pick_weak(live, row[4], row[5])
    node = live.ends[edge, 0] if row[6] < 0.5 else live.ends[edge, 1]
    drop(ground, live, edge, gone, gone_worth, 0)
    return walk_away(ground, live, node, wished, row, 8, gone, gone_worth, 1)


@kernel
def apart(partners: IntArray, row: FloatArray) -> tuple[int, int]:
    """Return the two nodes that walks start from; the second is -1 where there is no partner."""
    node = int(row[1] * len(partners))
    return node, partners[node, int(row[2] * partners.shape[1])]


@kernel
def drop(
    ground: Ground, live: Live, edge: int, gone: IntArray, gone_worth: FloatArray, place: int
) -> None:
    """Take a link away and note what it was."""
    gone_worth[place] = live.worth[edge]
    gone[place, 0], gone[place, 1] = live.ends[edge, 0], live.ends[edge, 1]
    unlink(ground, live, edge)


@kernel
def walk_away(
    ground: Ground,
    live: Live,
    node: int,
    wished: int,
    row: FloatArray,
    offset: int,
    gone: IntArray,
    gone_worth: FloatArray,
    count: int,
) -> int:
    """Take links away along a random walk until there are as many as wished; return how many."""
    step, start = 0, count
    while count < wished and step < 2 * MAX_REMOVED:
        draw = row[8 + (offset + 2 * step) % (NUM_DRAWS - 8)]
        chance = row[8 + (offset + 2 * step + 1) % (NUM_DRAWS - 8)]
        step += 1
        if live.degree[node] == 0:
            if count == start:
                break
            node = gone[start + int(draw * (count - start)), step % 2]
            continue
        edge = link_at(live, node, int(draw * live.degree[node]))
        following = live.ends[edge, 0] if live.ends[edge, 1] == node else live.ends[edge, 1]
        if chance < REMOVED_SHARE:
            drop(ground, live, edge, gone, gone_worth, count)
            count += 1
        node = following
    return count


@kernel
def link_at(live: Live, node: int, position: int) -> int:
    """Return one of a node's links; hubs are entered among their first few."""
    half = live.node_head[node]
    for _ in range(min(position, 32)):
        half = live.node_onward[half]
    return int(half >> 1)


@kernel
def pick_weak(live: Live, one: float, other: float) -> int:
    """Return the weaker of two links drawn at random."""
    num_edges = live.counters[NUM_EDGES]
    first, second = live.alive[int(one * num_edges)], live.alive[int(other * num_edges)]
    return int(first if live.worth[first] <= live.worth[second] else second)


@kernel
def touch(
    partners: IntArray, row: FloatArray, gone: IntArray, num_gone: int, touched: IntArray
) -> int:
    """List the ends of links taken away and the nodes that walks started from, each once."""
    count = 0
    if row[0] < APART and len(partners) > 0:
        node, other = apart(partners, row)
        if other != NOTHING:
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
    ground: Ground,
    live: Live,
    budget: Budget,
    partners: IntArray,
    touched: IntArray,
    num_touched: int,
    board: IntArray,
    pairs: IntArray,
    keys: FloatArray,
) -> int:
    """List pairs of touched nodes, and of touched nodes with their partners, that would gain.

    The labels of one node are written on a board by topic, and the others read it: one look per
    interest of theirs instead of a walk along both lists.
    """
    count = 0
    for i in range(num_touched):
        node = touched[i]
        if live.degree[node] >= ground.degree_limit[node]:
            continue
        start, end = ground.indptr[node], ground.indptr[node + 1]
        for place in range(start, end):
            board[ground.topics[place]] = live.label[ground.slot_of[place]]
        for k in range(i + partners.shape[1]):
            other = touched[k] if k < i else partners[node, k - i]
            if other != NOTHING and live.degree[other] < ground.degree_limit[other]:
                cost = cost_of(ground, node, other)
                if live.totals[COST] + cost <= budget.max_cost:
                    keys[count] = read_board(ground, live, board, other) / cost
                    if keys[count] > 0.0:
                        pairs[count, 0], pairs[count, 1] = node, other
                        count += 1
        for place in range(start, end):
            board[ground.topics[place]] = NOTHING
    return count


@kernel
def read_board(ground: Ground, live: Live, board: IntArray, node: int) -> float:
    """Add up the weight of topics for which a node has another label than the board."""
    gain = 0.0
    for place in range(ground.indptr[node], ground.indptr[node + 1]):
        topic = ground.topics[place]
        mine = board[topic]
        if mine != NOTHING and mine != live.label[ground.slot_of[place]]:
            gain += ground.weight[topic]
    return gain


@kernel
def undo(
    ground: Ground,
    live: Live,
    gone: IntArray,
    gone_worth: FloatArray,
    num_gone: int,
    made: IntArray,
    num_made: int,
    num_free: int,
) -> None:
    """Take a move back: from the log, or link by link where the log was too short."""
    if live.counters[LOGGED] > len(live.log):
        for i in range(num_made):
            unlink(ground, live, made[i])
        for i in range(num_gone):
            link(ground, live, gone[i, 0], gone[i, 1])
        return
    for i in range(num_made):
        retract(live, made[i])
    for i in range(num_gone):
        restore(ground, live, gone[i, 0], gone[i, 1], gone_worth[i])
    take_back(live)
    live.counters[FREE_LABELS] = num_free


@kernel
def recreate(
    ground: Ground,
    live: Live,
    budget: Budget,
    pairs: IntArray,
    keys: FloatArray,
    is_fresh: IntArray,
    count: int,
    made: IntArray,
) -> int:
    """Make the best of the listed links, again and again, while they add something and fit."""
    num_made = 0
    while num_made < MAX_MADE and live.counters[NUM_EDGES] < budget.max_edges:
        best, top = -1, 0.0
        for i in range(count):
            if keys[i] > top:
                best, top = i, keys[i]
        if best < 0:
            break
        if is_fresh[best]:
            made[num_made] = link(ground, live, pairs[best, 0], pairs[best, 1])
            num_made += 1
            keys[best] = 0.0
            is_fresh[:count] = False
        else:
            keys[best] = min(top, key_of(ground, live, budget, pairs[best, 0], pairs[best, 1]))
            is_fresh[best] = True
    return num_made


@kernel
def drop_redundant(ground: Ground, live: Live) -> int:
    """Take away, one after another, links that mu does not need; return how many went."""
    dropped = 0
    edges = live.alive[: live.counters[NUM_EDGES]].copy()
    for edge in edges[np.argsort(live.worth[edges])]:
        u, v, value, cost = (
            live.ends[edge, 0],
            live.ends[edge, 1],
            live.totals[VALUE],
            live.totals[COST],
        )
        if unlink(ground, live, edge) > 0.0:
            link(ground, live, u, v)
            live.totals[VALUE], live.totals[COST] = value, cost
        else:
            dropped += 1
    return dropped
