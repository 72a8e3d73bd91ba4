"""What an offload network is: edge brokers, bridges between them, and where messages enter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fanwise.offload.options import FIRST_PORT


@dataclass(frozen=True)
class Node:
    """An edge broker: where it listens, and the name of its file without the ending."""

    name: str
    host: str
    port: int
    file: str


@dataclass(frozen=True)
class Bridge:
    """A link of the plan, configured at ``node``, and the topics that it carries both ways."""

    node: str
    other: str
    topics: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """Where a message of a topic enters one of its components, and how many brokers are in it."""

    topic: str
    component: int
    node: str
    num_nodes: int


@dataclass(frozen=True)
class Network:
    """Edge brokers by name, bridges between them, and where messages enter.

    Every topic's bridges make a forest over the brokers that want it: nothing loops or doubles.
    ``first_port`` is the one from which on brokers were given theirs.
    """

    nodes: Mapping[str, Node]
    bridges: tuple[Bridge, ...]
    entries: tuple[Entry, ...]
    first_port: int = FIRST_PORT

    def bridges_at(self, node: str) -> Iterator[Bridge]:
        """Yield the bridges that are configured at a broker."""
        return (bridge for bridge in self.bridges if bridge.node == node)

    @property
    def divided(self) -> dict[str, int]:
        """Topics in more than one component, and in how many."""
        counts: dict[str, int] = {}
        for entry in self.entries:
            counts[entry.topic] = counts.get(entry.topic, 0) + 1
        return {topic: count for topic, count in counts.items() if count > 1}


def connection_name(network: Network, bridge: Bridge) -> str:
    """Return what a bridge is called; file names have no colon, so that no two are the same."""
    return f"{network.nodes[bridge.node].file}:{network.nodes[bridge.other].file}"


def client_id(network: Network, bridge: Bridge) -> str:
    """Return the client id of a bridge at its farther end."""
    return f"fanwise:{connection_name(network, bridge)}"
