"""The receiver on a real Mosquitto: nothing lost, nothing acknowledged that is not on disk."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import paho.mqtt.client as mqtt
import pytest
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.reasoncodes import ReasonCode
from tests.service.servers import Mosquitto, mosquitto, new_folder  # noqa: F401

from fanwise.service.configuration.model import MqttSource
from fanwise.service.monitor import receiver as receivers
from fanwise.service.monitor.heard import Heard, heard_file
from fanwise.service.monitor.receiver import Receiver, ReceiverProcess
from fanwise.service.monitor.spool import Spool, SpoolFullError, segments
from fanwise.service.monitor.subscriptions import AWAY, LOST

LOGGED = """
log_dest topic
log_type subscribe
log_type unsubscribe
log_type notice
"""
PATIENCE = 120.0
LARGEST = 1000


def wait_until(condition, what="waited too long"):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what() if callable(what) else what
        time.sleep(0.02)


@pytest.fixture
def logging_broker():
    """A broker that publishes who subscribes to what."""
    folder = new_folder()
    server = Mosquitto(folder, LOGGED)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def client_of(broker, name="", *, clean=True):
    """A client of a broker, connected."""
    client = mqtt.Client(CallbackAPIVersion.VERSION2, client_id=name, clean_session=clean)
    connected = threading.Event()
    client.on_connect = lambda *_: connected.set()
    client.connect("127.0.0.1", broker.port)
    client.loop_start()
    assert connected.wait(PATIENCE)
    try:
        yield client
    finally:
        client.disconnect()
        client.loop_stop()


def publish(broker, messages, *, retain=False):
    """Publish messages, each a topic and a payload; return when the broker has them."""
    with client_of(broker) as client:
        sent = [client.publish(topic, data, qos=1, retain=retain) for topic, data in messages]
        for each in sent:
            each.wait_for_publish(PATIENCE)
            assert each.is_published()


def numbered(numbers):
    return [(f"t/{number % 7}", json.dumps({"id": number})) for number in numbers]


def records(folder):
    """What is on disk, in the order of writing."""
    return [json.loads(line) for path in segments(folder) for line in path.read_text().splitlines()]


def spooled_ids(folder):
    return [int(record["id"]) for record in records(folder) if record["kind"] == "event"]


def source_of(broker, **more):
    return MqttSource(port=broker.port, **{"broker_log": False, **more})


class Running:
    """A receiver in a thread."""

    def __init__(self, broker, folder, **more):
        self.receiver = Receiver(
            source_of(broker, **more), Spool(folder, limit=10**8), largest=LARGEST
        )
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self.receiver.run, args=(self._is_over,))

    def start(self):
        self._thread.start()
        wait_until(lambda: self.status.is_connected)
        return self

    @property
    def status(self):
        return self.receiver.status

    def stop(self):
        self._is_over.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@pytest.fixture
def run(tmp_path):
    started = []

    def start(broker, **more):
        started.append(Running(broker, tmp_path / "spool", **more))
        return started[-1]

    yield start
    for each in started:
        if each._thread.is_alive():
            each.stop()


@pytest.fixture
def start_process(tmp_path):
    started = []

    def start(broker, **more):
        process = ReceiverProcess(
            source_of(broker, **more), tmp_path / "spool", limit=10**8, largest=LARGEST
        )
        process.start()
        started.append(process)
        wait_until(lambda: process.status().is_connected, lambda: process.status().trouble)
        return process

    yield start
    for each in started:
        each.stop()


def test_every_message_is_on_disk_once_before_it_is_acknowledged(mosquitto, run, tmp_path):  # noqa: F811
    running = run(mosquitto)
    spool, acknowledge = tmp_path / "spool", running.receiver._client.ack
    early = []
    acknowledged = 0

    def ack(number, quality):
        nonlocal acknowledged
        acknowledged += 1
        if len(records(spool)) < acknowledged:
            early.append(number)
        return acknowledge(number, quality)

    running.receiver._client.ack = ack
    running.start()
    sent = numbered(range(100))
    publish(mosquitto, sent)
    wait_until(lambda: acknowledged == 100)
    running.stop()
    assert early == []
    assert Counter(record["topic"] for record in records(spool)) == Counter(
        topic for topic, _ in sent
    )
    status = running.status
    assert (status.received, status.written, status.again, status.bad) == (100, 100, 0, 0)
    # Nothing is left at the broker.
    after = run(mosquitto).start()
    publish(mosquitto, [("last", "")])
    wait_until(lambda: after.status.written == 1)
    assert after.status.received == 1


def test_without_room_nothing_is_acknowledged_and_then_everything_arrives(
    mosquitto,  # noqa: F811
    run,
    tmp_path,
    monkeypatch,
):
    monkeypatch.setattr(receivers, "RETRY_SECONDS", 0.05)
    is_full = True
    write = Spool.write

    def write_if_room(spool, rows):
        rows = list(rows)
        if rows and is_full:
            raise SpoolFullError("spool: the disk is full")
        return write(spool, rows)

    monkeypatch.setattr(Spool, "write", write_if_room)
    running = run(mosquitto, id_field="id")
    acknowledged, acknowledge = [], running.receiver._client.ack
    running.receiver._client.ack = lambda *which: acknowledged.append(which) or acknowledge(*which)
    running.start()
    publish(mosquitto, numbered(range(50)))
    wait_until(lambda: running.status.trouble == "input waits: spool: the disk is full")
    wait_until(lambda: running.status.waiting > 0)
    assert acknowledged == []
    running.stop()  # also now it ends, and the broker keeps all
    assert acknowledged == []
    assert records(tmp_path / "spool") == []
    again = run(mosquitto, id_field="id").start()
    wait_until(lambda: again.status.trouble.startswith("input waits"))
    is_full = False
    wait_until(lambda: again.status.written == 50)
    assert again.status.trouble == ""
    assert sorted(spooled_ids(tmp_path / "spool")) == list(range(50))


def test_a_spool_that_is_away_for_a_while_is_said_in_the_status(
    mosquitto,  # noqa: F811
    start_process,
    tmp_path,
):
    process = start_process(mosquitto, id_field="id")
    spool, away = tmp_path / "spool", tmp_path / "away"
    spool.rename(away)
    publish(mosquitto, numbered(range(20)))
    wait_until(lambda: process.status().trouble.startswith("input waits"))
    away.rename(spool)
    wait_until(lambda: sorted(spooled_ids(spool)) == list(range(20)))
    wait_until(lambda: process.status().trouble == "")


def test_memory_is_bounded_and_a_full_receiver_can_be_stopped(
    mosquitto,  # noqa: F811
    run,
    monkeypatch,
    tmp_path,
):
    monkeypatch.setattr(receivers, "MOST_WAITING", 5)
    monkeypatch.setattr(receivers, "RETRY_SECONDS", 0.05)
    with monkeypatch.context() as patch:

        def fail(spool, rows):
            raise OSError("no")

        patch.setattr(Spool, "write", fail)
        running = run(mosquitto).start()
        publish(mosquitto, numbered(range(12)))
        wait_until(lambda: running.status.waiting == 5)
        time.sleep(0.2)
        assert running.status.waiting == 5
        running.stop()
    again = run(mosquitto).start()
    wait_until(lambda: again.status.written == 12)
    assert len(records(tmp_path / "spool")) == 12


def test_killed_after_writing_before_acknowledging_doubles_are_dropped_and_counted(
    mosquitto,  # noqa: F811
    run,
    tmp_path,
):
    running = run(mosquitto, id_field="id")
    running.receiver._client.ack = lambda *_: None
    running.start()
    publish(mosquitto, numbered(range(15)))
    wait_until(lambda: running.status.written == 15)
    running.stop()
    again = run(mosquitto, id_field="id").start()
    wait_until(lambda: again.status.received == 15)
    assert (again.status.again, again.status.doubles) == (15, 15)
    publish(mosquitto, numbered(range(10, 20)))
    wait_until(lambda: again.status.written == 5)
    assert sorted(spooled_ids(tmp_path / "spool")) == list(range(20))
    assert again.status.doubles == 20


def test_killed_at_random_moments_nothing_is_lost_and_nothing_is_double(
    mosquitto,  # noqa: F811
    start_process,
    tmp_path,
):
    rng = random.Random(5)
    process = start_process(mosquitto, id_field="id")
    sent = 0
    for kill in range(3):
        publish(mosquitto, numbered(range(sent, sent + 200)))
        sent += 200
        time.sleep(rng.uniform(0, 0.15))
        os.kill(process._process.pid, signal.SIGKILL)
        process._process.join(PATIENCE)
        assert "was restarted" in process.status().trouble
        assert process.starts == kill + 2
    wait_until(lambda: len(set(spooled_ids(tmp_path / "spool"))) == sent)
    wait_until(lambda: process.status().trouble == "")
    assert sorted(spooled_ids(tmp_path / "spool")) == list(range(sent))


def test_what_comes_while_the_receiver_is_away_waits_also_when_the_broker_restarts(
    mosquitto,  # noqa: F811
    run,
    tmp_path,
):
    run(mosquitto).start().stop()
    publish(mosquitto, numbered(range(30)))
    mosquitto.stop()
    mosquitto.start()
    running = run(mosquitto, id_field="id").start()
    wait_until(lambda: running.status.written == 30)
    mosquitto.stop()
    wait_until(lambda: running.status.trouble.startswith("no connection to the broker"))
    mosquitto.start()
    publish(mosquitto, numbered(range(30, 40)))
    wait_until(lambda: running.status.written == 40)
    assert running.status.is_connected
    assert running.status.trouble == ""
    # What was acknowledged just before the broker ended may come again, and is dropped.
    assert running.status.doubles == running.status.again
    assert sorted(spooled_ids(tmp_path / "spool")) == list(range(40))


def test_acknowledgements_of_an_earlier_connection_are_not_sent(mosquitto, run):  # noqa: F811
    running = run(mosquitto)
    client = running.receiver._client
    acknowledged = []
    client.ack = lambda number, quality: acknowledged.append(number)
    refused = SimpleNamespace(is_failure=True)
    fine = SimpleNamespace(is_failure=False)
    client.subscribe = lambda topics: None

    def arrive(number):
        message = SimpleNamespace(topic="a", payload=b"", mid=number, qos=1, dup=False)
        running.receiver._on_message(client, None, message)

    running.receiver._on_connect(client, None, None, fine, None)
    arrive(1)
    running.receiver._on_disconnect(client, None, None, "why", None)
    running.receiver._on_connect(client, None, None, refused, None)
    assert "refuses" in running.status.trouble
    running.receiver._on_connect(client, None, None, fine, None)
    arrive(2)
    running.receiver._flush()
    assert acknowledged == [2]
    assert running.status.written == 2


def test_a_refused_subscription_is_told_by_its_topic(mosquitto, run):  # noqa: F811
    running = run(mosquitto, topics=["music/#", "secret/#"])
    codes = [ReasonCode(PacketTypes.SUBACK, identifier=code) for code in (1, 0x87)]
    running.receiver._on_subscribe(None, None, 1, codes, None)
    assert running.status.trouble == (
        "the broker refuses subscriptions: 'secret/#' (Not authorized)"
    )


def test_bad_messages_are_set_aside_and_acknowledged(mosquitto, run, tmp_path):  # noqa: F811
    running = run(mosquitto, time_field="t", id_field="id").start()
    fine = json.dumps({"t": 1, "id": 1})
    publish(
        mosquitto,
        [
            ("a", b"x" * (LARGEST + 1)),
            ("a", b"{"),
            ("a", json.dumps({"id": 2})),
            ("a", json.dumps({"t": 2})),
            ("a", fine),
        ],
    )
    wait_until(lambda: running.status.written == 5)
    assert running.status.bad == 4
    found = records(tmp_path / "spool")
    assert [record.get("reason") for record in found] == [
        "larger than 1,000 bytes", "not JSON", "no time in 't'", "no id in 'id'", None,
    ]  # fmt: skip
    running.stop()
    again = run(mosquitto).start()
    publish(mosquitto, [("a", "")])
    wait_until(lambda: again.status.written >= 1)
    assert (again.status.received, again.status.again) == (1, 0)


def test_a_topic_that_is_no_text_is_set_aside(mosquitto, run, tmp_path):  # noqa: F811
    class Message:
        payload, mid, qos, dup = b"x", 1, 0, False

        @property
        def topic(self):
            return b"\xff".decode()

    running = run(mosquitto)
    running.receiver._on_message(None, None, Message())
    running.receiver._flush()
    assert records(tmp_path / "spool")[0]["reason"] == "topic not UTF-8"


def test_what_the_broker_retains_is_no_news(mosquitto, run, tmp_path):  # noqa: F811
    publish(mosquitto, [("kept", "old")], retain=True)
    running = run(mosquitto).start()
    publish(mosquitto, [("kept", "new")], retain=True)
    wait_until(lambda: running.status.written == 1)
    running.stop()
    again = run(mosquitto).start()
    publish(mosquitto, [("other", "")])
    wait_until(lambda: again.status.written == 1)
    assert [record["topic"] for record in records(tmp_path / "spool")] == ["kept", "other"]


def test_only_the_topics_that_were_asked_for_come(mosquitto, run, tmp_path):  # noqa: F811
    running = run(mosquitto, topics=["music/#", "+/news"]).start()
    publish(mosquitto, [(topic, "") for topic in ("music/a", "x/news", "x/y", "music/b/c")])
    wait_until(lambda: running.status.written == 3)
    assert {record["topic"] for record in records(tmp_path / "spool")} == {
        "music/a", "x/news", "music/b/c",
    }  # fmt: skip


def records_of(folder, who):
    """What the broker's log said of a client, in order."""
    return [
        (record["kind"], record["topic"])
        for record in records(folder)
        if record.get("subscriber") == who
    ]


def test_subscriptions_are_read_from_the_brokers_log(logging_broker, run, tmp_path):
    run(logging_broker, broker_log=True).start()
    spool = tmp_path / "spool"
    with client_of(logging_broker, "alice") as alice:
        alice.subscribe([("music/a", 0), ("news/+/x y", 1)])
        wait_until(lambda: len(records_of(spool, "alice")) == 3)
        alice.unsubscribe("music/a")
        wait_until(lambda: len(records_of(spool, "alice")) == 4)
    wait_until(lambda: len(records_of(spool, "alice")) == 5)
    assert records_of(spool, "alice") == [
        ("clean", None),
        ("subscribe", "music/a"),
        ("subscribe", "news/+/x y"),
        ("unsubscribe", "music/a"),
        ("leave", None),
    ]
    with client_of(logging_broker, "bob", clean=False) as bob:
        bob.subscribe("music/#", 1)
        wait_until(lambda: len(records_of(spool, "bob")) == 2)
    wait_until(lambda: len(records_of(spool, "bob")) == 3)
    assert records_of(spool, "bob") == [("kept", None), ("subscribe", "music/#"), ("leave", None)]
    assert records_of(spool, "fanwise-monitor") == []


def test_a_client_that_takes_over_its_own_name_keeps_what_it_subscribes(
    logging_broker, run, tmp_path
):
    run(logging_broker, broker_log=True).start()
    spool = tmp_path / "spool"
    with client_of(logging_broker, "alice") as first:
        first.subscribe("a", 1)
        wait_until(lambda: ("subscribe", "a") in records_of(spool, "alice"))
        first.on_disconnect = lambda client, *_: client.loop_stop()
        first.reconnect_delay_set(600, 600)
        with client_of(logging_broker, "alice") as second:
            second.subscribe("b", 1)
            wait_until(lambda: ("subscribe", "b") in records_of(spool, "alice"))
            with client_of(logging_broker, "zoe") as zoe:
                zoe.subscribe("z", 1)
                wait_until(lambda: ("subscribe", "z") in records_of(spool, "zoe"))
    assert records_of(spool, "alice")[:4] == [
        ("clean", None), ("subscribe", "a"), ("clean", None), ("subscribe", "b"),
    ]  # fmt: skip


def kinds(folder):
    return [record["kind"] for record in records(folder)]


def test_a_start_of_the_broker_is_told_with_when_we_lost_it(logging_broker, run, tmp_path):
    spool = tmp_path / "spool"
    run(logging_broker, broker_log=True).start()
    # The broker says every ten seconds how long it runs; a line of its log tells what time it is.
    wait_until(lambda: kinds(spool).count("start") >= 1)
    first = [record for record in records(spool) if record["kind"] == "start"]
    assert all(record["topic"] is None for record in first), "there was no connection before"
    with client_of(logging_broker, "alice") as alice:
        alice.subscribe("a", 1)
        wait_until(lambda: ("subscribe", "a") in records_of(spool, "alice"))
        alice.on_disconnect = lambda client, *_: client.loop_stop()
        alice.reconnect_delay_set(600, 600)
        logging_broker.stop()
        logging_broker.start()
    with client_of(logging_broker, "bob") as bob:
        bob.subscribe("b", 1)
        wait_until(lambda: kinds(spool).count("start") > len(first))
        wait_until(lambda: ("subscribe", "b") in records_of(spool, "bob"))
        told = [record for record in records(spool) if record["kind"] == "start"][-1]
        came = {
            record["subscriber"]: record for record in records(spool) if record["kind"] == "clean"
        }
        # A line that came again has when we lost the connection on which it came first.
        alice_came = int(came["alice"]["topic"] or came["alice"]["came"])
        assert alice_came <= int(told["topic"]) < came["bob"]["came"]
        assert float(told["timestamp"]) <= float(came["bob"]["timestamp"])
    assert "gap" not in kinds(spool)


def test_away_for_longer_than_the_broker_keeps_its_log_is_told(logging_broker, run, tmp_path):
    spool = tmp_path / "spool"
    run(logging_broker, broker_log=True).start().stop()
    run(logging_broker, broker_log=True).start().stop()
    assert "gap" not in kinds(spool)
    heard = Heard.read(heard_file(spool))
    replace(heard, wall=heard.wall - 25).write(heard_file(spool))
    again = run(logging_broker, broker_log=True).start()
    wait_until(lambda: ("gap", AWAY) in [(one["kind"], one["topic"]) for one in records(spool)])
    again.stop()
    with client_of(logging_broker, "fanwise-monitor"):
        pass  # a clean session of the same name: the broker forgets the receiver's
    run(logging_broker, broker_log=True).start()
    wait_until(lambda: ("gap", LOST) in [(one["kind"], one["topic"]) for one in records(spool)])


def test_a_broker_that_does_not_tell_how_long_it_runs_is_said(run, tmp_path, monkeypatch, caplog):
    """Whether it was started anew cannot be seen then: every new connection counts as a gap."""
    monkeypatch.setattr(receivers, "MOST_QUESTIONS", 2)
    folder, spool = new_folder(), tmp_path / "spool"
    server = Mosquitto(folder, f"{LOGGED}\nsys_interval 0")
    try:
        server.start()
        first = run(server, broker_log=True).start()
        wait_until(lambda: "does not tell on $SYS/broker/uptime" in caplog.text)
        first.stop()
        assert "gap" not in kinds(spool)
        server.stop()
        server.start()
        again = run(server, broker_log=True).start()
        wait_until(lambda: "gap" in kinds(spool))
        again.stop()
        gaps = [one["topic"] for one in records(spool) if one["kind"] == "gap"]
        assert gaps == [AWAY]
        assert "start" not in kinds(spool)
        assert caplog.text.count("does not tell on") == 2
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def test_time_goes_on_from_what_was_written_before(mosquitto, run, tmp_path):  # noqa: F811
    spool = tmp_path / "spool"
    ahead = time.time() + 3600
    Spool(spool, limit=10**6).write([{"kind": "event", "topic": "a", "timestamp": f"{ahead:.6f}"}])
    run(mosquitto).start()
    publish(mosquitto, [("a", "")])
    wait_until(lambda: len(records(spool)) == 2)
    assert ahead < float(records(spool)[1]["timestamp"]) < ahead + 600


def test_a_receiver_that_always_ends_is_not_started_all_the_time(tmp_path, monkeypatch):
    process = ReceiverProcess(MqttSource(), tmp_path / "spool", limit=1, largest=1)
    monkeypatch.setattr(process, "start", lambda: setattr(process, "starts", process.starts + 1))
    process._process = SimpleNamespace(is_alive=lambda: False, exitcode=1)
    now = [1000.0]
    monkeypatch.setattr(receivers.time, "monotonic", lambda: now[0])
    starts = []
    for _ in range(200):
        assert process.status().trouble.startswith("the receiver ended (1)")
        starts.append(process.starts)
        now[0] += 1.0
    assert starts[:3] == [1, 2, 3]
    assert starts[-1] < 12
    process._status = receivers.ReceiverStatus(is_connected=True)
    before = process.starts
    now[0] += 60
    process.status()
    process.status()
    assert process.starts == before + 2, "once it was connected, it is started at once again"


PARENT = """
import sys, time
from pathlib import Path
from fanwise.service.configuration.model import MqttSource
from fanwise.service.monitor.receiver import ReceiverProcess

if __name__ == "__main__":
    process = ReceiverProcess(
        MqttSource(port=int(sys.argv[1])), Path(sys.argv[2]), limit=10**8, largest=1000
    )
    process.start()
    print(process._process.pid, flush=True)
    time.sleep(600)
"""


def test_the_receiver_ends_when_its_parent_is_killed(mosquitto, tmp_path):  # noqa: F811
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    with subprocess.Popen(
        [sys.executable, str(script), str(mosquitto.port), str(tmp_path / "spool")],
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        try:
            child = int(parent.stdout.readline())
            wait_until(lambda: (tmp_path / "spool").exists())
        finally:
            parent.kill()
    wait_until(lambda: not is_running(child))


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_service_that_does_not_listen_does_not_hold_the_receiver_up(mosquitto, run):  # noqa: F811
    ours, theirs = multiprocessing.Pipe(duplex=False)
    running = run(mosquitto)
    os.set_blocking(theirs.fileno(), False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(theirs.fileno(), b"x" * 512)
    os.set_blocking(theirs.fileno(), True)
    running.receiver._tell(theirs)
    ours.close()
    theirs.close()
