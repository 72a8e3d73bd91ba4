"""The parts of `best`, each against costs by definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import wire_oracle as oracle
from tests.wire.small_wirings import Wires, wirings

import fanwise as fw
from fanwise.planning.problem import Run
from fanwise.wire import migration
from fanwise.wire.arrays import keep_brokers
from fanwise.wire.improving import ruin_and_recreate
from fanwise.wire.improving.broker_exchanges import find_exchange, sum_access
from fanwise.wire.improving.compact_starts import (
    compact_broker_sets,
    fill_in_order,
    order_by_interest,
    positions_by_likeness,
)
from fanwise.wire.improving.moves_and_swaps import swap_users
from fanwise.wire.improving.priced_packing import pack_by_prices, pack_largest_first
from fanwise.wire.improving.repairing import excess_of, repair
from fanwise.wire.state import attachment_cost, make_state
from fanwise.workload.generators.sparse import sparse

pytestmark = pytest.mark.kernels

topologies = st.sampled_from(["mesh", "tree"])
NO_LIMIT = 1e300


def attachments(arrays, seed):
    rng = np.random.default_rng(seed)
    return rng.integers(0, arrays.num_brokers, arrays.num_users).astype(np.int32)


def cost_by_definition(made, topology, state):
    facts = oracle.facts_of(made, topology == "tree")
    return sum(oracle.cost_of(facts, state.broker_of_user.tolist()))


@settings(max_examples=30)
@given(wirings(max_users=7, with_capacity=False), topologies, st.integers(0, 99))
def test_changes_keep_the_state_true_and_the_best_of_all(made, topology, seed):
    arrays = fw.Wiring(made.workload(), topology=topology).arrays
    state = make_state(arrays, attachments(arrays, seed))
    before = state.cost
    ruin = ruin_and_recreate.make_ruin(state, 4)
    draws = np.random.default_rng(seed).random((30, ruin_and_recreate.NUM_DRAWS))
    row = order_by_interest(arrays)
    assert ruin_and_recreate.try_changes(arrays, state, row, ruin, draws, 0.5, NO_LIMIT) == 30
    assert (state.broker_of_user >= 0).all()
    assert state.cost == pytest.approx(cost_by_definition(made, topology, state), abs=1e-9)
    assert ruin.value[0] <= before
    assert sum(attachment_cost(arrays, ruin.best)) == pytest.approx(ruin.value[0], abs=1e-9)
    assert ruin.counters[ruin_and_recreate.TRIED] == 30


@settings(max_examples=20)
@given(wirings(max_users=7), st.integers(0, 99))
def test_changes_never_overload(made, seed):
    arrays = fw.Wiring(made.workload()).arrays
    state = make_state(arrays, attachments(arrays, seed))
    before = excess_of(arrays, state.load)
    ruin = ruin_and_recreate.make_ruin(state, 4)
    draws = np.random.default_rng(seed).random((30, ruin_and_recreate.NUM_DRAWS))
    ruin_and_recreate.try_changes(
        arrays, state, order_by_interest(arrays), ruin, draws, 9.0, NO_LIMIT
    )
    assert excess_of(arrays, state.load) <= before


def test_changes_without_heat_only_lower_the_cost_and_stop_at_the_work():
    arrays = fw.Wiring(sparse(40, brokers=4, channels=8)).arrays
    state = make_state(arrays, pack_largest_first(arrays))
    ruin, row, costs = (
        ruin_and_recreate.make_ruin(state, 5),
        order_by_interest(arrays),
        [state.cost],
    )
    rng = np.random.default_rng(0)
    for _ in range(4):
        draws = rng.random((10, ruin_and_recreate.NUM_DRAWS))
        ruin_and_recreate.try_changes(arrays, state, row, ruin, draws, 1e-12, NO_LIMIT)
        costs.append(round(state.cost, 6))
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]
    done = ruin.counters[ruin_and_recreate.WORK]
    assert ruin_and_recreate.try_changes(arrays, state, row, ruin, draws, 0.0, done) == 0


@settings(max_examples=30)
@given(wirings(max_users=6, with_capacity=False), topologies, st.integers(0, 99))
def test_whole_brokers_are_exchanged_where_that_lowers_the_cost(made, topology, seed):
    arrays = fw.Wiring(made.workload(), topology=topology).arrays
    state = make_state(arrays, attachments(arrays, seed))
    cost = cost_by_definition(made, topology, state)
    cheaper = []
    for one in range(arrays.num_brokers):
        for two in range(arrays.num_brokers):
            other = make_state(arrays, exchanged(state, one, two))
            if cost_by_definition(made, topology, other) < cost - 1e-9:
                cheaper.append((one, two))
    _, one, two = find_exchange(arrays, state, sum_access(arrays, state), 0, np.zeros(1), NO_LIMIT)
    if one >= 0:
        assert (one, two) in cheaper
    else:
        assert not [pair for pair in cheaper if state.load[list(pair)].any()]


def exchanged(state, one, two):
    brokers = state.broker_of_user.copy()
    brokers[state.broker_of_user == one] = two
    brokers[state.broker_of_user == two] = one
    return brokers


def crossed_users(capacity):
    """Two publishers, each near the broker of the other one."""
    return Wires(
        rates=[[1.0, 0.0], [0.0, 1.0]],
        wants=[[0, 1], [1, 0]],
        access=[[9.0, 0.0], [0.0, 9.0]],
        core=[[0.0, 1.0], [1.0, 0.0]],
        capacity=capacity,
    )


def test_swaps_where_no_move_has_room():
    arrays = fw.Wiring(crossed_users([2.0, 2.0]).workload()).arrays
    state = make_state(arrays, np.array([0, 1], dtype=np.int32))
    order = np.arange(2)
    assert swap_users(arrays, state, order, 0, np.zeros(1), NO_LIMIT) == (2, 1)
    assert state.broker_of_user.tolist() == [1, 0]
    assert state.cost == pytest.approx(2.0)
    assert swap_users(arrays, state, order, 0, np.zeros(1), 0.0) == (0, 0)


def test_no_swap_overloads():
    arrays = fw.Wiring(crossed_users([2.0, 1.0]).workload()).arrays
    state = make_state(arrays, np.array([0, 1], dtype=np.int32))
    assert swap_users(arrays, state, np.arange(2), 0, np.zeros(1), NO_LIMIT) == (2, 0)


def test_an_overload_that_only_a_swap_can_end():
    made = Wires(
        rates=[[3.0], [2.0], [2.0], [0.0]],
        wants=[[0], [0], [0], [1]],
        access=[[0.0, 0.0]] * 4,
        core=[[0.0, 1.0], [1.0, 0.0]],
        capacity=[4.0, 10.0],
    )
    arrays = fw.Wiring(made.workload()).arrays
    assert arrays.demand.tolist() == [3.0, 2.0, 2.0, 7.0]
    state = make_state(arrays, np.array([0, 0, 1, 1], dtype=np.int32))
    assert excess_of(arrays, state.load) == 1.0
    repair(arrays, state, np.argsort(-arrays.demand, kind="stable"))
    assert excess_of(arrays, state.load) == 0.0
    assert state.load.tolist() == [4.0, 10.0]


@settings(max_examples=20)
@given(wirings(max_users=6), st.integers(0, 99))
def test_repairs_never_raise_the_overload(made, seed):
    arrays = fw.Wiring(made.workload()).arrays
    state = make_state(arrays, attachments(arrays, seed))
    before = excess_of(arrays, state.load)
    repair(arrays, state, np.argsort(-arrays.demand, kind="stable"))
    assert excess_of(arrays, state.load) <= before + 1e-9
    assert state.load == pytest.approx(make_state(arrays, state.broker_of_user).load)


@settings(max_examples=20)
@given(wirings(max_users=6))
def test_starts_attach_everybody(made):
    arrays = fw.Wiring(made.workload()).arrays
    starts = [pack_by_prices(arrays), pack_largest_first(arrays)]
    row = order_by_interest(arrays)
    assert sorted(row) == list(range(arrays.num_users))
    for sets in compact_broker_sets(arrays, 2):
        starts += [fill_in_order(arrays, row, brokers, room) for brokers, room in sets]
    for start in starts:
        assert len(start) == arrays.num_users
        assert ((start >= 0) & (start < arrays.num_brokers)).all()


def test_prices_leave_room_to_those_who_need_it():
    """Greedy packing gives the near broker to the first user, who would hardly mind the other."""
    made = Wires(
        rates=[[1.0], [1.0], [0.0]],
        wants=[[0], [0], [1]],
        access=[[0.0, 1.0, 9.0], [0.0, 9.0, 9.0], [9.0, 9.0, 0.0]],
        core=[[0.0] * 3] * 3,
        capacity=[1.0, 1.0, 2.0],
    )
    assert pack_by_prices(fw.Wiring(made.workload()).arrays).tolist() == [1, 0, 2]


def test_a_row_follows_what_is_alike():
    places = np.random.default_rng(3).permutation(9)
    near = -np.abs(places[:, None] - places[None, :]).astype(float)
    np.fill_diagonal(near, 0.0)
    row = positions_by_likeness(near)
    assert row.tolist() in (places.tolist(), (8 - places).tolist())


def test_compact_sets_go_from_all_brokers_to_as_few_as_hold_everybody():
    arrays = fw.Wiring(sparse(60, brokers=6, channels=10)).arrays
    sizes = [len(sets[0][0]) for sets in compact_broker_sets(arrays, 2)]
    assert sizes[0] == 6
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 3  # capacity is twice the demand
    unlimited = arrays._replace(capacity=np.full(6, np.inf))
    assert [len(sets[0][0]) for sets in compact_broker_sets(unlimited, 2)][-1] == 1


def test_fewer_brokers_cost_the_same():
    arrays = fw.Wiring(sparse(30, brokers=5, channels=6)).arrays
    brokers = np.array([0, 2, 3], dtype=np.int32)
    some = attachments(keep_brokers(arrays, brokers), 5)
    assert attachment_cost(keep_brokers(arrays, brokers), some) == attachment_cost(
        arrays, brokers[some]
    )


def test_migration_ends_where_everything_is_free():
    """Moves leave rounding behind; a total below 0 must not make idle moves worth it."""
    made = Wires(
        rates=[[1 / 3], [0.1], [0.0]], wants=[[1], [1], [1]], access=[[0.0] * 3] * 3,
        core=[[0.0] * 3] * 3,
    )  # fmt: skip
    arrays = fw.Wiring(made.workload()).arrays
    state = make_state(arrays, np.array([0, 1, 2], dtype=np.int32))
    state.totals[0] = -1e-15
    found = migration.migrate(arrays, state, Run(time_limit=30.0))
    assert found == (0, 1, "exhausted")
