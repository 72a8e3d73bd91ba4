from __future__ import annotations

from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.deal_oracle import deal_rows, shuffle_number

from fanwise.workload.generators.shuffled_range import shuffle_range, shuffled
from fanwise.workload.generators.streamed_matching import (
    balance_stubs,
    deal_stubs,
    fill_rows,
    settle,
)

pytestmark = pytest.mark.kernels


def order_of(permutation):
    return [int(shuffled(permutation, x)) for x in range(permutation.size)]


@given(st.integers(1, 600), st.integers(0, 5))
def test_a_shuffled_range_holds_every_number_once(size, seed):
    permutation = shuffle_range(size, np.random.default_rng(seed))
    found = order_of(permutation)
    assert sorted(found) == list(range(size))
    tables = (permutation.left_shifts.tolist(), permutation.right_shifts.tolist())
    assert found == [shuffle_number(size, permutation.bits, *tables, x) for x in range(size)]


def test_a_shuffled_range_looks_random():
    """Neighbours and numbers far apart land independently; ten by ten cells are filled evenly."""
    size = 100_003
    found = np.array(order_of(shuffle_range(size, np.random.default_rng(1))))
    for lag in (1, 2, 256, 391, 50_000):
        cells = np.bincount(found[:-lag] * 10 // size * 10 + found[lag:] * 10 // size)
        expected = (size - lag) / 100
        assert np.sum((cells - expected) ** 2 / expected) < 160  # 99 degrees of freedom
    assert np.mean(found[1:] == found[:-1] + 1) < 1e-4


def graphs(max_topics=12):
    """Stubs of topics, and followings with the same sum, none above the number of topics."""

    @st.composite
    def draw(draw):
        stubs = draw(st.lists(st.integers(1, 15), min_size=1, max_size=max_topics))
        left, followings = sum(stubs), []
        while left:
            followings.append(draw(st.integers(1, min(left, len(stubs)))))
            left -= followings[-1]
        return stubs, followings

    return draw()


@given(graphs(), st.integers(0, 3), st.data())
def test_rows_are_those_of_the_oracle_in_any_chunks(graph, seed, data):
    stubs, followings = graph
    deal = deal_stubs(np.array(stubs, dtype=np.int64), np.random.default_rng(seed))
    expected = deal_rows(stubs, followings, order_of(deal.first), order_of(deal.further))
    indptr = np.concatenate([[0], np.cumsum(followings)]).astype(np.int64)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(followings)))) | {0, len(followings)})
    found = []
    for first, last in pairwise(cuts):
        topics = np.full(indptr[last] - indptr[first], -1, dtype=np.int32)
        fill_rows(deal, indptr[first : last + 1], topics)
        found += topics.tolist()
    assert found == list(chain.from_iterable(expected))


def test_rows_above_the_length_of_insertion_sort():
    """Sixty topics hold half of the stubs: rows of 300 meet them again and again.

    49 times a 49th is less than 1 in floating point: stubs must not slip to the topic before.
    """
    rng = np.random.default_rng(2)
    stubs = np.concatenate([np.full(60, 400), rng.choice([1, 2, 49, 98], size=600)])
    stubs = stubs.astype(np.int64)
    followings = np.full(int(stubs.sum()) // 300, 300)
    followings = np.append(followings, int(stubs.sum()) % 300)
    deal = deal_stubs(stubs, rng)
    expected = deal_rows(
        stubs.tolist(), followings.tolist(), order_of(deal.first), order_of(deal.further)
    )
    topics = np.empty(int(stubs.sum()), dtype=np.int32)
    fill_rows(deal, np.concatenate([[0], np.cumsum(followings)]).astype(np.int64), topics)
    assert topics.tolist() == list(chain.from_iterable(expected))


def realised_followers(followers, followings, stubs, seed):
    deal = deal_stubs(stubs, np.random.default_rng(seed))
    topics = np.empty(int(followings.sum()), dtype=np.int32)
    fill_rows(deal, np.concatenate([[0], np.cumsum(followings)]).astype(np.int64), topics)
    return np.bincount(topics, minlength=len(followers))


def test_balanced_stubs_give_the_followers_wanted():
    """Without balancing the ten popular topics lose a quarter of their followers."""
    rng = np.random.default_rng(3)
    followings = rng.permutation(np.repeat([2, 10, 600], [2_000, 1_500, 60])).astype(np.int32)
    followers = np.concatenate([np.full(10, 1_000), np.full(2_000, 18), np.full(900, 10)])
    followers = settle(followers.astype(np.int64), int(followings.sum()), 1, rng)
    stubs = balance_stubs(followers, followings, rng)
    assert stubs.sum() == followings.sum()
    assert stubs.min() >= 1
    balanced = realised_followers(followers, followings, stubs, seed=4)
    naive = realised_followers(followers, followings, followers, seed=4)
    assert balanced[:10].mean() == pytest.approx(followers[:10].mean(), rel=0.03)
    assert balanced[10:2010].mean() == pytest.approx(followers[10:2010].mean(), rel=0.03)
    assert naive[:10].mean() < 0.8 * followers[:10].mean()


@settings(max_examples=50)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=30), st.integers(-40, 60))
def test_settled_counts_have_the_sum(counts, change):
    counts = np.array(counts, dtype=np.int64)
    total = max(int(counts.sum()) + change, len(counts))
    settled = settle(counts.copy(), total, 1, np.random.default_rng(0))
    assert settled.sum() == total
    assert settled.min() >= 1
