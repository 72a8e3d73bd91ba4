from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.errors import ParameterError
from fanwise.workload.generators.kernels import find_repeats, swap_repeats
from fanwise.workload.generators.matching import check_sizes, draw_degrees, match

pytestmark = pytest.mark.kernels


def matching_of(topics, subscribers, pairs, communities, seed=0):
    rng = np.random.default_rng(seed)
    followers, followings = draw_degrees(topics, subscribers, pairs, 2.4, 2.4, rng)
    return followers, followings, match(followings, followers, communities, rng)


@pytest.mark.parametrize("communities", [0.0, 0.3, 0.5, 1.0])
def test_degrees_are_met_without_repeats(communities):
    followers, followings, found = matching_of(2_000, 9_000, 22_000, communities)
    assert len(set(zip(found.subscriber.tolist(), found.topic.tolist(), strict=True))) == 22_000
    assert np.array_equal(np.bincount(found.topic, minlength=2_000), followers)
    assert np.array_equal(np.bincount(found.subscriber, minlength=9_000), followings)


@pytest.mark.parametrize("communities", [0.0, 0.3, 0.5, 0.8])
def test_share_inside_communities(communities):
    found = matching_of(11_000, 49_000, 120_000, communities)[-1]
    assert found.inside_share() == pytest.approx(communities, abs=0.02)
    if communities:
        assert 30 <= len(np.unique(found.community_of_topic)) <= 60


def test_communities_bring_followers_together():
    """Topics of one community share far more followers than chance has it.

    Popular topics share many by chance: only those with at most 50 followers count.
    """

    def common(communities):
        followers, _, found = matching_of(5_000, 20_000, 50_000, communities)
        by_subscriber = [[] for _ in range(20_000)]
        for subscriber, topic in zip(found.subscriber, found.topic, strict=True):
            if followers[topic] <= 50:
                by_subscriber[subscriber].append(int(topic))
        pairs = [
            (min(a, b), max(a, b))
            for topics in by_subscriber
            if len(topics) <= 20
            for i, a in enumerate(topics)
            for b in topics[i + 1 :]
        ]
        return len(pairs) - len(set(pairs))

    print(common(0.8), common(0.0))
    assert common(0.8) > 2 * common(0.0)


@given(st.integers(1, 12), st.integers(1, 12), st.floats(0, 1), st.integers(0, 9), st.data())
def test_everybody_has_a_pair_however_small(topics, subscribers, communities, seed, data):
    least, most = max(topics, subscribers), topics * subscribers // 2
    if least > most:
        with pytest.raises(ParameterError, match="'pairs' parameter must be possible"):
            check_sizes(topics, subscribers, least)
        return
    pairs = data.draw(st.integers(least, most))
    check_sizes(topics, subscribers, pairs)
    _, _, found = matching_of(topics, subscribers, pairs, communities, seed)
    assert set(found.topic.tolist()) == set(range(topics))
    assert set(found.subscriber.tolist()) == set(range(subscribers))
    unique = set(zip(found.subscriber.tolist(), found.topic.tolist(), strict=True))
    assert len(unique) == len(found.topic) <= pairs


@pytest.mark.parametrize("pairs", [9, 51])
def test_impossible_sizes_are_refused(pairs):
    with pytest.raises(ParameterError, match="must be from 10 to 50 for 10 topics and 10 subscr"):
        check_sizes(10, 10, pairs)


runs = st.lists(st.tuples(st.lists(st.integers(0, 5)), st.lists(st.integers(0, 5))), max_size=6)


def laid_out(rows):
    """Starts, ends, subscribers and topics of rows with two runs each: first all first runs."""
    starts = np.zeros((len(rows), 2), dtype=np.int64)
    ends = np.zeros((len(rows), 2), dtype=np.int64)
    subscribers, topics = [], []
    for run in range(2):
        for subscriber, row in enumerate(rows):
            starts[subscriber, run] = len(topics)
            topics += row[run]
            subscribers += [subscriber] * len(row[run])
            ends[subscriber, run] = len(topics)
    return starts, ends, np.array(subscribers, np.int32), np.array(topics, np.int32)


def plain_repeats(subscribers, topics):
    seen, repeats = set(), []
    for position, pair in enumerate(zip(subscribers.tolist(), topics.tolist(), strict=True)):
        if pair in seen:
            repeats.append(position)
        seen.add(pair)
    return repeats


@given(runs)
def test_repeats_are_those_a_set_finds(rows):
    starts, ends, subscribers, topics = laid_out(rows)
    assert find_repeats(starts, ends, topics, 6).tolist() == plain_repeats(subscribers, topics)


@given(runs, st.integers(0, 100))
def test_swaps_settle_repeats_and_make_none(rows, seed):
    starts, ends, subscribers, topics = laid_out(rows)
    repeats = find_repeats(starts, ends, topics, 6)
    if len(repeats) == 0:
        return
    before = topics.copy()
    partners = np.random.default_rng(seed).integers(0, len(topics), len(repeats))
    settled = swap_repeats(repeats, partners, starts, ends, subscribers, topics)
    assert sorted(before) == sorted(topics)
    left = plain_repeats(subscribers, topics)
    assert len(left) <= len(repeats) - int(settled.sum())
