"""SpiderCastM: every node covers its own topics by neighbours that want them too.

SpiderCast has each node choose neighbours until every topic of its own is covered K times: mostly
the neighbour that covers most topics still short of K, and some at random among those who want one
of its topics. Here, as in the paper's evaluation, each node knows all subscriptions and goes on
until its degree is used up: when every topic that can be covered further is covered K times, K
rises. A link needs both ends below their degree.

Nodes act in rounds, in an order drawn anew for each, and make one link each at most. Of every
``greedy + random`` links that a node asks for, the last ``random`` ones are random (3 and 1, as
SpiderCast's authors recommend).

Guarantee
    None but the budgets.

Complexity
    O(followers of the node's topics) for each choice.

References
----------
    G. Chockler, R. Melamed, Y. Tock, R. Vitenberg: SpiderCast: a scalable interest-aware overlay
    for topic-based pub/sub communication. ACM DEBS 2007.
    C. Chen, Y. Tock, H.-A. Jacobsen: Overlay design for topic-based publish/subscribe under node
    degree constraints. IEEE ICDCS 2016 (Sec. IX).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.connect.arrays import Budget, Network
from fanwise.connect.kernels import NOBODY, cost_of, first_common, next_common
from fanwise.connect.problem import Connection, edge_table
from fanwise.planning.problem import Outcome, Run

GREEDY, RANDOM = 3, 1
"""Where the settings say nothing."""
NUM_DRAWS = 8
"""Random numbers of a node in a round: four tries to meet somebody."""


class Neighbourhoods(NamedTuple):
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
        Scratch for counting.
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
    network, budget, rng = problem.network, problem.budget, run.random()
    links = _no_links(network, budget)
    num_nodes, rounds, is_active = len(links.degree), 0, True
    with run.progress.step("rounds of neighbour selection") as step:
        while is_active:
            order = rng.permutation(num_nodes).astype(np.int32)
            draws = rng.random((num_nodes, NUM_DRAWS))
            is_active = choose_in_turn(network, budget, links, order, draws, *mix) > 0
            rounds += 1
            step.note(f"round {rounds}, {int(links.num_links[0]):,} links")
    edges = np.ascontiguousarray(links.edges[: links.num_links[0]])
    return Outcome({"edges": edge_table(edges)}, metrics={"rounds": rounds})


def _no_links(network: Network, budget: Budget) -> Neighbourhoods:
    num_nodes = network.num_nodes
    limits = np.minimum(network.degree_limit, max(0, num_nodes - 1)).astype(np.int64)
    most = min(budget.max_edges, int(limits.sum()) // 2)
    zeros = np.zeros(num_nodes, dtype=np.int32)
    return Neighbourhoods(
        zeros,
        zeros.copy(),
        np.ones(num_nodes, dtype=np.int32),
        np.zeros(len(network.topics), dtype=np.int32),
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
def choose_in_turn(
    network: Network,
    budget: Budget,
    links: Neighbourhoods,
    order: IntArray,
    draws: FloatArray,
    greedy: int,
    random: int,
) -> int:
    """Let every node ask for one link; return how many were made. Changes ``links``."""
    made = 0
    for node in order:
        if links.is_done[node] or not is_open(network, links, node):
            continue
        if links.num_links[0] >= budget.max_edges:
            break
        partner = NOBODY
        # Counted over links that the node asked for itself, not those that others made with it.
        if links.asked[node] % (greedy + random) >= greedy:
            partner = draw_partner(network, budget, links, node, draws[node])
        if partner == NOBODY:
            partner = cover_most(network, budget, links, node, draws)
        if partner == NOBODY:
            links.is_done[node] = True
        else:
            links.asked[node] += 1
            make_link(network, links, node, partner)
            made += 1
    return made


@kernel
def is_open(network: Network, links: Neighbourhoods, node: int) -> bool:
    """Whether a node has links to spare. Changes no array."""
    return bool(links.degree[node] < network.degree_limit[node])


@kernel
def draw_partner(
    network: Network, budget: Budget, links: Neighbourhoods, node: int, draws: FloatArray
) -> int:
    """Return a node that wants a topic of this one's, both drawn at random; a few tries.

    Changes no array.
    """
    num_topics = network.indptr[node + 1] - network.indptr[node]
    if num_topics == 0:
        return NOBODY
    for k in range(0, NUM_DRAWS, 2):
        topic = network.topics[network.indptr[node] + int(draws[k] * num_topics)]
        start, end = network.topic_indptr[topic], network.topic_indptr[topic + 1]
        other = network.nodes[start + int(draws[k + 1] * (end - start))]
        if other != node and may_link(network, budget, links, node, other):
            return int(other)
    return NOBODY


@kernel
def may_link(
    network: Network, budget: Budget, links: Neighbourhoods, node: int, other: int
) -> bool:
    """Whether a node has links to spare, is no neighbour yet, and the link can be paid.

    Changes no array.
    """
    if not is_open(network, links, other):
        return False
    if links.cost[0] + cost_of(network.positions, node, other) > budget.max_cost:
        return False
    half = links.first[node]
    while half != NOBODY:
        if links.edges[half >> 1, 0] == other or links.edges[half >> 1, 1] == other:
            return False
        half = links.then[half]
    return True


@kernel
def cover_most(
    network: Network, budget: Budget, links: Neighbourhoods, node: int, draws: FloatArray
) -> int:
    """Return the partner that covers most topics short of K; K rises while there is none.

    No topic is covered more often than there are links, so with K above that every partner counts.
    Ties go to the smaller first draw of the round, which is drawn for each node. Changes
    ``target``, ``worth`` and ``found`` of ``links``.
    """
    worth, found = links.worth, links.found
    while True:
        num_found = 0
        for i in range(network.indptr[node], network.indptr[node + 1]):
            if links.covered[i] >= links.target[node]:
                continue
            topic = network.topics[i]
            for slot in range(network.topic_indptr[topic], network.topic_indptr[topic + 1]):
                other = network.nodes[slot]
                if other != node and is_open(network, links, other):
                    if worth[other] == 0.0:
                        found[num_found] = other
                        num_found += 1
                    worth[other] += network.weight[topic]
        best = NOBODY
        for k in range(num_found):
            other = found[k]
            gain = worth[other]
            is_better = best == NOBODY or gain > worth[best]
            if best != NOBODY and gain == worth[best]:
                is_better = draws[other, 0] < draws[best, 0]
            if is_better and may_link(network, budget, links, node, other):
                best = other
        for k in range(num_found):
            worth[found[k]] = 0.0
        # With K above the degree every topic of the node is short of K: all partners were looked
        # at.
        if best != NOBODY or links.target[node] > links.degree[node]:
            return best
        links.target[node] += 1


@kernel
def make_link(network: Network, links: Neighbourhoods, u: int, v: int) -> None:
    """Make a link and count what it covers at both ends. Changes ``links``."""
    edge = links.num_links[0]
    links.edges[edge, 0], links.edges[edge, 1] = min(u, v), max(u, v)
    links.num_links[0] += 1
    links.cost[0] += cost_of(network.positions, u, v)
    for side in range(2):
        node = links.edges[edge, side]
        links.then[2 * edge + side] = links.first[node]
        links.first[node] = 2 * edge + side
        links.degree[node] += 1
    i, j = first_common(network.indptr, network.topics, u, v)
    while i != NOBODY:
        links.covered[i] += 1
        links.covered[j] += 1
        i, j = next_common(network.indptr, network.topics, u, v, i, j)
