from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.errors import ParameterError
from fanwise.workload.generators.laws import (
    double_pareto,
    draw_strata,
    power_law_counts,
    split_counts,
)


def hill(values, top):
    """Exponent of the tail P(X > x), estimated from the largest values."""
    values = np.sort(np.asarray(values, dtype=float))[::-1]
    return 1 / np.mean(np.log(values[:top] / values[top]))


def test_strata_have_one_number_each():
    u = draw_strata(1000, np.random.default_rng(1))
    assert np.array_equal(np.floor(u * 1000), np.arange(1000))


def test_double_pareto_has_its_mean_and_both_tails():
    values = double_pareto(draw_strata(200_000, np.random.default_rng(1)), 2.5, 0.5, 40.0)
    assert values.mean() == pytest.approx(40.0)
    assert hill(values, 2000) == pytest.approx(2.5, rel=0.05)
    assert hill(1 / values, 2000) == pytest.approx(0.5, rel=0.05)


@given(st.data())
def test_counts_lie_in_range_and_add_up(data):
    count = data.draw(st.integers(0, 40))
    largest = data.draw(st.integers(1, 60))
    total = data.draw(st.integers(count, count * (1 + largest) // 2))
    exponent = data.draw(st.floats(1.1, 5))
    counts = power_law_counts(count, total, exponent, largest, np.random.default_rng(3))
    assert len(counts) == count
    assert counts.sum() == total
    assert count == 0 or (counts.min() >= 1 and counts.max() <= largest)


def test_counts_have_the_tail_whatever_the_mean():
    for mean in (2.5, 12):
        counts = power_law_counts(
            200_000, int(200_000 * mean), 2.4, 40_000, np.random.default_rng(3)
        )
        assert hill(counts, 500) == pytest.approx(1.4, rel=0.06)


def test_impossible_counts_are_refused():
    with pytest.raises(ParameterError, match="'total' parameter must be from 10 to 30"):
        power_law_counts(10, 9, 2.0, 5, np.random.default_rng(0))


@given(
    st.lists(st.integers(1, 300), max_size=30),
    st.floats(0, 1),
    st.integers(1, 50),
)
def test_parts_of_counts_make_up_the_share(counts, share, largest):
    counts = np.array(counts, dtype=np.int64)
    parts = split_counts(counts, share, largest, np.random.default_rng(5))
    total = round(share * int(counts.sum()))
    assert parts.sum() == total
    assert np.all((parts >= 0) & (parts <= counts))
    if np.minimum(counts, largest).sum() >= total:
        assert np.all(parts <= largest)
