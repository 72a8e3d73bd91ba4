"""The decision service on MQTT: a steady rate with nothing lost, then a burst, all on one machine.

Mosquitto, the publisher, the receiver and Spark share the cores. Every event carries its time, and
what the ledger counted is compared with what was sent, by window and topic. The two parts last as
many seconds as ``FANWISE_BENCH_STEADY`` and ``FANWISE_BENCH_BURST`` say.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import socket
import sqlite3
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.measuring import row

STEADY_SECONDS = float(os.environ.get("FANWISE_BENCH_STEADY", "600"))
BURST_SECONDS = float(os.environ.get("FANWISE_BENCH_BURST", "30"))
RATE, BURST_RATE = 5_000, 50_000
OFFERED = 1.02 * RATE
"""Slightly more than the bar, for a publisher never sends sooner than it should."""
WARM_SECONDS = 10.0
MOST_BEHIND = 10.0
"""Seconds that the newest counted event may be old at the end: a rate that is sustained is counted
as it comes."""
TOPICS, SUBSCRIBERS = 5_000, 20_000
WINDOW = 60 * 10**6
PAYLOAD = b'{"at": "%s", "data": "' + b"x" * 60 + b'"}'
TICK_SECONDS = 0.01
PATIENCE = 600.0
MOSQUITTO = """
listener {port} 127.0.0.1
allow_anonymous true
persistence true
persistence_location {home}/
user {user}
max_queued_messages 0
log_dest none
"""
CONFIGURATION = """
state = "{home}/state"
[server]
port = 0
anonymous_read = true
requests_per_minute = 100000
[source]
kind = "mqtt"
port = {port}
topics = ["t/#"]
time_field = "at"
broker_log = false
[monitor]
snapshot = "{home}/pairs.csv"
[windows]
length = "1m"
lateness = "10s"
[decide]
tau = 3
capacity = "40%"
time_limit = "1s"
forecast = {{ kind = "same-hour", days = 2 }}
[execute]
mode = "auto"
[[execute.file]]
path = "{home}/served.json"
"""


class Sent(NamedTuple):
    """What a publisher sent: events by window and topic, all of them acknowledged by the broker."""

    counts: Counter[tuple[int, str]]
    seconds: float
    cpu_seconds: float

    @property
    def events(self) -> int:
        return self.counts.total()


@dataclass
class Watch:
    """Looks at the service about once a second, as an operator would.

    Attributes
    ----------
    looks
        When, seconds since the last batch, seconds that the newest counted event is old, bytes
        that wait, events counted.
    """

    url: str
    looks: list[tuple[float, float, float, int, int]] = field(default_factory=list)
    _is_over: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def stop(self) -> None:
        self._is_over.set()

    def look(self) -> tuple[float, float, float, int, int]:
        found = json.loads(_get(f"{self.url}/api/v1/status"))["input"]
        metrics = dict(
            line.rsplit(" ", 1)
            for line in _get(f"{self.url}/metrics").splitlines()
            if not line.startswith("#")
        )
        idle, backlog = metrics["fanwise_idle_seconds"], metrics["fanwise_backlog_bytes"]
        age = 0.0 if found["lag"] is None else found["lag"]
        one = (time.monotonic(), float(idle), age, int(float(backlog)), found["events"])
        self.looks.append(one)
        return one

    def _run(self) -> None:
        while not self._is_over.wait(1.0):
            self.look()


def run() -> list[dict]:
    folder = Path(tempfile.mkdtemp(prefix="fanwise-bench-"))
    folder.chmod(0o755)
    context = multiprocessing.get_context("spawn")
    try:
        with (
            _broker(folder) as (broker, port),
            _service(folder, port) as (service, url),
            ProcessPoolExecutor(1, mp_context=context) as pool,
        ):
            warm = pool.submit(publish, port, OFFERED, WARM_SECONDS).result()
            watch = Watch(url)
            watch.start()
            parts = _processes(service.pid, broker.pid)
            cpu = _cpu(parts)
            started = time.monotonic()
            steady = pool.submit(publish, port, OFFERED, STEADY_SECONDS).result()
            ended = time.monotonic()
            steady_cpu = {name: (_cpu(parts)[name] - cpu[name]) / (ended - started) for name in cpu}
            steady_cpu["publisher"] = steady.cpu_seconds / (ended - started)
            looks = [one for one in watch.looks if one[0] <= ended]
            burst_began = time.monotonic()
            burst = pool.submit(publish, port, BURST_RATE, BURST_SECONDS).result()
            burst_ended = time.monotonic()
            total = warm.events + steady.events + burst.events
            drained = _await_counted(watch, total)
            watch.stop()
            memory = _memory(parts)
            counted = watch.look()[4]
            _end(service)
        found = _ledger(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sent = warm.counts + steady.counts + burst.counts
    lost, doubled = (sent - found).total(), (found - sent).total()
    in_burst = [one for one in watch.looks if burst_began <= one[0] <= drained]
    reached = steady.events / steady.seconds
    return [
        row(
            f"steady input for {STEADY_SECONDS:.0f} s, events/s",
            f"{reached:,.0f} ({steady.events:,} events)",
            f"{RATE:,}",
            met=reached >= RATE and lost == 0 and looks[-1][2] <= MOST_BEHIND,
            counted=counted,
            seconds_behind_at_the_end=looks[-1][2],
        ),
        row("events lost, by window and topic", f"{lost:,}", "0", met=lost == 0),
        row("events counted twice", f"{doubled:,}", "0", met=doubled == 0),
        _spread("seconds since the last batch, steady", [one[1] for one in looks], "{:.1f} s"),
        _spread("age of the newest counted event, steady", [one[2] for one in looks], "{:.1f} s"),
        _spread("backlog, steady", [one[3] / 1e6 for one in looks], "{:.1f} MB"),
        row(
            f"burst of {burst.seconds:.0f} s, {BURST_RATE:,} events/s attempted",
            f"{burst.events / burst.seconds:,.0f} events/s reached ({burst.events:,} events)",
        ),
        _spread("age of the newest counted event, burst", [one[2] for one in in_burst], "{:.1f} s"),
        _spread("backlog, burst", [one[3] / 1e6 for one in in_burst], "{:.1f} MB"),
        row(
            "until all of the burst is counted, from its end on",
            f"{drained - burst_ended:.0f} s ({burst.events / (drained - burst_began):,.0f} "
            "events/s counted)",
        ),
        row(
            "cores, steady",
            ", ".join(f"{name} {cores:.2f}" for name, cores in steady_cpu.items()),
        ),
        row(
            "memory at the most",
            ", ".join(f"{name} {size / 2**20:,.0f} MiB" for name, size in memory.items()),
            looks=watch.looks,
        ),
    ]


def publish(port: int, rate: float, seconds: float) -> Sent:
    """Publish events at a rate with QoS 1 until a time is over and the broker has them all."""
    rng = np.random.default_rng(5)
    names = [f"t/{one}" for one in range(TOPICS)]
    share = 1 / np.arange(1, len(names) + 1) ** 0.8
    order = rng.choice(len(names), 200_000, p=share / share.sum())
    size = len(PAYLOAD % _seconds(time.time_ns() // 1000))
    heads = [_publish_head(name.encode(), size) for name in names]
    counts: Counter[tuple[int, str]] = Counter()
    begun = time.process_time()
    with closing(_connect(port)) as connection:
        acknowledged = _Acknowledged(connection)
        acknowledged.start()
        sent, started = 0, time.monotonic()
        wanted = int(rate * seconds)
        while sent < wanted:
            passed = time.monotonic() - started
            due = min(int(rate * min(passed, seconds)) - sent, int(rate / 20))
            # Only so many numbers are free: what is in flight must not come twice.
            due = min(due, 60_000 - (sent - acknowledged.count))
            if due <= 0:
                time.sleep(TICK_SECONDS)
                continue
            instant = time.time_ns() // 1000
            payload = PAYLOAD % _seconds(instant)
            chosen = order.take(range(sent, sent + due), mode="wrap")
            pieces = [
                piece
                for number, topic in enumerate(chosen.tolist(), sent)
                for piece in (heads[topic], struct.pack("!H", number % 65_535 + 1), payload)
            ]
            connection.sendall(b"".join(pieces))
            pane = instant // WINDOW * WINDOW
            for topic, many in enumerate(np.bincount(chosen, minlength=len(names)).tolist()):
                if many:
                    counts[pane, names[topic]] += many
            sent += due
            time.sleep(TICK_SECONDS)
        taken = time.monotonic() - started
        end = time.monotonic() + PATIENCE
        while acknowledged.count < sent:
            if time.monotonic() > end:
                raise RuntimeError(f"the broker took {acknowledged.count:,} of {sent:,} events")
            time.sleep(0.05)
    return Sent(counts, taken, time.process_time() - begun)


class _Acknowledged(threading.Thread):
    """Counts what the broker acknowledges."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(daemon=True)
        self._connection, self._bytes = connection, 0

    @property
    def count(self) -> int:
        return self._bytes // 4  # PUBACK is four bytes in MQTT 3.1.1

    def run(self) -> None:
        try:
            while data := self._connection.recv(1 << 16):
                self._bytes += len(data)
        except OSError:
            return


def _connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    name = f"bench-{os.getpid()}-{time.monotonic_ns()}".encode()
    body = b"\x00\x04MQTT\x04\x02\x00\x00" + struct.pack("!H", len(name)) + name
    connection.sendall(b"\x10" + _length(len(body)) + body)
    if connection.recv(4, socket.MSG_WAITALL)[3:] != b"\x00":
        raise RuntimeError("the broker refuses the publisher")
    return connection


def _publish_head(topic: bytes, payload: int) -> bytes:
    """Return a PUBLISH packet of quality 1 up to its number."""
    return b"\x32" + _length(2 + len(topic) + 2 + payload) + struct.pack("!H", len(topic)) + topic


def _length(count: int) -> bytes:
    digits = bytearray()
    while True:
        count, digit = divmod(count, 128)
        digits.append(digit | (0x80 if count else 0))
        if not count:
            return bytes(digits)


def _seconds(instant: int) -> bytes:
    return b"%d.%06d" % (instant // 10**6, instant % 10**6)


@contextmanager
def _broker(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    program = shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        sys.exit("serve_input needs mosquitto: apt-get install mosquitto")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    user = "root" if os.getuid() == 0 else "nobody"
    path = folder / "mosquitto.conf"
    path.write_text(MOSQUITTO.format(port=port, home=folder, user=user))
    process = subprocess.Popen(
        [program, "-c", str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > end:
                    raise
                time.sleep(0.05)
        yield process, port
    finally:
        process.terminate()
        process.wait()


@contextmanager
def _service(folder: Path, port: int) -> Iterator[tuple[subprocess.Popen[str], str]]:
    rng = np.random.default_rng(1)
    pairs = rng.integers(0, TOPICS, (SUBSCRIBERS, 3))
    lines = [f"u{user},t/{topic}" for user, topics in enumerate(pairs) for topic in set(topics)]
    (folder / "pairs.csv").write_text("subscriber,topic\n" + "\n".join(lines) + "\n")
    path = folder / "fanwise.toml"
    path.write_text(CONFIGURATION.format(home=folder, port=port))
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "fanwise", "serve", "--config", str(path), "--json"],
            stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError((folder / "log").read_text()[-2000:])
        yield process, json.loads(line)["url"]
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _end(service: subprocess.Popen[str]) -> None:
    service.send_signal(signal.SIGTERM)
    service.wait(PATIENCE)


def _await_counted(watch: Watch, total: int) -> float:
    """Return when all is counted; give up at some point."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        at, *_, events = watch.looks[-1]
        if events >= total:
            return at
        time.sleep(0.5)
    return time.monotonic()


def _ledger(folder: Path) -> Counter[tuple[int, str]]:
    with closing(sqlite3.connect(folder / "state" / "stream.sqlite")) as database:
        rows = database.execute(
            "SELECT c.pane, t.name, sum(c.events) FROM counts c JOIN topics t ON t.id = c.topic "
            "GROUP BY c.pane, c.topic"
        )
        return Counter({(pane, topic): many for pane, topic, many in rows})


def _processes(service: int, broker: int) -> dict[str, int]:
    """Return the processes of the service and the broker by what they are."""
    found = {"service": service, "broker": broker}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and _stat(int(entry.name))[1:2] == [str(service)]:
            line = (entry / "cmdline").read_bytes()
            if b"java" in line.split(b"\0", 1)[0]:
                found["Spark"] = int(entry.name)
            elif b"spawn_main" in line:
                found["receiver"] = int(entry.name)
    return found


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rsplit(")", 1)[1].split()
    except OSError:
        return []


def _cpu(parts: dict[str, int]) -> dict[str, float]:
    ticks = os.sysconf("SC_CLK_TCK")
    return {
        name: (int(stat[11]) + int(stat[12])) / ticks
        for name, pid in parts.items()
        if (stat := _stat(pid))
    }


def _memory(parts: dict[str, int]) -> dict[str, int]:
    """Return the most memory of each process so far, in bytes."""
    found = {}
    for name, pid in parts.items():
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                found[name] = int(line.split()[1]) * 1024
    return found


def _spread(what: str, values: list[float], form: str) -> dict:
    middle, most = statistics.median(values), max(values)
    return row(what, f"{form.format(middle)} median, {form.format(most)} at the most")


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:
        text: str = answer.read().decode()
        return text
