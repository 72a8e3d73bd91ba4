"""Arrays on their way between workers and the driver: what arrives is what was sent."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fanwise.distributed.travel import (
    add_sums,
    expand,
    expand_ids,
    squeeze,
    squeeze_ids,
    squeeze_sums,
)

WHOLE = st.integers(-(2**62), 2**62)


@given(st.lists(st.one_of(st.just(0), st.integers(0, 300), WHOLE)))
def test_sums_arrive(values):
    sums = np.array(values, dtype=np.int64)
    found = np.full(len(sums), 7, dtype=np.int64)
    add_sums(squeeze_sums(sums), found)
    assert found.tolist() == [value + 7 for value in values]


@given(st.lists(st.integers(-(2**31), 2**31 - 1), unique=True).map(sorted))
def test_ids_arrive(values):
    assert expand_ids(squeeze_ids(np.array(values, dtype=np.int32))).tolist() == values


@given(st.binary())
def test_bytes_arrive(data):
    assert expand(squeeze(data)) == data


def test_small_numbers_and_dense_ids_take_few_bytes():
    random = np.random.default_rng(1)
    sums = random.integers(0, 2**18, 100_000)
    sums[random.random(100_000) < 0.5] = 0
    assert len(squeeze_sums(sums)) < 1.5 * 100_000  # 8 bytes each otherwise
    assert len(squeeze_ids(np.arange(5, 100_005, dtype=np.int32))) < 1_000
