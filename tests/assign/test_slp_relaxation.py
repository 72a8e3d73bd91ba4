"""Candidates, relaxation and rounding of SLP against their definitions."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanwise.arrays.csr import Csr, transpose
from fanwise.arrays.rectangles import uniform_density
from fanwise.assign.slp_steps.candidates import (
    axis_intervals,
    candidates_by_broker,
    filter_boxes,
    merged_boxes,
    super_subscriptions,
)
from fanwise.assign.slp_steps.clustering import cluster
from fanwise.assign.slp_steps.relaxation import Sample, relax
from fanwise.assign.slp_steps.rounding import round_parts


@st.composite
def rectangles(draw, dims, most=6):
    side = st.sampled_from([0, 0, 1, 2, 3, 7, 20])
    rows = draw(st.lists(st.tuples(*[st.integers(0, 30), side] * dims), min_size=1, max_size=most))
    array = np.array(rows, dtype=float)
    return array[:, ::2], array[:, ::2] + array[:, 1::2]


@pytest.mark.parametrize("dims", [1, 2])
@settings(max_examples=60)
@given(data=st.data())
def test_every_bounding_box_lies_in_a_candidate_hardly_larger(dims, data):
    """Lemma 4, for points, flat and equal rectangles as well."""
    lo, hi = data.draw(rectangles(dims))
    box_lo, box_hi = filter_boxes(lo, hi, lo, hi)
    volume = (box_hi - box_lo).prod(axis=1)
    for size in range(1, len(lo) + 1):
        for subset in map(list, combinations(range(len(lo)), size)):
            low, high = lo[subset].min(axis=0), hi[subset].max(axis=0)
            holds = ((box_lo <= low) & (high <= box_hi)).all(axis=1)
            assert holds.any()
            assert volume[holds].min() <= 4**dims * (high - low).prod() * (1 + 1e-9)


def test_every_pair_of_intervals_lies_in_one_at_most_four_times_as_long():
    lo = np.random.default_rng(4).uniform(0, 1000, 60)
    hi = lo + np.random.default_rng(5).choice([0.0, 1.0, 5.0, 40.0], 60)
    intervals = axis_intervals(lo, hi)
    for i, j in combinations(range(60), 2):
        low, high = min(lo[i], lo[j]), max(hi[i], hi[j])
        held = (intervals[:, 0] <= low) & (high <= intervals[:, 1])
        assert (intervals[held] @ [-1, 1]).min() <= 4 * (high - low) * (1 + 1e-9)


def test_neighbours_close_for_the_extent_have_their_own_box_with_few_levels():
    """Halving the extent two times never tells 1 from 2; merging the nearest does."""
    lo = np.array([[1.0, 0.0], [2.0, 0.0], [1e6, 0.0]])
    hi = lo + 0.5
    boxes = np.hstack(filter_boxes(lo, hi, lo, hi, most_levels=2))
    assert [1.0, 0.0, 2.5, 0.5] in boxes.tolist()


@settings(max_examples=40)
@given(rectangles(2))
def test_merging_follows_the_least_box(given_boxes):
    """Each box again, then those of a plain agglomeration."""
    lo, hi = given_boxes
    alive = [(*low, *high) for low, high in zip(lo.tolist(), hi.tolist(), strict=True)]
    merged_lo, merged_hi = merged_boxes(lo, hi)
    found = np.hstack([merged_lo, merged_hi]).tolist()
    assert found[: len(lo)] == [list(box) for box in alive]
    for box in found[len(lo) :]:
        joints = {
            (a, b): (
                min(alive[a][0], alive[b][0]),
                min(alive[a][1], alive[b][1]),
                max(alive[a][2], alive[b][2]),
                max(alive[a][3], alive[b][3]),
            )
            for a, b in combinations(range(len(alive)), 2)
        }
        volume = {pair: (x[2] - x[0]) * (x[3] - x[1]) for pair, x in joints.items()}
        a, b = next(
            pair
            for pair in joints
            if list(joints[pair]) == box and volume[pair] == min(volume.values())
        )
        alive[a] = joints[a, b]
        del alive[b]
    assert len(alive) == 1


def test_fewer_levels_still_hold_everything():
    lo = np.arange(0.0, 100.0)
    intervals = axis_intervals(lo, lo + 0.01, most_levels=3)
    assert len(intervals) < 40
    for start in lo:
        held = (intervals[:, 0] <= start) & (start + 0.01 <= intervals[:, 1])
        assert (intervals[held] @ [-1, 1]).min() <= 4 * 100 / 2**3


def test_super_subscriptions_hold_their_members():
    rng = np.random.default_rng(0)
    lo = rng.uniform(0, 10, (80, 2))
    hi = lo + 1
    super_lo, super_hi = super_subscriptions(lo, hi, rng.uniform(0, 1, (80, 3)), 9, rng)
    assert len(super_lo) <= 9
    for row in range(80):
        assert ((super_lo <= lo[row]) & (hi[row] <= super_hi)).all(axis=1).any()


def test_clusters_find_groups_far_apart():
    rng = np.random.default_rng(1)
    points = np.repeat([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]], 20, axis=0)
    label = cluster(points + rng.uniform(-1, 1, points.shape), 3, rng).reshape(3, 20)
    assert (label == label[:, :1]).all()
    assert len(np.unique(label)) == 3


@st.composite
def samples(draw):
    lo, hi = draw(rectangles(2, most=5))
    num_brokers = draw(st.integers(1, 2))
    brokers = st.lists(st.integers(0, num_brokers - 1), min_size=1, unique=True).map(sorted)
    allowed = [draw(brokers) for _ in lo]
    limits = [draw(st.integers(0, len(lo))) for _ in range(num_brokers)]
    return Sample(
        lo,
        hi,
        as_csr(allowed),
        np.ones(len(lo)),
        np.array(limits, dtype=float),
        draw(st.integers(1, 2)),
    )


def as_csr(rows):
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return Csr(indptr, np.array([b for row in rows for b in row], dtype=np.int32))


def candidates_of(sample):
    boxes = filter_boxes(sample.lo, sample.hi, sample.lo, sample.hi, most_boxes=50, most_levels=4)
    served = transpose(sample.allowed, len(sample.limits))
    return candidates_by_broker(*boxes, sample.lo, sample.hi, served, uniform_density(2))


def least_filter(sample, candidates, broker, members):
    """Try all sets of up to alpha candidates of a broker that hold its members."""
    own = range(candidates.indptr[broker], candidates.indptr[broker + 1])
    best = 0.0 if not members else np.inf
    for size in range(1, sample.alpha + 1):
        for some in combinations(own, size):
            if all(
                any(
                    (candidates.lo[c] <= sample.lo[t]).all()
                    and (sample.hi[t] <= candidates.hi[c]).all()
                    for c in some
                )
                for t in members
            ):
                best = min(best, sum(candidates.measure[c] for c in some))
    return best


def least_by_trying(sample, candidates):
    """Return the least sum of volumes over all assignments within the limits, or inf."""
    rows = [
        sample.allowed.indices[a:b].tolist()
        for a, b in zip(sample.allowed.indptr, sample.allowed.indptr[1:], strict=False)
    ]
    best = np.inf
    known = {}
    for brokers in product(*rows):
        if all(brokers.count(b) <= limit for b, limit in enumerate(sample.limits)):
            total = 0.0
            for b in range(len(sample.limits)):
                members = tuple(t for t, other in enumerate(brokers) if other == b)
                if (b, members) not in known:
                    known[b, members] = least_filter(sample, candidates, b, members)
                total += known[b, members]
            best = min(best, total)
    return best


@settings(max_examples=40, deadline=None)
@given(samples())
def test_relaxation_is_below_every_choice_of_candidates(sample):
    candidates = candidates_of(sample)
    optimum = least_by_trying(sample, candidates)
    relaxed = relax(sample, candidates, gap=1e-3)
    assert (relaxed is None) == np.isinf(optimum)
    if relaxed is not None:
        assert relaxed.bound <= optimum * (1 + 1e-9) + 1e-9
        assert relaxed.value <= optimum * (1 + 1e-2) + 1e-4 * candidates.measure.mean() + 1e-4
        assert relaxed.bound >= 0.99 * relaxed.value - 1e-4 * candidates.measure.mean()


def test_value_of_a_relaxation_that_is_integral():
    """Two far squares, one broker: both for themselves if alpha allows, else all between."""
    lo = np.array([[0.0, 0.0], [9.0, 9.0]])
    for alpha, value in ((1, 100.0), (2, 2.0)):
        sample = Sample(lo, lo + 1, as_csr([[0], [0]]), np.ones(2), np.array([2.0]), alpha)
        relaxed = relax(sample, candidates_of(sample), gap=1e-4)
        assert relaxed.value == pytest.approx(value, rel=1e-3)
        assert relaxed.bound == pytest.approx(value, rel=1e-3)


@settings(max_examples=40, deadline=None)
@given(samples(), st.integers(0, 3))
def test_rounding_covers_the_sample_and_drops_the_rest(sample, seed):
    candidates = candidates_of(sample)
    relaxed = relax(sample, candidates)
    if relaxed is None:
        return
    chosen = round_parts(sample, candidates, relaxed, np.random.default_rng(seed))

    def covered(some):
        holds = np.zeros(len(sample.lo), dtype=bool)
        for c in some:
            inside = (candidates.lo[c] <= sample.lo) & (sample.hi <= candidates.hi[c])
            may = np.array(
                [
                    candidates.broker[c] in sample.allowed.indices[a:b]
                    for a, b in zip(sample.allowed.indptr, sample.allowed.indptr[1:], strict=False)
                ]
            )
            holds |= inside.all(axis=1) & may
        return holds.all()

    assert covered(chosen)
    if (sample.limits >= len(sample.lo)).all():  # loads do not matter: each one is needed
        assert not any(covered(np.delete(chosen, i)) for i in range(len(chosen)))
