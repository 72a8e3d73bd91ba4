"""SLP as a whole: feasible wherever max-flow is, repeatable, good where greedy is not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.assign.small_places import Places, places, verify_plan

import fanwise as fw
from fanwise.arrays.csr import Csr
from fanwise.arrays.flows import max_flow
from fanwise.arrays.rectangles import uniform_density
from fanwise.assign import slp
from fanwise.assign.arrays import Filters
from fanwise.assign.slp_steps.assigning import assign
from fanwise.assign.slp_steps.level import make_level
from fanwise.assign.slp_steps.multilevel import allowed_children, make_tree, node_limits
from fanwise.planning.assembling import make_plan
from fanwise.planning.problem import Run
from fanwise.workload.generators.difficult import difficult
from fanwise.workload.generators.grid import grid

pytestmark = pytest.mark.kernels

SAMPLED = {"whole": 0, "rounds": 2, "balance": 2, "clusters": 1}
"""Knobs under which even few subscribers are sampled."""


def solve(problem, seed=0, **knobs):
    run = Run(seed=seed, settings=knobs)
    return make_plan(problem, "slp", problem.run((slp.solve,), run), None, run)


@pytest.mark.parametrize("knobs", [{}, SAMPLED], ids=["everybody", "sampled"])
@settings(max_examples=40)
@given(
    made=places(with_cells=True, with_candidates=True),
    factor=st.sampled_from([1.0, 1.5, 3.0]),
    max_delay=st.sampled_from([0.0, 0.3, 2.0]),
    alpha=st.integers(1, 3),
)
def test_is_feasible_wherever_max_flow_is(knobs, made, factor, max_delay, alpha):
    problem = fw.Assignment(
        made.workload(), alpha=alpha, max_delay=max_delay, lbf=factor, lbf_max=1.2 * factor
    )
    plan = solve(problem, **knobs)
    verify_plan(plan)
    flow = max_flow(problem.groups, problem.limits(problem.lbf_max))
    assert plan.feasible == (flow.num_left == 0)


def test_same_seed_same_plan_and_input_untouched():
    workload = grid(300, brokers=8, seed=3)
    before = workload.hash
    problem = fw.Assignment(workload)
    first, again = (solve(problem, seed=5, **SAMPLED) for _ in range(2))
    assert first.id == again.id
    assert first.metrics["relaxations"] == 2
    del workload.__dict__["hash"]
    assert workload.hash == before


def test_difficult_workload_costs_a_tenth_of_greedy():
    problem = fw.Assignment(difficult(1200))
    plan = solve(problem)
    verify_plan(plan)
    assert plan.feasible
    assert plan.metrics["fractional"] <= plan.objective * problem.alpha
    assert 10 * plan.objective < problem.solve("gr-star").objective


def test_fractional_is_told_for_one_level_only():
    flat = fw.Assignment(grid(200, brokers=6, seed=1))
    tree = fw.Assignment(grid(200, brokers=8, out_degree=3, max_delay=1.0, seed=1))
    assert solve(flat).metrics["fractional"] > 0
    assert solve(tree).metrics["fractional"] is None


def one_axis(points, allowed, limits, alpha=1):
    """Return a level of unit intervals at these points."""
    lo = np.array(points, dtype=float).reshape(-1, 1)
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in allowed])]).astype(np.int64)
    rows = Csr(indptr, np.array([b for row in allowed for b in row], dtype=np.int32))
    limits = np.array(limits, dtype=np.int64)
    return make_level(lo, lo + 1, lo.copy(), rows, limits, alpha, uniform_density(1))


def filters_on_axis(*brokers):
    """Return one filter for each list of (lower, upper)."""
    slots = max(map(len, brokers))
    lo, hi = np.zeros((2, len(brokers), slots, 1))
    for b, boxes in enumerate(brokers):
        for slot, box in enumerate(boxes):
            lo[b, slot], hi[b, slot] = box
    return Filters(lo, hi, np.array([len(boxes) for boxes in brokers], dtype=np.int64))


def test_load_limit_rises_only_as_far_as_needed():
    level = one_axis([0, 0, 0, 9], [[0, 1]] * 4, [[1, 1], [2, 2], [3, 3], [4, 4]])
    done = assign(level, filters_on_axis([(0, 1)], [(9, 10)]))
    assert done.step == 2
    assert done.repairs == 0
    assert done.broker_of_subscriber.tolist() == [0, 0, 0, 1]


def test_filters_grow_along_the_minimum_cut():
    level = one_axis([0, 0, 4, 9], [[0, 1]] * 4, [[2, 2]])
    before = filters_on_axis([(0, 5)], [(9, 10)])
    done = assign(level, before)
    assert done.repairs == 1
    assert (done.broker_of_subscriber >= 0).all()
    assert np.bincount(done.broker_of_subscriber).tolist() == [2, 2]
    assert done.filters.lo[1, 0, 0] == 4  # the cheapest way out: the neighbour, not those at 0
    assert before.lo[1, 0, 0] == 9


def test_repair_reaches_through_full_brokers():
    level = one_axis([0, 0, 0, 5], [[0, 1], [0, 1], [0, 1], [1, 2]], [[1, 2, 1]])
    done = assign(level, filters_on_axis([(0, 1)], [(5, 6)], []))
    assert (done.broker_of_subscriber >= 0).all()


def test_too_tight_limits_leave_the_fewest_over():
    level = one_axis([0, 1, 2], [[0], [0], [0, 1]], [[1, 1]])
    done = assign(level, filters_on_axis([(0, 3)], []))
    assert np.count_nonzero(done.broker_of_subscriber < 0) == 1


def test_gamma_halves_until_a_child_is_allowed():
    below = np.array([[True, True, True, True, False, False], [False] * 4 + [True, True]])
    rows = Csr(
        np.array([0, 2, 3, 5, 7, 7]), np.array([0, 1, 3, 0, 4, 4, 5], dtype=np.int32)
    )  # in time: 2/4 of the first; 1/4; 1/4 and 1/2; all of the second; nobody
    allowed = allowed_children(rows, below, 0.5)
    of_each = [
        allowed.indices[a:b].tolist()
        for a, b in zip(allowed.indptr, allowed.indptr[1:], strict=False)
    ]
    assert of_each == [[0], [0], [1], [1], []]


def test_limits_in_a_tree_spend_the_factor_level_by_level():
    made = Places(
        at=[[0, 0]] * 40,
        boxes=[((0.0, 0.0), (1.0, 1.0))] * 40,
        brokers=[[0, 0]] * 5,
        parent=[-1, 0, 0, -1, 3],
        shares=[None, 0.25, 0.25, None, 0.5],
        publisher=[0, 0],
    )
    problem = fw.Assignment(made.workload(), lbf=1.44, lbf_max=1.96)
    tree = make_tree(problem)
    top = node_limits(problem, tree, 5, np.array([0, 3]), 40)
    assert top[0].tolist() == [24, 24]  # 1.2 x 20
    assert top[-1].tolist() == [28, 28]  # 1.4 x 20
    leaves = node_limits(problem, tree, 0, np.array([1, 2]), 24)
    assert leaves[0].tolist() == [14, 14]  # what the whole tree's factor allows: 1.44 x 10
    assert leaves[-1].tolist() == problem.limits(1.96)[[1, 2]].tolist()
