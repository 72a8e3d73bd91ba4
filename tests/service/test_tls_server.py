"""``fanwise serve`` over HTTPS: a real process, and what it refuses to begin with."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys

import httpx
import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from tests.service.api.conftest import Clients
from tests.service.certificates import Authority
from tests.service.services import close_hour, configuration_in, supervise

from fanwise.errors import InputError
from fanwise.service.checking import check_source
from fanwise.service.server import HttpServer
from fanwise.service.tls import trust

PATIENCE = 300.0
CONFIGURATION = """\
state = "{home}/state"

[server]
port = 0
tls_certificate = "{certificate}"
tls_key = "{key}"

[source]
kind = "folder"
publications = "{home}"

[decide]
tau = 2
capacity = "10%"
"""


@pytest.fixture
def ours(tmp_path):
    return Authority(tmp_path)


@pytest.fixture
def clients(tmp_path, ours):
    """A service with one pending decision, served over HTTPS."""
    pair = ours.issue()
    server = {"tls_certificate": pair.certificate, "tls_key": pair.key}
    service = supervise(tmp_path, server=server)
    close_hour(service, 0)
    made = Clients(service)
    yield made
    made.stop()


def ask(clients, verify):
    headers = {"Authorization": f"Bearer {clients.tokens['read']}"}
    url = f"{clients.server.url}/api/v1/decisions"
    return httpx.get(url, headers=headers, verify=verify, timeout=PATIENCE, trust_env=False)


def test_the_api_answers_over_https_to_who_trusts_it(clients, ours, tmp_path):
    assert clients.server.url.startswith("https://127.0.0.1:")
    (decision,) = ask(clients, trust(ours.file)).json()["decisions"]
    assert decision["state"] == "pending"
    stranger = Authority(tmp_path, "theirs")
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        ask(clients, trust(stranger.file))


def test_plain_http_gets_no_answer_on_the_port_of_https(clients, ours):
    port = httpx.URL(clients.server.url).port
    token = clients.tokens["admin"]
    request = f"GET /api/v1/decisions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as plain:
        plain.sendall(request.encode())
        answer = b""
        try:
            while part := plain.recv(4096):
                answer += part
        except ConnectionResetError:
            pass
    assert b"HTTP" not in answer
    assert len(answer) <= 7, "at most an alert of TLS"
    assert ask(clients, trust(ours.file)).status_code == 200, "others are still answered"


@pytest.fixture
def unusable(tmp_path, ours):
    """Certificates and keys that cannot be served with, and what is said of them."""
    pair, other, gone = ours.issue(), ours.issue(), tmp_path / "gone.pem"
    garbage = tmp_path / "garbage.pem"
    garbage.write_text("garbage\n")
    locked = tmp_path / "locked.pem"
    key = load_pem_private_key(pair.key.read_bytes(), password=None)
    locked.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"w0rd"))
    )
    missing = "cannot be read: No such file or directory"
    without = "holds no key in PEM without a password"
    return [
        (pair.certificate, other.key, f"server.tls_key: {other.key} is not the key of the "
         f"certificate in {pair.certificate}"),
        (gone, pair.key, f"server.tls_certificate: {gone} {missing}"),
        (pair.certificate, gone, f"server.tls_key: {gone} {missing}"),
        (garbage, pair.key, f"server.tls_certificate: {garbage} holds no certificate in PEM"),
        (pair.certificate, garbage, f"server.tls_key: {garbage} {without}"),
        (pair.certificate, locked, f"server.tls_key: {locked} {without}"),
    ]  # fmt: skip


def test_what_cannot_be_served_with_is_one_line_that_names_the_setting(unusable, tmp_path):
    for certificate, key, words in unusable:
        server = {"tls_certificate": certificate, "tls_key": key, "port": 0}
        configuration = configuration_in(tmp_path, server=server)
        for refuse in (check_source, lambda found: HttpServer(None, found.server)):
            with pytest.raises(InputError) as caught:
                refuse(configuration)
            assert str(caught.value) == words


def test_an_authority_of_the_input_is_read_before_anything_is_started(tmp_path, ours):
    source = {"kind": "mqtt", "tls_ca": tmp_path / "ca.pem"}
    decide = {"tau": 2, "capacity": 20}
    configuration = configuration_in(tmp_path).model_validate({"source": source, "decide": decide})
    with pytest.raises(InputError, match=r"source\.tls_ca: .*/ca\.pem cannot be read: No such"):
        check_source(configuration)
    (tmp_path / "ca.pem").write_text("garbage\n")
    with pytest.raises(InputError, match=r"source\.tls_ca: .*/ca\.pem holds no certificate"):
        check_source(configuration)
    (tmp_path / "ca.pem").write_bytes(ours.file.read_bytes())
    check_source(configuration)


def fanwise(*arguments):
    return [sys.executable, "-m", "fanwise", *map(str, arguments)]


def test_serve_ends_with_status_2_and_begins_nothing(unusable, tmp_path):
    certificate, key, words = unusable[0]
    path = tmp_path / "fanwise.toml"
    path.write_text(CONFIGURATION.format(home=tmp_path, certificate=certificate, key=key))
    for more in ((), ("--check",)):
        done = subprocess.run(
            fanwise("serve", "--config", path, *more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.endswith(f": {words}\n")
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / "state").exists()


@pytest.mark.spark
def test_a_service_over_https_and_its_command(ours, tmp_path):
    pair = ours.issue()
    path = tmp_path / "fanwise.toml"
    path.write_text(CONFIGURATION.format(home=tmp_path, certificate=pair.certificate, key=pair.key))

    def run(*arguments):
        return subprocess.run(
            fanwise(*arguments), capture_output=True, text=True, check=False, timeout=PATIENCE
        )

    token = run("serve", "token", "create", "--role", "read", "--config", path).stdout.strip()
    with (tmp_path / "log").open("wb") as log:
        service = subprocess.Popen(
            fanwise("serve", "--config", path, "--json"),
            stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
    try:
        line = service.stdout.readline()
        assert line, (tmp_path / "log").read_text()[-3000:]
        url = json.loads(line)["url"]
        assert url.startswith("https://")
        asked = ("decisions", "list", "--url", url, "--token", token, "--json")
        done = run(*asked, "--ca", ours.file)
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout) == {"decisions": []}
        refused = run(*asked)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr.count("\n") == 1
        assert "its certificate is not trusted: " in refused.stderr
        service.send_signal(signal.SIGTERM)
        assert service.wait(PATIENCE) == 128 + signal.SIGTERM
    finally:
        service.kill()
        service.wait()
        service.stdout.close()
    assert "Traceback" not in (tmp_path / "log").read_text()
    assert token not in (tmp_path / "log").read_text()
