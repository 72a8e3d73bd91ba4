"""The forwarder beside Mosquitto's own bridge: throughput, added delay, and a switch under load.

Publisher, brokers, forwarder or bridge, and subscriber share the cores. The publisher writes its
time into payloads; delays are those of the way through two brokers, and what they are without
anything between is measured too. Each part lasts ``FANWISE_BENCH_FORWARD`` seconds.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.measuring import row
from benchmarks.serve_input import _connect, _length, _publish_head

SECONDS = float(os.environ.get("FANWISE_BENCH_FORWARD", "10"))
RATE = 3_000
OFFERED = 1.02 * RATE
FLOOD = 30_000
"""Messages sent as fast as they are taken, for the most that goes through."""
MOST_DELAY = 10.0
"""Milliseconds."""
SWITCHED = 1_000
MOST_SWITCH = 1.0
"""Seconds."""
TOPICS = 200
PAYLOAD = 200
TICK = 0.002
PATIENCE = 120.0
WARM = 2.0
MOSQUITTO = """
listener {port} 127.0.0.1
allow_anonymous true
user {user}
max_queued_messages 0
max_inflight_messages {window}
log_dest none
"""
WINDOW = 1_000
BRIDGE = """
connection bridge
address 127.0.0.1:{port}
topic # out 1
bridge_protocol_version mqttv50
cleansession false
"""
FORWARDER = """
name = "bench"
state = "{home}/state"
undecided = "{undecided}"
[ingress]
port = {ingress}
[back_end]
port = {back_end}
[offload]
folder = "{home}/network"
"""


class Way(NamedTuple):
    """Which ports lead in and out, and the folder of what is between."""

    ingress: int
    outlets: tuple[int, ...]
    home: Path


class Measured(NamedTuple):
    """What came of a load.

    Attributes
    ----------
    delays
        Milliseconds of each message, in the order of arrival.
    """

    sent: int
    arrived: int
    doubled: int
    seconds: float
    delays: list[float]

    @property
    def rate(self) -> float:
        return self.arrived / self.seconds

    def spread(self) -> str:
        ordered = sorted(self.delays)
        return (
            f"{statistics.median(ordered):.2f} ms median, "
            f"{ordered[int(0.99 * len(ordered))]:.1f} ms of 99 in 100"
        )


def run() -> list[dict]:
    with straight() as way:
        direct = measure(way, OFFERED, SECONDS)
    with bridged() as way:
        bridge = measure(way, OFFERED, SECONDS)
        bridge_flood = measure(way, None, SECONDS)
    with forwarded() as way:
        forwarder = measure(way, OFFERED, SECONDS)
        flood = measure(way, None, SECONDS)
    added = statistics.median(forwarder.delays) - statistics.median(direct.delays)
    bridge_added = statistics.median(bridge.delays) - statistics.median(direct.delays)
    ratio = statistics.median(forwarder.delays) / statistics.median(bridge.delays)
    return [
        row(
            f"forwarder, {RATE:,} messages/s of {PAYLOAD} bytes for {SECONDS:.0f} s",
            f"{forwarder.rate:,.0f} messages/s, {forwarder.sent - forwarder.arrived} lost, "
            f"{forwarder.doubled} doubled",
            f"{RATE:,}",
            met=forwarder.rate >= RATE
            and forwarder.sent == forwarder.arrived
            and not forwarder.doubled,
        ),
        row(
            "added delay, median",
            f"{added:.2f} ms (through two brokers {forwarder.spread()}; one broker alone "
            f"{statistics.median(direct.delays):.2f} ms)",
            f"{MOST_DELAY:.0f} ms",
            met=added <= MOST_DELAY,
        ),
        row(
            "Mosquitto's bridge at the same rate",
            f"{bridge.rate:,.0f} messages/s, added delay {bridge_added:.2f} ms (through two "
            f"brokers {bridge.spread()}); delay of forwarder over bridge {ratio:.1f}",
        ),
        row(
            f"most that goes through, {FLOOD:,} messages at once",
            f"forwarder {flood.rate:,.0f} messages/s, bridge {bridge_flood.rate:,.0f}: ratio "
            f"{flood.rate / bridge_flood.rate:.2f}",
            lost=flood.sent - flood.arrived,
            doubled=flood.doubled,
            bridge_lost=bridge_flood.sent - bridge_flood.arrived,
        ),
        _switch(),
    ]


def _switch() -> dict:
    """Switch many topics to and fro under load; return how long until the forwarder reports it."""
    seconds = []
    with forwarded() as way, ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        ears = Ears(way.outlets)
        load = pool.submit(publish, way.ingress, RATE / 2, 6.0, SWITCHED, WARM)
        time.sleep(WARM + 1.0)
        for epoch in (2, 3, 4):
            seconds.append(_decide(way, epoch, SWITCHED if epoch % 2 else 0))
            time.sleep(0.7)
        sent = load.result()
        arrived, doubled = ears.finish(sent)
    return row(
        f"switch of {SWITCHED:,} topics at {RATE // 2:,} messages/s, until it is reported",
        f"{max(seconds):.3f} s at the most of {len(seconds)}, {sent - arrived} lost, "
        f"{doubled} doubled",
        f"{MOST_SWITCH:.0f} s",
        met=max(seconds) <= MOST_SWITCH and sent == arrived and not doubled,
        seconds=seconds,
    )


def measure(way: Way, rate: float | None, seconds: float) -> Measured:
    """Publish at a rate, or all at once; return what arrived."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        pool.submit(os.getpid).result()
        ears = Ears(way.outlets)
        sent = pool.submit(publish, way.ingress, rate, seconds, TOPICS, 0.0).result()
        arrived, doubled = ears.finish(sent)
    return Measured(sent, arrived, doubled, max(ears.last - ears.first, 1e-6), ears.delays)


def publish(port: int, rate: float | None, seconds: float, topics: int, wait: float) -> int:
    """Publish with QoS 1; return how many when the broker has acknowledged them all."""
    time.sleep(wait)
    heads = [_publish_head(b"t/%d" % one, PAYLOAD) for one in range(topics)]
    wanted = FLOOD if rate is None else int(rate * seconds)
    with closing(_connect(port)) as connection:
        acknowledged = [0]

        def count() -> None:
            while data := connection.recv(1 << 16):
                acknowledged[0] += len(data)

        threading.Thread(target=count, daemon=True).start()
        sent, started = 0, time.monotonic()
        while sent < wanted:
            passed = time.monotonic() - started
            due = wanted - sent if rate is None else min(int(rate * passed), wanted) - sent
            due = min(due, 1_000, WINDOW - (sent - acknowledged[0] // 4))
            if due > 0:
                now = time.monotonic()
                body = b"%020.9f %08d" % (now, 0)
                pieces = []
                for number in range(sent, sent + due):
                    body = b"%020.9f %08d" % (now, number)
                    pieces += [heads[number % topics], struct.pack("!H", number % 60_000 + 1),
                               body.ljust(PAYLOAD)]  # fmt: skip
                connection.sendall(b"".join(pieces))
                sent += due
            time.sleep(TICK)
        end = time.monotonic() + PATIENCE
        while acknowledged[0] // 4 < sent and time.monotonic() < end:
            time.sleep(0.01)
    return sent


class Ears:
    """Subscribers that read as little as they must: when each message came, and its number."""

    def __init__(self, ports: tuple[int, ...]) -> None:
        self.delays: list[float] = []
        self._numbers: list[int] = []
        self.first = self.last = 0.0
        self._lock = threading.Lock()
        self._connections = [self._listen(port) for port in ports]
        for connection in self._connections:
            threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _listen(self, port: int) -> socket.socket:
        connection = _connect(port)
        body = b"\x00\x01" + struct.pack("!H", 3) + b"t/#" + b"\x00"  # quality 0: nothing to answer
        connection.sendall(b"\x82" + _length(len(body)) + body)
        connection.recv(5, socket.MSG_WAITALL)
        return connection

    def _read(self, connection: socket.socket) -> None:
        data = b""
        while True:
            try:
                more = connection.recv(1 << 18)
            except OSError:
                return
            if not more:
                return
            now = time.monotonic()
            data += more
            place = 0
            while len(data) - place >= 2:
                length, size, shift = 0, 0, 0
                while place + 1 + size < len(data):
                    digit = data[place + 1 + size]
                    length |= (digit & 127) << shift
                    shift += 7
                    size += 1
                    if digit < 128:
                        break
                else:
                    break
                stop = place + 1 + size + length
                if stop > len(data):
                    break
                body = data[stop - PAYLOAD : stop]
                with self._lock:
                    self.delays.append((now - float(body[:20])) * 1e3)
                    self._numbers.append(int(body[21:29]))
                    self.first = self.first or now
                    self.last = now
                place = stop
            data = data[place:]

    def finish(self, sent: int) -> tuple[int, int]:
        """Return how many different messages came, and how many more than once."""
        end = time.monotonic() + PATIENCE
        while len(self._numbers) < sent and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.5)
        for connection in self._connections:
            connection.close()
        different = len(set(self._numbers))
        return different, len(self._numbers) - different


@contextmanager
def broker(home: Path, name: str, more: str = "") -> Iterator[int]:
    program = shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        sys.exit("forward needs mosquitto: apt-get install mosquitto")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    user = "root" if os.getuid() == 0 else "nobody"
    path = home / f"{name}.conf"
    path.write_text(MOSQUITTO.format(port=port, user=user, window=WINDOW) + more)
    process = subprocess.Popen([program, "-c", str(path)], stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.02)
        yield port
    finally:
        process.terminate()
        process.wait()


@contextmanager
def folder() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="fanwise-bench-"))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def straight() -> Iterator[Way]:
    with folder() as home, broker(home, "only") as port:
        yield Way(port, (port,), home)


@contextmanager
def bridged() -> Iterator[Way]:
    with ExitStack() as stack:
        home = stack.enter_context(folder())
        outlet = stack.enter_context(broker(home, "back-end"))
        ingress = stack.enter_context(broker(home, "ingress", BRIDGE.format(port=outlet)))
        time.sleep(WARM)
        yield Way(ingress, (outlet,), home)


@contextmanager
def forwarded() -> Iterator[Way]:
    """A forwarder with half of the topics served, or all: it has a back end and one edge broker."""
    with ExitStack() as stack:
        home = stack.enter_context(folder())
        ingress, outlet, edge = (
            stack.enter_context(broker(home, name)) for name in ("ingress", "back-end", "edge")
        )
        network = home / "network"
        network.mkdir()
        (network / "ports.csv").write_text(f"node,host,port\nedge,127.0.0.1,{edge}\n")
        lines = [f"t/{one},0,edge" for one in range(SWITCHED)]
        (network / "entries.csv").write_text("topic,component,node\n" + "\n".join(lines) + "\n")
        (network / "network.json").write_text('{"generation": "bench"}')
        path = home / "forwarder.toml"
        path.write_text(
            FORWARDER.format(home=home, ingress=ingress, back_end=outlet, undecided="back-end")
        )
        with (home / "log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "fanwise", "serve", "forward", "--config", str(path),
                 "--json"],
                stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        try:
            assert process.stdout is not None
            if not process.stdout.readline():
                raise RuntimeError((home / "log").read_text()[-2000:])
            way = Way(ingress, (outlet, edge), home)
            _decide(way, 1, TOPICS)
            time.sleep(WARM)
            yield way
        finally:
            process.kill()
            process.wait()


def _decide(way: Way, epoch: int, served: int) -> float:
    """Announce a decision; return the seconds until the forwarder reports it."""
    from paho.mqtt.client import Client, MQTTv5
    from paho.mqtt.enums import CallbackAPIVersion

    content = {
        "format": "fanwise.decision", "epoch": epoch, "hash": f"{epoch:064x}",
        "served": [f"t/{one}" for one in range(served)],
    }  # fmt: skip
    client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5)
    ready, reported = threading.Event(), threading.Event()
    client.on_subscribe = lambda *_: ready.set()

    def hear(_client: object, _data: object, message: object) -> None:
        if json.loads(message.payload)["epoch"] == epoch:  # type: ignore[attr-defined]
            reported.set()

    client.on_message = hear
    client.connect("127.0.0.1", way.ingress)
    client.loop_start()
    client.subscribe("fanwise/forwarder/bench", 1)
    if not ready.wait(PATIENCE):
        raise RuntimeError("the ingress does not answer")
    started = time.monotonic()
    client.publish("fanwise/decision", json.dumps(content).encode(), 1, True)
    if not reported.wait(PATIENCE):
        raise RuntimeError("the forwarder does not report the decision")
    taken = time.monotonic() - started
    client.disconnect()
    client.loop_stop()
    return taken
