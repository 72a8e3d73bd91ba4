"""SpiderCastM: every node covers its own topics by neighbours that want them too.

SpiderCast (Chockler et al., DEBS 2007) has each node choose neighbours until every topic of its own
is covered K times: mostly the neighbour that covers most topics still short of K, and some at
random among those who want one of its topics. Here, as in the paper's evaluation, each node knows
all subscriptions and goes on until its degree is used up: when every topic that can be covered
further is covered K times, K rises. A link needs both ends below their degree.

Nodes act in rounds, in an order drawn anew for each, and make one link each at most. Of every
``greedy + random`` links that a node asks for, the last ``random`` ones are random (3 and 1, as
SpiderCast's authors recommend). A choice costs the followers of the node's topics.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.connect.improving.ground import Budget, Ground, budget_of, cost_of, lay_ground
from fanwise.connect.problem import Connection, edge_table
from fanwise.planning.problem import Outcome, Run

GREEDY, RANDOM = 3, 1
NOBODY = -1
NUM_DRAWS = 8
"""Random numbers of a node in a round: four tries to meet somebody."""


class Web(NamedTuple):
    """Links so far, and what each node knows of its own.

    Attributes
    ----------
    degree, asked, target
        Links of each node, links it asked for, and its K.
    covered
        Per (node, topic), in the order of the interests: neighbours that want the topic.
    is_done
        Nodes that find no partner any more; there will be none later either.
    edges, cost
        The links, and what they cost together; ``num_links`` says how many.
    first, then
        Links of each node as linked lists of half links.
    worth, found
        Room for counting.
    """

    degree: IntArray
    asked: IntArray
    target: IntArray
    covered: IntArray
    is_done: npt.NDArray[np.bool_]
    edges: IntArray
    cost: FloatArray
    num_links: LongArray
    first: IntArray
    then: IntArray
    worth: FloatArray
    found: IntArray


def solve(problem: Connection, run: Run) -> Outcome:
    """Let nodes choose neighbours until their degrees are used up."""
    problem.require_budget("spidercast")
    mix = int(run.settings.get("greedy", GREEDY)), int(run.settings.get("random", RANDOM))
    ground, budget, rng = lay_ground(problem), budget_of(problem), run.random()
    web = _empty_web(ground, budget)
    num_nodes, rounds, is_active = len(web.degree), 0, True
    with run.progress.step("rounds of neighbour selection") as step:
        while is_active:
            order = rng.permutation(num_nodes).astype(np.int32)
            draws = rng.random((num_nodes, NUM_DRAWS))
            is_active = spin_round(ground, budget, web, order, draws, *mix) > 0
            rounds += 1
            step.note(f"round {rounds}, {int(web.num_links[0]):,} links")
    edges = np.ascontiguousarray(web.edges[: web.num_links[0]])
    return Outcome({"edges": edge_table(edges)}, metrics={"rounds": rounds})


def _empty_web(ground: Ground, budget: Budget) -> Web:
    num_nodes = len(ground.indptr) - 1
    limits = np.minimum(ground.degree_limit, max(0, num_nodes - 1)).astype(np.int64)
    most = min(budget.max_edges, int(limits.sum()) // 2)
    zeros = np.zeros(num_nodes, dtype=np.int32)
    return Web(
        zeros,
        zeros.copy(),
        np.ones(num_nodes, dtype=np.int32),
        np.zeros(len(ground.topics), dtype=np.int32),
        np.zeros(num_nodes, dtype=bool),
        np.empty((most, 2), dtype=np.int32),
        np.zeros(1),
        np.zeros(1, dtype=np.int64),
        np.full(num_nodes, NOBODY, dtype=np.int32),
        np.empty(2 * most, dtype=np.int32),
        np.zeros(num_nodes),
        np.empty(num_nodes, dtype=np.int32),
    )


@kernel
def spin_round(
    ground: Ground,
    budget: Budget,
    web: Web,
    order: IntArray,
    draws: FloatArray,
    greedy: int,
    random: int,
) -> int:
    """Let every node ask for one link; return how many were made."""
    made = 0
    for node in order:
        if web.is_done[node] or not is_open(ground, web, node):
            continue
        if web.num_links[0] >= budget.max_edges:
            break
        partner = NOBODY
        if web.asked[node] % (greedy + random) >= greedy:
            partner = meet_somebody(ground, budget, web, node, draws[node])
        if partner == NOBODY:
            partner = cover_most(ground, budget, web, node, draws)
        if partner == NOBODY:
            web.is_done[node] = True
        else:
            web.asked[node] += 1
            tie(ground, web, node, partner)
            made += 1
    return made


@kernel
def is_open(ground: Ground, web: Web, node: int) -> bool:
    """Whether a node has links to spare."""
    return bool(web.degree[node] < ground.degree_limit[node])


@kernel
def meet_somebody(ground: Ground, budget: Budget, web: Web, node: int, draws: FloatArray) -> int:
    """Return a node that wants a topic of this one's, both drawn at random; a few tries."""
    num_topics = ground.indptr[node + 1] - ground.indptr[node]
    if num_topics == 0:
        return NOBODY
    for k in range(0, NUM_DRAWS, 2):
        topic = ground.topics[ground.indptr[node] + int(draws[k] * num_topics)]
        start, end = ground.topic_indptr[topic], ground.topic_indptr[topic + 1]
        other = ground.nodes[start + int(draws[k + 1] * (end - start))]
        if other != node and may_link(ground, budget, web, node, other):
            return int(other)
    return NOBODY


@kernel
def may_link(ground: Ground, budget: Budget, web: Web, node: int, other: int) -> bool:
    """Whether a node has links to spare, is no neighbour yet, and the link can be paid."""
    if not is_open(ground, web, other):
        return False
    if web.cost[0] + cost_of(ground, node, other) > budget.max_cost:
        return False
    half = web.first[node]
    while half != NOBODY:
        if web.edges[half >> 1, 0] == other or web.edges[half >> 1, 1] == other:
            return False
        half = web.then[half]
    return True


@kernel
def cover_most(ground: Ground, budget: Budget, web: Web, node: int, draws: FloatArray) -> int:
    """Return the partner that covers most topics short of K; K rises while there is none.

    No topic is covered more often than there are links, so with K above that every partner counts.
    Ties go to the smaller first draw of the round, which is drawn for each node.
    """
    worth, found = web.worth, web.found
    while True:
        num_found = 0
        for i in range(ground.indptr[node], ground.indptr[node + 1]):
            if web.covered[i] >= web.target[node]:
                continue
            topic = ground.topics[i]
            for slot in range(ground.topic_indptr[topic], ground.topic_indptr[topic + 1]):
                other = ground.nodes[slot]
                if other != node and is_open(ground, web, other):
                    if worth[other] == 0.0:
                        found[num_found] = other
                        num_found += 1
                    worth[other] += ground.weight[topic]
        best = NOBODY
        for k in range(num_found):
            other = found[k]
            gain = worth[other]
            is_better = best == NOBODY or gain > worth[best]
            if best != NOBODY and gain == worth[best]:
                is_better = draws[other, 0] < draws[best, 0]
            if is_better and may_link(ground, budget, web, node, other):
                best = other
        for k in range(num_found):
            worth[found[k]] = 0.0
        if best != NOBODY or web.target[node] > web.degree[node]:
            return best
        web.target[node] += 1


@kernel
def tie(ground: Ground, web: Web, u: int, v: int) -> None:
    """Make a link and count what it covers at both ends."""
    edge = web.num_links[0]
    web.edges[edge, 0], web.edges[edge, 1] = min(u, v), max(u, v)
    web.num_links[0] += 1
    web.cost[0] += cost_of(ground, u, v)
    for side in range(2):
        node = web.edges[edge, side]
        web.then[2 * edge + side] = web.first[node]
        web.first[node] = 2 * edge + side
        web.degree[node] += 1
    i, i_end, j, j_end = (
        ground.indptr[u],
        ground.indptr[u + 1],
        ground.indptr[v],
        ground.indptr[v + 1],
    )
    while i < i_end and j < j_end:
        if ground.topics[i] < ground.topics[j]:
            i += 1
        elif ground.topics[i] > ground.topics[j]:
            j += 1
        else:
            web.covered[i] += 1
            web.covered[j] += 1
            i += 1
            j += 1
