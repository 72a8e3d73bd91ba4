from __future__ import annotations

import json
import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import wiring_search_oracle as oracle
from tests.wire.tiny import Tiny, tinies

from fanwise.errors import InfeasibleError, ParameterError
from fanwise.planning.problem import Bound, Run
from fanwise.wire import exact
from fanwise.wire.problem import Wiring, read_attachments
from fanwise.workload.generators.quadratic import quadratic
from fanwise.workload.generators.sparse import sparse

pytestmark = pytest.mark.kernels

logging.getLogger("fanwise.wire.problem").setLevel(logging.ERROR)
topologies = st.sampled_from(["mesh", "tree"])


@settings(max_examples=40)
@given(tinies(), topologies)
def test_exact_is_the_best_of_all_attachments(tiny, topology):
    problem = Wiring(tiny.workload(), topology=topology)
    every = list(oracle.feasible_costs(*tiny.question, topology == "tree"))
    if not every:
        with pytest.raises(InfeasibleError, match="capacities"):
            exact.solve(problem, Run())
        return
    outcome = exact.solve(problem, Run())
    brokers = read_attachments(problem.arrays, outcome.tables)
    cost_of = {attachment: c1 + c2 for c1, c2, attachment in every}
    best = min(cost_of.values())
    assert cost_of[tuple(brokers.tolist())] == pytest.approx(best, rel=1e-9, abs=1e-12)
    assert outcome.metrics["proven"]
    assert outcome.bound == pytest.approx(best, rel=1e-9, abs=1e-12)


@settings(max_examples=40)
@given(tinies(), topologies)
def test_bounds_hold_for_every_attachment(tiny, topology):
    problem = Wiring(tiny.workload(), topology=topology)
    parts, bound = problem.bound_parts, problem.bound()
    for c1, c2, _ in oracle.feasible_costs(*tiny.question, topology == "tree"):
        assert parts.access <= c1 * (1 + 1e-9)
        assert parts.core <= c2 * (1 + 1e-9)
        assert parts.together <= bound <= (c1 + c2) * (1 + 1e-9)
    assert parts.together >= (parts.access + parts.core) * (1 - 1e-9)


@pytest.mark.parametrize("topology", ["mesh", "tree"])
def test_a_broker_outside_of_the_tree_counts_in_bounds_only(topology):
    """A hub in the middle: spanning trees go around it, the one tree goes through it."""
    core = [[0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]]
    far, near = 9.0, 0.0
    access = [[far] + [near if b == u else far for b in range(3)] for u in range(3)]
    tiny = Tiny([[1.0], [0.0], [0.0]], [0] * 3, [1] * 3, access, core, [9.0] * 4)
    problem = Wiring(tiny.workload(), topology=topology)
    plan = exact.solve(problem, Run())
    assert read_attachments(problem.arrays, plan.tables).tolist() == [1, 2, 3]
    assert plan.bound == pytest.approx(4.0 if topology == "mesh" else 3.0)


def test_capacity_that_is_exactly_met():
    tiny = Tiny([[1.0], [1.0]], [0, 0], [1, 1], [[0, 5], [0, 5]], [[0, 1], [1, 0]], [2.0, 2.0])
    problem = Wiring(tiny.workload())
    plan = exact.solve(problem, Run())
    assert sorted(read_attachments(problem.arrays, plan.tables).tolist()) == [0, 1]
    assert plan.bound == pytest.approx(2 * 5 + 2 * 1)


def test_larger_problems_are_refused():
    for sizes, what in (((21, 2), "20 users"), ((20, 9), "8 brokers")):
        workload = quadratic(sizes[0], brokers=sizes[1], channels=3, capacity_factor=9)
        with pytest.raises(ParameterError, match=f"'best' above {what}"):
            exact.solve(Wiring(workload), Run())


def test_limits_leave_a_true_bound():
    problem = Wiring(sparse(10, brokers=4, channels=6, audience=1, capacity_factor=2.5, seed=1))
    best = exact.solve(problem, Run())
    assert best.metrics["proven"]
    quick = exact.solve(problem, Run(time_limit=0.0))
    loose = exact.solve(problem, Run(gap=0.5))
    for outcome in (quick, loose):
        value = problem.measure(outcome.tables).objective
        assert outcome.bound <= best.bound * (1 + 1e-9) <= value * (1 + 1e-9)
    assert loose.metrics["branched"] < best.metrics["branched"]
    assert loose.bound >= 0.5 * problem.measure(loose.tables).objective * (1 - 1e-9)


def test_out_of_time_without_room_is_told():
    """Three users of one unit each do not fit on brokers for one and for one and a half."""
    tiny = Tiny(
        [[1.0], [0.0], [0.0]], [0] * 3, [0, 1, 1], [[0.0, 1.0]] * 3, [[0.0, 1.0], [1.0, 0.0]],
        [1.0, 1.5],
    )  # fmt: skip
    problem = Wiring(tiny.workload())
    outcome = exact.solve(problem, Run(time_limit=0.0))
    assert not problem.measure(outcome.tables).is_feasible
    assert not outcome.metrics["proven"]
    with pytest.raises(InfeasibleError):
        exact.solve(problem, Run())


def test_bounds_of_small_problems_are_searched():
    problem = Wiring(sparse(12, brokers=4, channels=6, audience=1, capacity_factor=2.5, seed=1))
    best = exact.solve(problem, Run()).bound
    assert problem.bound_parts.together < 0.9 * best
    assert problem.bound() == pytest.approx(best)
    larger = Wiring(quadratic(21, brokers=3, channels=4))
    assert exact.searched_bound(larger.arrays, Bound(1.0)) == Bound(1.0)
    assert larger.bound() == larger.bound_parts.together


def test_an_interrupt_keeps_the_best_so_far(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(exact.BranchAndBound, "go_on", interrupt)
    problem = Wiring(quadratic(8, brokers=2, channels=3))
    outcome = exact.solve(problem, Run())
    assert outcome.is_interrupted
    assert problem.measure(outcome.tables).is_feasible
    full = Tiny([[1.0], [1.0]], [0, 0], [1, 1], [[0, 5], [0, 5]], [[0, 1], [1, 0]], [1.0, 1.0])
    with pytest.raises(KeyboardInterrupt):
        exact.solve(Wiring(full.workload()), Run())


@pytest.mark.data
def test_a_second_opinion(shared_data):
    """Optima that others worked out; see the README beside them."""
    for case in json.loads((shared_data / "acceptance" / "wire.json").read_text()):
        wants = np.array(case["wants"], dtype=bool)
        first = wants.argmax(axis=1)
        length = wants.sum(axis=1)
        cells = np.arange(wants.shape[1])
        spans = (first[:, None] <= cells) & (cells < (first + length)[:, None])
        assert (spans == wants).all()
        tiny = Tiny(
            case["rates"], first.tolist(), length.tolist(), case["access_costs"],
            case["broker_costs"], case["capacity"],
        )  # fmt: skip
        problem = Wiring(tiny.workload())
        assert exact.solve(problem, Run()).bound == pytest.approx(case["optimum"])
        assert problem.bound() <= case["optimum"]
