"""Bounds from prices and from subscribers with no broker in common, against their definitions."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.assign.small_places import Places, places
from tests.oracles.partition_oracle import fewest_parts
from tests.oracles.rectangles_oracle import union_volume

import fanwise as fw
from fanwise.assign.cells import make_grid
from fanwise.assign.proving.disjoint_choices import take_disjoint
from fanwise.assign.proving.few_places import gain_of_few, places_of
from fanwise.assign.proving.gain_kernels import largest_boxes
from fanwise.assign.proving.market import Prices, boxes_of, evaluate
from fanwise.assign.proving.price_few import search_few
from fanwise.assign.proving.price_search import search_prices
from fanwise.assign.proving.pricing import make_market
from fanwise.assign.verify_prices import Rows, _gain_of_few
from fanwise.workload.content import ContentWorkload
from fanwise.workload.generators.grid import grid
from fanwise.workload.generators.rss import rss

amounts = st.integers(0, 60).map(float)


@settings(max_examples=60)
@given(
    made=places(max_subscribers=4, with_cells=True, with_candidates=True),
    alpha=st.integers(1, 4),
    lbf=st.sampled_from([1.0, 2.0]),
    data=st.data(),
)
def test_no_plan_carries_less_whatever_the_prices(made, alpha, lbf, data):
    problem = fw.Assignment(made.workload(), alpha=alpha, max_delay=1.0, lbf=lbf, lbf_max=lbf)
    evidence = problem.evidence
    if evidence.lattice is None or problem.num_pairs == 0:
        return
    plan = problem.solve("balance")
    if not plan.feasible:
        return
    market, _ = make_market(problem, evidence, 1000)
    shape = market.lattice.shape
    paid = data.draw(st.lists(amounts, min_size=(n := 2 * len(market.members)), max_size=n))
    load = data.draw(st.lists(amounts, min_size=(b := len(market.limits)), max_size=b))
    worth = data.draw(st.sampled_from([0.0, 0.5, 1.0]))
    prices = Prices(
        np.array(paid).reshape(-1, 2),
        np.array(load) * (market.limits > 0),
        np.where(market.least > 0, worth, 0.0).reshape(shape),
    )
    best = min(plan.objective, problem.solve("gr-star").objective)
    for is_exact in (False, True):
        assert evaluate(market, prices, is_exact=is_exact).value <= best * (1 + 1e-9) + 1e-9
    value, searched = search_prices(market, lambda: np.inf)
    for found in (searched, *search_few(market, lambda: np.inf)):
        value = max(value, evaluate(market, found, is_exact=True).value)
    assert value <= best * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("seed", range(24))
def test_bounds_of_tiny_questions(seed):
    """Never above the optimum; how far below is told by the benchmark."""
    problem = tiny(seed)
    plan = problem.solve("exact")
    if plan.feasible:
        assert 0 < problem.bound() <= plan.objective * (1 + 1e-9)


def tiny(seed):
    rng = np.random.default_rng(seed)
    lo = rng.random((6, 2)) * 10
    workload = ContentWorkload.from_arrays(
        lo,
        lo + rng.random((6, 2)) * 4,
        rng.random((6, 2)) * 10,
        rng.random((3, 2)) * 10,
        publisher=[5.0, 5.0],
        parent=[-1, -1, -1],
        share=[0.25, 0.25, 0.5],
    )
    return fw.Assignment(workload, alpha=1 + seed % 2, max_delay=1.0, lbf=1.3, lbf_max=2.0)


@settings(max_examples=60)
@given(
    st.integers(1, 4).flatmap(
        lambda rows: st.lists(
            st.lists(st.integers(-9, 9).map(float), min_size=4, max_size=4),
            min_size=rows,
            max_size=rows,
        )
    )
)
def test_the_largest_boxes_are_found(entries):
    net = np.array(entries)
    values, boxes = largest_boxes(net)
    for first in range(len(net)):
        sums = {
            (last, left, right): net[first : last + 1, left : right + 1].sum()
            for last in range(first, len(net))
            for left in range(4)
            for right in range(left, 4)
        }
        assert values[first] == max(0.0, *sums.values())
        if values[first] > 0:
            assert boxes[first, 0] == first
            assert sums[tuple(boxes[first, 1:])] == values[first]


@settings(max_examples=300)
@given(
    st.lists(
        st.tuples(*[st.tuples(st.integers(0, 9), st.integers(1, 9))] * 2), min_size=1, max_size=3
    )
)
def test_few_boxes_that_do_not_overlap_are_enough(spans):
    boxes = [((x, y), (x + w, y + h)) for (x, w), (y, h) in spans]
    assert fewest_parts(boxes) <= boxes_of(len(boxes), 2)


def test_five_boxes_are_needed_for_a_doubled_cross():
    boxes = [((0, 2), (9, 3)), ((2, 0), (3, 9)), ((5, 0), (6, 9))]
    assert fewest_parts(boxes) == boxes_of(3, 2) == 5
    assert fewest_parts(boxes[:2]) == boxes_of(2, 2) == 3


def brute_gain(cost, spots, amounts, alpha):
    """Return the most that so many boxes of a matrix gain, by trying all boxes."""
    rows, columns = range(len(cost)), range(len(cost[0]))
    boxes = [
        {(i, j) for i in range(a, b + 1) for j in range(c, d + 1)}
        for a, b in combinations_with_replacement(rows, 2)
        for c, d in combinations_with_replacement(columns, 2)
    ]
    best = 0.0
    for some in combinations_with_replacement(boxes, alpha):
        held = set().union(*some)
        paid = sum(amount for mine, amount in zip(spots, amounts, strict=True) if mine <= held)
        best = max(best, paid - sum(cost[i][j] for i, j in held))
    return best


@settings(max_examples=60)
@given(data=st.data(), alpha=st.integers(1, 3))
def test_few_places_are_held_in_the_best_way(data, alpha):
    """Overlaps are counted once, and who pays at two places pays where both are held."""
    cells = [(i, j) for i in range(3) for j in range(2 if alpha == 3 else 3)]
    shape = 3, len(cells) // 3
    cost = np.zeros(shape)
    for cell in cells:
        cost[cell] = data.draw(st.integers(0, 4))
    some = st.tuples(st.sampled_from(cells), st.sampled_from(cells))
    corners = np.array(data.draw(st.lists(some, min_size=1, max_size=4)))
    is_paid = np.ones((len(corners), 2), dtype=bool)
    is_paid[:, 1] = data.draw(st.lists(st.booleans(), min_size=(n := len(corners)), max_size=n))
    amounts = data.draw(st.lists(st.integers(0, 9).map(float), min_size=n, max_size=n))
    spots = [
        {tuple(own[k].tolist()) for k in range(2) if paid[k]}
        for own, paid in zip(corners, is_paid, strict=True)
    ]
    found, bits = places_of(corners, is_paid)
    expected = brute_gain(cost.tolist(), spots, amounts, alpha)
    assert gain_of_few(cost, found, bits, np.array(amounts), alpha) == expected
    whose, which = np.nonzero(is_paid)
    at = np.ravel_multi_index(tuple(corners[whose, which].T), shape)
    each = np.array(amounts)[whose] / is_paid.sum(axis=1)[whose]
    places, which = np.unique(at, return_inverse=True)
    again = _gain_of_few(cost, places, which, Rows(whose, at, each), alpha)
    assert again == pytest.approx(expected)


class TestFractional:
    def test_of_everybody(self):
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
