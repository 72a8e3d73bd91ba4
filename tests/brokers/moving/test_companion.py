"""What runs beside brokers' machines: summaries go round, and moves are proposed."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from fanwise.brokers.messages import Summary, as_tuple, from_tuple
from fanwise.brokers.moving.companion import bounding_box, make_companion
from fanwise.brokers.moving.settings import MovingSettings
from fanwise.brokers.protocol.effects import Demands, Propose, Tell
from fanwise.errors import ParameterError
from fanwise.workload.generators.sparse import sparse

SETTINGS = MovingSettings(
    half_life=60, summary_seconds=5, turn_seconds=10, rest_seconds=20, wait_seconds=12, changes=2
)


class Brokers:
    """Machines that do at once what they are asked, with companions beside them."""

    def __init__(self, workload, homes):
        self.workload, self.names = workload, workload.broker_names.to_pylist()
        self.clients = workload.subscriber_names.to_pylist()
        self.home = dict(zip(self.clients, (self.names[b] for b in homes), strict=True))
        self.demands, self.proposed, self.now = {}, [], 0.0
        capacity = dict(zip(self.names, workload.capacity.tolist(), strict=True))
        self.companions = {}
        for name in self.names:
            machine = SimpleNamespace(
                clients=lambda name=name: self.at(name),
                core=SimpleNamespace(settings=SimpleNamespace(capacity=capacity[name])),
            )
            self.companions[name] = make_companion(workload, name, SETTINGS)(machine, 0.0)

    def at(self, broker):
        return {
            client: ((), 1.0, ((tuple(self.workload.lo[row]), tuple(self.workload.hi[row])),))
            for row, client in enumerate(self.clients)
            if self.home[client] == broker
        }

    def publish(self, client, point):
        fields = {"publisher": client, "point": point, "brokers": (), "clients": ()}
        self.companions[self.home[client]].note(self.now, "matched", fields)

    def run_to(self, end):
        while (due := min(one.next_deadline() for one in self.companions.values())) <= end:
            self.now = due
            for name, companion in self.companions.items():
                for event in companion.tick(self.now):
                    self.carry_out(name, event)
        self.now = end

    def carry_out(self, name, event):
        if isinstance(event, Tell):
            told = from_tuple(as_tuple(event.message))
            for other, companion in self.companions.items():
                if other != name:
                    companion.hear(self.now, name, told)
        elif isinstance(event, Demands):
            self.demands[name] = event.demands
        else:
            assert isinstance(event, Propose)
            assert self.home[event.client] == name
            self.proposed.append(event)
            self.home[event.client] = event.to
            fields = {"move": 0, "client": event.client, "to": event.to, "outcome": "moved"}
            self.companions[name].note(self.now, "move", fields)
            fields = {"client": event.client, "epoch": 2, "how": "moved"}
            self.companions[event.to].note(self.now, "home", fields)


def brokers():
    workload = sparse(24, brokers=3, channels=8, seed=2)
    return Brokers(workload, np.arange(24) % 3)


def publish_for(network, seconds, rng):
    """Two publishers, one event a second each, on channels of their own."""
    for _ in range(seconds):
        network.publish("s0", (0.05 + 0.01 * rng.random(),))
        network.publish("s1", (0.9 + 0.01 * rng.random(),))
        network.run_to(network.now + 1.0)


def test_brokers_see_what_clients_publish_and_move_those_who_want_it():
    network = brokers()
    publish_for(network, 120, np.random.default_rng(1))
    companion = network.companions["b0"]
    view = companion._view(network.now)
    assert set(view.clients) == set(network.clients)
    indptr, indices, rates = view.workload.rates
    published = {
        name: dict(zip(indices[indptr[i] : indptr[i + 1]].tolist(),
                       rates[indptr[i] : indptr[i + 1]].tolist(), strict=True))
        for i, name in enumerate(view.clients)
    }  # fmt: skip
    assert published["s0"] == pytest.approx({0: 1.0}, rel=0.1)  # moved or not, it is remembered
    assert published["s1"] == pytest.approx({7: 1.0}, rel=0.1)
    assert not any(found for name, found in published.items() if name not in ("s0", "s1"))
    assert network.proposed
    first = Brokers(network.workload, np.arange(24) % 3)
    before = companion._scene.view(  # the same rates, where everybody was at first
        [one._own(network.now) for one in network.companions.values()]
    )
    homes = np.array([before.id_of_broker[first.home[name]] for name in before.clients], np.int32)
    from fanwise.wire.state import make_state

    assert before.state().cost < make_state(before.arrays, homes).cost
    counts = companion.counts()
    assert counts["cost_access"] + counts["cost_core"] > 0
    assert sum(one.counts()["moves_made"] for one in network.companions.values()) == len(
        network.proposed
    )
    told = {name for found in network.demands.values() for name in found}
    assert told == set(network.clients)


def test_summaries_of_the_silent_count_no_longer_and_bad_ones_never():
    network = brokers()
    network.run_to(8.0)
    companion = network.companions["b0"]
    assert len(companion._view(8.0).clients) == 24
    assert len(companion._view(100.0).clients) == 8
    companion.hear(100.0, "b1", Summary(9, {"clients": 7}))
    companion.hear(100.0, "stranger", Summary(9, {"clients": (), "capacity": 1.0}))
    rows = (("x", (0.0,), (1.0,), (3, 99), (1.0, 1.0), ()),)
    companion.hear(100.0, "b1", Summary(9, {"clients": rows, "capacity": 1.0}))
    assert len(companion._view(100.0).clients) == 8
    assert companion.counts()["summaries_refused"] == 3


def test_a_client_with_several_rectangles_wants_what_holds_them_all():
    assert bounding_box(()) == ((), ())
    boxes = (((0.0, 5.0), (1.0, 6.0)), ((2.0, 1.0), (3.0, 2.0)), ((9.0, 9.0), (8.0, 9.0)))
    assert bounding_box(boxes) == ((0.0, 1.0), (3.0, 6.0))


def test_the_workload_must_know_the_broker():
    with pytest.raises(ParameterError, match="one of the brokers"):
        make_companion(sparse(4, brokers=1, channels=2), "b9", SETTINGS)
