from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import rectangles_oracle as oracle

from fanwise.arrays import rectangles
from fanwise.arrays.rectangle_kernels import least_growth
from fanwise.arrays.rectangle_moves import (
    enlarge,
    exclusive_measure,
    growth_of_each,
    least_growth_by_merging,
    merge_rectangles,
    remove_rectangle,
)
from fanwise.arrays.union_volume import sweep_volume

pytestmark = pytest.mark.kernels


@st.composite
def boxes(draw, dims, *, least=0, most=6, size=9, solid=False):
    """Rectangles with whole coordinates: nested, touching, equal, flat, points."""
    count = draw(st.integers(least, most))
    made = []
    for _ in range(count):
        lo = [draw(st.integers(0, size - 1)) for _ in range(dims)]
        hi = [low + draw(st.integers(1 if solid else 0, 4)) for low in lo]
        made.append((lo, hi))
    return made


def as_arrays(pairs, dims):
    lo = np.array([lo for lo, _ in pairs], dtype=np.float64).reshape(len(pairs), dims)
    hi = np.array([hi for _, hi in pairs], dtype=np.float64).reshape(len(pairs), dims)
    return lo, hi


def density_cells(dims, draw):
    """Some cells of a grid, some of them joined, with their events."""
    cuts = [0, 3, 4, 9, 13]
    cells = []
    for index in np.ndindex(*(4,) * dims):
        if draw(st.booleans()):
            lo = [cuts[i] for i in index]
            hi = [cuts[i + 1] for i in index]
            cells.append((lo, hi, float(draw(st.integers(0, 5)))))
    return cells or [([0] * dims, [13] * dims, 7.0)]


@settings(max_examples=30)
@given(st.data(), st.integers(1, 3))
def test_union_volume_is_that_of_inclusion_and_exclusion(data, dims):
    pairs = data.draw(boxes(dims))
    lo, hi = as_arrays(pairs, dims)
    expected = oracle.union_volume(pairs)
    assert rectangles.union_volume(lo, hi) == expected
    assert sweep_volume(lo, hi) == expected


@settings(max_examples=10)
@given(st.data(), st.integers(1, 4))
def test_many_rectangles_are_swept(data, dims):
    pairs = data.draw(boxes(dims, least=9, most=11, size=6))
    lo, hi = as_arrays(pairs, dims)
    assert rectangles.union_volume(lo, hi) == oracle.union_volume(pairs)


def test_sweep_and_cutting_agree_on_uneven_coordinates():
    rng = np.random.default_rng(1)
    for dims, count in ((1, 300), (2, 120), (3, 25)):
        lo = rng.random((count, dims))
        hi = lo + 0.3 * rng.random((count, dims)) ** 2
        cut = rectangles.union_volumes(lo[None], hi[None], np.array([count]))[0]
        assert sweep_volume(lo, hi) == pytest.approx(cut, rel=1e-12)


@settings(max_examples=40)
@given(st.data(), st.integers(1, 3))
def test_events_in_a_union(data, dims):
    pairs = data.draw(boxes(dims, most=4))
    cells = density_cells(dims, data.draw)
    density = rectangles.make_density(
        *as_arrays([(lo, hi) for lo, hi, _ in cells], dims), np.array([r for *_, r in cells])
    )
    lo, hi = as_arrays(pairs, dims)
    expected = oracle.union_mass(pairs, cells)
    assert rectangles.union_mass(lo, hi, density) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    lo, hi = (np.tile(sides, (5, 1)) for sides in (lo, hi))  # so many that cells are taken
    assert rectangles.union_mass(lo, hi, density) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@settings(max_examples=50)
@given(st.data(), st.integers(1, 3))
def test_cover_by_a_union_is_exact_also_for_flat_boxes(data, dims):
    union = data.draw(boxes(dims, most=5, size=5))
    asked = data.draw(boxes(dims, least=1, most=4, size=5))
    covered = rectangles.are_covered(*as_arrays(asked, dims), *as_arrays(union, dims))
    assert covered.tolist() == [oracle.is_covered(box, union) for box in asked]


def test_a_box_that_only_a_union_covers():
    union = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[1.0, 2.0], [3.0, 1.0]])
    inside = np.array([[0.5, 0.2]]), np.array([[2.0, 1.0]])
    above = np.array([[0.5, 0.2]]), np.array([[2.0, 1.5]])
    nothing = np.full((1, 2), np.inf), np.full((1, 2), -np.inf)
    assert rectangles.are_covered(*inside, *union).tolist() == [True]
    assert rectangles.are_covered(*above, *union).tolist() == [False]
    assert rectangles.are_covered(*nothing, np.empty((0, 2)), np.empty((0, 2))).tolist() == [True]
    assert rectangles.contains(*union, *inside).tolist() == [False, False]
    assert rectangles.contains(*union, *nothing).tolist() == [True, True]


@settings(max_examples=30)
@given(st.data(), st.integers(1, 3), st.integers(1, 4))
def test_least_growth_is_the_best_of_all_ways(data, dims, slots):
    """Rectangles come one after the other, as a greedy algorithm inserts them."""
    lo, hi = np.empty((2, slots, dims)), np.empty((2, slots, dims))
    counts = np.zeros(2, dtype=np.int64)
    scratch, density = rectangles.make_scratch(slots, dims), rectangles.uniform_density(dims)
    expected = []
    for box in data.draw(boxes(dims, most=6)):
        box_lo, box_hi = (np.array(sides, dtype=np.float64) for sides in box)
        growth, slot = least_growth(
            lo, hi, 1, counts[1], slots, box_lo, box_hi, density, scratch, np.inf
        )
        best, expected = oracle.least_growth(expected, box, slots)
        assert growth == best
        for enough in (0.0, best / 2, best, 2 * best + 1):
            told, told_slot = least_growth(
                lo, hi, 1, counts[1], slots, box_lo, box_hi, density, scratch, enough
            )
            assert (told, told_slot) == (best, slot) if best <= enough else told > enough
        enlarge(lo, hi, counts, 1, slot, box_lo, box_hi)
        assert counts.tolist() == [0, len(expected)]
        held = lo[1, : counts[1]].tolist(), hi[1, : counts[1]].tolist()
        assert list(zip(*held, strict=True)) == expected
    volumes = rectangles.union_volumes(lo, hi, counts)
    assert volumes.tolist() == [0.0, oracle.union_volume(expected)]


@settings(max_examples=30)
@given(st.data(), st.integers(1, 2))
def test_growth_under_a_density(data, dims):
    cells = density_cells(dims, data.draw)
    density = rectangles.make_density(
        *as_arrays([(lo, hi) for lo, hi, _ in cells], dims), np.array([r for *_, r in cells])
    )
    held = data.draw(boxes(dims, least=1, most=3))
    ((box_lo, box_hi),) = data.draw(boxes(dims, least=1, most=1))
    lo, hi = (sides[None].copy() for sides in as_arrays(held, dims))
    growth, slot = np.empty(1), np.empty(1, dtype=np.int64)
    arrays = np.array(box_lo, dtype=np.float64), np.array(box_hi, dtype=np.float64)
    growth_of_each(
        lo, hi, np.array([len(held)]), np.zeros(1, dtype=np.int32), *arrays, density,
        rectangles.make_scratch(len(held), dims), growth, slot,
    )  # fmt: skip
    ways = []
    for index, (old_lo, old_hi) in enumerate(held):
        grown = np.minimum(old_lo, box_lo).tolist(), np.maximum(old_hi, box_hi).tolist()
        ways.append([*held[:index], grown, *held[index + 1 :]])
    before = oracle.union_mass(held, cells)
    expected = min(oracle.union_mass(way, cells) for way in ways) - before
    assert growth[0] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    chosen = oracle.union_mass(ways[slot[0]], cells) - before
    assert chosen == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=40)
@given(st.data(), st.integers(1, 3))
def test_taking_a_rectangle_away(data, dims):
    held = data.draw(boxes(dims, least=1, most=4))
    lo, hi = (sides[None].copy() for sides in as_arrays(held, dims))
    scratch, density = rectangles.make_scratch(4, dims), rectangles.uniform_density(dims)
    r = data.draw(st.integers(0, len(held) - 1))
    rest = held[:r] + held[r + 1 :]
    lost = exclusive_measure(lo, hi, 0, len(held), r, density, scratch)
    assert lost == oracle.union_volume(held) - oracle.union_volume(rest)
    assert lo[0].tolist() == [box[0] for box in held]
    counts = np.array([len(held)])
    remove_rectangle(lo, hi, counts, 0, r)
    assert list(zip(lo[0, : counts[0]].tolist(), hi[0, : counts[0]].tolist(), strict=True)) == rest


@settings(max_examples=30)
@given(st.data(), st.integers(1, 3))
def test_merging_two_rectangles_makes_room(data, dims):
    held = data.draw(boxes(dims, least=1, most=4))
    ((box_lo, box_hi),) = data.draw(boxes(dims, least=1, most=1))
    arrays = np.array(box_lo, dtype=np.float64), np.array(box_hi, dtype=np.float64)
    lo, hi = (sides[None].copy() for sides in as_arrays(held, dims))
    scratch, density = rectangles.make_scratch(4, dims), rectangles.uniform_density(dims)
    ways = {}
    for i in range(len(held)):
        for j in range(i + 1, len(held)):
            joined = (
                np.minimum(held[i][0], held[j][0]).tolist(),
                np.maximum(held[i][1], held[j][1]).tolist(),
            )
            ways[i, j] = [*held[:i], joined, *held[i + 1 : j], *held[j + 1 :]]
    before = oracle.union_volume(held)
    growths = {
        pair: oracle.union_volume([*way, (box_lo, box_hi)]) - before for pair, way in ways.items()
    }
    expected = min(growths.values(), default=np.inf)
    for enough in (np.inf, expected, expected / 2 - 1):
        growth, i, j = least_growth_by_merging(
            lo, hi, 0, len(held), *arrays, density, scratch, enough
        )
        assert lo[0].tolist() == [box[0] for box in held]
        assert hi[0].tolist() == [box[1] for box in held]
        if expected <= enough and ways:
            assert growth == expected
            assert (i, j) == min(pair for pair in ways if growths[pair] == expected)
        else:
            assert (i, j) == (-1, -1)
    if ways:
        i, j = min(pair for pair in ways if growths[pair] == expected)
        counts = np.array([len(held)])
        merge_rectangles(lo, hi, counts, 0, i, j)
        made = list(zip(lo[0, : counts[0]].tolist(), hi[0, : counts[0]].tolist(), strict=True))
        assert made == ways[i, j]


def test_bounding_boxes_by_group():
    lo = np.array([[0.0, 5.0], [1.0, 1.0], [7.0, 7.0], [-9.0, -9.0]])
    hi = lo + 1
    group = np.array([0, 0, 2, -1], dtype=np.int32)
    out_lo, out_hi = rectangles.bounding_boxes(lo, hi, group, 3)
    assert out_lo.tolist() == [[0.0, 1.0], [np.inf, np.inf], [7.0, 7.0]]
    assert out_hi.tolist() == [[2.0, 6.0], [-np.inf, -np.inf], [8.0, 8.0]]
    assert [sides.tolist() for sides in rectangles.bounding_box(lo, hi)] == [
        [-9.0, -9.0],
        [8.0, 8.0],
    ]
    empty = rectangles.bounding_box(lo[:0], hi[:0])
    assert [sides.tolist() for sides in empty] == [[np.inf, np.inf], [-np.inf, -np.inf]]
