from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import flow_oracle as oracle

from fanwise.arrays.csr import Csr
from fanwise.arrays.flows import group_alike, least_lbf, load_limits, max_flow

pytestmark = pytest.mark.kernels


@st.composite
def candidate_lists(draw, most_brokers=6, most_subscribers=14):
    num_brokers = draw(st.integers(1, most_brokers))
    allowed = st.lists(st.integers(0, num_brokers - 1), unique=True, max_size=num_brokers)
    lists = draw(st.lists(allowed.map(sorted), max_size=most_subscribers))
    return lists, num_brokers


def as_csr(lists):
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in lists])]).astype(np.int64)
    return Csr(indptr, np.array([b for row in lists for b in row], dtype=np.int32))


def check_flow(flow, lists, limits):
    """Check an assignment by its definition, and its cut by counting."""
    brokers = flow.broker_of_subscriber().tolist()
    assert all(b in row for b, row in zip(brokers, lists, strict=True) if b >= 0)
    loads = [brokers.count(b) for b in range(len(limits))]
    assert loads == flow.loads.tolist()
    assert all(load <= limit for load, limit in zip(loads, limits, strict=True))
    assert brokers.count(-1) == flow.num_left
    cut = flow.bottleneck
    allowed = {b for subscriber in cut.subscribers for b in lists[subscriber]}
    assert allowed == set(cut.brokers.tolist())
    assert len(cut.subscribers) - sum(limits[b] for b in allowed) == flow.num_left


@settings(max_examples=50)
@given(candidate_lists(), st.data())
def test_flow_is_a_maximum_and_its_cut_says_why(instance, data):
    lists, num_brokers = instance
    limits = data.draw(st.lists(st.integers(0, 5), min_size=num_brokers, max_size=num_brokers))
    groups = group_alike(as_csr(lists), num_brokers)
    assert groups.sizes.sum() == len(lists)
    assert len(groups.sizes) == len({tuple(row) for row in lists})
    flow = max_flow(groups, limits)
    check_flow(flow, lists, limits)
    assert len(lists) - flow.num_left == oracle.most_served(lists, limits)
    more = [limit + data.draw(st.integers(0, 2)) for limit in limits]
    again = max_flow(groups, more, start=flow)
    check_flow(again, lists, more)
    assert len(lists) - again.num_left == oracle.most_served(lists, more)


@settings(max_examples=30)
@given(candidate_lists(most_brokers=4, most_subscribers=8), st.data())
def test_least_lbf_is_the_first_factor_that_serves_all(instance, data):
    lists, num_brokers = instance
    weights = data.draw(st.lists(st.integers(0, 4), min_size=num_brokers, max_size=num_brokers))
    if sum(weights) == 0:
        weights[0] = 1
    shares = [weight / sum(weights) for weight in weights]
    found, flow = least_lbf(group_alike(as_csr(lists), num_brokers), np.array(shares))
    expected = oracle.least_lbf(lists, shares)
    if expected is None:
        assert found is None
        assert flow.num_left > 0
    else:
        assert found == pytest.approx(expected, rel=1e-12)
        check_flow(flow, lists, load_limits(found, np.array(shares), len(lists)).tolist())
        assert flow.num_left == 0


def test_long_chains_of_moves():
    """Subscriber i may use brokers i and i + 1; the last broker alone has room to spare."""
    lists = [[i, i + 1] for i in range(60)] + [[0]]
    flow = max_flow(group_alike(as_csr(lists), 61), [1] * 61)
    assert flow.num_left == 0
    check_flow(flow, lists, [1] * 61)


def test_large_groups_agree_with_one_flow_for_each_subscriber():
    rng = np.random.default_rng(3)
    kinds = [sorted(rng.choice(9, size=rng.integers(1, 4), replace=False)) for _ in range(25)]
    lists = [list(map(int, kinds[k])) for k in rng.integers(0, 25, 700)]
    limits = [70] * 9
    flow = max_flow(group_alike(as_csr(lists), 9), limits)
    check_flow(flow, lists, limits)
    assert 700 - flow.num_left == oracle.most_served(lists, limits)


def test_limits_are_rounded_down_but_not_by_noise():
    assert load_limits(1.5, np.array([0.1, 0.1 + 0.2, 0.0]), 10).tolist() == [1, 4, 0]
    assert load_limits(0.7, np.array([0.1]), 100).tolist() == [7]  # 6.999999999999999 in floats


@pytest.mark.data
def test_acceptance_vectors(shared_data):
    from fanwise.arrays.latencies import candidates_by_delay

    for instance in json.loads((shared_data / "acceptance" / "assign.json").read_text()):
        brokers = np.array(instance["brokers"])
        parents = np.array(instance["parent"])
        leaves = np.flatnonzero(~np.isin(np.arange(len(parents)), parents)).astype(np.int32)
        path = np.zeros(len(parents))
        for broker in leaves:
            at = int(broker)
            while at >= 0:
                up = int(parents[at])
                above = np.array(instance["publisher"]) if up < 0 else brokers[up]
                path[broker] += np.linalg.norm(brokers[at] - above)
                at = up
        positions = np.array([subscriber["at"] for subscriber in instance["subscribers"]])
        candidates = candidates_by_delay(positions, brokers, path, leaves, instance["max_delay"])
        shares = np.array([share or 0.0 for share in instance["shares"]])
        found, _ = least_lbf(group_alike(candidates, len(brokers)), shares)
        assert found == pytest.approx(instance["least_lbf"])


def test_least_lbf_where_a_smaller_broker_makes_room_first():
    shares = [0.4, 0.6]  # of seven: 2.8 and 4.2, so that the third of broker 0 is the last
    lists = [[0, 1]] * 7
    found, flow = least_lbf(group_alike(as_csr(lists), 2), np.array(shares))
    assert found == pytest.approx(3 / 2.8)
    assert found == pytest.approx(oracle.least_lbf(lists, shares))
    assert sorted(flow.loads.tolist()) == [3, 4]
