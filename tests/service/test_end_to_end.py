"""The split end to end: real brokers, a planned network, forwarder, service, clients, a person."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from datetime import datetime

import httpx
import pytest
from tests.service.api.conftest import Clients
from tests.service.crowds import Crowd
from tests.service.forwarding.forwarders import NAME, wait_until
from tests.service.servers import find_program
from tests.service.services import close_hour, supervise
from tests.service.splits import (
    MINUTE,
    START,
    Flow,
    Interests,
    Scale,
    Split,
    compare,
    measure,
    window_of,
    write_configuration,
    write_pairs,
)
from tests.service.test_kill import start  # noqa: F401

from fanwise.service.state import StateFolder
from fanwise.service.store.store import Store

SHARE = 0.3
"""Of the cost of everything: the capacity at first, and at the end."""


class ServiceHere:
    """A service without Spark, given what a subscriber at the ingress has counted."""

    def __init__(self, folder, split, interests, capacity):
        self._folder, self._setting, self._interests = folder, split.setting, interests
        self._ears = self._setting.listen(self._setting.ingress, "t/#")
        self._clients = None
        self.change(capacity)

    def change(self, capacity):
        """Go on with another capacity."""
        self.stop()
        forwarder = {"port": self._setting.ingress.port, "names": [NAME]}
        service = supervise(
            self._folder,
            pairs=self._interests.pairs,
            decide={"tau": self._interests.scale.tau, "capacity": capacity, "time_limit": "1s"},
            execute={"mode": "approve", "file": [], "forwarder": [forwarder]},
        )
        self._clients = Clients(service)
        self.api = self._clients.of("approve")

    def decide(self, window, counts):
        """Let a window close when all of it is counted; return the decision."""
        wait_until(lambda: self._count(window).total() >= counts.total(), "the ingress lags")
        close_hour(self._clients.service, window, dict(self._count(window)))
        return self.api.get("/api/v1/decisions?limit=1").json()["decisions"][0]

    def _count(self, window):
        heard = list(self._ears.heard)
        return Counter(one.topic for one in heard if window_of(one.payload) == window)

    def served_by(self, hash):
        return set(self._clients.service.store.served_by(hash))

    def stop(self):
        if self._clients is not None:
            self._clients.stop()
            self._clients = None


class WholeService:
    """The service as a process, with Spark, which counts by itself."""

    def __init__(self, folder, split, interests, capacity, start):  # noqa: F811
        self._folder, self._start, self._ingress = folder, start, split.setting.ingress.port
        write_pairs(folder, interests.pairs)
        self._tau = interests.scale.tau
        self._process = None
        self._token = None
        self.change(capacity)

    def change(self, capacity):
        self.stop()
        path = write_configuration(
            self._folder,
            self._ingress,
            'id_field = "id"\ntime_field = "at"',
            windows="length = '1m'\nlateness = '5s'\nidle = '1h'",
            decide=f"tau = {self._tau}\ncapacity = {capacity}",
        )
        self._process = self._start(path)
        url = self._process.wait()["url"]
        if self._token is None:
            made = subprocess.run(
                [sys.executable, "-m", "fanwise", "serve", "token", "create", "--role", "approve",
                 "--config", str(path)],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            self._token = made.stdout.strip()
        headers = {"Authorization": f"Bearer {self._token}"}
        self.api = httpx.Client(base_url=url, headers=headers, timeout=60)

    def decide(self, window, counts):
        """Return the decision for a window once there is one; time has passed its end."""
        begin = START + window * MINUTE
        found = []

        def is_decided():
            made = self.api.get("/api/v1/decisions?limit=5").json()["decisions"]
            starts = [datetime.fromisoformat(one["window"]["start"]).timestamp() for one in made]
            found[:] = [one for one, at in zip(made, starts, strict=True) if at == begin]
            return found

        wait_until(is_decided, "no decision comes", 180)
        return found[0]

    def served_by(self, hash):
        store = Store(StateFolder(self._folder / "state").store)
        try:
            return set(store.served_by(hash))
        finally:
            store.close()

    def stop(self):
        if self._process is not None:
            self.api.close()
            self._process.end(signal.SIGTERM)
            self._process = None


def approve(service, decision):
    """Approve by hash, as a person does; return when the forwarder has confirmed it."""
    path = f"/api/v1/decisions/{decision['hash']}"
    assert service.api.get(path).json()["state"] == "pending"
    assert service.api.post(f"{path}/approve").status_code in (200, 202)
    wait_until(lambda: service.api.get(path).json()["state"] == "in-force", "it is not in force")


def live_through_it(scale, seed, make_service):
    """Halve the capacity and double it again while messages flow; return what was counted."""
    find_program("mosquitto")
    interests = Interests(scale, seed)
    counts = interests.first_round()
    everything = interests.cost(counts, set(counts))
    capacity = int(SHARE * everything)
    decisions, windows = [], {}
    with Split(interests) as split:
        service = make_service(split, interests, capacity)
        back_end = split.setting.back_end.port
        try:
            with (
                Crowd(split.members, back_end, NAME, processes=scale.processes) as crowd,
                Flow(split.setting.ingress.port, scale.rate, interests.share, seed) as flow,
            ):
                window = flow.publish(counts)
                for limit in (capacity, capacity // 2, capacity):
                    if decisions:
                        service.change(limit)
                    flow.is_late = True
                    decision = service.decide(window, counts)
                    # What the plan claims of the traffic that it was made for is so.
                    served = service.served_by(decision["hash"])
                    assert decision["facts"]["capacity"] == limit
                    assert decision["value"] == interests.satisfied(counts, served)
                    assert decision["facts"]["used"] == interests.cost(counts, served) <= limit
                    approve(service, decision)
                    decisions.append(decision)
                    counts = interests.fewer(counts)
                    window = flow.publish(counts)
                    windows[window] = (counts, served, limit)
                flow.is_late = True
                last = service.decide(window, counts)
                flow.stop()
                due = sum(interests.followers[topic] for topic, _ in flow.sent)
                wait_until(lambda: crowd.handed() >= due, "messages are missing", 180)
                seen, helped = crowd.finish()
            bodies = service.api.get("/api/v1/decisions?limit=20").json()["decisions"]
        finally:
            service.stop()
    assert compare(flow.sent, interests.wanted, seen) == (0, 0)
    assert last["previous"] == decisions[-1]["hash"]
    assert all(one["changes"] > 0 for one in decisions)
    loads = []
    for window, (counts, served, limit) in windows.items():
        assert counts == Counter(topic for topic, at in flow.sent if at == window)
        found = measure(flow.sent, seen, window, scale.tau)
        assert found.back_end == interests.cost(counts, served) <= limit
        assert found.back_end + found.edges == interests.cost(counts, set(counts))
        assert found.satisfied == interests.satisfied(counts, served)
        loads.append((found, limit))
    return flow, decisions, bodies, loads, helped, due


def test_capacity_halves_and_doubles_while_messages_flow(tmp_path):
    scale = Scale(edges=4, clients=20, topics=40, interests=5, rate=200, messages=250, tau=20)
    _, decisions, bodies, loads, _, _ = live_through_it(
        scale, 1, lambda *world: ServiceHere(tmp_path, *world)
    )
    # The service has found by itself what was measured at the clients.
    delivered = {one["hash"]: one["delivered"] for one in bodies}
    assert [delivered[one["hash"]] for one in decisions] == [one.satisfied for one, _ in loads]
    first, halved, doubled = (found.satisfied for found, _ in loads)
    assert halved < min(first, doubled)


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_dozen_edges_and_two_hundred_clients(tmp_path, start, keep_counts):  # noqa: F811
    scale = Scale(
        edges=12,
        clients=200,
        topics=300,
        interests=4,
        rate=1000,
        messages=15_000,
        tau=500,
        processes=3,
    )
    flow, decisions, _, loads, helped, due = live_through_it(
        scale, 2, lambda *world: WholeService(tmp_path, *world, start)
    )
    assert helped["lost"] == 0
    keep_counts(
        edges=scale.edges, clients=scale.clients, messages=len(flow.sent), deliveries=due,
        lost=0, doubled=0, repaired=helped["repaired"], doubles_dropped=helped["doubles"],
        least_messages_a_second=int(min(flow.rates)), most_messages_a_second=int(max(flow.rates)),
        switched=sum(one["changes"] for one in decisions),
        load_percent_of_capacity=max(100 * found.back_end // limit for found, limit in loads),
        satisfied_first=loads[0][0].satisfied, satisfied_halved=loads[1][0].satisfied,
        satisfied_doubled=loads[2][0].satisfied,
    )  # fmt: skip
