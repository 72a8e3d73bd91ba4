"""A forwarder as a process, with its brokers and those who publish and listen, for tests."""

from __future__ import annotations

import contextlib
import json
import queue
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from tests.service.servers import Mosquitto, new_folder

from fanwise.client.naming import DECISION, ID, read_identity, state_topic

PATIENCE = 60.0
NAME = "main"


def wait_until(is_true: Callable[[], Any], what: str, patience: float = PATIENCE) -> None:
    end = time.monotonic() + patience
    while not is_true():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def write_network(
    folder: Path, ports: dict[str, int], entries: dict[str, Iterable[str]], generation: str = "1"
) -> None:
    """Write an offload network as ``fanwise export --mosquitto`` does."""
    folder.mkdir(exist_ok=True)
    lines = [f"{node},127.0.0.1,{port}" for node, port in ports.items()]
    (folder / "ports.csv").write_text("node,host,port\n" + "\n".join(lines) + "\n")
    rows = [f"{topic},{at},{node}" for topic, nodes in entries.items()
            for at, node in enumerate(nodes)]  # fmt: skip
    (folder / "entries.csv").write_text("topic,component,node\n" + "\n".join(rows) + "\n")
    (folder / "network.json").write_text(json.dumps({"generation": generation}))


def decision(epoch: int, *served: str, hash: str | None = None) -> bytes:
    """Return a decision as the service announces it."""
    content = {"format": "fanwise.decision", "version": 1, "hash": hash or f"{epoch:064x}",
               "epoch": epoch, "kind": "apply", "at": "2023-11-15T12:00:00Z", "window": None,
               "served": list(served), "offloaded": 1}  # fmt: skip
    return json.dumps(content).encode()


class Setting:
    """Ingress, back end, edge brokers, and a forwarder between them."""

    def __init__(self, nodes: Iterable[str] = ("n0",), broker_settings: str = "") -> None:
        self.home = new_folder()
        lines = f"max_queued_messages 0\nautosave_interval 1\n{broker_settings}"
        self.brokers = {}
        for name in ("ingress", "back-end", *nodes):
            (self.home / name).mkdir()
            self.brokers[name] = Mosquitto(self.home / name, lines)
        self.ingress, self.back_end = self.brokers["ingress"], self.brokers["back-end"]
        self.edges = {name: self.brokers[name] for name in nodes}
        self.log = self.home / "log"
        self.process: subprocess.Popen[str] | None = None
        self.configuration = self.home / "forwarder.toml"
        self.entries: dict[str, tuple[str, ...]] = {}
        self._clients: list[Client] = []
        self._states: Ears | None = None

    def __enter__(self) -> Setting:
        for broker in self.brokers.values():
            broker.start()
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients:
            client.disconnect()
            client.loop_stop()
        if self.process is not None:
            self.kill()
        for broker in self.brokers.values():
            broker.stop()
        shutil.rmtree(self.home, ignore_errors=True)

    @property
    def network(self) -> Path:
        """The folder of the offload network."""
        return self.home / "network"

    def configure(self, entries: dict[str, tuple[str, ...]] | None = None, more: str = "") -> None:
        """Write the configuration, and with entries the network of the edge brokers here."""
        if entries is not None or not self.network.exists():
            ports = {node: broker.port for node, broker in self.edges.items()}
            write_network(self.network, ports, entries or {})
        self.configuration.write_text(
            f'name = "{NAME}"\nstate = "{self.home}/state"\nundecided = "offload"\n'
            f"[ingress]\nport = {self.ingress.port}\n[back_end]\nport = {self.back_end.port}\n"
            f'[offload]\nfolder = "{self.network}"\n{more}\n'
        )

    def start(self, *, is_awaited: bool = True) -> dict[str, Any]:
        """Start the forwarder; return what it prints when it is ready."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "fanwise", "serve", "forward", "--config",
                 str(self.configuration), "--json"],
                stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        if not is_awaited:
            return {}
        line = self.process.stdout.readline()
        assert line, self.log.read_text()[-3000:]
        return json.loads(line)

    def kill(self, number: int = signal.SIGKILL) -> int:
        process, self.process = self.process, None
        process.send_signal(number)
        status = process.wait(PATIENCE)
        process.stdout.close()
        return status

    def client(self, broker: Mosquitto, name: str = "") -> Client:
        """Return a plain MQTT client that is connected."""
        client = Client(CallbackAPIVersion.VERSION2, client_id=name, protocol=MQTTv5)
        client.max_queued_messages_set(0)
        connected = threading.Event()
        client.on_connect = lambda *_: connected.set()
        client.reconnect_delay_set(1, 1)
        client.connect("127.0.0.1", broker.port)
        client.loop_start()
        assert connected.wait(10)
        self._clients.append(client)
        return client

    def publish(self, topic: str, payloads: Iterable[bytes], retain: bool = False) -> None:
        """Publish at the ingress as a plain client does; return when all are acknowledged."""
        client = self.client(self.ingress)
        sent = [client.publish(topic, payload, 1, retain) for payload in payloads]
        for one in sent:
            one.wait_for_publish(PATIENCE)

    def decide(self, epoch: int, *served: str, **more: Any) -> None:
        self.publish(DECISION, [decision(epoch, *served, **more)], retain=True)

    def listen(self, broker: Mosquitto, *filters: str) -> Ears:
        ears = Ears(self.client(broker))
        ears.subscribe(*filters)
        return ears

    def state(self) -> dict[str, Any]:
        """Return the state that the forwarder tells next."""
        if self._states is None:
            self._states = self.listen(self.ingress, state_topic(NAME))
        while not self._states.messages.empty():
            self._states.messages.get()
        while True:  # the first may be retained from a former life
            found = json.loads(self._states.next().payload)
            if not self._states.is_retained:
                return found


class DeafProxy:
    """Stands before a broker; while it is deaf, nothing that clients say arrives there."""

    def __init__(self, port: int) -> None:
        self._target = port
        self.is_deaf = False
        self._sockets: list[socket.socket] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> DeafProxy:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()
        self.cut()

    def cut(self) -> None:
        """Break all connections."""
        sockets, self._sockets = self._sockets, []
        for one in sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
                broker = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                return
            self._sockets += [client, broker]
            for source, target, hears in ((client, broker, True), (broker, client, False)):
                threading.Thread(
                    target=self._copy, args=(source, target, hears), daemon=True
                ).start()

    def _copy(self, source: socket.socket, target: socket.socket, hears: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if not (hears and self.is_deaf):
                    target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)


class Ears:
    """A plain subscriber."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.messages: queue.Queue = queue.Queue()
        self.heard = []
        self.is_retained = False
        self._subscribed = threading.Event()
        client.on_message = self._hear
        client.on_subscribe = lambda *_: self._subscribed.set()

    def subscribe(self, *filters: str) -> None:
        self._client.subscribe([(one, 1) for one in filters])
        assert self._subscribed.wait(10)

    def _hear(self, client: Any, data: Any, message: Any) -> None:
        self.heard.append(message)
        self.messages.put(message)

    def next(self) -> Any:
        message = self.messages.get(timeout=PATIENCE)
        self.is_retained = message.retain
        return message

    @property
    def payloads(self) -> list[bytes]:
        return [message.payload for message in self.heard]

    @property
    def ids(self) -> list[Any]:
        return [identity_of(message) for message in self.heard]


def identity_of(message: Any) -> Any:
    pairs = dict(getattr(message.properties, "UserProperty", []))
    return read_identity(pairs[ID]) if ID in pairs else None
