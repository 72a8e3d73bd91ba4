"""Rent where large topics leave room that nothing fills: sizes, loads, certificates."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import certificate_provision, provision_loads_oracle, provision_pack_oracle
from tests.provision.small_machines import machine, pose
from tests.strategies import Instance

import fanwise as fw
from fanwise.planning.proof import ProofError
from fanwise.planning.verify import examine
from fanwise.provision.proving.load_kernels import best_load
from fanwise.provision.verify_loads import GRID, most_counted
from fanwise.provision.verify_proof import proven_bound

ROOM = 100


@st.composite
def listed(draw):
    """Up to four topics: what a copy counts as, its bytes, its followers."""
    number = draw(st.integers(0, 4))
    row = st.tuples(st.integers(0, 90), st.integers(6, 50), st.integers(1, 6))
    return [draw(row) for _ in range(number)]


@settings(max_examples=60, deadline=None)
@given(listed())
def test_the_largest_load_is_the_oracles(rows):
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    sizes, needs, followers = columns
    found = most_counted(np.array(sizes, float), np.array(needs, float), np.array(followers), ROOM)
    expected = provision_loads_oracle.most_counted(*columns, ROOM, GRID)
    assert found == pytest.approx(float(expected), rel=1e-11)
    assert found >= provision_loads_oracle.most_counted(*columns, ROOM)
    steps = np.array([need * GRID // ROOM for need in needs], dtype=np.int64)
    most = np.array([min(ROOM // need, n + 1) for need, n in zip(needs, followers, strict=True)],
                    dtype=np.int64)  # fmt: skip
    value, load, used = best_load(steps, most, np.array(sizes, float), float(ROOM), GRID)
    assert value == pytest.approx(float(expected), rel=1e-12)
    assert used == (load * steps).sum() <= GRID
    assert value == pytest.approx(float(load @ np.array(sizes, float)) + ROOM * (1 - used / GRID))


@st.composite
def large_topics(draw):
    """Topics that take from a sixth of a machine of 100 bytes to half of it."""
    rates = draw(st.lists(st.integers(15, 50), min_size=1, max_size=6))
    followers = [draw(st.integers(1, 2)) for _ in rates]
    interests = [[topic] for topic, count in enumerate(followers) for _ in range(count)]
    return Instance([float(rate) for rate in rates], interests, tau=1e9), rates, followers


@settings(max_examples=40, deadline=None)
@given(large_topics(), st.sampled_from([0.0, 0.001, 0.02]))
def test_the_bound_is_never_above_the_optimum(tmp_path_factory, case, price):
    instance, rates, followers = case
    plan = pose(instance, [machine(ROOM)], price).solve("gsp+best")
    assert plan.verify().is_bound_checked
    least = provision_pack_oracle.cheapest_packing(
        followers, rates, [(ROOM, 1, 99, 99)], Fraction(str(price))
    )
    outgoing = sum(n * r for n, r in zip(followers, rates, strict=True)) * Fraction(str(price))
    assert plan.bound <= float(least + outgoing) * (1 + 1e-9)
    folder = tmp_path_factory.mktemp("loads")
    fw.write_workload(plan.source, folder / "workload")
    plan.save(folder / "plan")
    found = certificate_provision.proven_bound(folder / "workload", folder / "plan")
    assert found == pytest.approx(plan.bound, rel=1e-9)


@pytest.mark.parametrize(
    ("rates", "num_machines", "volume"),
    [
        ([34.0] * 9, 9, 6.12),  # three copies fit, of two topics at least four
        ([26.0, 27.0, 28.0, 31.0, 33.0] * 4, 20, 11.6),
        ([40.0] * 6 + [15.0] * 12, 10, 8.4),  # beside one of 40 nothing fits; three of 15 do
    ],
)
def test_few_machines_are_proven(rates, num_machines, volume):
    """One follower each, rent alone: volume proves a half to four fifths of the machines."""
    case = Instance(rates, [[topic] for topic in range(len(rates))], tau=1e9)
    plan = pose(case, [machine(ROOM)], 0.0).solve("gsp+best")
    plan.verify()
    assert 2 * sum(rates) / ROOM == pytest.approx(volume)
    assert (plan.metrics["vms"], plan.bound) == (num_machines, num_machines)
    assert "counted_sizes" in plan.proof.tables


def test_subscribers_that_choose_still_need_machines():
    """Whatever three of five topics everybody takes, no machine holds two of them."""
    case = Instance([30.0, 31.0, 32.0, 33.0, 34.0], [[0, 1, 2, 3, 4]] * 2, tau=91.0)
    plan = pose(case, [machine(ROOM)], 0.0).solve("best+best")
    plan.verify()
    volume = pose(case, [machine(ROOM), machine(ROOM, 1.0, "same")], 0.0, instance="auto")
    assert volume.bound() < plan.bound <= plan.objective


@pytest.fixture(scope="module")
def plan():
    case = Instance([34.0] * 9, [[topic] for topic in range(9)], tau=1e9)
    return pose(case, [machine(ROOM)], 0.0).solve("gsp+best")


def with_sizes(plan, topics, sizes):
    table = pa.table(
        {"topic": pa.array(topics, pa.int32()), "bytes": pa.array(sizes, pa.float64())}
    )
    proof = replace(plan.proof, tables={**plan.proof.tables, "counted_sizes": table})
    return replace(plan, proof=proof)


@pytest.mark.parametrize(
    ("topics", "sizes", "words"),
    [
        ([9], [1.0], "unknown"),
        ([-1], [1.0], "unknown"),
        ([1, 0], [1.0, 1.0], "ascending"),
        ([2, 2], [1.0, 1.0], "ascending"),
        ([0], [-1.0], "not from 0"),
        ([0], [float("nan")], "."),
        ([0], [1e200], "not from 0"),
    ],
)
def test_malformed_sizes_are_refused(plan, topics, sizes, words):
    with pytest.raises(ProofError, match=words):
        proven_bound(plan.source, with_sizes(plan, topics, sizes))


def test_sizes_without_which_there_is_nothing_are_missed(plan):
    tables = {name: plan.proof.tables[name] for name in plan.proof.tables
              if name != "counted_sizes"}  # fmt: skip
    with pytest.raises(ProofError, match="counted_sizes"):
        proven_bound(plan.source, replace(plan, proof=replace(plan.proof, tables=tables)))


@pytest.mark.parametrize("size", [0.0, 10.0, 34.0, 50.0, 1e6, 1e90])
def test_whatever_sizes_say_is_true(plan, size):
    """Greedy sizes make machines hold more of them: nine machines remain the most."""
    some = with_sizes(plan, [0, 1, 2], [size] * 3)
    assert proven_bound(plan.source, some) <= 9.0
    every = with_sizes(plan, list(range(9)), [size] * 9)
    assert proven_bound(plan.source, every) <= 9.0
    if size < 34.0:
        assert not examine(plan.source, every).holds
