"""Bounds on mu against the optimum by trying every overlay."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.connect.small_networks import Posed, posed_problems
from tests.oracles import overlay_bounds_oracle as oracle

import fanwise as fw
from fanwise.connect.arrays import NO_EDGES, as_edges
from fanwise.connect.bounds import BoundSearch, upper_bound
from fanwise.connect.pricing import pass_kernels
from fanwise.connect.pricing.greedy_prices import prices_of_gpa, prices_of_gpm
from fanwise.connect.problem import edges_of

pytestmark = pytest.mark.kernels

PRICES = st.floats(0, 3, allow_nan=False)


def some_overlay(posed: Posed, random):
    pairs = oracle.sharing_pairs(posed.interests)
    return as_edges(random.sample(pairs, random.randint(0, len(pairs))))


@settings(max_examples=60)
@given(posed_problems(), st.randoms(use_true_random=False))
def test_the_bound_holds_whatever_overlay_it_starts_from(posed: Posed, random):
    problem = posed.problem()
    edges = some_overlay(posed, random)
    best = posed.optimum()
    for start in (NO_EDGES, edges if problem.admits(edges) else NO_EDGES):
        bound = upper_bound(problem, start).value
        assert bound >= best - 1e-9 * max(1.0, best)
        assert bound <= problem.network.complete_value * (1 + 1e-9)


@settings(max_examples=30)
@given(posed_problems(), st.randoms(use_true_random=False), st.data())
def test_any_prices_prove_a_bound(posed: Posed, random, data):
    """The inequality itself, with prices nobody would choose."""
    problem = posed.problem()
    search = BoundSearch(problem, NO_EDGES)
    network = search.network
    edges = some_overlay(posed, random)
    label = network.components(edges).label
    num_topics, num_nodes = len(posed.rates), len(posed.interests)
    share = np.array(data.draw(st.lists(st.floats(0, 1), min_size=num_topics, max_size=num_topics)))
    node = np.array(data.draw(st.lists(PRICES, min_size=num_nodes, max_size=num_nodes)))
    link = data.draw(PRICES)
    cost = data.draw(PRICES) if posed.max_cost is not None else 0.0
    surplus, _, _ = pass_kernels.price_pairs(
        network, label, share * network.weight, node, link, cost,
        np.zeros(num_nodes), np.zeros(num_topics),
    )  # fmt: skip
    limits = np.minimum(network.degree_limit, max(0, num_nodes - 1))
    bound = problem.value(edges) + surplus + np.dot(node, limits) + link * search.budget.max_edges
    bound += np.dot((1 - share) * network.weight, search.joins(label))
    bound += cost * posed.max_cost if cost else 0.0
    best = posed.optimum()
    assert bound >= best - 1e-9 * max(1.0, best)


@settings(max_examples=40)
@given(posed_problems(), st.randoms(use_true_random=False))
def test_pairs_are_priced_as_by_definition(posed: Posed, random):
    """Surplus, number and loads of a pass, against gains worked out pair by pair."""
    problem = posed.problem()
    network = problem.network
    edges = some_overlay(posed, random)
    pairs = [tuple(edge) for edge in edges.tolist()]
    price = 0.25 * (1 if not posed.weighted else max(posed.rates, default=1))
    node = np.array([price * random.randint(0, 3) for _ in posed.interests])
    node_load, topic_load = np.zeros(len(posed.interests)), np.zeros(len(posed.rates))
    surplus, count, _ = pass_kernels.price_pairs(
        network, network.components(edges).label, network.weight, node, price, 0.0,
        node_load, topic_load,
    )  # fmt: skip
    base = oracle.mu(posed.interests, pairs, posed.weight)
    expected = expected_count = 0
    for pair in oracle.sharing_pairs(posed.interests):
        gain = oracle.mu(posed.interests, [*pairs, pair], posed.weight) - base
        charged = price + node[pair[0]] + node[pair[1]]
        if gain > charged:
            expected += gain - charged
            expected_count += 1
    assert surplus == pytest.approx(expected)
    assert count == expected_count
    assert node_load.sum() == 2 * expected_count


def paper_ratio_of_gpa(value, num_links):
    """Theorem 1 before it is rounded down to 1 - 1/e."""
    return value / (1 - (1 - 1 / num_links) ** num_links)


def paper_ratio_of_gpm(value, degree):
    """What Lemma 5 gives for phases that are matchings."""
    return value / (1 - (1 - 1 / (3 * (degree + 1))) ** degree)


@settings(max_examples=40)
@given(posed_problems(budgets=("edges", "degree")))
def test_prices_left_by_growing_prove_what_they_say(posed: Posed):
    """The bound holds, and no pair gains more than its prices: nothing is left to add up."""
    problem = posed.problem()
    best = posed.optimum()
    found = []
    if posed.max_edges is not None:
        found.append(prices_of_gpa(problem, edges_of(problem.solve("gpa").tables["edges"])))
    if posed.max_degree is not None:
        found.append(prices_of_gpm(problem, edges_of(problem.solve("gpm").tables["edges"])))
    for bound, prices in filter(None, found):
        assert bound >= best - 1e-9 * max(1.0, best)
        network = problem.network
        surplus, _, _ = pass_kernels.price_pairs(
            network, network.components(prices.start).label, prices.topic * network.weight,
            prices.node, prices.link, 0.0,
            np.zeros(len(posed.interests)), np.zeros(len(posed.rates)),
        )  # fmt: skip
        assert surplus == 0.0


@settings(max_examples=40)
@given(posed_problems(budgets=("edges",), max_nodes=6))
def test_prices_of_gpa_are_never_worse_than_the_papers_ratio(posed: Posed):
    problem = posed.problem()
    edges = edges_of(problem.solve("gpa").tables["edges"]) if posed.max_edges else NO_EDGES
    found = prices_of_gpa(problem, edges)
    if found is None or len(edges) < posed.max_edges:
        return
    ratio = paper_ratio_of_gpa(problem.value(edges), posed.max_edges)
    assert found[0] <= ratio * (1 + 1e-6)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_prices_of_gpm_are_never_worse_than_the_papers_ratio(degree):
    rng = np.random.default_rng(degree)
    interests = [sorted(rng.choice(30, 6, replace=False).tolist()) for _ in range(40)]
    problem = Posed(interests, [1.0] * 30, max_degree=degree).problem()
    edges = edges_of(problem.solve("gpm").tables["edges"])
    bound, prices = prices_of_gpm(problem, edges)
    assert len(edges) == 20 * degree  # every phase is a perfect matching
    assert bound <= paper_ratio_of_gpm(problem.value(edges), degree) * (1 + 1e-6)
    assert len(prices.start) % 20 == 0


def test_growing_under_other_limits_leaves_no_prices():
    posed = Posed([[0], [0]], [1.0], max_degree=0)
    assert prices_of_gpm(posed.problem(), NO_EDGES) is None
    posed = Posed([[0], [0], [0], [0]], [1.0], max_degree=[1, 1, 2, 1])
    assert prices_of_gpm(posed.problem(), as_edges([(0, 1), (2, 3)])) is None
    posed = Posed([[0], [0], [0], [0]], [1.0], max_degree=1, max_edges=2)
    assert prices_of_gpa(posed.problem(), as_edges([(0, 1), (2, 3)])) is None
    assert prices_of_gpm(posed.problem(), as_edges([(0, 1), (2, 3)])) is None


def test_prices_beat_counting_the_largest_gains():
    """One topic that all want fills the largest gains again and again; prices see through it."""
    rng = np.random.default_rng(2)
    interests = [[0, *sorted(rng.choice(np.arange(1, 30), 2, replace=False))] for _ in range(40)]
    posed = Posed([[int(t) for t in topics] for topics in interests], [1.0] * 30, max_edges=45)
    problem = posed.problem()
    gpa = edges_of(problem.solve("gpa").tables["edges"])
    pairs = oracle.sharing_pairs(posed.interests)
    overlaps = sorted((len(set(interests[u]) & set(interests[v])) for u, v in pairs), reverse=True)
    assert problem.value(gpa) == upper_bound(problem, gpa).value == 87 < sum(overlaps[:45]) == 93


def test_steps_come_near_the_best_prices(monkeypatch):
    """Subgradient steps against the linear programme, where both can be had."""
    rng = np.random.default_rng(4)
    interests = [
        sorted(rng.choice(25, rng.integers(2, 7), replace=False).tolist()) for _ in range(50)
    ]
    problem = Posed(interests, [1.0] * 25, max_degree=2).problem()
    gpm = edges_of(problem.solve("gpm").tables["edges"])
    best = upper_bound(problem, gpm).value
    monkeypatch.setattr("fanwise.connect.bounds.MAX_ENTRIES", 0)
    stepped = upper_bound(problem, gpm).value
    assert problem.value(gpm) < best <= stepped <= 1.1 * best
    assert stepped < problem.network.complete_value


def test_without_budgets_the_bound_is_everything():
    problem = fw.Connection(Posed([[0, 1], [0], [1], []], [1.0, 1.0]).workload())
    assert upper_bound(problem, NO_EDGES).value == problem.network.complete_value == 2


def test_nodes_without_links_to_spare_join_nothing():
    posed = Posed([[0], [0], [0], [0]], [1.0], max_degree=[0, 0, 1, 1])
    assert upper_bound(posed.problem(), NO_EDGES).value == posed.optimum() == 1
