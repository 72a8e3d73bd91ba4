"""The page about the offload network says what is true: its commands run, and its facts are so."""

from __future__ import annotations

import random
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.service.servers import find_program

from fanwise.offload import configuration, covers, names
from fanwise.offload.files import read_network
from fanwise.offload.listeners import is_free
from fanwise.offload.options import FIRST_PORT, read_options

PAGE = (Path(__file__).parents[2] / "docs" / "offload.md").read_text(encoding="utf-8")


def read_commands(name: str) -> str:
    found = re.search(rf"<!-- commands: {name} -->\n```\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None, name
    return found[1]


def free_ports(count: int) -> int:
    """Return the first of several free ports in a row, below those that connections get."""
    while True:
        first = random.randrange(20_000, 30_000)
        if all(is_free("127.0.0.1", port) for port in range(first, first + count)):
            return first


def test_its_commands_run(tmp_path):
    find_program("mosquitto")
    first = read_commands("first")
    # Tests run side by side: not the port of everybody.
    assert f"({FIRST_PORT})" in PAGE
    port = f"--first-port {free_ports(13)}"
    first = first.replace("--mosquitto network", f"--mosquitto network {port}")
    *commands, last = first.splitlines()
    assert last == "fanwise deploy local network"
    program = f'fanwise() {{ "{sys.executable}" -m fanwise "$@"; }}\nset -e\n'
    bash = shutil.which("bash") or "bash"
    for script in ("\n".join(commands), read_commands("change")):
        done = subprocess.run(
            [bash, "-c", program + script],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert "restart" in done.stdout
    network = read_network(tmp_path / "network").network
    assert "edge-12" in network.nodes
    running = subprocess.Popen(
        [sys.executable, "-m", *last.split(), "--json"], cwd=tmp_path, stdout=subprocess.PIPE
    )
    try:
        assert running.stdout.readline().startswith(b'{"network"')
    finally:
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=60)
    assert running.returncode == 143


def test_its_options_are_known(tmp_path):
    text = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1]
    assert tomllib.loads(text)
    (tmp_path / "options.toml").write_text(text)
    options = read_options(tmp_path / "options.toml")
    assert options.tls is not None
    assert options.passwords is not None
    assert options.places == {"edge-3": ("10.0.0.7", 1883)}


def test_its_limits_are_those_of_the_code():
    assert f"{configuration.MAX_QUEUED_MESSAGES:,} messages" in PAGE
    assert f"{configuration.MAX_QUEUED_BYTES // 2**20} MiB" in PAGE
    assert f"restart_timeout {configuration.RESTART_SECONDS}" in PAGE
    assert f"autosave ({configuration.AUTOSAVE_SECONDS} s)" in PAGE
    assert f"up to {covers.MAX_NODES} brokers" in PAGE
    assert f"{names.MAX_TOPIC_BYTES:,} bytes" in PAGE
    assert f"more than {names.MAX_SLASHES} slashes" in PAGE
    assert f"`{names.CONTROL}`" in PAGE
