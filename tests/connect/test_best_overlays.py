"""Best and exact overlays against trying everything, and against the paper's algorithms."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.connect.small_networks import Posed, crowded_problems, posed_problems
from tests.oracles import overlay_bounds_oracle as oracle

import fanwise as fw
from fanwise.connect.arrays import NO_EDGES, as_edges
from fanwise.connect.growing.grow import complete_greedily
from fanwise.connect.improving import linking
from fanwise.connect.improving.greedy_order import order_greedily
from fanwise.connect.improving.moves import NUM_DRAWS, try_moves
from fanwise.connect.improving.overlay import VALUE
from fanwise.connect.improving.partners import best_partners
from fanwise.connect.problem import edges_of
from fanwise.connect.random_overlays import DRAWS, RandomLinks
from fanwise.errors import ParameterError


def edges_in(plan):
    return [tuple(edge) for edge in edges_of(plan.tables["edges"]).tolist()]


@settings(max_examples=30)
@given(posed_problems())
def test_exact_is_the_optimum(posed: Posed):
    plan = posed.problem().solve("exact")
    best = posed.optimum()
    assert plan.objective == pytest.approx(best, rel=1e-9)
    assert plan.bound == pytest.approx(best, rel=1e-9)
    assert oracle.is_within(edges_in(plan), len(posed.interests), **posed.budgets())


@settings(max_examples=30)
@given(posed_problems(max_nodes=6), st.integers(0, 3))
def test_best_lies_between_the_papers_algorithms_and_its_bound(posed: Posed, seed):
    problem = posed.problem()
    plan = problem.solve("best", seed=seed)
    edges = edges_in(plan)
    assert oracle.is_within(edges, len(posed.interests), **posed.budgets())
    assert plan.objective == pytest.approx(oracle.mu(posed.interests, edges, posed.weight))
    for edge in edges:
        rest = [other for other in edges if other != edge]
        assert oracle.mu(posed.interests, rest, posed.weight) < plan.objective
    for name, budget in (("gpa", posed.max_edges), ("gpm", posed.max_degree)):
        if budget is not None:
            assert plan.objective >= problem.solve(name).objective * (1 - 1e-12)


@settings(max_examples=30)
@given(
    st.one_of(crowded_problems(), posed_problems(max_nodes=6, budgets=("edges", "degree"))),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=8, max_size=30),
)
def test_components_follow_links_that_come_and_go(posed: Posed, toggles):
    """Toggle links; after each, labels must tell exactly the components, and totals mu."""
    network = posed.problem().network
    state = linking.make_overlay(network, NO_EDGES, spare_edges=30, spare_records=300)
    edges: dict[tuple[int, int], int] = {}
    for one, other in toggles:
        u, v = min(one, other), max(one, other)
        if u == v or v >= len(posed.interests):
            continue
        before = state.totals[VALUE]
        if (u, v) in edges:
            loss = linking.unlink(network, state, edges.pop((u, v)))
            assert before - loss == pytest.approx(state.totals[VALUE])
        else:
            edges[u, v] = linking.link(network, state, u, v)
        assert sorted(map(tuple, linking.edges_in(state).tolist())) == sorted(edges)
        assert_labels_tell_components(posed, network, state, list(edges))


def assert_labels_tell_components(posed, network, state, edges):
    expected = oracle.mu(posed.interests, edges, posed.weight)
    assert state.totals[VALUE] == pytest.approx(expected)
    for topic in range(len(posed.rates)):
        slots = range(network.topic_indptr[topic], network.topic_indptr[topic + 1])
        nodes = [int(network.nodes[slot]) for slot in slots]
        inside = [(u, v) for u, v in edges if u in nodes and v in nodes]
        labels = [int(state.labels.label[slot]) for slot in slots]
        assert len(set(labels)) == oracle.components(nodes, inside)
        for u, v in inside:
            assert labels[nodes.index(u)] == labels[nodes.index(v)]
        for label in set(labels):
            assert state.labels.size[label] == labels.count(label)


@settings(max_examples=40)
@given(st.one_of(crowded_problems(), posed_problems(max_nodes=6)), st.integers(0, 3), st.booleans())
def test_moves_keep_budgets_and_the_books(posed: Posed, seed, hot):
    """After many moves, kept and undone, the state is that of its links, within the budgets."""
    try_and_check(posed, seed, 2.0 * hot)


@pytest.mark.parametrize("seed", range(12))
def test_moves_taken_back_leave_no_trace(seed):
    rng = np.random.default_rng(seed)
    further = [rng.choice([1, 2], rng.integers(0, 3), replace=False).tolist() for _ in range(6)]
    interests = [[0, *sorted(topics)] for topics in further]
    try_and_check(Posed(interests, [1.0, 2.0, 4.0], max_degree=2), seed, 0.0)


def try_and_check(posed, seed, heat):
    problem = posed.problem()
    network, budget = problem.network, problem.budget
    start = complete_greedily(problem)
    state = linking.make_overlay(network, start, spare_edges=80, spare_records=900)
    partners = best_partners(network, NO_EDGES, 3)
    rng = np.random.default_rng(seed)
    draws, charge = rng.random((40, NUM_DRAWS)), rng.random(network.num_nodes) * rng.integers(3)
    for row in draws:
        tried, _ = try_moves(network, state, budget, partners, charge, row[None], 4, heat)
        assert tried == 1
        edges = [tuple(edge) for edge in linking.edges_in(state).tolist()]
        assert oracle.is_within(edges, len(posed.interests), **posed.budgets())
        assert_labels_tell_components(posed, network, state, edges)


@settings(max_examples=40)
@given(posed_problems(max_nodes=5, budgets=("degree",)))
def test_without_budgets_best_and_exact_need_the_fewest_links(posed: Posed):
    problem = Posed(posed.interests, posed.rates, weighted=posed.weighted).problem()
    fewest = oracle.fewest_edges(posed.interests)
    for algorithm in ("exact", "best"):
        plan = problem.solve(algorithm)
        assert plan.tables["edges"].num_rows == fewest
        assert plan.objective == pytest.approx(problem.network.complete_value)


@settings(max_examples=30)
@given(posed_problems(max_nodes=6), st.randoms(use_true_random=False))
def test_greedy_order_keeps_mu_and_leaves_out_what_adds_nothing(posed: Posed, random):
    pairs = oracle.sharing_pairs(posed.interests)
    edges = as_edges(random.sample(pairs, random.randint(0, len(pairs))))
    problem = posed.problem()
    ordered = order_greedily(problem.network, edges)
    assert problem.value(ordered) == pytest.approx(problem.value(edges))
    gains = problem.network.gains(ordered)
    assert (gains > 0).all()
    with np.errstate(divide="ignore"):  # nodes may lie at the same place
        per_cost = gains / (problem.network.costs(ordered) if posed.positions else 1.0 + 0 * gains)
    if posed.positions is None:
        assert (np.diff(per_cost) <= 1e-9 * per_cost.max(initial=0)).all()


def crowd(seed, num_nodes=90, num_topics=50, **budgets) -> fw.Connection:
    rng = np.random.default_rng(seed)
    chance = (1 + np.arange(num_topics)) ** -0.7
    sizes = rng.integers(2, 16, num_nodes)
    interests = [
        sorted(rng.choice(num_topics, size, replace=False, p=chance / chance.sum()).tolist())
        for size in sizes
    ]
    posed = Posed(
        interests,
        rng.integers(1, 9, num_topics).astype(float).tolist(),
        positions=rng.random((num_nodes, 2)).tolist(),
    )
    return fw.Connection(posed.workload(), **budgets)


@pytest.mark.parametrize(
    ("algorithm", "budgets"),
    [
        ("gpm", {"max_degree": 2}),
        ("gpm", {"max_degree": 3, "topic_weight": "rate"}),
        ("gpa", {"max_edges": 60}),
        ("gpa", {"max_edges": 80, "max_degree": 4}),
        ("gpa", {"link_cost": "distance", "max_link_cost": 12.0}),
        ("gm", {}),
    ],
)
def test_moves_beat_the_papers_algorithm(algorithm, budgets):
    problem = crowd(5, **budgets)
    paper = problem.solve(algorithm)
    plan = problem.solve("best", time_limit=15)
    plan.verify()
    assert paper.objective <= plan.objective <= plan.bound * (1 + 1e-9)
    if budgets:
        assert plan.objective > paper.objective
    else:
        assert plan.tables["edges"].num_rows < paper.tables["edges"].num_rows


def test_same_seed_same_overlay():
    problem = crowd(8, num_nodes=30, num_topics=20, max_degree=2)
    first, again, other = (problem.solve("best", seed=seed) for seed in (1, 1, 2))
    assert edges_in(first) == edges_in(again)
    assert first.metrics["moves"] > 0
    assert first.objective == pytest.approx(other.objective, rel=0.02)


def test_best_stops_at_its_gap():
    problem = crowd(8, num_nodes=30, num_topics=20, max_degree=2)
    plan = problem.solve("best", gap=0.9)
    assert plan.gap <= 0.9
    assert "moves" not in plan.metrics


def test_exact_is_for_small_instances(monkeypatch):
    with pytest.raises(ParameterError, match="36 pairs"):
        crowd(1).solve("exact")
    monkeypatch.setattr("fanwise.connect.exact.MAX_CUT_PAIRS", 40)
    with pytest.raises(ParameterError, match="40 pairs"):
        crowd(1, max_degree=2).solve("exact")


def test_exact_out_of_time_still_has_an_overlay_and_a_bound(monkeypatch):
    monkeypatch.setattr("fanwise.connect.exact.NODES_PER_CALL", 2)
    plan = crowd(3, num_nodes=9, num_topics=16, link_cost="distance", max_link_cost=1.5).solve(
        "exact", time_limit=0
    )
    assert plan.verify().is_bound_checked
    assert plan.bound > plan.objective > 0
    assert plan.stopped == "limit"
    assert not plan.metrics["proven"]


@pytest.mark.data
def test_acceptance_vectors(shared_data):
    cases = json.loads((shared_data / "acceptance" / "connect.json").read_text())
    num_checked = 0
    for case in cases:
        num_topics = 1 + max(topic for topics in case["subscriptions"] for topic in topics)
        for budget in ("edges", "degree"):
            optimum = case.get(f"optimum_for_{budget}")
            if optimum is None:
                continue
            limit = {f"max_{budget}": case[f"max_{budget}"]}
            problem = Posed(case["subscriptions"], [1.0] * num_topics, **limit).problem()
            for algorithm in ("exact", "best"):
                plan = problem.solve(algorithm)
                assert plan.objective == plan.bound == optimum
                num_checked += 1
    assert num_checked >= 20


def test_the_clock_decides_nothing_without_a_time_limit(monkeypatch):
    """The same seed gives the same plan, however long things seem to take."""
    problems = [
        crowd(8, num_nodes=30, num_topics=20, max_degree=2),
        crowd(9, num_nodes=30, num_topics=20, max_edges=25, topic_weight="rate"),
        crowd(3, num_nodes=9, num_topics=16, max_degree=2),
    ]
    monkeypatch.setattr("fanwise.connect.best.MOST_WORK", 20_000_000)
    calm = [problem.solve("best", seed=3) for problem in problems]
    leaps, now = np.random.default_rng(0), 0.0

    def erratic() -> float:
        nonlocal now
        now += leaps.choice([0.0, 1e-3, 10.0, 1e4])
        return now

    monkeypatch.setattr("time.perf_counter", erratic)
    for problem, before in zip(problems, calm, strict=True):
        plan = problem.solve("best", seed=3)
        assert edges_in(plan) == edges_in(before)
        assert (plan.stopped, plan.bound) == (before.stopped, before.bound)
        assert "time_limit" not in plan.limits
    assert {plan.stopped for plan in calm} >= {"work", "exhausted"}


@pytest.mark.parametrize("seconds_expected", [0.0, 1e9])
@pytest.mark.parametrize("budgets", [{"max_degree": 3}, {"max_edges": 60}, {}])
def test_a_large_network_gets_an_overlay_whatever_the_time_limit(
    monkeypatch, budgets, seconds_expected
):
    """Also where counting takes longer than expected, or is not begun."""
    monkeypatch.setattr("fanwise.connect.best.SMALL_WORK", 0)
    monkeypatch.setattr("fanwise.connect.best.COUNTING_SECONDS", seconds_expected)
    monkeypatch.setattr("fanwise.connect.best.ENTRY_SECONDS", 0.0)
    plan = crowd(5, **budgets).solve("best", time_limit=0.0)
    assert plan.verify().is_bound_checked
    assert plan.objective > 0
    assert plan.stopped == "limit"
    with_time = crowd(5, **budgets).solve("best", time_limit=0.3)
    with_time.verify()
    assert with_time.objective >= plan.objective


def test_random_links_end_with_the_time():
    problem = crowd(5, num_nodes=300, max_edges=20_000)
    looks = iter(range(2))
    links = RandomLinks(problem, np.random.default_rng(1), shared=False)
    found = links.draw_all(lambda: next(looks, None) is None)
    whole = RandomLinks(problem, np.random.default_rng(1), shared=False).draw_all()
    assert len(whole) == 20_000
    assert 0 < len(found) <= 3 * DRAWS
    assert np.array_equal(found, whole[: len(found)])
