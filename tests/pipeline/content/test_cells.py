"""Cells of the event space: they fill it without overlap, evenly, and every point finds its own."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.content_ingest_oracle import holds

from fanwise.errors import ParameterError
from fanwise.pipeline.content.cells import check_cells, cut_by_depth, cut_by_width, widened

values = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e6, 1e6, allow_nan=False))


@st.composite
def clouds(draw):
    dims = draw(st.integers(1, 3))
    point = st.lists(values, min_size=dims, max_size=dims)
    return np.array(draw(st.lists(point, min_size=1, max_size=40)))


def boxes(cells):
    return [
        [(float(a), float(b)) for a, b in zip(lo, hi, strict=True)]
        for lo, hi in zip(cells.lo, cells.hi, strict=True)
    ]


def check_tiling(cells, lo, hi, points):
    sides = cells.hi - cells.lo
    assert (sides > 0).all()
    assert sides.prod(axis=1).sum() == pytest.approx(np.prod(hi - lo), rel=1e-9)
    assert (cells.lo >= lo).all()
    assert (cells.hi <= hi).all()
    for one, other in itertools.combinations(range(len(cells)), 2):
        overlap = np.minimum(cells.hi[one], cells.hi[other]) - np.maximum(
            cells.lo[one], cells.lo[other]
        )
        assert (overlap <= 0).any()
    found = cells.find(points)
    for point, cell in zip(points, found, strict=True):
        held = [index for index, box in enumerate(boxes(cells)) if holds(box, point, hi)]
        assert held == [cell]


@given(clouds(), st.integers(1, 12))
def test_both_ways_fill_the_space(points, num_cells):
    lo, hi = widened(list(zip(points.min(axis=0), points.max(axis=0), strict=True)))
    assert (lo < hi).all()
    by_depth = cut_by_depth(lo, hi, num_cells, points)
    check_tiling(by_depth, lo, hi, points)
    assert len(by_depth) <= num_cells
    counts = np.bincount(by_depth.find(points), minlength=len(by_depth))
    assert counts.min() >= 1
    by_width = cut_by_width(lo, hi, num_cells)
    check_tiling(by_width, lo, hi, points)
    assert len(by_width) == num_cells
    volumes = (by_width.hi - by_width.lo).prod(axis=1)
    assert volumes == pytest.approx(volumes[0], rel=1e-6)


@given(
    st.lists(st.floats(-1e3, 1e3, allow_nan=False), min_size=12, max_size=60, unique=True),
    st.integers(1, 12),
)
def test_one_dimension_is_quantiles_and_equal_intervals(numbers, num_cells):
    points = np.array(numbers)[:, None]
    lo, hi = widened([(min(numbers), max(numbers))])
    depth = cut_by_depth(lo, hi, num_cells, points)
    if len(depth) == num_cells:  # neighbours may be too close for a cut
        counts = np.bincount(depth.find(points))
        assert abs(counts - len(numbers) / num_cells).max() < 1.5
    assert (np.diff(depth.lo[:, 0]) > 0).all()
    width = cut_by_width(lo, hi, num_cells)
    edges = np.linspace(lo[0], hi[0], num_cells + 1)
    assert width.lo[:, 0] == pytest.approx(edges[:-1], abs=1e-9 * (hi[0] - lo[0]) + 1e-12)


def test_powers_of_two_make_a_regular_grid():
    cells = cut_by_width(np.zeros(2), np.array([8.0, 4.0]), 16)
    corners = {(float(x), float(y)) for x, y in cells.lo}
    assert corners == {(2.0 * i, float(j)) for i in range(4) for j in range(4)}


def test_cuts_lie_between_values_and_ties_stay_together():
    points = np.array([[1.0]] * 6 + [[2.0]] * 2 + [[3.0]] * 4)
    cells = cut_by_depth(np.array([1.0]), np.array([3.0]), 12, points)
    assert boxes(cells) == [[(1.0, 1.5)], [(1.5, 2.5)], [(2.5, 3.0)]]
    assert np.bincount(cells.find(points)).tolist() == [6, 2, 4]
    heavy = np.array([[5.0, 0.0]] * 99 + [[6.0, 1.0]])
    lo, hi = widened([(5.0, 6.0), (0.0, 1.0)])
    assert len(cut_by_depth(lo, hi, 8, heavy)) == 2
    alone = np.full((4, 2), 7.0)
    lo, hi = widened([(7.0, 7.0), (7.0, 7.0)])
    assert boxes(cut_by_depth(lo, hi, 8, alone)) == [[(6.5, 7.5), (6.5, 7.5)]]


def test_numbers_of_cells_are_checked():
    for number, by in ((0, "width"), (70_000, "depth")):
        with pytest.raises(ParameterError, match="channels"):
            check_cells(number, by, "channels")
    with pytest.raises(ParameterError, match="cells-by"):
        check_cells(3, "volume", "cells")
