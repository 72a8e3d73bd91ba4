"""Moves in an order that keeps every broker within its capacity at every moment."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.moving_oracle import check_order

from fanwise.brokers.moving.ordering import Moving, Step, order_moves


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_order_keeps_capacities(data):
    brokers = data.draw(st.integers(1, 5))
    count = data.draw(st.integers(0, 14))
    ids = st.lists(st.integers(0, brokers - 1), min_size=count, max_size=count)
    at, target = data.draw(ids), data.draw(ids)
    demand = data.draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))
    loads = [np.bincount(x, weights=demand, minlength=brokers) if count else np.zeros(brokers)
             for x in (at, target)]  # fmt: skip
    spare = data.draw(st.lists(st.integers(0, 6), min_size=brokers, max_size=brokers))
    capacity = np.maximum(*loads) + spare
    order = order_moves(
        np.array(demand, dtype=float), np.array(at, dtype=np.int32),
        np.array(target, dtype=np.int32), capacity.astype(float),
    )  # fmt: skip
    steps = [(step.client, step.broker) for step in order.steps]
    where, worst = check_order(demand, at, target, capacity, steps)
    assert worst <= 1e-9
    for client in range(count):
        is_there = where[client] == target[client]
        assert is_there != (client in order.stuck)
    if min(spare, default=0) >= max(demand, default=0):
        assert not order.stuck


def plan(demand, at, target, capacity):
    return order_moves(np.array(demand, float), np.array(at), np.array(target),
                       np.array(capacity, float))  # fmt: skip


def test_whoever_waits_goes_after_those_who_make_room():
    # 1 wants to broker 1, which is full until 2 has gone to broker 2.
    order = plan([4, 4], [0, 1], [1, 2], [4, 4, 4])
    assert [(step.client, step.broker) for step in order.steps] == [(1, 2), (0, 1)]


def test_a_ring_is_untied_by_a_third_broker():
    order = plan([4, 3], [0, 1], [1, 0], [4, 4, 3])
    assert order.steps == (Step(1, 2, False), Step(0, 1, True), Step(1, 0, True))
    assert order.stuck == ()


def test_a_ring_without_room_anywhere_is_told():
    assert plan([4, 4], [0, 1], [1, 0], [4, 4, 3]) == ((), (0, 1))


def test_room_is_kept_at_both_ends_on_the_way():
    moving = Moving(np.array([4.0, 4.0]), np.array([0, 1]), np.array([1, 2]), np.array([4.0] * 3))
    first = moving.next_step()
    assert first == Step(1, 2, True)
    moving.begin(first)
    assert moving.load.tolist() == [4, 4, 4]
    assert moving.next_step() is None  # broker 1 is full until the client has gone
    moving.end(1, has_moved=False)
    assert moving.load.tolist() == [4, 4, 0]
    moving.give_up(1)
    assert moving.next_step() is None  # nobody will leave broker 1 any more
    assert moving.waiting() == [0]
