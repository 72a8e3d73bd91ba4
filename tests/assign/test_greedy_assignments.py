"""Gr and Gr* assignment for assignment, against a plain twin and the shared vectors."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.assign.small_places import Places, places, verify_plan
from tests.oracles import assign_oracle as oracle

import fanwise as fw

pytestmark = pytest.mark.kernels

LIMITS = st.sampled_from([(1.0, 1.5), (1.5, 1.5), (0.5, 0.8), (3.0, 4.0)])


def brokers_of(plan):
    return plan.tables["assignment"].column("broker").to_pylist()


@pytest.mark.parametrize("algorithm", ["gr", "gr-star", "gr-no-latency"])
@settings(max_examples=60)
@given(
    made=places(with_cells=True, with_candidates=True),
    limits=LIMITS,
    alpha=st.integers(1, 3),
    max_delay=st.sampled_from([0.0, 0.3, 2.0]),
    latency=st.sampled_from(["path", "last-hop"]),
)
def test_equals_the_oracle(algorithm, made, limits, alpha, max_delay, latency):
    lbf, lbf_max = limits
    problem = fw.Assignment(
        made.workload(), alpha=alpha, max_delay=max_delay, lbf=lbf, lbf_max=lbf_max, latency=latency
    )
    plan = problem.solve(algorithm)
    verify_plan(plan)
    candidates = made.candidates
    if candidates is None:
        candidates = oracle.candidates_of(made, max_delay, latency == "last-hop")
    if algorithm == "gr-no-latency":
        candidates = [[] for _ in made.at]  # then every leaf is a choice
    result, filters, forced = oracle.greedy(
        made,
        candidates,
        alpha=alpha,
        lbf=lbf,
        lbf_max=lbf_max,
        offline=algorithm == "gr-star",
        cells=made.cells,
    )
    assert brokers_of(plan) == result
    assert plan.objective == pytest.approx(oracle.bandwidth(filters, made.cells), abs=1e-9)
    assert plan.metrics["forced"] == forced
    assert plan.tables["filters"].num_rows == sum(map(len, filters))


@pytest.mark.parametrize("seed", range(12))
def test_offline_greedy_sorts_anew_whenever_limits_rise(seed):
    """Many wait while the load-balance factor rises from nothing to plenty."""
    rng = np.random.default_rng(seed)
    corners = rng.integers(0, 40, (24, 2))
    made = Places(
        at=[[0.0, 0.0]] * 24,
        boxes=[((float(x), float(y)), (x + 3.0, y + 2.0)) for x, y in corners],
        brokers=[[0.0, 1.0]] * 5,
        parent=[-1] * 5,
        shares=[0.2] * 5,
        publisher=[0.0, 0.0],
        candidates=[
            sorted(rng.choice(5, rng.integers(1, 6), replace=False).tolist()) for _ in range(24)
        ],
    )
    problem = fw.Assignment(made.workload(), alpha=2, lbf=0.1, lbf_max=2.0)
    limits = {"alpha": 2, "lbf": 0.1, "lbf_max": 2.0}
    result, _, _ = oracle.greedy(made, made.candidates, offline=True, **limits)
    assert brokers_of(problem.solve("gr-star")) == result


def vectors():
    folder = os.environ.get("FANWISE_DATA")
    if not folder:
        pytest.skip("FANWISE_DATA is not set")
    return json.loads((Path(folder) / "acceptance" / "assign.json").read_text())


def test_equals_the_shared_vectors():
    for vector in vectors():
        subscribers = vector["subscribers"]
        made = Places(
            at=[one["at"] for one in subscribers],
            boxes=[(one["lo"], one["hi"]) for one in subscribers],
            brokers=vector["brokers"],
            parent=vector["parent"],
            shares=vector["shares"],
            publisher=vector["publisher"],
        )
        names = ("alpha", "max_delay", "lbf", "lbf_max")
        problem = fw.Assignment(made.workload(), **{name: vector[name] for name in names})
        assert problem.least[0] == pytest.approx(vector["least_lbf"], rel=1e-12)
        for algorithm in ("gr", "gr-star"):
            plan, expected = problem.solve(algorithm), vector[algorithm.replace("-", "_")]
            verify_plan(plan)
            assert brokers_of(plan) == expected["broker_of_subscriber"]
            assert plan.objective == pytest.approx(expected["bandwidth"], rel=1e-12)
            assert plan.metrics["lbf"] == pytest.approx(expected["lbf"], rel=1e-12)
            assert plan.metrics["forced"] == expected["forced"]


def crowded(count=12):
    """The first half may use both brokers, the second half only the first one."""
    return Places(
        at=[[0.0, 0.0]] * count,
        boxes=[((float(k), 0.0), (k + 1.0, 1.0)) for k in range(count)],
        brokers=[[0.0, 1.0], [0.0, 1.0]],
        parent=[-1, -1],
        shares=[0.5, 0.5],
        publisher=[0.0, 0.0],
        candidates=[[0, 1] if k < count // 2 else [0] for k in range(count)],
    )


def test_online_greedy_runs_out_of_room_where_offline_greedy_does_not():
    problem = fw.Assignment(crowded().workload(), lbf=1, lbf_max=1)
    online, offline = problem.solve("gr"), problem.solve("gr-star")
    assert not online.feasible
    assert online.metrics["forced"] > 0
    assert "this algorithm did not find one" in online.metrics["trouble"]["says"]
    assert offline.feasible
    assert "trouble" not in offline.metrics


@pytest.mark.parametrize("evict", ["next", "later"])
def test_evicting_makes_room(evict):
    problem = fw.Assignment(crowded().workload(), lbf=1, lbf_max=1)
    plan = problem.solve("gr", evict=evict, seed=3)
    verify_plan(plan)
    assert plan.metrics["evicted"] > 0
    assert plan.parameters["evict"] == evict
    assert plan.metrics["forced"] < problem.solve("gr").metrics["forced"]


@pytest.mark.parametrize("evict", ["next", "later"])
@pytest.mark.parametrize("seed", range(4))
def test_many_evictions_lose_nobody(evict, seed):
    """Without anybody forced, limits hold exactly: both brokers are full."""
    problem = fw.Assignment(crowded(60).workload(), lbf=1, lbf_max=1)
    plan = problem.solve("gr", evict=evict, seed=seed)
    verify_plan(plan)
    assert plan.metrics["evicted"] > 10
    if not plan.metrics["forced"]:
        assert np.bincount(brokers_of(plan)).tolist() == [30, 30]


@settings(max_examples=30)
@given(made=places(with_candidates=True), evict=st.sampled_from(["next", "later"]))
def test_evicting_keeps_everybody_on_a_leaf(made, evict):
    problem = fw.Assignment(made.workload(), alpha=2, lbf=1, lbf_max=1.2)
    plan = problem.solve("gr", evict=evict, seed=1)
    verify_plan(plan)
    assert plan.metrics["evicted"] <= len(made.at)
    if not plan.metrics["evicted"]:
        assert brokers_of(plan) == brokers_of(problem.solve("gr"))


def test_the_rectangle_that_grew_must_fit_the_parent():
    """The child's rectangle grows to (0, 0)-(3, 1); the parent takes all of that in."""
    made = Places(
        at=[[0.0, 0.0]] * 2,
        boxes=[((0.0, 0.0), (1.0, 1.0)), ((2.0, 0.0), (3.0, 1.0))],
        brokers=[[0.0, 1.0], [0.0, 2.0]],
        parent=[-1, 0],
        shares=[None, 1.0],
        publisher=[0.0, 0.0],
    )
    plan = fw.Assignment(made.workload(), alpha=1).solve("gr")
    assert plan.objective == 6
    filters = plan.tables["filters"].to_pylist()
    assert filters == [
        {"broker": broker, "lo_0": 0.0, "hi_0": 3.0, "lo_1": 0.0, "hi_1": 1.0} for broker in (0, 1)
    ]


def test_ties_go_to_the_least_load_for_its_share_then_the_lowest_id():
    made = Places(
        at=[[0.0, 0.0]] * 8,
        boxes=[((0.0, 0.0), (1.0, 0.0))] * 8,  # flat: free everywhere
        brokers=[[0.0, 1.0]] * 3,
        parent=[-1] * 3,
        shares=[0.25, 0.5, 0.25],
        publisher=[0.0, 0.0],
    )
    plan = fw.Assignment(made.workload(), lbf=2, lbf_max=2).solve("gr")
    assert brokers_of(plan) == [0, 1, 2, 1, 0, 1, 2, 1]
    assert np.bincount(brokers_of(plan)).tolist() == [2, 4, 2]
