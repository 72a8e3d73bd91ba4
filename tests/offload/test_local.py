"""Networks of real brokers: everybody gets every message once, changes and accidents included."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import paho.mqtt.client as mqtt
import pytest
import trustme
from tests.offload.networks import (
    Client,
    bridges_of,
    change_interests,
    deliver_everywhere,
    identity,
    plan_for,
    random_interests,
    wait_until,
)
from tests.oracles import offload_oracle as oracle
from tests.service.servers import find_program, free_port, new_folder

from fanwise.errors import FanwiseError, InputError
from fanwise.offload.configuration import write_configuration
from fanwise.offload.export import export_network
from fanwise.offload.files import Folder
from fanwise.offload.local import LocalNetwork
from fanwise.offload.network import Bridge, Network, Node
from fanwise.offload.options import LOOPBACK, Options, Passwords, Tls


@pytest.fixture
def local():
    """A function that runs networks; all are stopped."""
    find_program("mosquitto")
    started, told = [], []

    def run(folder: Folder) -> LocalNetwork:
        state = new_folder()
        network = LocalNetwork(state, lambda node, what: told.append((node, what)))
        started.append((network, state))
        network.apply(folder)
        network.wait_for_bridges()
        network.told = told
        return network

    yield run
    for network, state in started:
        network.stop()
        shutil.rmtree(state, ignore_errors=True)


class FreePorts:
    """Ports that are free now, the same for a node that is asked for again."""

    def __init__(self, **options) -> None:
        self._ports: dict[str, int] = {}
        self._options = options

    def __call__(self, interests) -> Options:
        for node in interests:
            while node not in self._ports:
                port = free_port()
                if port not in self._ports.values():
                    self._ports[node] = port
        places = {node: (LOOPBACK, self._ports[node]) for node in interests}
        return Options(places=places, **self._options)


def must_get(wanted):
    return lambda topic, node: oracle.receivers(wanted.interests, wanted.links, topic, node)


def has_loops(wanted) -> bool:
    """Whether bridging every topic over all links that share it would go round in circles."""
    shared = {
        link: tuple(wanted.interests[link[0]] & wanted.interests[link[1]]) for link in wanted.links
    }
    return "has a loop" in (oracle.find_fault(wanted.interests, wanted.links, shared) or "")


def chain(names, topics, **options) -> Folder:
    """A network of brokers in a row, made by hand; every other bridge points backwards."""
    nodes = {name: Node(name, LOOPBACK, free_port(), name) for name in names}
    bridges = tuple(
        Bridge(*((u, v) if i % 2 else (v, u)), tuple(topics))
        for i, (u, v) in enumerate(itertools.pairwise(names))
    )
    return folder_of(Network(nodes, bridges, ()), Options(**options))


def folder_of(network, options=None, number=1) -> Folder:
    options = options or Options()
    texts = {
        node.file: write_configuration(network, node, options) for node in network.nodes.values()
    }
    return Folder(network, str(number), number, texts)


def test_everybody_in_a_component_gets_every_message_once_and_nobody_else(local, tmp_path):
    wanted = plan_for(random_interests(np.random.default_rng(8)), max_degree=3)
    assert has_loops(wanted)
    done = export_network(
        wanted.plan, wanted.workload, tmp_path / "n", FreePorts()(wanted.interests)
    )
    network = done.folder.network
    assert len(network.nodes) == 12
    assert len(network.bridges) <= len(wanted.links)
    assert network.divided
    local(done.folder)
    counts = deliver_everywhere(network, must_get(wanted), wanted.interests)
    assert counts["delivered"] > 2 * counts["published"] > 100


def test_payloads_properties_and_flags_pass_several_hops(local):
    folder = chain(["a", "b", "c", "d", "e"], ["x", "y/z"])
    nodes = folder.network.nodes
    local(folder)
    listeners = {name: Client(node, ("#",)) for name, node in nodes.items()}
    sender = Client(nodes["a"])
    payload = bytes(range(256)) * 40
    sender.publish("x", "1", payload)
    sender.publish("y/z", "2", b"kept", retain=True)
    sender.publish("other", "3")
    for name, listener in listeners.items():
        count = 3 if name == "a" else 2
        wait_until(lambda one=listener, n=count: len(one.got) >= n, name)
        first, second = listener.got[:2]
        assert (first.topic, first.payload, first.qos, first.retain) == ("x", payload, 1, False)
        assert (second.topic, second.payload, second.qos) == ("y/z", b"kept", 1)
        assert second.retain  # as published, which these subscriptions ask for
        assert [identity(one) for one in (first, second)] == ["1", "2"]
    late = Client(nodes["e"], ("y/z",))
    wait_until(lambda: bool(late.got))
    assert (late.got[0].payload, late.got[0].retain) == (b"kept", True)
    assert identity(late.got[0]) == "2"
    for client in (*listeners.values(), sender, late):
        client.close()


ODD_TOPICS = {"ü深🦜/x", '"quoted"', "back\\slash\\", "/", "//a//", "out", "a;b", "%", "l" * 60_000}
ODD_NODES = ["Ä b/c", "a.b", "A.B", "..", "con", "two\nlines\r\n", '"q"', "$x", "#", "x" * 300, ""]


def test_odd_names_work(local, tmp_path):
    interests = {node: set(ODD_TOPICS) for node in ODD_NODES[:5]}
    interests |= {node: {"/", "out"} for node in ODD_NODES[5:]}
    wanted = plan_for(interests)
    done = export_network(wanted.plan, wanted.workload, tmp_path / "n", FreePorts()(interests))
    files = {node.file.casefold() for node in done.folder.network.nodes.values()}
    assert len(files) == len(ODD_NODES)
    local(done.folder)
    deliver_everywhere(done.folder.network, must_get(wanted), interests)


def test_tls_and_passwords(local, tmp_path):
    ca = trustme.CA()
    ca.cert_pem.write_to_path(tmp_path / "ca.pem")
    for name in ("a", "b", "c"):
        certificate = ca.issue_cert(LOOPBACK)
        certificate.private_key_pem.write_to_path(tmp_path / f"{name}.key")
        certificate.cert_chain_pems[0].write_to_path(tmp_path / f"{name}.pem")
    passwords = tmp_path / "passwords"
    passwords.touch()
    subprocess.run(
        [find_program("mosquitto_passwd"), "-b", str(passwords), "bridge", "s3 cret#"], check=True
    )
    folder = chain(
        ["a", "b", "c"],
        ["x"],
        tls=Tls(
            str(tmp_path / "ca.pem"),
            str(tmp_path / "{node}.pem"),
            str(tmp_path / "{node}.key"),
            require_certificate=True,
        ),
        passwords=Passwords(str(passwords), "bridge", "s3 cret#"),
    )
    local(folder)
    session = {
        "username": "bridge",
        "password": "s3 cret#",
        "tls": {
            "ca_certs": str(tmp_path / "ca.pem"),
            "certfile": str(tmp_path / "a.pem"),
            "keyfile": str(tmp_path / "a.key"),
        },
    }
    interests = {name: {"x"} for name in ("a", "b", "c")}
    deliver_everywhere(folder.network, lambda *_: set(interests), interests, **session)


def test_a_killed_broker_is_started_again(local):
    folder = chain(["a", "b", "c"], ["x"])
    network = local(folder)
    pids = network.pids
    os.kill(pids["b"], signal.SIGKILL)
    wait_until(lambda: network.tend() or network.pids["b"] != pids["b"])
    ((node, what),) = network.told
    assert node == "b"
    assert "signal 9" in what
    network.wait_for_bridges()
    assert {name for name in pids if network.pids[name] != pids[name]} == {"b"}
    interests = {name: {"x"} for name in ("a", "b", "c")}
    deliver_everywhere(folder.network, lambda *_: set(interests), interests)


def test_a_port_that_is_taken_is_named_with_who_took_it(local):
    folder = chain(["a", "b"], ["x"])
    network = local(folder)
    with pytest.raises(FanwiseError, match=rf"is taken by process {network.pids['a']} \(mosq"):
        local(folder)


def test_only_loopback_is_run_here(local):
    folder = folder_of(Network({"a": Node("a", "10.0.0.1", 1883, "a")}, (), ()))
    with pytest.raises(InputError, match=r"10\.0\.0\.1, which is not loopback"):
        local(folder)


def test_what_mosquitto_reads_again_needs_no_restart(local, tmp_path):
    folder = chain(["a", "b"], ["x"])
    network = local(folder)
    pids = network.pids
    passwords = tmp_path / "passwords"
    passwords.touch()
    subprocess.run(
        [find_program("mosquitto_passwd"), "-b", str(passwords), "bridge", "secret"], check=True
    )
    closed = folder_of(
        folder.network, Options(passwords=Passwords(str(passwords), "bridge", "secret")), 2
    )
    change = network.apply(closed)
    assert (change.restarted, change.reloaded) == (("b",), ("a",))
    network.wait_for_bridges()
    assert network.pids["a"] == pids["a"]
    interests = {name: {"x"} for name in ("a", "b")}
    deliver_everywhere(
        folder.network, lambda *_: set(interests), interests, username="bridge", password="secret"
    )
    for node in folder.network.nodes.values():
        refused = []
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
        client.on_connect = lambda _c, _d, _f, reason, _p, kept=refused: kept.append(reason)
        client.connect(node.host, node.port)
        client.loop_start()
        wait_until(lambda kept=refused: bool(kept))
        assert refused[0].is_failure
        client.disconnect()
        client.loop_stop()


class Load:
    """Publishes every topic at every broker that wants it, round after round, until told to end."""

    def __init__(self, nodes, interests) -> None:
        self.listeners = {name: Client(node, ("#",)) for name, node in nodes.items()}
        self._senders = {name: Client(node) for name, node in nodes.items()}
        self._interests = interests
        self.published: list[tuple[str, str, str]] = []
        self._is_done = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._is_done.is_set():
            for name, topics in self._interests.items():
                for topic in sorted(topics):
                    number += 1
                    if self._senders[name].client.is_connected():
                        self._senders[name].publish(topic, str(number))
                        self.published.append((name, topic, str(number)))
            self._is_done.wait(0.02)

    def finish(self) -> dict[str, Counter]:
        """End; return what each broker's client got."""
        self._is_done.set()
        self._thread.join()
        return {name: listener.counts for name, listener in self.listeners.items()}

    def close(self) -> None:
        self._is_done.set()
        for client in (*self.listeners.values(), *self._senders.values()):
            client.close()


def change_under_load(network, wanted, changed, before, done):
    """Apply a change while messages flow; return restarts, lost and doubled.

    Where no broker of a topic's component stopped or restarted, nothing may be lost or doubled.
    """
    touched = {*done.change.restarted, *done.change.stopped, *done.change.started}
    assert not done.change.reloaded
    staying = {name: wanted.interests[name] for name in before.nodes if name in changed.interests}
    load = Load({name: before.nodes[name] for name in staying}, staying)
    pids = network.pids
    try:
        wait_until(lambda: len(load.published) > 200)
        assert network.apply(done.folder) == done.change
        network.wait_for_bridges()
        seen = len(load.published)
        wait_until(lambda: len(load.published) > seen + 200)
        restarted = {name for name in staying if network.pids[name] != pids[name]}
        assert restarted == set(done.change.restarted)
        # A last message at each place, behind all others.
        wait_until(lambda: all(listener.got for listener in load.listeners.values()))
        load.finish()
        got = settle(load)
    finally:
        load.close()
    lost = doubled = 0
    for name, topic, number in load.published:
        must = oracle.receivers(wanted.interests, wanted.links, topic, name)
        may = must
        if name in changed.interests and topic in changed.interests[name]:
            must = must & oracle.receivers(changed.interests, changed.links, topic, name)
            may = may | oracle.receivers(changed.interests, changed.links, topic, name)
        for other, counts in got.items():
            count = counts[topic, number]
            lost += other in must and count == 0
            doubled += count > 1
            if not (may & touched):
                assert count == (other in may), (name, other, topic, number)
    return {
        "restarts": len(restarted),
        "published": len(load.published),
        "lost": lost,
        "doubled": doubled,
    }


def settle(load) -> dict[str, Counter]:
    """Return what was received once it stays the same for a while."""
    while True:
        before = {name: len(one.got) for name, one in load.listeners.items()}
        threading.Event().wait(0.5)
        if before == {name: len(one.got) for name, one in load.listeners.items()}:
            return load.finish()


def test_a_change_under_load_restarts_the_fewest_and_is_exact_afterwards(local, tmp_path):
    rng = np.random.default_rng(5)
    ports = FreePorts()
    wanted = plan_for(random_interests(rng, num_nodes=8, num_topics=8), max_degree=2)
    out = tmp_path / "n"
    first = export_network(wanted.plan, wanted.workload, out, ports(wanted.interests))
    network = local(first.folder)
    deliver_everywhere(first.folder.network, must_get(wanted), wanted.interests)
    changed_interests = wanted.interests | {"edge-3": wanted.interests["edge-3"] ^ {"t/1"}}
    changed_interests["edge-8"] = {"t/0", "t/2"}
    changed = plan_for(changed_interests, max_degree=2)
    done = export_network(
        changed.plan, changed.workload, out, ports(changed.interests), overwrite=True
    )
    before = first.folder.network
    after = bridges_of(done.folder.network)
    counts = change_under_load(network, wanted, changed, before, done)
    assert counts["restarts"] == oracle.fewest_restarts(
        bridges_of(before),
        {frozenset(ends): topics for ends, topics in after.items()},
        before.nodes.keys() & done.folder.network.nodes.keys(),
    )
    assert 0 < counts["restarts"] < 8
    deliver_everywhere(done.folder.network, must_get(changed), changed.interests)


@pytest.mark.soak
def test_a_long_sequence_of_changes_under_load(local, tmp_path, keep_counts):
    rng = np.random.default_rng(11)
    ports = FreePorts()
    wanted = plan_for(random_interests(rng, num_nodes=12, num_topics=20), max_degree=3)
    out = tmp_path / "n"
    done = export_network(wanted.plan, wanted.workload, out, ports(wanted.interests))
    network = local(done.folder)
    total = Counter()
    for _ in range(25):
        changed = plan_for(change_interests(rng, wanted.interests), max_degree=3)
        before = done.folder.network
        done = export_network(
            changed.plan, changed.workload, out, ports(changed.interests), overwrite=True
        )
        total["changes"] += 1
        total["brokers"] += len(done.folder.network.nodes)
        total += Counter(change_under_load(network, wanted, changed, before, done))
        exact = deliver_everywhere(done.folder.network, must_get(changed), changed.interests)
        total["checked_deliveries"] += exact["delivered"]
        wanted = changed
    assert not network.told
    assert not list(Path(tmp_path).glob(".*"))
    keep_counts(**total)
