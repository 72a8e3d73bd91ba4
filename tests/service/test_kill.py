"""The whole service as a process, killed and stopped: nothing lost, nothing counted twice."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict

import pytest
from tests.service.monitor.test_receiver import client_of, is_running, publish, wait_until
from tests.service.servers import Mosquitto, new_folder

from fanwise.service.monitor.ledger import Ledger
from fanwise.service.monitor.windows import WindowRule
from fanwise.service.state import StateFolder, StateLock
from fanwise.service.store.store import Store

pytestmark = pytest.mark.spark

MINUTE = 60
SECOND = 10**6
RULE = WindowRule.from_seconds(MINUTE, None, 5)
START = 1_700_000_040  # the beginning of a minute
TOPICS = 12
PATIENCE = 180.0
KILLS = int(os.environ.get("FANWISE_KILLS", "50"))
"""Of the long version."""
JAVA = "-Xss8m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
CONFIGURATION = """
state = "{home}/state"

[server]
port = 0

[source]
{source}

[monitor]
trigger = "0.2s"
snapshot = "{home}/pairs.csv"
master = "local[2]"
conf = {{ "spark.driver.memory" = "512m", "spark.driver.extraJavaOptions" = "{java}" }}

[windows]
length = "1m"
lateness = "5s"
idle = "1h"

[decide]
tau = 3
capacity = "40%"
forecast = {{ kind = "same-hour", days = 2 }}

[execute]
mode = "auto"

[[execute.file]]
path = "{home}/served.json"
"""


def configure(home, source):
    """Write the configuration of a service and who wants what; return the file."""
    pairs = [f"u{user},t/{(user * 5 + more) % TOPICS}" for user in range(30) for more in range(3)]
    (home / "pairs.csv").write_text("subscriber,topic\n" + "\n".join(pairs) + "\n")
    path = home / "fanwise.toml"
    path.write_text(CONFIGURATION.format(home=home, source=source, java=JAVA))
    return path


class Service:
    """``fanwise serve`` in a process of its own."""

    def __init__(self, configuration):
        self.log = configuration.parent / "log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "fanwise", "serve", "--config", str(configuration),
                 "--json"],
                stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip

    def wait(self):
        """Return what it prints when it is ready."""
        line = self.process.stdout.readline()
        assert line, self.log.read_text()[-3000:]
        return json.loads(line)

    def children(self):
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdecimal():
                try:
                    with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                        fields = file.read().rsplit(")", 1)[1].split()
                except (FileNotFoundError, ProcessLookupError):
                    continue
                if int(fields[1]) == self.process.pid:
                    found.append(int(entry))
        return found

    def end(self, number):
        """Send a signal; return the exit status when all its processes are gone."""
        children = self.children()
        self.process.send_signal(number)
        status = self.process.wait(PATIENCE)
        self.process.stdout.close()
        wait_until(lambda: not any(map(is_running, children)), "processes are left")
        return status


@pytest.fixture
def start():
    started = []

    def start(configuration):
        started.append(Service(configuration))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait()


@pytest.fixture
def broker():
    folder = new_folder()
    server = Mosquitto(folder, "max_queued_messages 0")
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


class Traffic:
    """Events in order of time, each with an id, and the plain count of them."""

    def __init__(self, seed):
        self._rng = random.Random(seed)
        self.seconds, self.sent = 0, 0
        self.expected = defaultdict(Counter)

    def next(self, count, step=0.4):
        """Return that many events as topics and payloads."""
        events = []
        for _ in range(count):
            self.seconds += self._rng.uniform(0, step)
            instant = int((START + self.seconds) * SECOND)
            topic = f"t/{min(int(self._rng.expovariate(0.3)), TOPICS - 1)}"
            self.sent += 1
            self.expected[instant // (MINUTE * SECOND) * MINUTE * SECOND][topic] += 1
            payload = {"id": self.sent, "at": f"{instant // SECOND}.{instant % SECOND:06d}"}
            events.append((topic, json.dumps(payload)))
        return events

    def last(self):
        """Return an event that closes all windows before it."""
        self.seconds += 10 * MINUTE
        return self.next(1, 0)


def read_totals(state):
    """Return the counts of all closed windows by start and topic."""
    ledger = Ledger(state.ledger, RULE)
    try:
        return {
            window.start: dict(zip(topics.to_pylist(), events.tolist(), strict=True))
            for window in ledger.windows_after()
            for topics, events, _ in [ledger.counts_in(window)]
        }
    finally:
        ledger.close()


def read_all(ask):
    """Return the rows of all pages."""
    page = ask(1000)
    rows = list(page.rows)
    while page.cursor is not None:
        page = ask(1000, page.cursor)
        rows += page.rows
    return rows


def check(home, traffic):
    """Compare a stopped service with the plain count; return how many windows it decided."""
    state = StateFolder(home / "state")
    expected = dict(traffic.expected)
    del expected[max(expected)]  # of the last event, which closed the others
    assert read_totals(state) == expected
    store = Store(state.store)
    try:
        made = read_all(store.decisions)
        assert [one.window.start for one in reversed(made)] == sorted(expected)
        assert [one.number for one in made] == list(range(len(made), 0, -1))
        windows = {one.window.start: one for one in read_all(store.windows)}
        assert {start: one.events for start, one in windows.items()} == {
            start: sum(counts.values()) for start, counts in expected.items()
        }
        assert all(one.late == 0 for one in windows.values())
        current = store.current()
    finally:
        store.close()
    served = json.loads((home / "served.json").read_text())
    assert served["hash"] == current.hash
    return len(made)


def count_rows(path, table):
    """Return how many rows a table of a running service has, asked from beside."""
    if not path.exists():
        return 0
    with contextlib.closing(sqlite3.connect(path, timeout=60)) as database:
        try:
            return database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        except sqlite3.OperationalError:  # it is not made yet
            return 0


def batches(home):
    return count_rows(StateFolder(home / "state").ledger, "batches")


def decisions(home):
    return count_rows(StateFolder(home / "state").store, "decisions")


class Publishing(threading.Thread):
    """Publishes all the time, whether the service is there or not."""

    def __init__(self, broker, traffic):
        super().__init__()
        self._broker, self._traffic, self._is_over = broker, traffic, threading.Event()

    def run(self):
        with client_of(self._broker) as client:
            while not self._is_over.wait(0.1):
                for topic, payload in self._traffic.next(20):
                    client.publish(topic, payload, qos=1).wait_for_publish(PATIENCE)

    def stop(self):
        self._is_over.set()
        self.join(PATIENCE)
        assert not self.is_alive()


def run_and_kill(home, broker, start, moments, seed):
    """Publish all the time, kill at moments, then let it finish; return what was counted.

    Moments are at any time of a start, or soon after a batch was counted or a window decided.
    """
    rng, traffic = random.Random(seed), Traffic(seed)
    source = f'kind = "mqtt"\nport = {broker.port}\nid_field = "id"\ntime_field = "at"'
    configuration = configure(home, f"{source}\nbroker_log = false")
    seconds = []
    publishing = Publishing(broker, traffic)
    # The session at the broker begins with the first start.
    service = start(configuration)
    service.wait()
    publishing.start()
    try:
        for moment in moments:
            if moment == "starting":
                time.sleep(rng.uniform(0, 12))
            else:
                count = {"counting": batches, "deciding": decisions}[moment]
                enough = count(home) + rng.randrange(1, 4)
                wait_until(lambda: count(home) >= enough, service.log.read_text)  # noqa: B023
                time.sleep(rng.uniform(0, 0.4))
            assert service.end(signal.SIGKILL) == -signal.SIGKILL
            service, begun = start(configuration), time.monotonic()
            if moment != "starting":
                service.wait()
                seconds.append(time.monotonic() - begun)
    finally:
        publishing.stop()
    publish(broker, traffic.last())
    wait_until(lambda: decisions(home) == len(traffic.expected) - 1, service.log.read_text)
    assert service.end(signal.SIGTERM) == 128 + signal.SIGTERM
    StateLock(StateFolder(home / "state")).release()  # it is free
    return traffic, check(home, traffic), max(seconds)


def test_killed_twice_every_event_counts_once_and_every_window_is_decided_once(
    tmp_path, broker, start, record_property
):
    moments = ["counting", "deciding"]
    traffic, windows, slowest = run_and_kill(tmp_path, broker, start, moments, seed=3)
    assert windows > 3
    record_property("events", traffic.sent)
    record_property("seconds to start again", round(slowest, 1))


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_killed_many_times(tmp_path, broker, start, keep_counts):
    moments = random.Random(7).choices(["starting", "counting", "deciding"], [1, 2, 2], k=KILLS)
    traffic, windows, slowest = run_and_kill(tmp_path, broker, start, moments, seed=4)
    keep_counts(
        kills=KILLS,
        events=traffic.sent,
        decisions=windows,
        slowest_start_seconds=round(slowest),
    )


def test_one_instance_alone_which_stops_cleanly(tmp_path, start):
    folder = tmp_path / "events"
    folder.mkdir()
    configuration = configure(tmp_path, f'kind = "folder"\npublications = "{folder}"')
    service = start(configuration)
    told = service.wait()
    assert told["state"] == str(tmp_path / "state")
    assert set(told) == {"url", "state"}, "a token is given in the demo alone"
    second = subprocess.run(
        [sys.executable, "-m", "fanwise", "serve", "--config", str(configuration)],
        capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert second.returncode == 2
    assert second.stdout == ""
    assert second.stderr.count("\n") == 1
    assert f"runs on this state folder already (process {service.process.pid})" in second.stderr
    traffic = Traffic(1)
    for number in range(6):
        rows = traffic.next(300) if number < 5 else traffic.last()
        lines = [
            json.dumps({"topic": topic, "timestamp": json.loads(data)["at"]}) + "\n"
            for topic, data in rows
        ]
        (folder / f".{number}").write_text("".join(lines))
        (folder / f".{number}").rename(folder / f"{number}.jsonl")
    wait_until(lambda: decisions(tmp_path) == len(traffic.expected) - 1, service.log.read_text)
    assert service.end(signal.SIGTERM) == 128 + signal.SIGTERM
    assert service.log.read_text().splitlines()[-1] == "fanwise: terminated"
    assert "Traceback" not in service.log.read_text()
    check(tmp_path, traffic)
    left = [path.name for path in (tmp_path / "state").rglob(".*") if path.suffix != ".crc"]
    assert left == [], "nothing half-written"
