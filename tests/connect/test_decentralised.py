"""Overlays that nodes make themselves, and random ones: budgets, seeds, what they know."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.connect.small_networks import Posed, crowded_problems, posed_problems
from tests.oracles import overlay_bounds_oracle as oracle
from tests.oracles import spidercast_oracle

import fanwise as fw
from fanwise.connect.gossip import _meet, gossip, support_by_view_and_rounds
from fanwise.connect.gossip_kernels import spread_labels
from fanwise.connect.problem import edges_of
from fanwise.connect.random_overlays import RandomLinks, draw_sharing, list_sharing

pytestmark = pytest.mark.kernels

DEGREE_ALGORITHMS = ("spidercast", "random-maximum", "gossip")


def edges_in(plan):
    return [tuple(edge) for edge in edges_of(plan.tables["edges"]).tolist()]


def crowd(seed, num_nodes=60, num_topics=40, max_degree=4, **budgets) -> fw.Connection:
    """A problem with popular and rare topics."""
    rng = np.random.default_rng(seed)
    chance = (1 + np.arange(num_topics)) ** -0.8
    interests = [
        sorted(
            rng.choice(
                num_topics, rng.integers(2, 12), replace=False, p=chance / chance.sum()
            ).tolist()
        )
        for _ in range(num_nodes)
    ]
    posed = Posed(interests, rng.integers(1, 9, num_topics).astype(float).tolist())
    return fw.Connection(posed.workload(), max_degree=max_degree, **budgets)


@pytest.mark.parametrize("algorithm", DEGREE_ALGORITHMS)
@settings(max_examples=40)
@given(posed=posed_problems(max_nodes=6), seed=st.integers(0, 9))
def test_budgets_are_kept(algorithm, posed, seed):
    if posed.max_degree is None:
        return
    plan = posed.problem().solve(algorithm, seed=seed)
    edges = edges_in(plan)
    assert oracle.is_within(edges, len(posed.interests), **posed.budgets())
    assert len(set(edges)) == len(edges)
    assert plan.objective == pytest.approx(oracle.mu(posed.interests, edges, posed.weight))


@pytest.mark.parametrize("algorithm", [*DEGREE_ALGORITHMS, "random-average"])
def test_same_seed_same_overlay(algorithm):
    budget = {"max_edges": 80} if algorithm == "random-average" else {}
    problem = crowd(3, **budget)
    first, again, other = (edges_in(problem.solve(algorithm, seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_random_links_are_as_many_as_fit():
    problem = crowd(1, max_degree=None, max_edges=300)
    assert len(edges_in(problem.solve("random-average"))) == 300
    degrees = Counter(node for edge in edges_in(crowd(1).solve("random-maximum")) for node in edge)
    assert sum(degree < 4 for degree in degrees.values()) <= 4  # at most a clique of four


def test_random_links_beyond_all_pairs_are_all_pairs():
    problem = Posed([[0], [0], [1], [1]], [1.0, 1.0], max_edges=99).problem()
    assert sorted(edges_in(problem.solve("random-average"))) == list(combinations(range(4), 2))
    shared = RandomLinks(problem, np.random.default_rng(0), shared=True).draw_all()
    assert sorted(map(tuple, shared.tolist())) == [(0, 1), (2, 3)]


@pytest.mark.parametrize(
    "interests",
    [
        [[0, 1, 2], [0, 1, 2], [2], [3], [3, 4], [4]],
        [[0, 1, 2], [0, 1, 2], [0, 2, 3], [3], [1, 3]],  # more pairs of topics than pairs of nodes
    ],
)
def test_shared_links_are_drawn_evenly_from_pairs_that_share_a_topic(interests):
    """A pair that shares three topics is as likely as one that shares a single one."""
    network = Posed(interests, [1.0] * 5).problem().network
    rng = np.random.default_rng(5)
    everybody = np.arange(len(interests), dtype=np.int32)
    drawn = Counter()
    for _ in range(4):
        pairs = np.sort(draw_sharing(network, everybody, rng, 4096), axis=1)
        drawn.update(map(tuple, pairs.tolist()))
    assert sorted(drawn) == oracle.sharing_pairs(interests)
    assert max(drawn.values()) < 1.25 * min(drawn.values())


@settings(max_examples=30)
@given(posed_problems(max_nodes=6))
def test_the_pairs_that_share_a_topic_are_listed(posed):
    everybody = np.ones(len(posed.interests), dtype=bool)
    listed = list_sharing(posed.problem().network, everybody)
    assert sorted(map(tuple, listed.tolist())) == oracle.sharing_pairs(posed.interests)


@settings(max_examples=30)
@given(st.one_of(crowded_problems(), posed_problems(budgets=("degree",))), st.integers(0, 9))
def test_spidercast_makes_the_links_of_its_oracle(posed, seed):
    if posed.max_degree is None:
        return
    num_nodes = len(posed.interests)
    limits = posed.max_degree if isinstance(posed.max_degree, list) else [posed.max_degree] * 9

    def rounds():
        rng = np.random.default_rng(seed)
        while True:
            yield rng.permutation(num_nodes).tolist(), rng.random((num_nodes, 8)).tolist()

    links = spidercast_oracle.spin(posed.interests, limits, rounds(), posed.weight)
    assert edges_in(posed.problem().solve("spidercast", seed=seed)) == links


@pytest.mark.parametrize("seed", range(3))
def test_who_knows_more_connects_more(seed):
    problem = crowd(seed, num_nodes=120, num_topics=60)
    random, covering, phased = (
        problem.solve(name, seed=seed).objective for name in ("random-maximum", "spidercast", "gpm")
    )
    assert random < covering < phased


def test_support_grows_with_rounds_and_view():
    problem = crowd(0, num_nodes=120, num_topics=60)
    rows = support_by_view_and_rounds(problem, views=[4, 24], rounds=[1, 5, 40])
    support = {(row["view"], row["rounds"]): row["support"] for row in rows}
    assert support[4, 1] < support[4, 5] < support[4, 40]
    assert support[24, 1] < support[24, 5] <= support[24, 40]
    assert support[4, 40] < support[24, 40]
    assert rows[-1]["messages"] > rows[-3]["messages"]
    random = problem.solve("random-maximum")
    assert support[24, 40] * problem.network.complete_value > 1.3 * random.objective


@settings(max_examples=25)
@given(posed_problems(max_nodes=6), st.integers(0, 5))
def test_labels_name_the_smallest_node_of_a_component(posed, seed):
    """On links that stay, labels become right after as many rounds as there are nodes."""
    if posed.max_degree is None:
        return
    problem = posed.problem()
    network, rng = problem.network, np.random.default_rng(seed)
    *_, last = [None, *gossip(problem, rng, view=6, rounds=3)]
    peers = _meet(network, rng, 6)
    edges = [] if last is None else last.edges.tolist()
    for u, v in edges:
        for here, there in ((u, v), (v, u)):
            peers.neighbours[here, peers.degree[here]] = there
            peers.degree[here] += 1
    for _ in range(len(posed.interests)):
        spread_labels(network, peers)
    for node, topics in enumerate(posed.interests):
        for place, topic in enumerate(topics):
            component = reached(posed.interests, edges, node, topic)
            slot = network.slot_of[network.indptr[node] + place]
            assert peers.root[slot] == min(component)


def reached(interests, edges, node, topic):
    component, frontier = {node}, [node]
    while frontier:
        here = frontier.pop()
        for edge in edges:
            for there in edge:
                if here in edge and topic in interests[there] and there not in component:
                    component.add(there)
                    frontier.append(there)
    return component
