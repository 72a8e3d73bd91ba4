"""A plan carried out on brokers that are made up: within capacities, stopped and resumed."""

from __future__ import annotations

import asyncio

import pytest

from fanwise.brokers.messages import Clients, ListClients
from fanwise.brokers.moving.carrying_out import Carrying
from fanwise.brokers.network.asking import AskingError
from fanwise.errors import InputError


class MadeUp:
    """Brokers that keep room at both ends while a client is on its way, and refuse without."""

    def __init__(self, homes, demand, capacity, *, answers=None):
        self.homes, self.demand, self.capacity = dict(homes), demand, capacity
        self.answers = answers or {}
        self.moves, self.reserved, self.most_at_once = [], {}, 0
        self.after_each = lambda: None

    def load(self, broker):
        kept = sum(self.demand[c] for c, home in self.homes.items() if home == broker)
        return kept + sum(self.demand[c] for c, to in self.reserved.items() if to == broker)

    async def ask_all(self, question, answer):
        return {name: await self.ask(name, question, answer) for name in self.capacity}

    async def ask(self, broker, question, answer):
        assert type(question) is ListClients
        rows = tuple(
            (client, 1, self.demand[client], True, (), ())
            for client, home in sorted(self.homes.items())
            if home == broker
        )
        return Clients(rows, self.capacity[broker], self.load(broker))

    async def move(self, home, client, to):
        assert self.homes[client] == home
        answer = self.answers.get(client, "moved")
        assert self.load(to) + self.demand[client] <= self.capacity[to] + 1e-9
        self.reserved[client] = to
        self.most_at_once = max(self.most_at_once, len(self.reserved))
        await asyncio.sleep(0)
        del self.reserved[client]
        if answer in ("moved", "silent"):
            self.homes[client] = to
            self.moves.append((client, to))
        self.after_each()
        if answer in ("silent", "gone"):
            raise AskingError("no answer")
        return answer


def carry(network, targets, at_once=2):
    carrying = Carrying(network, targets, at_once=at_once)
    return carrying, asyncio.run(carrying.run())


def test_all_are_where_the_plan_has_them_and_others_stay():
    names = [f"c{i}" for i in range(12)]
    network = MadeUp(
        dict.fromkeys(names, "b0") | {"other": "b1"}, dict.fromkeys([*names, "other"], 1.0),
        {"b0": 12.0, "b1": 7.0, "b2": 6.0},
    )  # fmt: skip
    targets = {name: ("b1", "b2")[i % 2] for i, name in enumerate(names)}
    _, outcome = carry(network, targets, at_once=3)
    assert outcome.is_done
    assert (outcome.moved, outcome.in_place) == (12, 12)
    assert network.homes == targets | {"other": "b1"}
    assert network.most_at_once == 3


def test_a_ring_goes_by_way_of_a_third_broker():
    network = MadeUp(
        {"x": "b0", "y": "b1"}, {"x": 4.0, "y": 3.0}, {"b0": 4.0, "b1": 4.0, "b2": 3.0}
    )
    _, outcome = carry(network, {"x": "b1", "y": "b0"})
    assert outcome.is_done
    assert network.moves == [("y", "b2"), ("x", "b1"), ("y", "b0")]


def test_who_declines_stays_and_who_cannot_is_told():
    network = MadeUp(
        dict.fromkeys("abcdx", "b0"), dict.fromkeys("abcdx", 1.0),
        {"b0": 9.0, "b1": 9.0, "b2": 1.0},
        answers={"a": "declined: sticky", "b": "replicate: timeout", "c": "silent", "d": "gone"},
    )  # fmt: skip
    _, outcome = carry(network, dict.fromkeys("abcd", "b1") | {"nobody": "b1"})
    assert outcome.kept_back == {
        "a": "declined: sticky", "b": "replicate: timeout", "d": "no answer"
    }  # fmt: skip
    assert outcome.missing == ("nobody",)
    assert (outcome.moved, outcome.in_place, outcome.is_done) == (1, 1, False)
    network = MadeUp({"x": "b0", "y": "b1"}, {"x": 4.0, "y": 4.0}, {"b0": 4.0, "b1": 4.0})
    _, outcome = carry(network, {"x": "b1", "y": "b0"})
    assert outcome.stuck == ("x", "y")


def test_stopped_it_ends_what_it_has_begun_and_goes_on_the_next_time():
    names = [f"c{i}" for i in range(10)]
    network = MadeUp(
        dict.fromkeys(names, "b0"), dict.fromkeys(names, 1.0), {"b0": 10.0, "b1": 10.0}
    )
    targets = dict.fromkeys(names, "b1")
    carrying = Carrying(network, targets, at_once=2)
    network.after_each = lambda: len(network.moves) >= 3 and carrying.stop()
    outcome = asyncio.run(carrying.run())
    assert outcome.is_stopped
    assert 3 <= outcome.moved == len(network.moves) <= 4
    assert not network.reserved
    network.after_each = lambda: None
    _, rest = carry(network, targets)
    assert rest.is_done
    assert outcome.moved + rest.moved == 10


def test_a_broker_of_the_plan_that_is_down_is_told_before_anything_moves():
    network = MadeUp({"x": "b0"}, {"x": 1.0}, {"b0": 4.0})
    with pytest.raises(InputError, match="b7"):
        carry(network, {"x": "b7"})
    assert network.moves == []


def test_room_that_somebody_is_on_the_way_to_is_taken():
    network = MadeUp(
        {"a": "b0", "b": "b0", "c": "b1"}, dict.fromkeys("abc", 1.0),
        {"b0": 2.0, "b1": 2.0, "b2": 1.0},
    )  # fmt: skip
    _, outcome = carry(network, {"a": "b1", "b": "b1", "c": "b2"}, at_once=3)
    assert outcome.is_done
    assert network.moves[-1] == ("b", "b1")  # once c has left; the made-up broker checks it
