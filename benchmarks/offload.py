"""What a restart of an edge broker drops, and how long its bridges are away; real Mosquitto.

Two brokers and one bridge between them. Publishers at both send at QoS 0 and 1, 200 messages a
second each; what clients at both get is counted, of clients with a session that is kept and of
others. One of the brokers is stopped and started at once, or killed.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

import fanwise as fw
from fanwise.offload.configuration import write_configuration
from fanwise.offload.export import export_network
from fanwise.offload.files import Folder
from fanwise.offload.local import LocalNetwork
from fanwise.offload.network import Bridge, Network, Node
from fanwise.offload.options import LOOPBACK, Options

PAUSE = 0.005  # seconds between messages of a publisher
BEFORE, AFTER = 1.0, 6.0  # seconds of traffic before and after the restart
HOW = {"stopped": signal.SIGTERM, "killed": signal.SIGKILL, "reloaded": signal.SIGHUP}
KEPT_SECONDS = 3600
NUM_TOPICS, NUM_NODES = 20_000, 12


def run() -> list[dict]:
    rows = [measure_export()]
    for broker in ("near", "far"):
        for how in HOW:
            rows += measure_accident(broker, how)
    return rows


def measure_export() -> dict:
    """Write a network of a dozen brokers and many topics, and again after a small change."""
    rng = np.random.default_rng(0)
    wants = rng.random((NUM_NODES, NUM_TOPICS)) < 0.3
    wants[0] |= ~wants.any(axis=0)
    home = Path(tempfile.mkdtemp(prefix="fanwise-bench-"))
    try:
        times = []
        for change in range(2):
            wants[1, :5] ^= bool(change)
            subscriber, topic = np.nonzero(wants)
            workload = fw.TopicWorkload.from_arrays(
                np.ones(NUM_TOPICS), subscriber, topic, num_subscribers=NUM_NODES
            )
            plan = fw.Connection(workload, max_degree=4).solve("gpm")
            began = time.perf_counter()
            done = export_network(plan, workload, home / "network", overwrite=bool(change))
            times.append(time.perf_counter() - began)
        return {
            "what": f"export --mosquitto, {NUM_NODES} brokers, {NUM_TOPICS:,} topics, "
            "first time; again after 5 interests changed",
            "measured": f"{times[0]:.1f} s; {times[1]:.1f} s, "
            f"{len(done.change.restarted)} of {NUM_NODES} brokers restart",
        }
    finally:
        shutil.rmtree(home, ignore_errors=True)


def measure_accident(broker: str, how: str) -> list[dict]:
    """Restart one broker under load; return what was lost and doubled, by way."""
    home = Path(tempfile.mkdtemp(prefix="fanwise-bench-"))
    nodes = {name: Node(name, LOOPBACK, free_port(), name) for name in ("near", "far")}
    topics = tuple(f"{place}/{qos}" for place in nodes for qos in (0, 1))
    network = Network(nodes, (Bridge("near", "far", topics),), ())
    texts = {name: write_configuration(network, node, Options()) for name, node in nodes.items()}
    local = LocalNetwork(home, lambda node, what: None)
    try:
        local.apply(Folder(network, "", 1, texts))
        local.wait_for_bridges()
        traffic = Traffic(nodes)
        time.sleep(BEFORE)
        began = time.perf_counter()
        _signal(local, broker, HOW[how])
        local.tend()
        local.wait_for_bridges()
        away = time.perf_counter() - began
        time.sleep(AFTER)
        return [
            {
                "what": f"the {broker} end of a bridge is {how}; {what}",
                "measured": f"{measured}; bridge away {away:.1f} s",
            }
            for what, measured in traffic.count()
        ]
    finally:
        local.stop()
        shutil.rmtree(home, ignore_errors=True)


def _signal(local: LocalNetwork, name: str, number: int) -> None:
    pid = local.pids[name]
    assert pid is not None
    os.kill(pid, number)
    if number == signal.SIGHUP:
        return
    while local.pids[name] == pid:
        local.tend()
        time.sleep(0.005)


class Traffic:
    """Publishers and subscribers at both brokers."""

    def __init__(self, nodes: dict[str, Node]) -> None:
        self._got: dict[tuple[str, str], Counter] = {}
        self._clients = []
        for place, node in nodes.items():
            for session in ("kept", "clean"):
                counter = self._got[place, session] = Counter()
                self._clients.append(subscriber(node, f"{place}-{session}", session, counter))
        time.sleep(0.5)
        self._sent = {(place, qos): 0 for place in nodes for qos in (0, 1)}
        self._publishers = {place: publisher(node) for place, node in nodes.items()}
        self._is_done = threading.Event()
        self._threads = [
            threading.Thread(target=self._publish, args=(place, qos)) for place, qos in self._sent
        ]
        for thread in self._threads:
            thread.start()

    def _publish(self, place: str, qos: int) -> None:
        client = self._publishers[place]
        while not self._is_done.wait(PAUSE):
            # At QoS 1 the client keeps what it could not send yet.
            if qos or client.is_connected():
                number = self._sent[place, qos] = self._sent[place, qos] + 1
                client.publish(f"{place}/{qos}", str(number), qos)

    def count(self) -> list[tuple[str, str]]:
        self._is_done.set()
        for thread in self._threads:
            thread.join()
        time.sleep(3)
        for client in (*self._publishers.values(), *self._clients):
            client.disconnect()
            client.loop_stop()
        return [
            (f"published at {source}, client at {place}", self._describe(source, place))
            for place in self._publishers
            for source in self._publishers
        ]

    def _describe(self, source: str, place: str) -> str:
        parts = []
        for qos in (1, 0):
            sent = self._sent[source, qos]
            found = []
            for session in ("kept", "clean"):
                got = self._got[place, session]
                numbers = [got[f"{source}/{qos}", str(number)] for number in range(1, sent + 1)]
                doubled = sum(count > 1 for count in numbers)
                found.append(f"{numbers.count(0)} lost, {doubled} doubled")
            parts.append(f"QoS {qos} of {sent}: session kept {found[0]}; clean {found[1]}")
        return "; ".join(parts)


def subscriber(node: Node, name: str, session: str, counter: Counter) -> mqtt.Client:
    def keep(_client, _data, message) -> None:
        counter[message.topic, message.payload.decode()] += 1

    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id=name, protocol=mqtt.MQTTv5)
    client.on_message = keep
    client.on_connect = lambda one, *_: one.subscribe("#", qos=1)
    _connect(client, node, KEPT_SECONDS if session == "kept" else 0)
    return client


def publisher(node: Node) -> mqtt.Client:
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
    client.max_inflight_messages_set(1000)
    _connect(client, node, 0)
    return client


def _connect(client: mqtt.Client, node: Node, expiry: int) -> None:
    properties = Properties(PacketTypes.CONNECT)
    properties.SessionExpiryInterval = expiry
    client.reconnect_delay_set(1, 1)
    client.connect(node.host, node.port, clean_start=not expiry, properties=properties)
    client.loop_start()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    for row in run():
        print(row["what"], "|", row["measured"])
