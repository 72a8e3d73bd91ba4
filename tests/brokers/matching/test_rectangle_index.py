"""The rectangle index against a plain oracle, through additions and removals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.oracles.stabbing_oracle import stabbed

from fanwise.brokers.matching import rectangle_index
from fanwise.brokers.matching.rectangle_index import RectangleIndex
from fanwise.errors import ParameterError

# Few different values, so that sides, cuts and points coincide; and some that are wild.
VALUES = st.sampled_from([-math.inf, -1e300, -1.0, 0.0, 0.25, 0.5, 0.75, 1.0, 1e300, math.inf])
SIDES = VALUES | st.floats(-1, 2, allow_nan=False)


def boxes(dims: int) -> st.SearchStrategy[tuple[tuple[float, ...], tuple[float, ...]]]:
    """Most of them full; a few have a lower side above the upper one, and hold nothing."""
    side = st.tuples(SIDES, SIDES).map(sorted) | st.tuples(SIDES, SIDES)
    return st.lists(side, min_size=dims, max_size=dims).map(
        lambda sides: (tuple(low for low, _ in sides), tuple(high for _, high in sides))
    )


@pytest.mark.kernels
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_built_at_once(data: st.DataObject) -> None:
    dims = data.draw(st.integers(1, 4))
    held = data.draw(st.lists(boxes(dims), max_size=90))
    keys = [3 * i - 7 for i in range(len(held))]
    lo = np.array([low for low, _ in held]).reshape(len(held), dims)
    hi = np.array([high for _, high in held]).reshape(len(held), dims)
    index = RectangleIndex.build(keys, lo, hi)
    assert len(index) == len(held)
    for point in data.draw(st.lists(st.tuples(*[SIDES] * dims), min_size=1, max_size=8)):
        expected = stabbed(dict(zip(keys, held, strict=True)), point)
        assert sorted(index.match(point)) == expected
        assert index.count_matches([point]).tolist() == [len(expected)]


class Changing(RuleBasedStateMachine):
    """An index and a dictionary that see the same additions and removals."""

    @initialize(dims=st.integers(1, 3))
    def begin(self, dims: int) -> None:
        self.dims, self.next_key = dims, 0
        self.index, self.held = RectangleIndex(dims), {}

    @rule(data=st.data(), count=st.integers(1, 40))
    def add(self, data: st.DataObject, count: int) -> None:
        low, high = data.draw(boxes(self.dims))
        for copy in range(count):  # the first as drawn, then shifted, then equal ones
            step = 0.01 * min(copy, 20)
            lo, hi = tuple(x + step for x in low), tuple(x + step for x in high)
            self.index.add(self.next_key, lo, hi)
            self.held[self.next_key] = lo, hi
            self.next_key += 1

    @rule(data=st.data(), every=st.integers(1, 4))
    def remove(self, data: st.DataObject, every: int) -> None:
        for key in list(self.held)[data.draw(st.integers(0, 9)) :: every]:
            self.index.remove(key)
            del self.held[key]

    @rule(data=st.data())
    def match(self, data: st.DataObject) -> None:
        point = data.draw(st.tuples(*[SIDES] * self.dims))
        assert sorted(self.index.match(point)) == stabbed(self.held, point)

    @invariant()
    def knows_its_size(self) -> None:
        if hasattr(self, "index"):
            assert len(self.index) == len(self.held)


TestChanging = pytest.mark.kernels(Changing.TestCase)
TestChanging.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)


@pytest.mark.parametrize("dims", [1, 2, 3, 4])
def test_many_of_all_sizes(dims: int) -> None:
    rng = np.random.default_rng(dims)
    sizes = 10.0 ** rng.uniform(-6, 0.5, (3000, 1))
    sizes[:200] = 0.0
    lo = rng.random((3000, dims)) - sizes * rng.random((3000, dims))
    hi = lo + sizes
    lo[500:700], hi[500:700] = lo[500], hi[500]  # equal ones
    index = RectangleIndex.build(np.arange(3000), lo, hi)
    points = np.concatenate([rng.random((100, dims)), lo[:40], hi[480:520]])
    for point in points:
        expected = np.flatnonzero(((lo <= point) & (point <= hi)).all(axis=1))
        assert sorted(index.match(point)) == expected.tolist()


def test_slots_are_laid_out_anew_as_rectangles_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    layouts = []
    real = rectangle_index.lay_out
    monkeypatch.setattr(
        rectangle_index, "lay_out", lambda *given: layouts.append(1) or real(*given)
    )
    index, held = RectangleIndex(2), {}
    rng = np.random.default_rng(5)
    for key in range(4000):
        low = rng.random(2) + key / 1000  # the crowd wanders off: old cuts would not tell it apart
        held[key] = tuple(low), tuple(low + 0.1)
        index.add(key, *held[key])
        if key >= 300:
            index.remove(key - 300)
            del held[key - 300]
    assert 5 < len(layouts) < 60
    for point in rng.random((50, 2)) + 3.8:
        assert sorted(index.match(point)) == stabbed(held, tuple(point))


def test_faces_belong_to_a_rectangle() -> None:
    index = RectangleIndex(2)
    index.add(1, (0, 0), (1, 1))
    index.add(2, (1, 0), (1, 1))
    index.add(3, (1, 1), (1, 1))
    assert sorted(index.match((1, 1))) == [1, 2, 3]
    assert index.match((math.nan, 1)) == []


def test_refuses_what_it_cannot_hold() -> None:
    index = RectangleIndex(2)
    index.add(1, (0, 0), (1, 1))
    with pytest.raises(ParameterError, match="not held yet"):
        index.add(1, (0, 0), (1, 1))
    with pytest.raises(ParameterError, match="2 numbers"):
        index.add(2, (0,), (1,))
    with pytest.raises(ParameterError, match="2 numbers"):
        index.add(2, (0, math.nan), (1, 1))
    with pytest.raises(ParameterError, match="2 numbers"):
        index.match((0, 0, 0))
    with pytest.raises(KeyError):
        index.remove(2)
    with pytest.raises(ParameterError, match="dims"):
        RectangleIndex(0)
    with pytest.raises(ParameterError, match="twice"):
        RectangleIndex.build([1, 1], [(0, 0)] * 2, [(1, 1)] * 2)
    assert 1 in index
    assert index.match((0.5, 0.5)) == [1]
