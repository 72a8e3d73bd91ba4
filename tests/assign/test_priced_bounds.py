"""Bounds from prices and from subscribers with no broker in common, against their definitions."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.assign.small_places import Places, places
from tests.oracles.rectangles_oracle import union_mass, union_volume, volume

import fanwise as fw
from fanwise.arrays.rectangles import uniform_density
from fanwise.assign.bounds import make_grid
from fanwise.assign.proving.disjoint_choices import take_disjoint
from fanwise.assign.proving.priced_bounds import (
    Market,
    Prices,
    evaluate,
    lay_out_sweep,
    priced_bound,
    sum_over_union,
    sweep_rows,
)
from fanwise.workload.generators.grid import grid
from fanwise.workload.generators.rss import rss

amounts = st.integers(0, 60).map(float)


def market_of(problem):
    """Return everybody who wants something, each a type."""
    arrays = problem.arrays
    wants = np.flatnonzero(arrays.lo[:, 0] <= arrays.hi[:, 0])
    rows = [arrays.brokers[arrays.indptr[j] : arrays.indptr[j + 1]] for j in wants]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    allowed = type(arrays.candidates)(indptr, np.concatenate([*rows, np.empty(0, dtype=np.int32)]))
    return Market(
        (arrays.lo[wants] + arrays.hi[wants]) / 2,
        allowed,
        np.ones(len(wants)),
        problem.limits(problem.lbf_max).astype(float),
        problem.alpha,
        arrays.density,
    )


@settings(max_examples=50)
@given(
    made=places(max_subscribers=4, with_cells=True, with_candidates=True),
    alpha=st.integers(1, 2),
    lbf=st.sampled_from([1.0, 2.0]),
    data=st.data(),
)
def test_no_plan_carries_less_whatever_the_prices(made, alpha, lbf, data):
    problem = fw.Assignment(made.workload(), alpha=alpha, max_delay=1.0, lbf=lbf, lbf_max=lbf)
    plan = problem.solve("exact")
    market = market_of(problem)
    if not plan.feasible or len(market.points) == 0:
        return
    pair = data.draw(st.lists(amounts, min_size=(n := len(market.allowed.indices)), max_size=n))
    load = data.draw(st.lists(amounts, min_size=(b := len(market.limits)), max_size=b))
    prices = Prices(np.array(pair), np.array(load) * (market.limits > 0))
    for rounds in (1, 20):
        bound = priced_bound(market, prices, rounds).value
        assert bound <= plan.objective * (1 + 1e-9) + 1e-9


def test_good_prices_reach_the_optimum():
    """One broker, one rectangle, two far points: it gains as much from one as from both."""
    made = Places(
        at=[[0.0, 0.0]] * 2,
        boxes=[((0.0, 0.0), (0.0, 0.0)), ((4.0, 5.0), (4.0, 5.0))],
        brokers=[[1.0, 1.0]],
        parent=[-1],
        shares=[1.0],
        publisher=[0.0, 0.0],
    )
    market = market_of(fw.Assignment(made.workload(), alpha=1))
    found = priced_bound(market, Prices(np.array([20.0, 20.0]), np.zeros(1)), 1)
    assert found.value == pytest.approx(20, rel=1e-9)
    assert 18 < priced_bound(market, Prices(np.array([3.0, 1.0]), np.zeros(1)), 80).value <= 20


@pytest.mark.parametrize("dims", [1, 2])
@settings(max_examples=40)
@given(data=st.data())
def test_the_largest_gain_is_found(dims, data):
    spot = st.tuples(*[st.integers(0, 6).map(float)] * dims)
    points = np.array(data.draw(st.lists(spot, min_size=1, max_size=6)))
    pays = np.array([data.draw(amounts) for _ in points])
    cells = [((0.0,) * dims, (3.0,) + (6.0,) * (dims - 1), data.draw(amounts))]
    made = Places(
        at=[[0.0, 0.0]],
        boxes=[((0.0,) * dims, (6.0,) * dims)],
        brokers=[[0.0, 0.0]],
        parent=[-1],
        shares=[1.0],
        publisher=[0.0, 0.0],
        cells=cells if data.draw(st.booleans()) else None,
    )
    density = fw.Assignment(made.workload()).arrays.density
    sweep = lay_out_sweep(points, np.arange(len(points)), density)
    inside = np.zeros(len(points), dtype=bool)
    found = sweep_rows(*sweep, pays, inside)

    def gain(lo, hi):
        held = ((points >= lo) & (points <= hi)).all(axis=1)
        box = [(tuple(lo), tuple(hi))]
        measure = union_volume(box) if made.cells is None else union_mass(box, cells)
        return pays[held].sum() - measure

    sides = [sorted({float(x) for x in points[:, axis]}) for axis in range(dims)]
    spans = [[(a, b) for i, a in enumerate(own) for b in own[i:]] for own in sides]
    best = max((gain(*np.array(span).T) for span in product(*spans)), default=0.0)
    assert found == pytest.approx(max(best, 0.0), abs=1e-9)
    if found > 1e-9:
        lo, hi = points[inside].min(axis=0), points[inside].max(axis=0)
        assert gain(lo, hi) == pytest.approx(found, abs=1e-9)


@settings(max_examples=150)
@given(
    st.lists(
        st.tuples(*[st.tuples(st.integers(0, 9), st.integers(1, 9))] * 2), min_size=1, max_size=4
    )
)
def test_some_way_to_merge_has_a_sum_not_far_above_the_union(spans):
    boxes = [((float(x), float(y)), (float(x + w), float(y + h))) for (x, w), (y, h) in spans]

    def merged(pair):
        lo = tuple(min(side) for side in zip(*(box[0] for box in pair), strict=True))
        return volume(lo, tuple(max(side) for side in zip(*(box[1] for box in pair), strict=True)))

    def least(rest):
        if len(rest) < 2:
            return sum(volume(*box) for box in rest)
        first, *others = rest
        alone = volume(*first) + least(others)
        return min(
            [alone]
            + [
                merged([first, other]) + least([box for box in others if box is not other])
                for other in others
            ]
        )

    limit = sum_over_union(len(boxes), 2, uniform_density(2))
    assert least(boxes) <= limit * union_volume(boxes) + 1e-9


def test_the_ratio_of_two_crossing_rectangles_is_reached():
    boxes = [((0.0, 0.5), (2.0, 1.5)), ((0.5, 0.0), (1.5, 2.0))]
    assert sum(volume(*box) for box in boxes) == 4  # and so has the square around both
    assert union_volume(boxes) == 3
    assert sum_over_union(2, 2, uniform_density(2)) == pytest.approx(4 / 3)
    assert sum_over_union(3, 2, uniform_density(2)) == pytest.approx(7 / 3)
    assert sum_over_union(5, 1, uniform_density(1)) == 1
    assert sum_over_union(5, 3, uniform_density(3)) == 5


def test_prices_are_only_improved():
    workload = rss(120, brokers=8, interests=12, seed=3)
    problem = fw.Assignment(workload, alpha=1)
    market = market_of(problem)
    prices = Prices(np.full(len(market.allowed.indices), 50.0), np.zeros(len(market.limits)))
    bounds = [priced_bound(market, prices, rounds).value for rounds in (1, 30, 120)]
    assert bounds == sorted(bounds)
    assert bounds[-1] > bounds[0]


class TestFractional:
    def test_of_everybody_with_a_bound(self):
        problem = fw.Assignment(rss(150, brokers=8, interests=12, seed=3))
        plan = problem.solve("slp")
        assert plan.metrics["fractional_of"] == "everybody"
        assert problem.bound() <= plan.bound <= plan.objective
        found = problem.fractional
        assert found.of == "everybody"
        assert found.value == pytest.approx(plan.metrics["fractional"], rel=0.05)
        later = problem.solve("gr-star")
        assert later.metrics["fractional"] == found.value
        assert fw.Assignment(problem.workload).solve("gr").metrics["fractional"] is None

    def test_why_there_is_none(self, monkeypatch):
        tree = fw.Assignment(grid(200, brokers=8, out_degree=3, max_delay=1.0, seed=1))
        assert tree.fractional.value is None
        assert "one level" in tree.fractional.of
        monkeypatch.setattr("fanwise.assign.fractional.MOST_PAIRS", 5)
        assert "more than 5" in fw.Assignment(grid(50, brokers=4, seed=1)).fractional.of

    def test_of_nobody(self):
        made = replace(APART, boxes=[None] * 3)
        assert fw.Assignment(made.workload()).fractional.value == 0


APART = Places(
    at=[[0.0, 0.0]] * 3,
    boxes=[((0.0, 0.0), (2.0, 2.0)), ((1.0, 0.0), (4.0, 2.0)), ((1.0, 0.0), (2.0, 5.0))],
    brokers=[[1.0, 1.0]] * 5,
    parent=[-1] * 5,
    shares=[0.2] * 5,
    publisher=[0.0, 0.0],
    candidates=[[0, 1], [1, 2], [3, 4]],
)


class TestNoBrokerInCommon:
    def test_cells_need_one_each(self):
        problem = fw.Assignment(APART.workload(), lbf=5, lbf_max=5)
        # The third has no broker in common with the others: where it meets them, two are needed.
        assert problem.bound() == union_volume(APART.boxes) + 2
        other = replace(APART, candidates=[[0, 1], [2], [3, 4]])
        # Now all three need their own on [1, 2] x [0, 2].
        bound = fw.Assignment(other.workload(), lbf=5, lbf_max=5).bound()
        assert bound == union_volume(APART.boxes) + 4

    @settings(max_examples=40)
    @given(made=places(max_subscribers=6, with_candidates=True))
    def test_never_more_than_hitting_all_takes(self, made):
        problem = fw.Assignment(made.workload(), max_delay=0.5)
        arrays = problem.arrays
        wants = np.flatnonzero(arrays.lo[:, 0] <= arrays.hi[:, 0])
        if len(wants) == 0:
            return
        cut = make_grid(arrays.lo[wants], arrays.hi[wants])
        counts, _ = take_disjoint(arrays, wants, cut, None)
        counts = counts.reshape([len(s) - 1 for s in cut])
        for cell in product(*(range(len(side) - 1) for side in cut)):
            middle = [(side[k] + side[k + 1]) / 2 for k, side in zip(cell, cut, strict=True)]
            rows = [
                {b for b in row if arrays.share[b] > 0}
                for j in wants
                if (arrays.lo[j] <= middle).all() and (middle <= arrays.hi[j]).all()
                for row in [arrays.brokers[arrays.indptr[j] : arrays.indptr[j + 1]].tolist()]
            ]
            rows = [row for row in rows if row]
            everyone = sorted(set().union(*rows)) if rows else []
            fewest = next(
                size
                for size in range(len(everyone) + 1)
                for some in combinations(everyone, size)
                if all(row & set(some) for row in rows)
            )
            assert counts[cell] <= fewest
            assert (counts[cell] > 0) == (fewest > 0)


def test_evaluate_marks_the_points_of_the_best_rectangle():
    problem = fw.Assignment(APART.workload(), alpha=1)
    market = market_of(problem)
    types = np.repeat(np.arange(3), 2)
    sweeps = [
        lay_out_sweep(market.points[types[own]], own, market.density)
        for own in (np.flatnonzero(market.allowed.indices == b) for b in range(5))
    ]
    inside = np.zeros(6, dtype=bool)
    prices = Prices(np.array([2.0, 9.0, 9.0, 1.0, 1.0, 4.0]), np.zeros(5))
    value, chosen = evaluate(market, prices, sweeps, types, inside)
    # Broker 1 is paid 18 for both points, which have nothing between them but a line.
    assert value == 2 + 1 + 1 - (2 + 18 + 1 + 1 + 4)
    assert inside.all()
    assert chosen.tolist() == [0, 3, 4]
