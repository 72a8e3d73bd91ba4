"""A network on loopback: all brokers started and looked after, changes applied, all stopped."""

from __future__ import annotations

import ipaddress
import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from fanwise.errors import FanwiseError, InputError
from fanwise.offload.broker import Broker
from fanwise.offload.files import Change, Folder, compare
from fanwise.offload.listeners import is_free, name_listener
from fanwise.offload.network import Network, Node, client_id

PATIENCE = 60.0
"""Seconds until bridges that are not up are given up."""
PAUSE = 0.02
RESTART_PAUSE = 1.0
"""Seconds from one start of a broker that ends by itself to the next."""
_SUBSCRIBED = re.compile(rb": (fanwise:\S+) 1 (.*)")
_GONE = re.compile(rb": Client (fanwise:\S+) (?:closed|disconnected|has exceeded)")


class LocalNetwork:
    """Brokers of a network, run by this process.

    A bridge is up once its farther end has logged the subscription to the last of its topics:
    from then on every message passes.

    Parameters
    ----------
    state
        Folder for configurations, logs and what brokers keep, a folder for each.
    tell
        Hears what happens to a broker by itself: its node, and what happened in words.
    """

    def __init__(self, state: Path, tell: Callable[[str, str], None]) -> None:
        self._state, self._tell = state, tell
        self._folder: Folder | None = None
        self._brokers: dict[str, Broker] = {}
        self._last_topic: dict[bytes, bytes] = {}
        self._up: set[bytes] = set()
        self._started_at: dict[str, float] = {}
        self._is_told: set[str] = set()

    @property
    def pids(self) -> dict[str, int | None]:
        return {name: broker.pid for name, broker in self._brokers.items()}

    @property
    def bridges_down(self) -> list[str]:
        """Bridges that carry nothing at the moment."""
        return sorted(name.decode() for name in self._last_topic.keys() - self._up)

    def apply(self, folder: Folder) -> Change:
        """Make the brokers those of a network; return what became of each.

        Brokers that stop or have another configuration are all stopped before one is started: in
        between, no topic has old and new links at once, which could be a loop.

        Raises
        ------
        InputError
            If a node is not on loopback.
        FanwiseError
            If a port is taken, or a broker does not start.
        """
        network = folder.network
        _refuse_elsewhere(network.nodes.values())
        change = compare(self._folder, folder)
        moved = [*change.started, *change.restarted]
        ours = {(one.node.host, one.node.port) for one in self._brokers.values()}
        _refuse_taken(
            network.nodes[name]
            for name in moved
            if (network.nodes[name].host, network.nodes[name].port) not in ours
        )
        self._halt([*change.stopped, *change.restarted])
        for name in change.reloaded:
            self._brokers[name].reload(folder.texts[network.nodes[name].file])
        for name in change.stopped:
            self._brokers.pop(name).remove()
        for name in moved:
            node = network.nodes[name]
            self._brokers[name] = Broker(node, folder.texts[node.file], self._state / node.file)
        self._folder = folder
        self._last_topic = {
            client_id(network, bridge).encode(): bridge.topics[-1].encode()
            for bridge in network.bridges
        }
        self._up &= self._last_topic.keys()
        for name in order_starts(network, moved):
            self._start(name)
            self._brokers[name].wait_until_ready()
        return change

    def _start(self, name: str) -> None:
        assert self._folder is not None
        network = self._folder.network
        self._started_at[name] = time.monotonic()
        self._up -= {
            client_id(network, bridge).encode()
            for bridge in network.bridges
            if name in (bridge.node, bridge.other)
        }
        self._brokers[name].start()

    def tend(self) -> None:
        """Read logs, and start again what has ended; to be called often."""
        for name, broker in self._brokers.items():
            for line in broker.new_lines():
                self._read_line(line)
            if not broker.is_running:
                self._bring_back(name, broker)

    def _bring_back(self, name: str, broker: Broker) -> None:
        """Start a broker again at once, but not one that ends over and over."""
        if name not in self._is_told:
            self._is_told.add(name)
            status = broker.status or 0
            how = f"by signal {-status}" if status < 0 else f"with status {status}"
            if not is_free(broker.node.host, broker.node.port):
                how += f"; its port is taken by {name_listener(broker.node.port)}"
            self._tell(name, f"ended {how}, starting it again ({broker.last_words()})")
        if time.monotonic() >= self._started_at.get(name, 0.0) + RESTART_PAUSE:
            self._is_told.discard(name)
            self._start(name)

    def _read_line(self, line: bytes) -> None:
        if found := _SUBSCRIBED.search(line):
            if self._last_topic.get(found[1]) == found[2]:
                self._up.add(found[1])
        elif found := _GONE.search(line):
            self._up.discard(found[1])

    def wait_for_bridges(self, seconds: float = PATIENCE) -> None:
        """Return when every bridge is up.

        Raises
        ------
        FanwiseError
            If one is not in time.
        """
        end = time.monotonic() + seconds
        while True:
            self.tend()
            down = self.bridges_down
            if not down:
                return
            if time.monotonic() > end:
                raise FanwiseError(
                    f"{len(down)} of {len(self._last_topic)} bridges are not up after "
                    f"{seconds:.0f} s, {down[0]} among them; {self._explain(down[0])}"
                )
            time.sleep(PAUSE)

    def _explain(self, name: str) -> str:
        assert self._folder is not None
        network = self._folder.network
        ends = next(
            (one.node, one.other) for one in network.bridges if client_id(network, one) == name
        )
        said = [f"{end}: {self._brokers[end].last_words()}" for end in ends]
        return "the last words of its brokers are " + "; ".join(said)

    def stop(self) -> None:
        """Stop all brokers."""
        self._halt(list(self._brokers))

    def _halt(self, names: list[str]) -> None:
        for name in names:
            self._brokers[name].ask_to_stop()
        for name in names:
            self._brokers[name].wait_until_stopped()


def order_starts(network: Network, names: Iterable[str]) -> list[str]:
    """Order brokers so that, where possible, the farther ends of bridges are there before.

    A bridge that finds nobody tries again only after a second or two.
    """
    left = [name for name in network.nodes if name in set(names)]
    farther: dict[str, set[str]] = {name: set() for name in left}
    for bridge in network.bridges:
        if bridge.node in farther and bridge.other in farther:
            farther[bridge.node].add(bridge.other)
    order: list[str] = []
    while left:
        ready = [name for name in left if farther[name] <= set(order)]
        order += ready or left[:1]  # in a circle somebody has to begin
        left = [name for name in left if name not in set(order)]
    return order


def _refuse_elsewhere(nodes: Iterable[Node]) -> None:
    for node in nodes:
        try:
            is_here = ipaddress.ip_address(node.host).is_loopback
        except ValueError:
            is_here = node.host == "localhost"
        if not is_here:
            raise InputError(
                f"node {node.name} listens on {node.host}, which is not loopback; run its "
                "configuration there, under systemd or in a container."
            )


def _refuse_taken(nodes: Iterable[Node]) -> None:
    for node in nodes:
        if not is_free(node.host, node.port):
            raise FanwiseError(
                f"port {node.port} of node {node.name} is taken by {name_listener(node.port)}; "
                "stop that, or export the network again with another --first-port."
            )
