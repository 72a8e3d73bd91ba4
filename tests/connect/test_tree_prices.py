"""Shares on spanning trees of topics: what they prove, who checks it, and what follows from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.connect.small_networks import Posed, posed_problems
from tests.connect.test_certificates import check_twice
from tests.oracles import overlay_bounds_oracle as oracle

from fanwise.connect.arrays import NO_EDGES, as_edges
from fanwise.connect.bounds import BoundSearch
from fanwise.connect.certificate import LEVELS, Prices, make_proof
from fanwise.connect.improving.priced_greedy import grow_by_prices
from fanwise.connect.kernels import NOBODY
from fanwise.connect.pricing import tree_prices
from fanwise.connect.pricing.topic_trees import plant_trees
from fanwise.connect.pricing.tree_kernels import price_trees
from fanwise.connect.pricing.tree_prices import TreePrices
from fanwise.connect.verify_proof import proven_bound
from fanwise.planning.proof import ProofError


def clustered(**budgets) -> Posed:
    """Eight groups of five; each topic is wanted by all of three groups."""
    rng = np.random.default_rng(4)
    groups = [set(rng.choice(8, 3, replace=False).tolist()) for _ in range(30)]
    interests = [
        [topic for topic, some in enumerate(groups) if node // 5 in some] for node in range(40)
    ]
    return Posed(interests, [1.0] * 30, **budgets)


def trees_of(posed: Posed, edges) -> TreePrices:
    problem = posed.problem()
    search = BoundSearch(problem, NO_EDGES)
    network = problem.network
    first = Prices(np.full(network.num_topics, 0.5), np.ones(network.num_nodes), 0.0, 0.0)
    return TreePrices(network, search.budget, search.limits, edges, first)


def draw_links(posed: Posed, random):
    pairs = oracle.sharing_pairs(posed.interests)
    return as_edges(random.sample(pairs, random.randint(0, len(pairs))))


@settings(max_examples=60)
@given(posed_problems(), st.randoms(use_true_random=False))
def test_any_shares_on_any_trees_prove_a_bound(tmp_path_factory, posed: Posed, random):
    """The inequality itself, as verification and a third party evaluate it."""
    problem, folder = posed.problem(), tmp_path_factory.mktemp("trees")
    plan = problem.solve("best", proof=False)
    joins = int(np.maximum(problem.network.followers - 1, 0).sum())
    scale = random.choice([0.1, 1.0, 5.0])
    prices = Prices(
        np.zeros(problem.network.num_topics),
        np.array([random.random() * scale for _ in posed.interests]),
        random.random() * scale,
        random.random() * scale if posed.max_cost is not None else 0.0,
        draw_links(posed, random),
        np.array([random.choice((0, 1, 100, LEVELS)) for _ in range(joins)], dtype=np.uint8),
    )
    proof = make_proof(0.0, prices, NO_EDGES)
    best = posed.optimum()
    assert check_twice(replace(plan, proof=proof), folder) >= best - 1e-9 * max(1.0, best)


@settings(max_examples=40)
@given(posed_problems(), st.randoms(use_true_random=False))
def test_steps_prove_what_they_say(posed: Posed, random):
    """The kernel's sum over pairs is that of plain NumPy, before and after rounding."""
    problem = posed.problem()
    trees = trees_of(posed, draw_links(posed, random))
    for turn in range(5):
        trees.step(turn / 5)
    bound, prices = trees.round(10_000, 3)
    proof = make_proof(bound, prices, NO_EDGES)
    plan = replace(problem.solve("best", proof=False), proof=proof)
    proven = proven_bound(problem.workload, plan)
    assert proven <= bound * (1 + 1e-9) + 1e-9
    assert bound >= posed.optimum() * (1 - 1e-9)


@settings(max_examples=40)
@given(posed_problems(), st.randoms(use_true_random=False), st.integers(2, 5))
def test_parts_of_the_nodes_add_up_to_all_pairs(posed: Posed, random, stride):
    network = posed.problem().network
    trees = plant_trees(network, draw_links(posed, random))
    share = np.array([random.random() for _ in range(network.num_slots)])
    share[trees.parent == NOBODY] = 0.0
    prices = np.array([random.random() for _ in range(network.num_nodes + 2)])
    is_hot = np.ones(network.num_topics, dtype=np.bool_)

    def look(first, stride):
        loads = np.zeros(network.num_nodes), np.zeros(network.num_slots)
        sums = price_trees(network, trees, share, is_hot, prices, 0.2, first, stride, *loads)
        return np.concatenate([sums, *loads])

    parts = sum(look(first, stride) for first in range(stride))
    np.testing.assert_allclose(parts, look(0, 1), atol=1e-9)


def test_threads_and_parts_change_no_sum(monkeypatch):
    posed = clustered(max_degree=2)
    found = []
    for least in (0, 10**9):
        monkeypatch.setattr(tree_prices, "WORTH_THREADS", least)
        trees = trees_of(posed, draw_all(posed))
        looked_at = sum(trees.step(turn / 40) for turn in range(40))
        assert looked_at == 20 + 20 / tree_prices.PARTS  # the first half in parts
        found.append(trees.bound)
    assert found[0] == pytest.approx(found[1], rel=1e-9)


@settings(max_examples=40)
@given(posed_problems(), st.randoms(use_true_random=False))
def test_trees_span_their_topics_in_preorder(posed: Posed, random):
    network = posed.problem().network
    edges = draw_links(posed, random)
    trees = plant_trees(network, edges)
    linked = {tuple(edge) for edge in edges.tolist()}
    for topic in range(network.num_topics):
        start, end = network.topic_indptr[topic : topic + 2]
        assert sorted(trees.node[start:end]) == network.nodes[start:end].tolist()
        assert (trees.parent[start:end] == NOBODY).sum() == (end > start)
        for position in range(start + 1, end):
            parent = trees.parent[position]
            assert start <= parent < position
            pair = tuple(sorted((trees.node[position], trees.node[parent])))
            if trees.link[position] != NOBODY:
                assert pair == tuple(edges[trees.link[position]])
                assert pair in linked
    rows = trees.row[trees.parent != NOBODY]
    assert sorted(rows.tolist()) == list(range(len(rows)))


def test_groups_within_topics_make_trees_prove_more():
    """Five nodes that share all their topics need four links for them, not two each."""
    problem = clustered(max_degree=2).problem()
    plan = problem.solve("best", seed=0)
    search = BoundSearch(problem, NO_EDGES)
    search.run_passes(10**9)
    assert "levels" in plan.proof.tables
    assert plan.bound < 0.96 * search.bound
    assert plan.verify().is_bound_checked


@pytest.mark.parametrize("budgets", [{"max_degree": 2}, {"max_edges": 38}])
def test_a_plan_with_trees_is_checked_by_others(tmp_path, budgets):
    plan = clustered(**budgets).problem().solve("best", seed=1)
    assert "levels" in plan.proof.tables
    assert check_twice(plan, tmp_path) <= plan.bound
    assert plan.verify().is_bound_checked


def planted(**tables) -> ProofError:
    problem = clustered(max_degree=2).problem()
    plan = problem.solve("best", seed=0)
    proof = replace(plan.proof, tables={**plan.proof.tables, **tables})
    with pytest.raises(ProofError) as caught:
        proven_bound(problem.workload, replace(plan, proof=proof))
    return caught.value


def test_levels_that_are_none_are_refused():
    short = {"levels": pa.table({"level": pa.array([1, 2], pa.uint8())})}
    assert "rows, a join each" in str(planted(**short))
    joins = 30 * 14
    high = {"levels": pa.table({"level": pa.array([256] * joins, pa.int32())})}
    assert "between 0 and 255" in str(planted(**high))
    shares = pa.table({"topic": pa.array([0], pa.int32()), "share": pa.array([0.5])})
    assert "neither" in str(planted(topics=shares))


def test_fewer_grades_where_there_is_less_space():
    posed = clustered(max_degree=2)
    bounds, sizes = [], []
    for most_bytes in (10_000, 420, 1):
        trees = trees_of(posed, draw_all(posed))
        for turn in range(40):
            trees.step(turn / 40)
        found = trees.round(most_bytes, 5)
        if found is not None:
            bounds.append(found[0])
            sizes.append(len(np.unique(found[1].level)))
    assert len(bounds) < 3
    assert sizes == sorted(sizes, reverse=True)


def draw_all(posed: Posed):
    plan = posed.problem().solve("gpm", proof=False)
    return as_edges(np.column_stack([plan.tables["edges"].column(name) for name in "uv"]))


@settings(max_examples=40)
@given(posed_problems(), st.randoms(use_true_random=False))
def test_growth_by_prices_keeps_budgets_and_makes_no_idle_link(posed: Posed, random):
    problem = posed.problem()
    pairs = as_edges(oracle.sharing_pairs(posed.interests))
    prices = np.array([random.random() * 3 for _ in posed.interests])
    edges = grow_by_prices(problem.network, problem.budget, pairs, prices)
    gains = problem.network.gains(edges)
    assert problem.admits(edges)
    assert (gains > prices[edges].sum(axis=1)).all()
