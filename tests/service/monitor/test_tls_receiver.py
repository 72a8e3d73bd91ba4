"""The receiver over TLS: it says what is wrong with a certificate, goes on trying, and recovers."""

from __future__ import annotations

import contextlib
import threading
import time

import paho.mqtt.client as mqtt
import pytest
from paho.mqtt.enums import CallbackAPIVersion
from tests.service.certificates import Authority
from tests.service.monitor.test_receiver import records
from tests.service.servers import free_port, tls_mosquitto  # noqa: F401

from fanwise.service.configuration.model import MqttSource
from fanwise.service.monitor.receiver import ReceiverProcess

PATIENCE = 120.0


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what()
        time.sleep(0.05)


@pytest.fixture
def ours(tmp_path):
    return Authority(tmp_path)


@pytest.fixture
def theirs(tmp_path):
    return Authority(tmp_path, "theirs")


@pytest.fixture
def receive(tmp_path):
    """Start receivers in processes of their own."""
    started = []

    def start(port, tls_ca, **more):
        source = MqttSource(port=port, tls_ca=tls_ca, broker_log=False, **more)
        started.append(ReceiverProcess(source, tmp_path / "spool", limit=10**8, largest=1000))
        started[-1].start()
        return started[-1]

    yield start
    for each in started:
        each.stop()


def wait_for_trouble(receiver, words):
    """Return what a receiver says of itself once the words are in it."""
    wait_until(lambda: words in receiver.status().trouble, lambda: receiver.status().trouble)
    text = receiver.last_status.trouble
    assert "\n" not in text
    assert not receiver.last_status.is_connected
    return text


def wait_for_connection(receiver):
    wait_until(lambda: receiver.status().is_connected, lambda: receiver.status().trouble)
    assert receiver.last_status.trouble == ""
    assert receiver.starts == 1, "it went on trying by itself"


@contextlib.contextmanager
def client_of(port, authority):
    client = mqtt.Client(CallbackAPIVersion.VERSION2)
    client.tls_set(str(authority.file))
    connected = threading.Event()
    client.on_connect = lambda *_: connected.set()
    client.connect("127.0.0.1", port)
    client.loop_start()
    assert connected.wait(PATIENCE)
    try:
        yield client
    finally:
        client.disconnect()
        client.loop_stop()


def publish(port, authority, topic):
    with client_of(port, authority) as client:
        sent = client.publish(topic, b"{}", qos=1)
        sent.wait_for_publish(PATIENCE)
        assert sent.is_published()


def wait_for_topics(folder, topics):
    def arrived():
        return [one["topic"] for one in records(folder / "spool")]

    wait_until(lambda: arrived() == topics, arrived)


def test_messages_arrive_over_tls(ours, tls_mosquitto, receive, tmp_path):  # noqa: F811
    broker = tls_mosquitto(*ours.issue())
    wait_for_connection(receive(broker.port, ours.file))
    publish(broker.port, ours, "a/b")
    wait_for_topics(tmp_path, ["a/b"])


def test_a_broker_of_another_authority_until_its_certificate_is_mended(
    ours,
    theirs,
    tls_mosquitto,  # noqa: F811
    receive,
    tmp_path,
):
    broker = tls_mosquitto(*theirs.issue())
    receiver = receive(broker.port, ours.file)
    assert wait_for_trouble(receiver, "certificate") == (
        "no connection to the broker: its certificate is not trusted: it comes from no authority "
        f"in {ours.file}; set tls_ca to the PEM file of its authority; trying again"
    )
    for pair, words in [
        (ours.issue("elsewhere.test"), "certificate is for another name than 127.0.0.1"),
        (ours.issue(is_expired=True), "certificate has expired"),
    ]:
        broker.stop()
        broker.use(*pair)
        broker.start()
        wait_for_trouble(receiver, words)
    broker.stop()
    wait_for_trouble(receiver, "Connection refused")
    broker.use(*ours.issue())
    broker.start()
    wait_for_connection(receiver)
    publish(broker.port, ours, "after")
    wait_for_topics(tmp_path, ["after"])


def test_an_authority_that_is_replaced_is_trusted_and_the_old_one_is_not(
    ours,
    theirs,
    tls_mosquitto,  # noqa: F811
    receive,
    tmp_path,
):
    file = tmp_path / "ca.pem"
    file.write_bytes(theirs.file.read_bytes())
    broker = tls_mosquitto(*ours.issue())
    receiver = receive(broker.port, file)
    wait_for_trouble(receiver, "certificate is not trusted")
    file.write_bytes(ours.file.read_bytes())
    wait_for_connection(receiver)
    file.write_bytes(theirs.file.read_bytes())
    broker.stop()
    broker.start()
    wait_for_trouble(receiver, "certificate is not trusted")


def test_an_authority_that_cannot_be_read_is_said_until_it_can(
    ours,
    tls_mosquitto,  # noqa: F811
    receive,
    tmp_path,
):
    file = tmp_path / "ca.pem"
    broker = tls_mosquitto(*ours.issue())
    receiver = receive(broker.port, file)
    assert wait_for_trouble(receiver, "ca.pem") == (
        f"no connection to the broker: tls_ca: {file} cannot be read: No such file or directory; "
        "trying again"
    )
    file.write_text("garbage\n")
    wait_for_trouble(receiver, f"tls_ca: {file} holds no certificate in PEM")
    file.write_bytes(ours.file.read_bytes())
    wait_for_connection(receiver)
    file.unlink()
    broker.stop()
    wait_for_trouble(receiver, "no connection to the broker")
    broker.start()
    wait_for_trouble(receiver, "cannot be read: No such file or directory")
    file.write_bytes(ours.file.read_bytes())
    wait_for_connection(receiver)


def test_a_password_that_cannot_be_read_is_said_until_it_can(
    ours,
    tls_mosquitto,  # noqa: F811
    receive,
    tmp_path,
):
    file = tmp_path / "word"
    broker = tls_mosquitto(*ours.issue())
    receiver = receive(broker.port, ours.file, username="ann", password_file=file)
    wait_for_trouble(receiver, f"password_file: {file} cannot be read: No such file or directory")
    file.write_bytes(b"w\xff")
    wait_for_trouble(receiver, f"password_file: {file} is not text in UTF-8")
    file.write_text("w0rd\n")
    wait_for_connection(receiver)


def test_a_broker_that_is_away_is_said(ours, receive):
    receiver = receive(free_port(), ours.file)
    assert "Connection refused" in wait_for_trouble(receiver, "no connection to the broker: ")
