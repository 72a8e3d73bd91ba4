"""Breadth-first samples of workloads in memory, against the plain one."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import sampling_oracle

import fanwise as fw
from fanwise.errors import InputError, ParameterError
from fanwise.workload.generators.follow import follow
from fanwise.workload.topic.sampling import Request, sample_workload

pytestmark = pytest.mark.kernels

NAMES = ["a", "B", "b", "10", "9", "é", "\uffee", "\U0001f600", "zz", ""]
PAIRS = st.sets(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), min_size=1, max_size=25)
REQUESTS = st.builds(
    Request,
    nodes=st.integers(1, 12),
    seed=st.integers(0, 5),
    num_starts=st.integers(1, 3),
    along=st.sampled_from(["both", "followings", "followers"]),
    keep_empty=st.booleans(),
)


def workload_of(pairs, **columns):
    """Users are topics and subscribers; ids are in no order of names and differ between the two."""
    topics = sorted({name for pair in pairs for name in pair})
    random.Random(7).shuffle(topics)
    subscribers = topics[::-1]
    topic_of, subscriber_of = (
        {name: i for i, name in enumerate(names)} for names in (topics, subscribers)
    )
    return fw.TopicWorkload.from_arrays(
        np.arange(len(topics)) + 1.0,
        [subscriber_of[follower] for follower, _ in sorted(pairs)],
        [topic_of[followee] for _, followee in sorted(pairs)],
        topic_names=topics,
        subscriber_names=subscribers,
        **columns,
    )


def named_pairs(workload):
    topics, subscribers = workload.topic_names.to_pylist(), workload.subscriber_names.to_pylist()
    indptr, indices = workload.interests
    return {
        (subscribers[row], topics[topic])
        for row in range(len(subscribers))
        for topic in indices[indptr[row] : indptr[row + 1]]
    }


def check(found, pairs, request):
    visited, inside, started = sampling_oracle.sample(
        pairs,
        request.nodes,
        seed=request.seed,
        starts=request.starts,
        num_starts=request.num_starts,
        along=request.along,
    )
    assert named_pairs(found) == inside
    told = found.origin["sample"]
    assert (told["users"], told["start"], told["starts"]) == (len(visited), visited[0], started)
    if request.keep_empty:
        topics = subscribers = sorted(visited)
    else:
        topics = sorted({followee for _, followee in inside})
        subscribers = sorted({follower for follower, _ in inside})
    assert found.topic_names.to_pylist() == topics
    assert found.subscriber_names.to_pylist() == subscribers


@settings(max_examples=30)
@given(PAIRS, REQUESTS)
def test_any_graph_gives_what_the_plain_sample_gives(pairs, request):
    check(sample_workload(workload_of(pairs), request), pairs, request)


def test_starts_by_name_come_first():
    pairs = {("a", "b"), ("c", "d"), ("e", "f"), ("f", "g")}
    request = Request(3, starts=("f", "d"), seed=4)
    found = sample_workload(workload_of(pairs), request)
    check(found, pairs, request)
    assert found.origin["sample"]["starts"] == 2
    assert named_pairs(found) == {("e", "f")}


def test_columns_stay_with_their_users():
    pairs = {("a", "b"), ("b", "a"), ("b", "c"), ("d", "e"), ("e", "d")}
    whole = workload_of(
        pairs,
        message_bytes=np.arange(5) + 10.0,
        cost=np.arange(5) + 20.0,
        tau=np.arange(5) + 30.0,
        weight=np.arange(5) + 40.0,
        max_degree=np.arange(5) + 50,
        positions=np.arange(10.0).reshape(5, 2),
        period_seconds=7.0,
        origin={"generator": "by hand"},
    )
    found = sample_workload(whole, Request(3, starts=("a",)))
    assert found.subscriber_names.to_pylist() == ["a", "b"]
    assert found.topic_names.to_pylist() == ["a", "b", "c"]
    rows = [whole.subscriber_names.to_pylist().index(name) for name in ("a", "b")]
    topics = [whole.topic_names.to_pylist().index(name) for name in ("a", "b", "c")]
    for name in ("rates", "message_bytes", "cost"):
        assert np.array_equal(getattr(found, name), getattr(whole, name)[topics]), name
    for name in ("tau", "weight", "max_degree", "positions"):
        assert np.array_equal(getattr(found, name), getattr(whole, name)[rows]), name
    assert found.period_seconds == 7.0
    assert found.origin["generator"] == "by hand"
    assert found.origin["sample"]["of"] == {"topics": 5, "subscribers": 5, "pairs": 5}
    json.dumps(dict(found.origin), allow_nan=False)


def test_sample_of_a_generated_graph_keeps_its_shape():
    whole = follow(1500, mutual=True, seed=2)
    found = sample_workload(whole, Request(300, seed=1))
    assert found.num_topics == found.num_subscribers == 300
    pairs = named_pairs(found)
    assert pairs == {(followee, follower) for follower, followee in pairs}
    assert len(pairs) / 300 > 5
    again = sample_workload(whole, Request(300, seed=1))
    assert again.hash == found.hash != sample_workload(whole, Request(300, seed=2)).hash
    everybody = sample_workload(whole, Request(10**9))
    assert everybody.num_pairs == whole.num_pairs


def test_what_is_no_follow_graph_is_refused():
    apart = fw.TopicWorkload.from_arrays([1.0], [0], [0])
    with pytest.raises(InputError, match="no name is both a topic's and a subscriber's"):
        sample_workload(apart, Request(1))
    with pytest.raises(InputError, match="--start nobody: no such user"):
        sample_workload(workload_of({("a", "b")}), Request(1, starts=("nobody",)))


def test_graph_without_pairs_has_an_empty_sample():
    names = {"topic_names": ["a"], "subscriber_names": ["a"]}
    found = sample_workload(fw.TopicWorkload.from_arrays([1.0], [], [], **names), Request(5))
    assert (found.num_topics, found.num_subscribers, found.num_pairs) == (0, 0, 0)
    assert found.origin["sample"]["start"] is None


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"nodes": 0}, "'nodes' parameter must be a whole number >= 1"),
        ({"nodes": 1, "num_starts": 0}, "'starts' parameter"),
        ({"nodes": 1, "seed": -1}, "'seed' parameter"),
        ({"nodes": 1, "along": "up"}, "'along' parameter must be one of both, followings"),
        ({"nodes": 1, "starts": ("a", "a")}, "'start' parameter must be a different user"),
    ],
)
def test_requests_out_of_range(parameters, message):
    with pytest.raises(ParameterError, match=message):
        Request(**parameters)
