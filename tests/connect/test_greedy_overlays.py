"""The paper's four algorithms, edge for edge against the oracle."""

from __future__ import annotations

import json
import math
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.connect.small_networks import Posed, posed_problems
from tests.oracles import connect_oracle as oracle

import fanwise as fw
from fanwise.connect.arrays import as_edges
from fanwise.connect.growing import grow, lazy, table
from fanwise.connect.problem import edges_of

pytestmark = pytest.mark.kernels

GROWERS = {
    "greedy": (table.TableGreedy, lazy.LazyGreedy, oracle.greedy),
    "phases": (table.TablePhases, lazy.LazyPhases, oracle.phases),
}


def plain(edges):
    return [tuple(edge) for edge in np.asarray(edges).tolist()]


def drain(grower, batch=1000):
    """Take links in batches until there are none."""
    edges = []
    while True:
        more = grower.more(batch)
        edges += plain(more)
        if len(more) < batch:
            return edges


def lengths(posed):
    if posed.positions is None:
        return None
    return {
        (u, v): math.sqrt(
            sum((a - b) ** 2 for a, b in zip(posed.positions[u], posed.positions[v], strict=True))
        )
        for u, v in oracle.pairs(len(posed.interests))
    }


def limits(posed, *, edges=True):
    degrees = posed.max_degree
    if isinstance(degrees, int):
        degrees = [degrees] * len(posed.interests)
    return oracle.Limits(degrees, posed.max_edges if edges else None, posed.max_cost)


def expected(grown, posed):
    return grown(posed.interests, limits(posed), posed.weight, lengths(posed))


def by_algorithm(algorithm, posed):
    """Return what the family's table runs, without the bound."""
    module = "greedy" if algorithm in ("gpa", "gm") else "phases"
    grow_it = grow.grow_greedily if module == "greedy" else grow.grow_in_phases
    return plain(grow_it(posed.problem()).edges)


@pytest.mark.data
def test_acceptance_vectors(shared_data):
    vectors = json.loads((shared_data / "acceptance" / "connect.json").read_text())
    assert len(vectors) >= 12
    for case in vectors:
        interests = case["subscriptions"]
        rates = [1.0] * (1 + max(t for topics in interests for t in topics))
        posed = Posed(interests, rates)
        budgets = {
            "gpa": {"max_edges": case["max_edges"]},
            "gm": {},
            "gpm": {"max_degree": case["max_degree"]},
            "minmax-oda": {},
        }
        assert posed.problem().network.complete_value == case["mu_complete"]
        for algorithm, budget in budgets.items():
            plan = fw.Connection(posed.workload(), **budget).solve(algorithm)
            plan.verify()
            edges = edges_of(plan.tables["edges"]).tolist()
            assert edges == case[algorithm.replace("-", "_")]
        if "optimum_for_edges" in case:
            by_edges = fw.Connection(posed.workload(), max_edges=case["max_edges"])
            by_degree = fw.Connection(posed.workload(), max_degree=case["max_degree"])
            assert by_edges.bound() >= case["optimum_for_edges"]
            assert by_degree.bound() >= case["optimum_for_degree"]


@settings(max_examples=30)
@given(posed_problems(max_nodes=8, max_topics=6))
@pytest.mark.parametrize("rule", GROWERS)
def test_growing_is_the_oracles(rule, posed):
    algorithm = {"greedy": "gpa", "phases": "gpm"}[rule]
    with mock.patch.object(lazy, "LISTED", 2):
        assert by_algorithm(algorithm, posed) == expected(GROWERS[rule][-1], posed)


@settings(max_examples=30)
@given(
    posed_problems(max_nodes=9, max_topics=5, budgets=("degree",)),
    st.sampled_from([1, 2, 100]),
    st.sampled_from([1, 2, lazy.LISTED]),
)
@pytest.mark.parametrize("rule", GROWERS)
def test_table_and_rows_choose_alike(rule, posed, batch, listed):
    with_table, row_by_row, by_oracle = GROWERS[rule]
    posed = Posed(posed.interests, posed.rates, max_degree=posed.max_degree)
    network = posed.problem().network
    found = expected(by_oracle, posed)
    assert drain(with_table(network), batch) == found
    with mock.patch.object(lazy, "LISTED", listed):
        assert drain(row_by_row(network), batch) == found


@pytest.mark.parametrize("max_degree", [None, 4])
@pytest.mark.parametrize("rule", GROWERS)
def test_large_components_join_alike(rule, max_degree, monkeypatch):
    monkeypatch.setattr(lazy, "LISTED", 3)
    rng = np.random.default_rng(8)
    interests = [np.flatnonzero(rng.random(4) < 0.6).tolist() for _ in range(34)]
    posed = Posed(interests, [1.0] * 4, max_degree=max_degree)
    with_table, row_by_row, by_oracle = GROWERS[rule]
    found = expected(by_oracle, posed)
    assert drain(with_table(posed.problem().network), 7) == found
    assert drain(row_by_row(posed.problem().network), 7) == found


@pytest.mark.parametrize("seed", [1, 5, 9])
def test_nodes_that_fall_to_the_rest_of_their_row_wait_for_it(seed, monkeypatch):
    """Instances where a listed node falls to a value that listed and other nodes have."""
    monkeypatch.setattr(lazy, "LISTED", 8)
    rng = np.random.default_rng(seed)
    interests = [np.flatnonzero(rng.random(24) < 0.2).tolist() for _ in range(40)]
    network = Posed(interests, [1.0] * 24).problem().network
    assert drain(lazy.LazyGreedy(network)) == drain(table.TableGreedy(network))


@settings(max_examples=40)
@given(
    posed_problems(max_nodes=5, max_topics=4, budgets=("edges",)),
    st.integers(0, 6),
    st.integers(1, 3),
)
def test_the_papers_ratios_hold(posed, max_edges, max_degree):
    def optimum(edges=None, degree=None):
        degrees = None if degree is None else [degree] * len(posed.interests)
        return oracle.optimum(posed.interests, oracle.Limits(degrees, edges))

    workload = posed.workload()
    gpa = fw.Connection(workload, max_edges=max_edges).solve("gpa")
    assert gpa.objective >= (1 - 1 / math.e) * optimum(edges=max_edges) - 1e-9
    gpm = fw.Connection(workload, max_degree=max_degree).solve("gpm")
    share = 1 - math.exp(-max_degree / (3 * (max_degree + 1)))
    assert gpm.objective >= share * optimum(degree=max_degree) - 1e-9


@settings(max_examples=30)
@given(posed_problems(max_nodes=7, max_topics=5, budgets=("edges",)), st.data())
def test_mu_is_the_definition_monotone_and_submodular(posed, data):
    pairs = oracle.pairs(len(posed.interests))
    if not pairs:
        return
    network = posed.problem().network
    chosen = data.draw(st.lists(st.sampled_from(pairs), unique=True))
    inner = chosen[: data.draw(st.integers(0, len(chosen)))]
    pair = data.draw(st.sampled_from(pairs))

    def mu(edges):
        value = network.value(as_edges(edges))
        assert value == pytest.approx(oracle.mu(posed.interests, edges, posed.weight))
        return value

    assert mu(inner) <= mu(chosen) + 1e-9
    gain_inside = mu([*inner, pair]) - mu(inner)
    gain_outside = mu([*chosen, pair]) - mu(chosen)
    assert gain_inside >= gain_outside - 1e-9 * max(1.0, mu(chosen))


ALIKE = [[0, 1, 2]] * 7
CASES = {
    "no nodes": ([], {}),
    "one node": ([[0, 1]], {}),
    "topics without nodes": ([[5], [], [5]], {}),
    "topics of one node": ([[0], [1], [2]], {}),
    "disjoint interests": ([[0], [0], [1], [1], [2]], {}),
    "all alike, odd": (ALIKE, {}),
    "no degree": (ALIKE, {"max_degree": 0}),
    "no links": (ALIKE, {"max_edges": 0}),
    "more than needed": (ALIKE, {"max_degree": 100, "max_edges": 100}),
    "some nodes without links": (ALIKE, {"max_degree": [0, 0, 3, 1, 1, 2, 0]}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("rule", GROWERS)
def test_odd_cases(rule, name):
    interests, budgets = CASES[name]
    posed = Posed(interests, [1.0] * 6, **budgets)
    edges = by_algorithm({"greedy": "gpa", "phases": "gpm"}[rule], posed)
    assert edges == expected(GROWERS[rule][-1], posed)
    assert posed.problem().admits(as_edges(edges))


def test_a_star_of_twins_needs_no_more_links_than_nodes():
    plan = fw.Connection(Posed(ALIKE, [1.0] * 3).workload()).solve("gm")
    assert plain(edges_of(plan.tables["edges"])) == [(0, v) for v in range(1, 7)]


def test_degrees_stay_lowest_and_a_lagging_node_catches_up():
    plan = fw.Connection(Posed(ALIKE, [1.0] * 3).workload(), max_degree=2).solve("gpm")
    degrees = np.bincount(edges_of(plan.tables["edges"]).ravel(), minlength=7)
    assert degrees.max() == 2
    assert plan.metrics["useless_edges"] == plan.metrics["edges"] - plan.objective / 3


class _Interrupted:
    """A grower that Ctrl-C hits at the second batch."""

    def __init__(self):
        self.calls = 0

    def more(self, num_edges):
        self.calls += 1
        if self.calls == 2:
            raise KeyboardInterrupt
        return as_edges([[0, v + 1] for v in range(num_edges)])


def test_an_interrupt_keeps_the_links_so_far():
    grown = grow.grow(_Interrupted, None)
    assert grown.is_interrupted
    assert len(grown.edges) == grow.BATCH


def test_an_early_interrupt_leaves_nothing():
    grower = _Interrupted()
    grower.calls = 1
    with pytest.raises(KeyboardInterrupt):
        grow.grow(lambda: grower, None)


@pytest.mark.parametrize("is_counted", [True, False])
@pytest.mark.parametrize("grow_all", [grow.grow_greedily, grow.grow_in_phases])
def test_growing_that_is_over_has_the_first_links(monkeypatch, grow_all, is_counted):
    """The clock is looked at before every link; the table is counted one row at a time."""
    monkeypatch.setattr(grow, "SHORT_BATCH", 1)
    monkeypatch.setattr(table, "ROWS_COUNTED", 1)
    rng = np.random.default_rng(2)
    interests = [sorted(rng.choice(12, 4, replace=False).tolist()) for _ in range(20)]
    weights = [1.0] * 12 if is_counted else rng.integers(1, 9, 12).astype(float).tolist()
    problem = fw.Connection(
        Posed(interests, weights).workload(),
        max_degree=3,
        topic_weight="one" if is_counted else "rate",
    )
    whole = plain(grow_all(problem).edges)
    assert grow.counts_in_table(problem) == is_counted
    for num_looks in (0, 10, 21, 25, 1000):
        looks = iter(range(num_looks))
        found = plain(
            grow_all(problem, is_over=lambda looks=looks: next(looks, None) is None).edges
        )
        num_links = max(0, num_looks - 20) if is_counted else num_looks
        assert found == whole[:num_links]
