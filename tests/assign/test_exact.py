"""The exact assignment against brute force over every union of rectangles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.assign.small_places import Places, verify_plan
from tests.oracles import assign_exact_oracle, assign_oracle

import fanwise as fw
from fanwise.arrays.rectangles import uniform_density
from fanwise.assign import exact
from fanwise.assign.covers.branch_and_bound import Budget, TooMuchWorkError
from fanwise.assign.covers.least_covers import (
    distinct,
    least_cover,
    list_covers,
    make_grid,
    sides_of,
    union_mass,
)
from fanwise.errors import ParameterError

LEVEL = ([-1, -1, -1], [0.5, 0.25, 0.25])
TREE = ([-1, 0, 0, -1], [None, 0.25, 0.25, 0.5])
DEEP = ([-1, 0, 1, 1, 0], [None, None, 0.5, 0.25, 0.25])

LINE = (0.0, 1.0, 4.0, 6.0, 13.0)
PLANE = (0.0, 1.0, 5.0)


@st.composite
def tiny(draw, tree, steps, dims, most):
    """Few subscribers on few coordinates: flat boxes, equal ones, who want nothing."""
    parent, shares = tree
    count = draw(st.integers(1, most))
    side = st.tuples(*[st.sampled_from(steps)] * 2).map(sorted)
    box = st.lists(side, min_size=dims, max_size=dims).map(
        lambda sides: tuple(zip(*sides, strict=True))
    )
    leaves = [b for b in range(len(parent)) if b not in parent]
    few = st.lists(st.sampled_from(leaves), min_size=1, unique=True).map(sorted)
    wide = draw(st.booleans())
    cells = None
    if draw(st.booleans()):
        ends = [(0.0, 4.0), (4.0, 13.0)] if dims == 1 else [(0.0, 1.0), (1.0, 5.0)]
        cells = [
            ((a, *[0.0] * (dims - 1)), (b, *[5.0] * (dims - 1)), float(draw(st.integers(0, 9))))
            for a, b in ends
        ]
    made = Places(
        at=[[0.0, 0.0]] * count,
        boxes=[draw(st.one_of(box, box, box, st.none())) for _ in range(count)],
        brokers=[[1.0, 1.0]] * len(parent),
        parent=parent,
        shares=shares,
        publisher=[0.0, 0.0],
        candidates=[leaves if wide else draw(few) for _ in range(count)],
    )
    if all(box is None for box in made.boxes):
        return replace(made, boxes=[None] * count)
    return replace(made, cells=cells)


def check(made, alpha, lbf, halves=False):
    problem = fw.Assignment(made.workload(), alpha=alpha, lbf=lbf, lbf_max=lbf)
    plan = problem.solve("exact")
    verify_plan(plan)
    limits = assign_oracle.limits_of(lbf, made.shares, len(made.at))
    best = assign_exact_oracle.optimum(
        made.boxes, made.parent, made.candidates, limits, alpha, made.cells, halves
    )
    assert plan.feasible == (best is not None)
    if best is not None:
        assert plan.objective == pytest.approx(best, rel=1e-9, abs=1e-9)
        assert plan.bound == pytest.approx(plan.objective, rel=1e-12)
        assert plan.gap <= 1e-12
        assert plan.metrics["proven"]
        assert problem.bound() <= best * (1 + 1e-9) + 1e-9


factors = st.sampled_from([1.0, 1.7, 4.0])


@pytest.mark.parametrize("tree", [LEVEL, TREE, DEEP], ids=["level", "tree", "deep"])
@settings(max_examples=40)
@given(data=st.data(), alpha=st.integers(1, 2), lbf=factors)
def test_optimal_on_a_line(tree, data, alpha, lbf):
    made = data.draw(tiny(tree, LINE, 1, 5 if tree is LEVEL else 4))
    check(made, alpha, lbf)


@settings(max_examples=30)
@given(made=tiny(LEVEL, PLANE, 2, 4), alpha=st.integers(1, 2), lbf=factors)
def test_optimal_in_the_plane_even_with_sides_between(made, alpha, lbf):
    """Sides anywhere but on the grid of sides are of no use."""
    check(made, alpha, lbf, halves=made.cells is None and len(made.at) <= 3)


@pytest.mark.parametrize("tree", [LEVEL, TREE, DEEP], ids=["level", "tree", "deep"])
@settings(max_examples=25)
@given(data=st.data(), alpha=st.integers(3, 4), lbf=factors)
def test_optimal_with_three_rectangles_and_more(tree, data, alpha, lbf):
    check(data.draw(tiny(tree, LINE, 1, 6)), alpha, lbf)


STEPS = [((float(k), float(k)), (k + 2.0, k + 2.0)) for k in range(0, 8, 2)]
"""Four squares that meet at corners."""


@pytest.mark.parametrize(("alpha", "least"), [(1, 64.0), (2, 32.0), (3, 24.0), (4, 16.0)])
def test_as_many_rectangles_as_there_are(alpha, least):
    plan = fw.Assignment(on_one_broker(STEPS).workload(), alpha=alpha).solve("exact")
    plan.verify()
    assert plan.objective == least
    assert plan.metrics["proven"]


def staircase(count):
    rng = np.random.default_rng(count)
    lo = rng.random((count, 2)) * 10
    return fw.ContentWorkload.from_arrays(
        lo, lo + rng.random((count, 2)) * 4, np.zeros((count, 2)), np.ones((2, 2)),
        publisher=[0, 0], parent=[-1, -1], share=[0.5, 0.5],
    )  # fmt: skip


def test_a_limit_on_steps_leaves_a_plan_and_a_valid_bound(monkeypatch):
    problem = fw.Assignment(staircase(9), alpha=3, lbf=1.2, lbf_max=1.2)
    optimum = problem.solve("exact")
    assert optimum.stopped == "exhausted"
    assert optimum.metrics["proven"]
    assert optimum.limits["steps"] == exact.MOST_STEPS
    monkeypatch.setattr(exact, "MOST_STEPS", 1000)
    hurried = problem.solve("exact")
    hurried.verify()
    assert hurried.stopped == "work"
    assert not hurried.metrics["proven"]
    assert hurried.bound <= optimum.objective <= hurried.objective


def test_says_why_it_stopped_and_an_interrupt_keeps_the_best(monkeypatch):
    problem = fw.Assignment(staircase(6), alpha=2, lbf=1.2, lbf_max=1.2)
    assert problem.solve("exact").stopped == "exhausted"
    assert problem.solve("exact", time_limit=0).stopped == "limit"
    assert problem.solve("exact", gap=0.99).stopped == "gap"

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(exact.ExactSearch, "_examine_all", interrupt)
    plan = problem.solve("exact")
    plan.verify()
    assert plan.is_interrupted
    assert plan.stopped == "interrupted"
    assert plan.bound <= plan.objective
    monkeypatch.setattr(exact.ExactSearch, "_fit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        problem.solve("exact")


def test_a_long_search_for_one_cover_heeds_the_time():
    grid = make_grid([np.arange(20.0)] * 2, uniform_density(2), 4)
    lo = np.random.default_rng(0).integers(0, 17, (12, 2))
    with pytest.raises(TooMuchWorkError):
        least_cover(grid, lo, lo + 2, 4, Budget(10**9, lambda: 1e-6))


@settings(max_examples=30)
@given(made=tiny(TREE, PLANE, 2, 4), lbf=factors)
def test_optimal_in_a_tree_in_the_plane(made, lbf):
    check(made, 2, lbf)


def on_one_broker(boxes, **columns):
    count = len(boxes)
    made = Places(
        at=[[0.0, 0.0]] * count,
        boxes=boxes,
        brokers=[[0.0, 1.0]],
        parent=[-1],
        shares=[1.0],
        publisher=[0.0, 0.0],
    )
    return replace(made, **columns)


BENT = [((0.0, 0.0), (10.0, 1.0)), ((0.0, 0.0), (4.0, 2.0)), ((6.0, -1.0), (10.0, 1.0))]
"""The first box is cheapest in two parts, one with each of the others."""


def test_a_box_may_be_held_by_two_rectangles_together():
    plan = fw.Assignment(on_one_broker(BENT).workload(), alpha=2).solve("exact")
    plan.verify()
    assert plan.objective == 20  # 24 if each box had to lie in one rectangle
    assert fw.Assignment(on_one_broker(BENT).workload(), alpha=1).solve("exact").objective == 30
    assert fw.Assignment(on_one_broker(BENT).workload(), alpha=3).solve("exact").objective == 18


def test_a_leaf_gives_way_to_the_broker_above():
    """Least covers from the leaves up come to 21: two rectangles above cannot follow them."""
    boxes = [
        ((0.0, 2.0), (1.0, 3.0)),
        ((3.0, 0.0), (4.0, 2.0)),
        ((2.0, 3.0), (4.0, 4.0)),
        ((3.0, 1.0), (3.0, 1.0)),
        ((1.0, 4.0), (2.0, 4.0)),
    ]
    made = on_one_broker(
        boxes,
        brokers=[[1.0, 1.0]] * 3,
        parent=[-1, 0, 0],
        shares=[None, 0.5, 0.5],
        candidates=[[1], [1], [1], [2], [2]],
    )
    check(made, 2, 2.0)
    plan = fw.Assignment(made.workload(), alpha=2, lbf=2, lbf_max=2).solve("exact")
    assert plan.objective == 20
    assert plan.metrics["examined"] == 1


def test_covers_are_listed_from_the_least_up():
    density = uniform_density(2)
    lo, hi = (np.array([box[side] for box in BENT]) for side in (0, 1))
    grid = make_grid(sides_of(lo, hi, density), density)
    boxes = distinct(*grid.lines_of(lo, hi))
    budget = Budget(10**6)
    least = least_cover(grid, *boxes, 2, budget)
    covers = list_covers(grid, *boxes, 2, 30.0, budget)
    masses = [cover.mass for cover in covers]
    assert least.mass == masses[0] == 20
    assert masses == sorted(masses)
    assert masses[-1] <= 30
    assert len({(cover.lo.tobytes(), cover.hi.tobytes()) for cover in covers}) == len(covers) > 3
    for cover in covers:
        assert union_mass(grid, cover.lo, cover.hi) == cover.mass


EIGHT, TEN = tuple(map(float, range(8))), tuple(map(float, range(10)))
FINE = [((0.0, 0.0, z / 4), (99.0, 99.0, z / 4 + 0.25), 1.0) for z in range(-36, 38)]


@pytest.mark.parametrize(
    ("made", "alpha", "words"),
    [
        (on_one_broker([BENT[0]] * 11), 1, "above 10 subscribers"),
        (
            on_one_broker([((a, a * a, -a), (a + 9.5, a * a + 0.5, 9.5 - a)) for a in TEN],
                          cells=FINE),
            3,
            "above 20,000 cells",
        ),
        (
            on_one_broker(
                [((0.0, 0.0), (1.0, 1.0))] * 9, brokers=[[0.0, 1.0]] * 4, parent=[-1] * 4,
                shares=[0.25] * 4,
            ),
            1,
            "above 100,000 assignments",
        ),
        (
            on_one_broker([((a, a * a, -a), (a + 0.5, a * a + 0.5, 0.5 - a)) for a in EIGHT]),
            2,
            "covers of sets",
        ),
    ],
    ids=["subscribers", "cells", "assignments", "covers"],
)  # fmt: skip
def test_larger_instances_are_refused(made, alpha, words):
    problem = fw.Assignment(made.workload(), alpha=alpha, lbf=4, lbf_max=4)
    with pytest.raises(ParameterError, match=words):
        problem.solve("exact")


def test_a_time_limit_leaves_a_valid_bound():
    rng = np.random.default_rng(4)
    for _ in range(30):
        lo = rng.integers(0, 8, (6, 2)).astype(float)
        workload = fw.ContentWorkload.from_arrays(
            lo, lo + rng.integers(1, 5, (6, 2)), np.zeros((6, 2)), np.ones((5, 2)),
            publisher=[0, 0], parent=[-1, 0, 0, 1, 1], share=[np.nan, np.nan, 0.4, 0.3, 0.3],
        )  # fmt: skip
        problem = fw.Assignment(workload, alpha=2, lbf=1.2, lbf_max=1.2)
        rushed = problem.solve("exact", time_limit=0)
        rushed.verify()
        if not rushed.metrics["proven"]:
            optimum = problem.solve("exact").objective
            assert rushed.bound <= optimum <= rushed.objective
            assert problem.solve("exact", gap=rushed.gap * 1.01).metrics["examined"] == 0
            return
    pytest.fail("no instance needed a search")
