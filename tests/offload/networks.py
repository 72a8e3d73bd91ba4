"""Random interests of edge brokers, their plans, and how they change; real clients at brokers."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

import fanwise as fw
from fanwise.connect.problem import edges_of
from fanwise.offload.network import Network, Node

PATIENCE = 60.0


@dataclass(frozen=True)
class Wanted:
    """Topics by edge broker, and the plan that links them."""

    interests: dict[str, set[str]]
    workload: fw.TopicWorkload
    plan: fw.Plan

    @property
    def links(self) -> list[tuple[str, str]]:
        names = list(self.interests)
        return [(names[u], names[v]) for u, v in edges_of(self.plan.tables["edges"]).tolist()]


def plan_for(interests: dict[str, set[str]], **budget) -> Wanted:
    """Return a plan for interests; without a budget one that connects every topic."""
    nodes = list(interests)
    topics = sorted(set().union(*interests.values()))
    pairs = [(v, topics.index(topic)) for v, node in enumerate(nodes) for topic in interests[node]]
    workload = fw.TopicWorkload.from_arrays(
        np.ones(len(topics)),
        np.array([v for v, _ in pairs], dtype=np.int32),
        np.array([t for _, t in pairs], dtype=np.int32),
        num_subscribers=len(nodes),
        subscriber_names=nodes,
        topic_names=topics,
    )
    algorithm = "gpm" if "max_degree" in budget else "gpa" if budget else "gm"
    plan = fw.Connection(workload, **budget).solve(algorithm)
    return Wanted(interests, workload, plan)


def random_interests(rng, num_nodes=12, num_topics=20, share=0.35, first=0) -> dict[str, set[str]]:
    """Return who wants what; every topic is wanted by somebody."""
    nodes = [f"edge-{i}" for i in range(first, first + num_nodes)]
    interests = {
        node: {f"t/{t}" for t in range(num_topics) if rng.random() < share} for node in nodes
    }
    for t in range(num_topics):
        interests[nodes[int(rng.integers(num_nodes))]].add(f"t/{t}")
    return interests


def change_interests(rng, interests, *, num_changes=2) -> dict[str, set[str]]:
    """Return interests with a few added and removed, and now and then a broker more or less."""
    changed = {node: set(topics) for node, topics in interests.items()}
    topics = sorted(set().union(*changed.values()))
    for _ in range(num_changes):
        kind = rng.random()
        node = sorted(changed)[int(rng.integers(len(changed)))]
        topic = topics[int(rng.integers(len(topics)))]
        if kind < 0.1 and len(changed) > 3:
            del changed[node]
        elif kind < 0.2:
            number = 1 + max(int(name.rpartition("-")[2]) for name in changed)
            changed[f"edge-{number}"] = {topic, topics[int(rng.integers(len(topics)))]}
        else:
            changed[node] ^= {topic}
    return changed if any(changed.values()) else interests


def bridges_of(network: Network) -> dict[tuple[str, str], tuple[str, ...]]:
    return {(bridge.node, bridge.other): bridge.topics for bridge in network.bridges}


class Client:
    """A client at a broker; keeps everything it gets, told by user property or payload."""

    def __init__(self, node: Node, topics: tuple[str, ...] = (), **session) -> None:
        self.node = node
        self.got: list[mqtt.MQTTMessage] = []
        self._topics = topics
        self._is_subscribed = threading.Event()
        self.client = mqtt.Client(
            mqtt.CallbackAPIVersion.VERSION2,
            client_id=session.get("client_id", ""),
            protocol=mqtt.MQTTv5,
        )
        self.client.reconnect_delay_set(1, 1)
        self.client.on_connect = self._on_connect
        self.client.on_subscribe = lambda *_: self._is_subscribed.set()
        self.client.on_message = lambda _client, _data, message: self.got.append(message)
        if "username" in session:
            self.client.username_pw_set(session["username"], session["password"])
        if "tls" in session:
            self.client.tls_set(**session["tls"])
        properties = Properties(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = session.get("expiry", 0)
        self.client.connect(
            node.host, node.port, clean_start=not session.get("expiry"), properties=properties
        )
        self.client.loop_start()
        if topics:
            assert self._is_subscribed.wait(PATIENCE)
        else:
            wait_until(self.client.is_connected)

    def _on_connect(self, client, *_) -> None:
        if self._topics:
            options = SubscribeOptions(qos=1, retainAsPublished=True)
            client.subscribe([(topic, options) for topic in self._topics])

    def publish(self, topic: str, identity: str, payload: bytes = b"", *, retain=False, qos=1):
        properties = Properties(PacketTypes.PUBLISH)
        properties.UserProperty = ("fanwise-id", identity)
        return self.client.publish(topic, payload, qos, retain, properties)

    @property
    def counts(self) -> Counter:
        """How often each message came: topic and id."""
        return Counter((message.topic, identity(message)) for message in list(self.got))

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()


def identity(message) -> str:
    return dict(getattr(message.properties, "UserProperty", [])).get("fanwise-id", "")


def wait_until(condition: Callable[[], bool], what: str = "what was waited for") -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"{what} did not come"
        time.sleep(0.01)


def deliver_everywhere(network: Network, receivers, interests, **session) -> Counter:
    """Publish every topic at every broker that wants it; check that all get it once, and no others.

    ``receivers(topic, node)`` says who must. A second round behind the first, on the same ways,
    shows what comes late. Returns how many messages were published and delivered.
    """
    listeners = {name: Client(node, ("#",), **session) for name, node in network.nodes.items()}
    senders = {name: Client(node, **session) for name, node in network.nodes.items()}
    expected: dict[str, Counter] = {name: Counter() for name in network.nodes}
    counts: Counter = Counter()
    try:
        for part in (1, 2):
            for number, (name, topics) in enumerate(interests.items()):
                for topic in sorted(topics):
                    message = (topic, f"{part} of {number}")  # names may be odd
                    senders[name].publish(*message)
                    counts["published"] += 1
                    for other in receivers(topic, name):
                        expected[other][message] += 1
                        counts["delivered"] += 1
            for name, listener in listeners.items():
                total = expected[name].total()
                wait_until(lambda one=listener, all=total: len(one.got) >= all, f"all of {name}")
        for name, listener in listeners.items():
            assert listener.counts == expected[name], name
    finally:
        for client in (*listeners.values(), *senders.values()):
            client.close()
    return counts
