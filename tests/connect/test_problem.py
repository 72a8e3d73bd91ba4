"""The problem itself: budgets, what algorithms take, measuring and the independent check."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from tests.connect.breaks import COST_BREAKS, RATIO_BREAKS
from tests.connect.small_networks import Posed, posed_problems
from tests.oracles import connect_oracle as oracle

import fanwise as fw
from fanwise.connect.description import DESCRIPTION
from fanwise.connect.problem import BUDGET_OF, Connection, edges_of, floor_share
from fanwise.errors import ParameterError
from fanwise.planning.compare import compare
from fanwise.planning.sweep import sweep
from fanwise.planning.verify import checks

pytestmark = pytest.mark.kernels

INTERESTS = [[0, 1, 2], [0, 1], [0, 2, 3], [1, 3], [2], [0, 3], [1, 2], [3]]
PLACES = [[0, 0], [3, 4], [0, 1], [6, 8], [0, 0], [1, 1], [5, 5], [9, 9]]
POSED = Posed(INTERESTS, [4.0, 2.0, 1.0, 8.0], positions=[[float(x) for x in p] for p in PLACES])


def connection(**options) -> Connection:
    columns = Posed(
        INTERESTS, POSED.rates, positions=POSED.positions, max_degree=[1, 2, 1, 2, 0, 1, 2, 1]
    )
    return fw.Connection(columns.workload(), **options)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"max_degree": -1}, "max_degree"),
        ({"max_degree": 2.0}, "max_degree"),
        ({"max_degree": True}, "max_degree"),
        ({"max_degree": "row"}, "max_degree"),
        ({"max_edges": -1}, "max_edges"),
        ({"max_edges": 1.5}, "max_edges"),
        ({"avg_degree": -0.1}, "avg_degree"),
        ({"avg_degree": float("nan")}, "avg_degree"),
        ({"avg_degree": 1, "max_edges": 3}, "avg_degree"),
        ({"budget_ratio": -1}, "budget_ratio"),
        ({"budget_ratio": 0.5, "max_edges": 3}, "max_edges"),
        ({"budget_ratio": 0.5, "max_degree": 3}, "max_degree"),
        ({"budget_of": "edges"}, "budget_of"),
        ({"budget_ratio": 0.5, "budget_of": "nodes"}, "budget_of"),
        ({"topic_weight": "two"}, "topic_weight"),
        ({"link_cost": "hops"}, "link_cost"),
        ({"max_link_cost": 3.0}, "max_link_cost"),
        ({"link_cost": "distance", "max_link_cost": -3.0}, "max_link_cost"),
    ],
)
def test_bad_options_are_refused(options, name):
    with pytest.raises(ParameterError, match=f"'{name}'"):
        connection(**options)


@pytest.mark.parametrize("options", [{"max_degree": "column"}, {"link_cost": "distance"}])
def test_a_missing_column_is_named(options):
    with pytest.raises(ParameterError, match=r"subscribers\.parquet"):
        fw.Connection(Posed(INTERESTS, POSED.rates).workload(), **options)


def test_budgets_round_down_as_they_are_written():
    assert floor_share(0.15, 231) == 34
    assert floor_share(0.29, 100) == 29
    assert floor_share(0.1, 30) == 3
    assert floor_share(3, 9, 2) == 13
    assert connection(avg_degree=3).edge_limit == 12
    assert connection(avg_degree=0.26).edge_limit == 1


def test_a_ratio_is_of_the_complete_overlay_and_follows_the_algorithm():
    complete = connection().solve("minmax-oda").metrics
    problem = connection(budget_ratio=0.6)
    edges, degree = problem.solve("gpa").parameters, problem.solve("gpm").parameters
    assert edges["max_edges"] == floor_share(0.6, complete["edges"])
    assert edges["max_degree"] is None
    assert degree["max_degree"] == floor_share(0.6, complete["max_degree"])
    assert degree["max_edges"] is None
    assert edges["budget_ratio"] == degree["budget_ratio"] == 0.6
    fixed = connection(budget_ratio=0.6, budget_of="degree").solve("gpm").parameters
    assert fixed["max_degree"] == degree["max_degree"]


@pytest.mark.parametrize("algorithm", BUDGET_OF)
def test_algorithms_say_which_budget_they_take(algorithm):
    assert algorithm in DESCRIPTION.stages["algorithm"]
    free, tight = connection(), connection(max_edges=5, max_degree=2)
    refused = tight if BUDGET_OF[algorithm] is None else free
    with pytest.raises(ParameterError, match=algorithm):
        refused.solve(algorithm)


@pytest.mark.parametrize("budget", ["max_degree", "max_edges"])
def test_the_other_budget_is_not_enough(budget):
    algorithm = {"max_degree": "gpa", "max_edges": "gpm"}[budget]
    with pytest.raises(ParameterError, match=algorithm):
        connection(**{budget: 2}).solve(algorithm)


@pytest.mark.parametrize("algorithm", ["gpa", "gpm"])
def test_all_budgets_hold_together(algorithm):
    budgets = {"max_edges": 6, "max_degree": "column", "max_link_cost": 9.0}
    plan = connection(**budgets, link_cost="distance").solve(algorithm)
    plan.verify()
    degrees = np.bincount(edges_of(plan.tables["edges"]).ravel(), minlength=8)
    assert (degrees <= [1, 2, 1, 2, 0, 1, 2, 1]).all()
    assert plan.feasible
    assert plan.metrics["link_cost"] <= 9.0
    assert plan.metrics["edges"] <= 6


def test_gain_per_cost_prefers_near_nodes():
    near = connection(link_cost="distance", max_edges=3).solve("gpa")
    far = connection(max_edges=3).solve("gpa")
    assert near.metrics["link_cost"] < 3
    assert far.objective >= near.objective


def test_rates_count_where_they_are_asked_for():
    plain, weighted = (
        connection(max_edges=1, topic_weight=weight).solve("gpa") for weight in ("one", "rate")
    )
    assert plain.objective == 2
    assert weighted.objective == 12  # topics 0 and 3
    assert edges_of(weighted.tables["edges"]).tolist() == [[2, 5]]


@settings(max_examples=30)
@given(posed_problems(max_nodes=7, max_topics=5))
def test_measured_and_verified_agree_with_the_definition(posed):
    problem = posed.problem()
    name = "gpa" if posed.max_edges is not None or posed.max_cost is not None else "gm"
    name = "gpm" if posed.max_degree is not None else name
    plan = problem.solve(name)
    plan.verify()
    edges = [tuple(edge) for edge in edges_of(plan.tables["edges"]).tolist()]
    value = oracle.mu(posed.interests, edges, posed.weight)
    assert plan.objective == pytest.approx(value)
    complete = oracle.mu_complete(posed.interests, posed.weight)
    assert plan.metrics["support"] == pytest.approx(value / complete if complete else 1.0)
    topics = {t for wanted in posed.interests for t in wanted}
    connected = sum(oracle.components(posed.interests, edges, t) == 1 for t in topics)
    assert plan.metrics["connected_topics"] == connected
    assert plan.metrics["topics"] == len(topics)


@pytest.mark.parametrize("chunk", [1, 3, 1 << 20])
def test_chunks_change_nothing(monkeypatch, chunk):
    monkeypatch.setattr("fanwise.connect.verify_components.CHUNK", chunk)
    monkeypatch.setattr("fanwise.connect.verify_proof.MOST_SUMS", chunk)
    monkeypatch.setattr("fanwise.connect.verify_leaves.CHUNK", chunk)
    options = {"topic_weight": "rate", "link_cost": "distance", "max_link_cost": 40.0}
    connection(**options, max_edges=20).solve("gpa").verify()


@pytest.mark.parametrize(
    ("options", "breaks"),
    [
        ({"budget_ratio": 0.7}, RATIO_BREAKS),
        ({"max_degree": 2, "link_cost": "distance", "max_link_cost": 12.0}, COST_BREAKS),
    ],
    ids=["ratio", "cost"],
)
def test_breaks_of_other_budgets_are_caught(options, breaks):
    plan = connection(**options).solve("gpm")
    plan.verify()
    for name, break_it in breaks.items():
        failed = [check for check in checks(plan.source, break_it(plan)) if not check.holds]
        assert failed, name
        assert failed[0].name != "id", name


def test_comparing_under_a_ratio_mixes_no_bounds():
    result = compare(connection(budget_ratio=0.5), ["gpa", "gpm"])
    assert result.bound is None
    for plan in result.plans:
        assert result.bound_for(plan) == plan.bound
        assert result.gap(plan) == plan.gap
    alike = compare(connection(max_degree=2, max_edges=5), ["gpa", "gpm"])
    assert alike.bound == min(plan.bound for plan in alike.plans)


def test_algorithms_without_the_budget_are_skipped():
    result = compare(connection(max_degree=2))
    assert {"gpa", "gm", "minmax-oda", "random-average"} <= set(result.skipped)
    assert {"gpm", "best"} <= {plan.algorithm for plan in result.plans}


def test_more_degree_supports_more():
    changes = [{"max_degree": degree} for degree in (0, 1, 2, 5)]
    support = [point.metrics["support"] for point in sweep(connection(), changes, "gpm").points]
    assert support == sorted(support)
    assert support[0] == 0
    assert support[-1] == 1
