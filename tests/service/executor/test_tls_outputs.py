"""Outputs over TLS, at real servers: who is trusted, and what is said of who is not."""

from __future__ import annotations

import json
import logging
import socket
import threading

import pytest
from tests.service.certificates import Authority
from tests.service.executor.receivers import Clock, Receiver, Subscriber
from tests.service.executor.test_outputs import TOLD, WHOLE
from tests.service.servers import tls_mosquitto  # noqa: F401

from fanwise.service.executor.errors import OutputError
from fanwise.service.executor.settings import MqttOutput, WebhookOutput
from fanwise.service.executor.to_mqtt import ToMqtt
from fanwise.service.executor.to_webhook import ToWebhook

PATIENCE = 60.0


@pytest.fixture
def ours(tmp_path):
    return Authority(tmp_path)


@pytest.fixture
def theirs(tmp_path):
    return Authority(tmp_path, "theirs")


@pytest.fixture
def serve(request):
    """Start a web server with a certificate."""

    def start(pair):
        receiver = Receiver(pair.context)
        receiver.__enter__()
        request.addfinalizer(receiver.__exit__)
        return receiver

    return start


@pytest.fixture
def hook(tmp_path):
    """Make an output to an address, signed."""
    (tmp_path / "secret").write_bytes(b"s3cret\n")

    def make(url, tls_ca=None):
        settings = WebhookOutput(
            url=url, secret_file=tmp_path / "secret", timeout=PATIENCE, tls_ca=tls_ca
        )
        return ToWebhook(settings, Clock().now)

    return make


def refusal(output):
    """Return what is said of a delivery that is refused, but may pass later."""
    with pytest.raises(OutputError) as caught:
        output.deliver(TOLD)
    assert caught.value.may_pass
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_a_webhook_of_our_authority_is_told(ours, serve, hook):
    receiver = serve(ours.issue())
    hook(receiver.url, ours.file).deliver(TOLD)
    assert receiver.bodies == [WHOLE]


def test_a_webhook_that_is_not_trusted_gets_nothing(ours, theirs, serve, hook, caplog):
    caplog.set_level(logging.DEBUG)
    ours_up, elsewhere, expired = map(
        serve, (ours.issue(), ours.issue("elsewhere.test"), ours.issue(is_expired=True))
    )
    said = {
        "the usual": refusal(hook(ours_up.url)),
        "theirs": refusal(hook(ours_up.url, theirs.file)),
        "elsewhere": refusal(hook(elsewhere.url, ours.file)),
        "expired": refusal(hook(expired.url, ours.file)),
    }
    of = "127.0.0.1: its certificate"
    assert said["the usual"].startswith(f"{of} is not trusted: ")
    assert said["the usual"].endswith("; set tls_ca to the PEM file of its authority")
    assert said["theirs"] == (
        f"{of} is not trusted: it comes from no authority in {theirs.file}; "
        "set tls_ca to the PEM file of its authority"
    )
    assert said["elsewhere"] == f"{of} is for another name than 127.0.0.1"
    assert said["expired"] == f"{of} has expired"
    assert [receiver.posts for receiver in (ours_up, elsewhere, expired)] == [[], [], []]
    for text in (*said.values(), caplog.text):
        assert "s3cret" not in text
        assert "hidden" not in text
        assert "/hook" not in text


def test_a_webhook_that_does_not_speak_tls(receiver, hook, ours):
    url = receiver.url.replace("http:", "https:")
    assert refusal(hook(url, ours.file)) == "127.0.0.1: does not speak TLS there"
    assert receiver.posts == []


def make_outputs(hook, ca):
    return [
        hook("https://127.0.0.1:1/hook?key=hidden", ca),
        ToMqtt(MqttOutput(port=1, tls_ca=ca, timeout=PATIENCE)),
    ]


def test_an_authority_that_cannot_be_read_is_named(hook, tmp_path):
    (tmp_path / "garbage.pem").write_text("-----BEGIN CERTIFICATE-----\nnone\n")
    (tmp_path / "empty.pem").write_text("")
    (tmp_path / "folder.pem").mkdir()
    cases = {
        "gone.pem": "cannot be read: No such file or directory",
        "folder.pem": "cannot be read: Is a directory",
        "garbage.pem": "holds no certificate in PEM",
        "empty.pem": "holds no certificate in PEM",
    }
    for name, words in cases.items():
        for output in make_outputs(hook, tmp_path / name):
            assert refusal(output) == f"tls_ca: {tmp_path / name} {words}"


def test_an_authority_may_be_replaced_while_we_run(ours, theirs, serve, hook, tmp_path):
    receiver = serve(ours.issue())
    (tmp_path / "ca.pem").write_bytes(theirs.file.read_bytes())
    output = hook(receiver.url, tmp_path / "ca.pem")
    refusal(output)
    (tmp_path / "ca.pem").write_bytes(ours.file.read_bytes())
    output.deliver(TOLD)
    assert len(receiver.posts) == 1


def test_a_broker_of_our_authority_is_told(ours, tls_mosquitto):  # noqa: F811
    broker = tls_mosquitto(*ours.issue())
    with Subscriber(broker.port, "fanwise/decision", tls_ca=ours.file) as listener:
        ToMqtt(MqttOutput(port=broker.port, tls_ca=ours.file, timeout=PATIENCE)).deliver(TOLD)
        assert json.loads(listener.next().payload) == WHOLE


@pytest.mark.parametrize(
    ("authority", "host", "is_expired", "words"),
    [
        ("theirs", "127.0.0.1", False, "is not trusted: it comes from no authority in {file}; "
         "set tls_ca to the PEM file of its authority"),
        ("ours", "elsewhere.test", False, "is for another name than 127.0.0.1"),
        ("ours", "127.0.0.1", True, "has expired"),
    ],
)  # fmt: skip
def test_a_broker_that_is_not_trusted_gets_nothing(
    ours,
    theirs,
    tls_mosquitto,  # noqa: F811
    monkeypatch,
    authority,
    host,
    is_expired,
    words,
):
    signing = {"ours": ours, "theirs": theirs}[authority]
    broker = tls_mosquitto(*signing.issue(host, is_expired=is_expired))
    monkeypatch.setenv("MQTT_WORD", "w0rd")
    settings = MqttOutput(
        port=broker.port,
        tls_ca=ours.file,
        username="ann",
        password_variable="MQTT_WORD",
        timeout=PATIENCE,
    )
    said = refusal(ToMqtt(settings))
    place = f"the broker at 127.0.0.1:{broker.port}"
    assert said == f"{place} cannot be reached: its certificate {words.format(file=ours.file)}"
    assert "w0rd" not in said
    log = (broker.folder / "log").read_text()
    assert "New client connected" not in log


def test_a_broker_that_does_not_speak_tls(ours, mosquitto):
    said = refusal(ToMqtt(MqttOutput(port=mosquitto.port, tls_ca=ours.file, timeout=PATIENCE)))
    assert said.startswith(f"the broker at 127.0.0.1:{mosquitto.port} cannot be reached: ")


def test_a_broker_that_is_silent_in_the_middle_of_tls(ours):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = MqttOutput(port=silent.getsockname()[1], tls_ca=ours.file, timeout=0.3)
        said = refusal(ToMqtt(settings))
    assert said.endswith("did not answer within 0.3 seconds")
    assert not [one for one in threading.enumerate() if one.name.startswith("paho")]
