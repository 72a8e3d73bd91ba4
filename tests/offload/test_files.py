"""The folder of a network: read back as written; options; units and containers."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess

import numpy as np
import pytest
import yaml
from tests.offload.networks import plan_for, random_interests

from fanwise.errors import InputError
from fanwise.offload.export import export_network
from fanwise.offload.files import compare, read_generation, read_network
from fanwise.offload.hosting import COMPOSE_FILE, LABEL, UNIT_FILE
from fanwise.offload.options import Options, Passwords, Tls, read_options


@pytest.fixture(scope="module")
def wanted():
    return plan_for(random_interests(np.random.default_rng(2), num_nodes=5), max_degree=2)


def test_a_network_is_read_back_as_written(wanted, tmp_path):
    done = export_network(wanted.plan, wanted.workload, tmp_path / "n")
    assert read_network(tmp_path / "n") == done.folder
    assert read_generation(tmp_path / "n") == done.folder.generation
    header = json.loads((tmp_path / "n" / "network.json").read_text())
    assert header["format"] == "fanwise.network"
    assert header["plan"] == wanted.plan.id
    present = {path.name for path in (tmp_path / "n").iterdir()}
    assert present == {*header["files"], "network.json"}
    assert (tmp_path / "n" / "ports.csv").read_text().startswith("node,host,port")
    assert (tmp_path / "n" / "entries.csv").read_text().startswith("topic,component,node")


def test_every_broker_has_its_configuration(wanted, tmp_path):
    done = export_network(wanted.plan, wanted.workload, tmp_path / "n")
    for node in done.folder.network.nodes.values():
        text = (tmp_path / "n" / f"{node.file}.conf").read_text()
        assert f"listener {node.port} {node.host}\n" in text
        own = list(done.folder.network.bridges_at(node.name))
        assert text.count("connection ") == len(own)
        assert text.count(" both 1\n") == sum(len(bridge.topics) for bridge in own)


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("network.json", "{", "cannot be read"),
        ("network.json", '{"format": "x"}', "its format is not"),
        ("network.json", '{"format": "fanwise.network", "version": 2}', "version"),
        ("ports.csv", "a,b\n", "its columns must be node, host, port, file"),
        ("ports.csv", "node,host,port,file\nx,y\n", "row 2 has 2 fields"),
        ("ports.csv", "node,host,port,file\nx,y,z,w\n", "'z' where a number"),
        ("bridges.csv", "node,other,topic\nx,y,z\n", "has a node that ports.csv has not"),
        ("entries.csv", b"\xff", "cannot be read"),
        ("edge-0.conf", None, "cannot be read"),
        ("network.json", None, "is not an offload network"),
    ],
)
def test_damaged_folders_are_refused(wanted, tmp_path, file, text, complaint):
    export_network(wanted.plan, wanted.workload, tmp_path / "n")
    path = tmp_path / "n" / file
    if text is None:
        path.unlink()
    else:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=complaint):
        read_network(tmp_path / "n")


def test_containers_are_made_anew_if_their_configuration_is(wanted, tmp_path):
    export_network(wanted.plan, wanted.workload, tmp_path / "n")
    first = yaml.safe_load((tmp_path / "n" / COMPOSE_FILE).read_text())
    assert set(first["services"]) == set(wanted.interests) == set(first["volumes"])
    for name, service in first["services"].items():
        assert f"./{name}.conf:/mosquitto/config/mosquitto.conf:ro" in service["volumes"]
        assert service["network_mode"] == "host"
    changed = plan_for(wanted.interests | {"edge-1": {"t/1"}}, max_degree=2)
    before = read_network(tmp_path / "n")
    done = export_network(changed.plan, changed.workload, tmp_path / "n", overwrite=True)
    second = yaml.safe_load((tmp_path / "n" / COMPOSE_FILE).read_text())
    differing = {
        name
        for name, service in second["services"].items()
        if service["labels"][LABEL] != first["services"][name]["labels"][LABEL]
    }
    assert differing == set(done.change.restarted) == set(compare(before, done.folder).restarted)
    assert differing


def test_systemd_takes_the_unit(wanted, tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed: apt-get install systemd")
    export_network(wanted.plan, wanted.workload, tmp_path / "n")
    unit = tmp_path / UNIT_FILE
    shutil.copy(tmp_path / "n" / UNIT_FILE, unit)
    instance = tmp_path / "fanwise-edge@edge-1.service"
    instance.symlink_to(unit)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(instance)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    complaints = [line for line in done.stderr.splitlines() if "fanwise-edge" in line]
    assert not complaints


def test_options_are_read_and_applied(wanted, tmp_path):
    file = tmp_path / "options.toml"
    file.write_text(
        """
        host = "127.0.0.1"
        first_port = 4000
        listen = "0.0.0.0"
        [nodes]
        edge-2 = "10.0.0.2:1883"
        [tls]
        ca = "ca.pem"
        certificate = "{node}.pem"
        key = "/etc/{node}.key"
        [passwords]
        file = "passwords"
        username = "bridge"
        password = "a b#c"
        """
    )
    options = read_options(file)
    assert options == Options(
        first_port=4000,
        listen="0.0.0.0",
        places={"edge-2": ("10.0.0.2", 1883)},
        tls=Tls(f"{tmp_path}/ca.pem", f"{tmp_path}/{{node}}.pem", "/etc/{node}.key"),
        passwords=Passwords(f"{tmp_path}/passwords", "bridge", "a b#c"),
    )
    assert "a b#c" not in repr(options)
    export_network(wanted.plan, wanted.workload, tmp_path / "n", options)
    text = (tmp_path / "n" / "edge-2.conf").read_text()
    assert "listener 1883 0.0.0.0\n" in text
    assert f"certfile {tmp_path}/edge-2.pem\n" in text
    assert "allow_anonymous false\n" in text
    assert not stat.S_IMODE((tmp_path / "n" / "edge-2.conf").stat().st_mode) & 0o007
    mounts = yaml.safe_load((tmp_path / "n" / COMPOSE_FILE).read_text())["services"]["edge-2"]
    assert "/etc/edge-2.key:/etc/edge-2.key:ro" in mounts["volumes"]
    with_bridge = [
        path.read_text() for path in (tmp_path / "n").glob("*.conf") if "connection" in
        path.read_text()
    ]  # fmt: skip
    assert with_bridge
    assert all("remote_password a b#c\n" in text for text in with_bridge)
    assert all(f"bridge_cafile {tmp_path}/ca.pem\n" in text for text in with_bridge)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("host = 1", "host must be a text"),
        ('host = "a\\nb"', "host must be a text"),
        ('host = ""', "not empty"),
        ("first_port = 0", "first_port must be a port"),
        ("first_port = true", "first_port must be a port"),
        ("port = 1", "port is unknown; known are first_port"),
        ('[nodes]\na = "b"', "nodes.a must be"),
        ('[nodes]\na = "b:x"', "nodes.a must be"),
        ("nodes = 1", "nodes must be a table"),
        ('[tls]\nca = "x"', "tls.certificate is missing"),
        ('[tls]\nca="x"\ncertificate="x"\nkey="x"\nrequire_certificate=1', "true or false"),
        ('[passwords]\nfile="x"\nusername="x"\npassword=" x"', "passwords.password must be"),
        (
            '[passwords]\nfile="x"\nusername="x"\npassword="x"\nhost="x"',
            "passwords.host is unknown",
        ),
        ("a", "is not TOML"),
        (None, "cannot be read"),
    ],
)
def test_wrong_options_are_named(tmp_path, text, complaint):
    file = tmp_path / "options.toml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(InputError, match=complaint):
        read_options(file)
