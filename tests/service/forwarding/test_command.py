"""``fanwise serve forward``: its configuration, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tomllib

import pytest
from tests.service.certificates import Authority
from tests.service.forwarding.forwarders import Setting, wait_until
from tests.service.servers import tls_mosquitto  # noqa: F401

from fanwise.client.wire import Place
from fanwise.service.configuration.template import write_template
from fanwise.service.forwarding.settings import ForwarderConfiguration
from fanwise.service.tls import trust


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "fanwise", "serve", "forward", *map(str, arguments)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_commented_file_is_valid_and_has_every_setting(tmp_path):
    path = tmp_path / "forwarder.toml"
    assert run("--init", path).returncode == 0
    done = run("--config", path, "--check", "--json")
    assert (done.returncode, json.loads(done.stdout)["valid"]) == (0, True)
    again = run("--init", path)
    assert (again.returncode, "is there already" in again.stderr) == (2, True)
    text = write_template(ForwarderConfiguration)
    for name in ("name", "undecided", "topics", "folder", "keep", "limit"):
        assert f"{name} = " in text


def test_all_mistakes_are_told_at_once(tmp_path):
    path = tmp_path / "forwarder.toml"
    path.write_text('[ingress]\ntopics = ["a/#", "a/b"]\n[log]\nkeeep = "1m"\n[offload]\n')
    done = run("--config", path, "--check")
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 3
    assert "'a/#' and 'a/b' overlap" in done.stderr
    assert "did you mean keep?" in done.stderr
    assert "offload.folder is missing" in done.stderr
    done = run("--config", path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "fanwise serve forward --config" in done.stderr


def test_a_network_that_is_none_is_a_mistake(tmp_path):
    path = tmp_path / "forwarder.toml"
    path.write_text('[offload]\nfolder = "network"\n')
    done = run("--config", path, "--check")
    assert (done.returncode, "ports.csv: cannot be read" in done.stderr) == (2, True)


@pytest.fixture
def setting():
    with Setting() as setting:
        setting.configure({"cats": ("n0",)})
        yield setting


def test_a_second_one_and_a_damaged_state_are_refused(setting):
    setting.start()
    second = run("--config", setting.configuration)
    assert (second.returncode, "another forwarder uses this log" in second.stderr) == (2, True)
    assert setting.kill(signal.SIGINT) == 130
    (setting.home / "state" / "decision.json").write_text("nonsense")
    done = run("--config", setting.configuration)
    assert done.returncode == 2
    assert "remove it" in done.stderr
    assert "Traceback" not in setting.log.read_text() + done.stderr


def test_it_trusts_brokers_by_their_authority(setting, tmp_path, tls_mosquitto):  # noqa: F811
    ours = Authority(tmp_path)
    pair = ours.issue()
    back_end = tls_mosquitto(pair.certificate, pair.key)
    text = setting.configuration.read_text()
    assert tomllib.loads(text)["undecided"] == "offload"
    text = text.replace('undecided = "offload"', 'undecided = "back-end"')
    text = text.replace(f"port = {setting.back_end.port}", f"port = {back_end.port}")
    setting.configuration.write_text(text)
    setting.start()
    wait_until(lambda: setting.state()["away"] == ["back-end"], "it talks to a broker that is TLS")
    setting.kill()
    text = text.replace(
        f"port = {back_end.port}", f'port = {back_end.port}\ntls_ca = "{ours.file}"'
    )
    setting.configuration.write_text(text)
    setting.start()
    setting.publish("news", [b"x"] * 3)
    wait_until(lambda: setting.state()["acknowledged"]["back-end"] == 3, "it does not get through")
    place = Place("127.0.0.1", back_end.port, tls=trust(ours.file))
    from fanwise.client import Client

    with Client(place, forwarders=["main"]) as client:
        client.subscribe("news")
        setting.publish("news", [b"%d" % one for one in range(100)])
        assert [client.get(30).payload for _ in range(100)] == [b"%d" % one for one in range(100)]
