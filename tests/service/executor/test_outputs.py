"""Outputs at their real other ends: files, a web server, a Mosquitto broker."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import socket
import subprocess
import sys
import threading
from dataclasses import replace

import pytest
from tests.service.decisions import HOUR, NOON, make_hash
from tests.service.executor.receivers import Clock, Subscriber
from tests.service.servers import Mosquitto, find_program, free_port

from fanwise.service.executor.errors import OutputError
from fanwise.service.executor.settings import FileOutput, MqttOutput, WebhookOutput
from fanwise.service.executor.to_file import ToFile, replace_file
from fanwise.service.executor.to_mqtt import ToMqtt
from fanwise.service.executor.to_webhook import ToWebhook
from fanwise.service.records import Window
from fanwise.service.store.rows import Announcement

HASH = make_hash("x")
TOLD = Announcement(
    epoch=7,
    hash=HASH,
    window=Window(NOON, NOON + HOUR),
    served=("a/b", "line\nbreak", "naïve \\ 日本"),
    offloaded=4,
    kind="apply",
    at=NOON,
    key=f"{HASH}-7-out",
    before_hash=make_hash("y"),
    before_epoch=6,
    before=("a/b", "old"),
)
NOTHING = replace(TOLD, hash=None, window=None, served=(), offloaded=None, epoch=8)
WHOLE = {
    "format": "fanwise.decision",
    "version": 1,
    "hash": HASH,
    "epoch": 7,
    "kind": "apply",
    "at": "2023-11-15T12:00:00Z",
    "window": {"start": "2023-11-15T12:00:00Z", "end": "2023-11-15T13:00:00Z"},
    "served": ["a/b", "line\nbreak", "naïve \\ 日本"],
    "offloaded": 4,
}


def test_a_file_has_the_whole_decision(tmp_path):
    output = ToFile(FileOutput(path=tmp_path / "now.json", text_path=tmp_path / "now.txt"))
    for epoch in (7, 8):
        output.deliver(replace(TOLD, epoch=epoch))
        assert json.loads((tmp_path / "now.json").read_bytes()) == WHOLE | {"epoch": epoch}
    lines = (tmp_path / "now.txt").read_text().split("\n")
    assert lines == ["a/b", "line\\nbreak", "naïve \\\\ 日本", ""]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["now.json", "now.txt"]
    output.deliver(NOTHING)
    output.deliver(NOTHING)
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_somebody_else_stays(tmp_path):
    (tmp_path / "now.json").write_text('{"mine": true}')
    with pytest.raises(OutputError, match="holds something else") as caught:
        ToFile(FileOutput(path=tmp_path / "now.json")).deliver(TOLD)
    assert not caught.value.may_pass
    assert (tmp_path / "now.json").read_text() == '{"mine": true}'
    (tmp_path / "now.json").write_text("")
    ToFile(FileOutput(path=tmp_path / "now.json")).deliver(TOLD)


def test_permissions_of_a_file_stay(tmp_path):
    output = ToFile(FileOutput(path=tmp_path / "now.json"))
    output.deliver(TOLD)
    os.chmod(tmp_path / "now.json", 0o640)
    output.deliver(TOLD)
    assert (tmp_path / "now.json").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("place", ["nowhere/now.json", "file/now.json", "folder"])
def test_a_place_that_cannot_be_written_may_be_later(tmp_path, place):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError, match="cannot be written") as caught:
        ToFile(FileOutput(path=tmp_path / place)).deliver(TOLD)
    assert caught.value.may_pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_what_a_killed_writer_left_is_removed(tmp_path):
    program = (
        "import os, signal, sys, pathlib; from fanwise.service.executor import to_file;"
        "to_file.os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL);"
        "to_file.replace_file(pathlib.Path(sys.argv[1]), b'new')"
    )
    path = tmp_path / "now.txt"
    path.write_bytes(b"old")
    killed = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert killed.returncode == -9
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2
    replace_file(path, b"newer")
    assert [one.read_bytes() for one in tmp_path.iterdir()] == [b"newer"]


def test_readers_never_see_half_a_file(tmp_path):
    path = tmp_path / "now.txt"
    contents = {bytes([letter]) * 300_000 for letter in b"ab"}
    replace_file(path, next(iter(contents)))
    stop, seen = threading.Event(), set()

    def read():
        while not stop.is_set():
            seen.add(path.read_bytes())

    thread = threading.Thread(target=read)
    thread.start()
    for content in [*contents] * 10:
        replace_file(path, content)
    stop.set()
    thread.join()
    assert seen <= contents


@pytest.fixture
def signed(receiver, tmp_path):
    (tmp_path / "secret").write_bytes(b"s3cret\n")
    settings = WebhookOutput(url=receiver.url, secret_file=tmp_path / "secret", timeout=5)
    return ToWebhook(settings, Clock().now)


def test_a_webhook_gets_signed_json(receiver, signed):
    signed.deliver(TOLD)
    ((headers, body),) = receiver.posts
    assert json.loads(body) == WHOLE
    assert headers["content-type"] == "application/json"
    assert headers["idempotency-key"] == TOLD.key
    seconds, signature = (part.split("=")[1] for part in headers["fanwise-signature"].split(","))
    assert int(seconds) == NOON // 1_000_000
    wanted = hmac.new(b"s3cret", seconds.encode() + b"." + body, hashlib.sha256)
    assert signature == wanted.hexdigest()
    signed.deliver(NOTHING)
    last = json.loads(receiver.posts[-1][1])
    assert (last["hash"], last["served"]) == (None, None)


def test_secrets_may_come_from_the_environment_and_change(receiver, monkeypatch):
    settings = WebhookOutput(url=receiver.url, secret_variable="HOOK_SECRET")
    output = ToWebhook(settings, Clock().now)
    with pytest.raises(OutputError, match="no secret in the environment variable HOOK_SECRET"):
        output.deliver(TOLD)
    signatures = []
    for secret in ("one", "two"):
        monkeypatch.setenv("HOOK_SECRET", secret)
        output.deliver(TOLD)
        signatures.append(receiver.posts[-1][0]["fanwise-signature"])
    assert len(set(signatures)) == 2


def test_a_webhook_without_a_secret_is_not_signed(receiver):
    ToWebhook(WebhookOutput(url=receiver.url), Clock().now).deliver(TOLD)
    assert "fanwise-signature" not in receiver.posts[0][0]


@pytest.mark.parametrize(
    ("status", "may_pass"),
    [(500, True), (503, True), (429, True), (404, True), (302, True), (400, False), (413, False)],
)
def test_answers_of_a_webhook(receiver, signed, status, may_pass):
    receiver.answers.append(status)
    receiver.headers = {"Retry-After": "7", "Location": receiver.url}
    with pytest.raises(OutputError, match=f"answered {status}") as caught:
        signed.deliver(TOLD)
    assert caught.value.may_pass == may_pass
    assert caught.value.wait == 7
    assert len(receiver.posts) == 1, "redirects are not followed"


def test_failures_of_a_webhook_are_one_line_without_secrets(receiver, signed, caplog):
    caplog.set_level(logging.DEBUG)
    receiver.answers += [0, 500]
    said = []
    for _ in range(2):
        with pytest.raises(OutputError) as caught:
            signed.deliver(TOLD)
        said.append(str(caught.value))
    away = ToWebhook(WebhookOutput(url=f"http://127.0.0.1:{free_port()}/?key=hidden"), Clock().now)
    with pytest.raises(OutputError, match="cannot be reached") as caught:
        away.deliver(TOLD)
    said.append(str(caught.value))
    assert said[0] == "127.0.0.1: broke off the connection or does not speak HTTP"
    for text in (*said, caplog.text):
        assert "s3cret" not in text
        assert "hidden" not in text


def test_a_silent_webhook_times_out():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        output = ToWebhook(WebhookOutput(url=url, timeout=0.2), Clock().now)
        with pytest.raises(OutputError, match=r"did not answer within 0\.2 seconds"):
            output.deliver(TOLD)


def test_what_is_too_large_is_not_sent(receiver):
    output = ToWebhook(WebhookOutput(url=receiver.url, largest_body=100), Clock().now)
    with pytest.raises(OutputError, match="largest_body is 100") as caught:
        output.deliver(TOLD)
    assert not caught.value.may_pass
    assert receiver.posts == []


def test_a_broker_keeps_the_whole_decision_and_passes_on_changes(mosquitto):
    output = ToMqtt(MqttOutput(port=mosquitto.port))
    with Subscriber(mosquitto.port, "fanwise/#") as listener:
        output.deliver(TOLD)
        whole, delta = listener.next(), listener.next()
    assert (whole.topic, whole.qos) == ("fanwise/decision", 1)
    assert json.loads(whole.payload) == WHOLE
    assert delta.topic == "fanwise/decision/delta"
    changes = json.loads(delta.payload)
    assert changes["on"] == ["line\nbreak", "naïve \\ 日本"]
    assert changes["off"] == ["old"]
    assert (changes["from_epoch"], changes["epoch"], changes["hash"]) == (6, 7, HASH)
    with Subscriber(mosquitto.port, "fanwise/#") as late:
        retained = late.next()
        assert (retained.topic, retained.retain) == ("fanwise/decision", True)
        assert late.messages.empty(), "changes are not retained"
    output.deliver(NOTHING)
    output.deliver(replace(TOLD, before=None))
    with Subscriber(mosquitto.port, "fanwise/#") as later:
        assert json.loads(later.next().payload) == WHOLE


def test_a_decision_taken_back_leaves_nothing_at_the_broker(mosquitto):
    output = ToMqtt(MqttOutput(port=mosquitto.port, topic="t", delta_topic=""))
    output.deliver(TOLD)
    output.deliver(NOTHING)
    with Subscriber(mosquitto.port, "t", "sentinel") as listener:
        ToMqtt(MqttOutput(port=mosquitto.port, topic="sentinel", delta_topic="")).deliver(TOLD)
        assert listener.next().topic == "sentinel"


def test_a_large_decision_passes_through_a_broker(mosquitto):
    served = tuple(f"topic/{index}" for index in range(50_000))
    ToMqtt(MqttOutput(port=mosquitto.port)).deliver(replace(TOLD, served=served))
    with Subscriber(mosquitto.port, "fanwise/decision") as listener:
        assert json.loads(listener.next().payload)["served"] == list(served)


def test_a_broker_that_is_away_silent_or_refuses(tmp_path):
    away = MqttOutput(port=free_port(), timeout=2)
    with pytest.raises(OutputError, match="cannot be reached"):
        ToMqtt(away).deliver(TOLD)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = MqttOutput(port=silent.getsockname()[1], timeout=0.3)
        with pytest.raises(OutputError, match=r"did not answer within 0\.3 seconds"):
            ToMqtt(settings).deliver(TOLD)
    (tmp_path / "acl").write_text("topic read fanwise/#\n")
    (tmp_path / "acl").chmod(0o700)
    refusing = Mosquitto(tmp_path, f"acl_file {tmp_path}/acl")
    refusing.start()
    try:
        with pytest.raises(OutputError, match="refused the message: Not authorized"):
            ToMqtt(MqttOutput(port=refusing.port, timeout=5)).deliver(TOLD)
    finally:
        refusing.stop()


def test_a_broker_may_want_a_password(tmp_path, monkeypatch):
    (tmp_path / "users").write_text("")
    (tmp_path / "users").chmod(0o700)
    subprocess.run(
        [find_program("mosquitto_passwd"), "-b", str(tmp_path / "users"), "ann", "w0rd"],
        check=True,
    )
    broker = Mosquitto(tmp_path, f"password_file {tmp_path}/users")
    text = (tmp_path / "mosquitto.conf").read_text().replace("allow_anonymous true", "")
    (tmp_path / "mosquitto.conf").write_text(text)
    broker.start()
    try:
        settings = MqttOutput(port=broker.port, username="ann", password_variable="MQTT_WORD")
        monkeypatch.setenv("MQTT_WORD", "wrong")
        with pytest.raises(OutputError, match="refused the connection") as caught:
            ToMqtt(settings).deliver(TOLD)
        assert "wrong" not in str(caught.value)
        monkeypatch.setenv("MQTT_WORD", "w0rd")
        ToMqtt(settings).deliver(TOLD)
    finally:
        broker.stop()
