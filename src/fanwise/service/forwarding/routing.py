"""Where a message goes: to the back end if its topic is served, else to edge brokers."""

from __future__ import annotations

import csv
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from fanwise.errors import InputError
from fanwise.service.forwarding.records import BACK_END, OFFLOAD

log = logging.getLogger(__name__)

FORMAT = "fanwise.decision"
NETWORK, ENTRIES, PORTS = "network.json", "entries.csv", "ports.csv"


class DecisionError(InputError):
    """What was announced is no decision."""


@dataclass(frozen=True)
class Decision:
    """What is served.

    Attributes
    ----------
    epoch
        Grows with every decision; 0 before the first.
    hash
        Of the plan; None where no decision is in force.
    served
        Topics of the back end; None where no decision is in force.
    """

    epoch: int = 0
    hash: str | None = None
    served: frozenset[str] | None = None


def read_decision(body: bytes) -> Decision:
    """Return a decision as the service announces it.

    Raises
    ------
    DecisionError
        If it is none.
    """
    try:
        found = json.loads(body)
        if found["format"] != FORMAT:
            raise DecisionError(f"a decision has the format {found['format']!r}, not {FORMAT!r}")
        served = found["served"]
        epoch, hash = found["epoch"], found["hash"]
        is_whole = isinstance(epoch, int) and (hash is None) == (served is None)
        if not is_whole or not all(isinstance(name, str) for name in served or ()):
            raise DecisionError("a decision has no epoch, hash or served topics")
    except (ValueError, KeyError, TypeError):
        raise DecisionError("what was announced is not a decision in JSON") from None
    return Decision(epoch, hash, None if served is None else frozenset(served))


class Edge(NamedTuple):
    """An edge broker."""

    host: str
    port: int


@dataclass(frozen=True)
class Network:
    """The offload network, as far as a forwarder needs it.

    Attributes
    ----------
    generation
        Changes whenever the folder is written anew.
    edges
        Brokers by the name of their node.
    entries
        For each topic that an edge wants, the nodes to send it to: one for each component.
    """

    generation: str = ""
    edges: Mapping[str, Edge] = field(default_factory=dict)
    entries: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class NetworkError(InputError):
    """A folder that does not describe an offload network."""


def read_generation(folder: Path) -> str:
    """Return which network a folder describes; empty if none yet."""
    try:
        return (folder / NETWORK).read_text(encoding="utf-8")
    except OSError:
        return ""


def read_network(folder: Path) -> Network:
    """Read the network that ``fanwise export --mosquitto`` wrote.

    Raises
    ------
    NetworkError
        Which names the file and what is wrong.
    """
    generation = read_generation(folder)
    edges: dict[str, Edge] = {}
    for row in _rows(folder / PORTS, ("node", "host", "port")):
        if not row["port"].isdecimal() or not 0 < int(row["port"]) < 65_536:
            raise NetworkError(f"{folder / PORTS}: {row['port']!r} of {row['node']!r} is no port")
        edges[row["node"]] = Edge(row["host"], int(row["port"]))
    entries: dict[str, dict[str, None]] = {}
    for row in _rows(folder / ENTRIES, ("topic", "node")):
        if row["node"] not in edges:
            raise NetworkError(f"{folder / ENTRIES}: node {row['node']!r} is not in {PORTS}")
        entries.setdefault(row["topic"], {})[row["node"]] = None
    return Network(generation, edges, {topic: tuple(nodes) for topic, nodes in entries.items()})


def _rows(path: Path, needed: tuple[str, ...]) -> list[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            missing = set(needed) - set(reader.fieldnames or ())
            if missing:
                raise NetworkError(f"{path}: has no column {', '.join(sorted(missing))}")
            return list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise NetworkError(f"{path}: cannot be read: {error}") from None


class Router:
    """Chooses sides, by the decision and the network of the moment.

    Parameters
    ----------
    is_served_undecided
        Whether topics go to the back end while no decision is in force.

    Attributes
    ----------
    nowhere
        Messages of the offload side that no edge broker wants.
    """

    def __init__(self, decision: Decision, network: Network, *, is_served_undecided: bool) -> None:
        self._is_served_undecided = is_served_undecided
        self.decision, self.network = decision, network
        self.nowhere = 0

    def route(self, topic: str) -> tuple[int, tuple[str, ...]]:
        """Return the side of a topic, and the edge brokers to send to on the offload side."""
        served = self.decision.served
        if self._is_served_undecided if served is None else topic in served:
            return BACK_END, ()
        nodes = self.network.entries.get(topic, ())
        if not nodes:
            self.nowhere += 1
        return OFFLOAD, nodes
