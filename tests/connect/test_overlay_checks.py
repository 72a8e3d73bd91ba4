"""What verification recomputes of an overlay, and what algorithms say of themselves."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.connect.breaks import edges_of, set_metric, set_parameter, with_edges
from tests.connect.random_questions import draw_question
from tests.connect.small_networks import Posed, posed_problems
from tests.oracles import overlay_bounds_oracle as oracle
from tests.planning.mutations import restamp

import fanwise as fw
from fanwise.connect.best import MOST_WORK
from fanwise.connect.description import DESCRIPTION
from fanwise.connect.verify_complete import complete_overlay
from fanwise.connect.verify_components import join_in_order
from fanwise.errors import ParameterError, VerificationError
from fanwise.workload.topic import TopicWorkload

ALGORITHMS = tuple(DESCRIPTION.stages["algorithm"])
NOBODY = np.array([], dtype=np.int32)


def network(seed=5, num_nodes=12, num_topics=6, **budgets) -> fw.Connection:
    rng = np.random.default_rng(seed)
    interests = [
        sorted(rng.choice(num_topics, 3, replace=False).tolist()) for _ in range(num_nodes)
    ]
    rates = rng.integers(1, 9, num_topics).astype(float).tolist()
    posed = Posed(interests, rates, positions=rng.random((num_nodes, 2)).tolist())
    return fw.Connection(posed.workload(), **budgets)


@settings(max_examples=60)
@given(posed_problems(max_nodes=6), st.randoms(use_true_random=False))
def test_links_that_joined_nothing_are_found(posed: Posed, random):
    """In any order of links, against mu with and without each of them."""
    nodes = range(len(posed.interests))
    links = [(u, v) for u in nodes for v in nodes if u < v]
    links = random.sample(links, random.randint(0, len(links)))
    u, v = np.array(links, dtype=np.int64).reshape(-1, 2).T
    _, is_useful = join_in_order(posed.workload(), u, v)
    expected = [
        oracle.mu(posed.interests, links[: k + 1]) > oracle.mu(posed.interests, links[:k])
        for k in range(len(links))
    ]
    assert is_useful.tolist() == expected


def test_links_in_many_blocks_are_taken_in_order(monkeypatch):
    monkeypatch.setattr("fanwise.connect.verify_components.CHUNK", 1)
    problem = network(num_nodes=20, max_degree=6)
    assert problem.solve("gpm").verify().holds
    plan = problem.solve("random-maximum")
    assert plan.verify().holds
    assert plan.metrics["useless_edges"] > 0


@pytest.mark.parametrize("algorithm", ["gpm", "random-maximum", "gossip", "best", "exact"])
def test_every_metric_is_recomputed_or_named(algorithm):
    size = {"num_nodes": 6, "num_topics": 4} if algorithm == "exact" else {}
    plan = network(max_degree=3, link_cost="distance", **size).solve(algorithm)
    result = plan.verify()
    named = {name for name in DESCRIPTION.unchecked if any(name in told for told in result.remarks)}
    assert {"support", "edges", "max_degree", "mean_degree", "useless_edges", "connected_topics",
            "topics", "complete_value", "link_cost"} <= set(plan.metrics) - named  # fmt: skip
    for name, value in plan.metrics.items():
        other = not value if isinstance(value, bool) else value + 1
        false = set_metric(**{name: other})(plan)
        if name not in named:
            with pytest.raises(VerificationError, match=name):
                false.verify()


@pytest.mark.parametrize("weight", ["one", "rate"])
@pytest.mark.parametrize("cost", [None, "distance"])
def test_the_complete_overlay_is_made_anew(weight, cost):
    for seed in range(4):
        problem = network(seed, num_nodes=17, budget_ratio=0.5, topic_weight=weight, link_cost=cost)
        problem = problem.posed_for("best")
        assert complete_overlay(problem.workload, problem.parameters()) == problem.complete


def test_the_complete_overlay_of_odd_questions_is_made_anew():
    """Ties, fractions that do not add up exactly, nodes at one place, nobody."""
    for seed in range(150):
        problem, _ = draw_question(random.Random(seed))
        parameters = problem.parameters() if problem.budget_ratio is None else {
            "topic_weight": problem.topic_weight, "link_cost": problem.link_cost
        }  # fmt: skip
        assert complete_overlay(problem.workload, parameters) == problem.complete


def test_a_false_complete_overlay_is_found_out():
    plan = network(budget_ratio=0.5).solve("gpm")
    plan.verify()
    degree = plan.metrics["complete_degree"]
    doubled = set_metric(complete_degree=2 * degree)(plan)
    for lie in (
        set_metric(complete_degree=degree + 1)(plan),
        set_metric(complete_edges=plan.metrics["complete_edges"] - 1)(plan),
        set_parameter(budget_ratio=1.0, max_degree=2 * degree)(doubled),
    ):
        with pytest.raises(VerificationError, match="complete"):
            restamp(lie).verify()


def test_a_complete_overlay_that_is_too_large_is_named(monkeypatch):
    plan = network(budget_ratio=0.5).solve("gpm")
    monkeypatch.setattr("fanwise.connect.verify_complete.MOST_NODES", 3)
    (remark,) = (told for told in plan.verify().remarks if "complete_edges" in told)
    assert remark.startswith("Not checked: ")
    with pytest.raises(VerificationError, match="by ratio"):
        restamp(set_metric(complete_degree=99)(plan)).verify()


def test_a_plan_that_admits_to_break_a_limit_fails():
    plan = network(max_edges=9).solve("gpa")
    for change in ({"max_edges": 3}, {"max_degree": 0}):
        broken = restamp(replace(plan, parameters={**plan.parameters, **change}, feasible=False,
                                 gap=None))  # fmt: skip
        with pytest.raises(VerificationError, match="budgets are kept"):
            broken.verify()
    with pytest.raises(VerificationError, match="keeps its budgets"):
        replace(plan, feasible=False, gap=None).verify()


def test_ids_must_be_whole_numbers():
    plan = network(max_edges=9).solve("gpa")
    table = plan.tables["edges"]
    for kind in ("float64", "string"):
        column = table.column("u").cast(kind)
        with pytest.raises(VerificationError, match="column 'u' has the type"):
            replace(plan, tables={"edges": table.set_column(0, "u", column)}).verify()


@pytest.mark.parametrize("missing", DESCRIPTION.recorded)
def test_every_parameter_must_be_there(missing):
    plan = network(max_edges=9).solve("gpa")
    left = {name: value for name, value in plan.parameters.items() if name != missing}
    with pytest.raises(VerificationError, match=missing):
        restamp(replace(plan, parameters=left)).verify()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("places", [False, True], ids=["nowhere", "somewhere"])
@pytest.mark.parametrize("num_nodes", [0, 1, 3])
@pytest.mark.parametrize("rates", [[], [2.0]], ids=["no topics", "a topic"])
def test_nobody_wants_anything(algorithm, places, num_nodes, rates):
    positions = np.zeros((num_nodes, 2)) if places else None
    workload = TopicWorkload.from_arrays(
        rates, NOBODY, NOBODY, num_subscribers=num_nodes, positions=positions
    )
    for budget in ({}, {"max_degree": 2}, {"max_edges": 2}, {"budget_ratio": 0.5}):
        problem = fw.Connection(workload, **budget, link_cost="distance" if places else None)
        try:
            plan = problem.solve(algorithm)
        except ParameterError:
            continue
        assert plan.verify().is_bound_checked
        assert plan.objective == plan.bound == 0
        assert "empty-question" in plan.warnings


QUESTIONS = [
    {"max_degree": 3},
    {"max_degree": 2, "topic_weight": "rate"},
    {"max_edges": 14},
    {"max_edges": 20, "max_degree": 2},
    {"avg_degree": 1.5},
    {"budget_ratio": 0.5},
    {"link_cost": "distance", "max_link_cost": 3.0},
    {"link_cost": "distance", "max_link_cost": 3.0, "max_degree": 2},
    {},
]


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
@pytest.mark.parametrize("time_limit", [0, None])
def test_best_is_never_below_any_other(question, time_limit):
    """Also on instances too large for branch and bound, and with no time at all."""
    for seed in range(3):
        problem = network(seed, num_nodes=25, num_topics=12, **question)
        limits = {"time_limit": 2.0 if time_limit is None else time_limit}
        best = problem.solve("best", seed=seed, **limits)
        assert best.verify().is_bound_checked
        for algorithm in ALGORITHMS:
            posed = problem.posed_for(algorithm)
            if algorithm in ("best", "exact") or posed.parameters() != {
                name: best.parameters[name] for name in DESCRIPTION.recorded
            }:
                continue
            try:
                other = posed.solve(algorithm, seed=seed)
            except ParameterError:
                continue
            assert best.objective >= other.objective * (1 - 1e-12), algorithm


def test_best_says_truthfully_why_it_ended():
    problem = network(num_nodes=25, num_topics=12, max_degree=2)
    late = problem.solve("best", time_limit=0)
    assert late.stopped == "limit"
    assert late.limits == {"time_limit": 0.0, "gap": 1e-4}
    near = problem.solve("best", gap=0.9)
    assert near.stopped == "gap"
    assert near.limits == {"gap": 0.9, "work": MOST_WORK}
    assert near.gap <= 0.9
    exact = problem.solve("best", gap=0, time_limit=20)
    assert exact.limits["gap"] == 0
    assert exact.limits["idle_moves"] > 0
    assert exact.stopped == "work" if exact.gap else exact.gap == 0
    small = network(num_nodes=6, num_topics=4, max_degree=2).solve("best")
    assert small.stopped == "exhausted"
    assert small.gap == 0


def test_gossip_says_truthfully_why_it_ended():
    problem = network(num_nodes=25, num_topics=12, max_degree=3)
    assert problem.solve("gossip", rounds=2).stopped == "work"
    settled = problem.solve("gossip", rounds=400)
    assert settled.stopped == "exhausted"
    assert settled.limits == {"rounds": 400.0}


def test_a_link_more_than_a_degree_is_seen_in_the_column():
    limits = [1, 1, 2, 0]
    posed = Posed([[0], [0], [0], [0]], [1.0], max_degree=limits)
    plan = posed.problem().solve("gpm")
    plan.verify()
    more = with_edges(plan, np.concatenate([edges_of(plan), [[2, 3]]]))
    with pytest.raises(VerificationError, match="node 3"):
        restamp(more).verify()
