"""``fanwise export --mosquitto`` and ``fanwise deploy local``, as people use them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.conftest import is_one_line
from tests.offload.networks import Client, plan_for, wait_until
from tests.service.servers import find_program, free_port

import fanwise as fw
from fanwise.offload.files import read_network

INTERESTS = {"a": {"x", "y"}, "b": {"x", "y"}, "c": {"x"}, "d": {"z"}}


def save(wanted, home: Path) -> tuple[Path, Path]:
    home.mkdir()
    fw.write_workload(wanted.workload, home / "workload")
    wanted.plan.save(home / "plan")
    return home / "plan", home / "workload"


@pytest.fixture
def plan(tmp_path):
    return save(plan_for(INTERESTS), tmp_path / "first")


def spell(plan, out, *more):
    return ("export", plan[0], "--workload", plan[1], "--mosquitto", out, *more)


def options_file(path: Path, nodes) -> Path:
    lines = [f'{name} = "127.0.0.1:{free_port()}"' for name in nodes]
    path.write_text("\n".join(["[nodes]", *lines]))
    return path


def test_it_says_what_was_written(run, plan, tmp_path):
    out = tmp_path / "n"
    done = run(*spell(plan, out, "--first-port", "5000", "--json"))
    assert done.status == 0
    told = done.json["mosquitto"]
    assert told["brokers"] == 4
    assert told["bridges"] == 2
    assert told["started"] == ["a", "b", "c", "d"]
    assert told["generation"] == read_network(out).generation
    assert told["divided"] == {}
    assert [node.port for node in read_network(out).network.nodes.values()] == [
        5000, 5001, 5002, 5003,
    ]  # fmt: skip
    refused = run(*spell(plan, out))
    assert refused.status == 2
    assert "--overwrite" in refused.err
    again = run(*spell(plan, out, "--overwrite"))
    assert again.status == 0
    assert "restart" in again.out
    assert "none" in again.out


def test_topics_in_several_components_are_said(run, tmp_path):
    wanted = plan_for({"a": {"x"}, "b": {"x"}, "c": {"x"}}, max_edges=1)
    plan = save(wanted, tmp_path / "first")
    done = run(*spell(plan, tmp_path / "n"))
    assert "1 topic in several components" in done.out
    assert "x in 2" in done.out
    told = run(*spell(plan, tmp_path / "n", "--overwrite", "--json"))
    assert told.json["mosquitto"]["divided"] == {"x": 2}


def test_what_cannot_be_is_refused_in_one_line(run, plan, tmp_path):
    hostile = save(plan_for({"a": {"x y"}, "b": {"x y"}}), tmp_path / "hostile")
    missing = tmp_path / "nothing.toml"
    for arguments, word in (
        (spell(hostile, tmp_path / "n"), "'x y' has a space"),
        (("export", plan[0], "--workload", plan[1], "--csv", "t", "--first-port", "1"), "too"),
        (spell(plan, tmp_path / "n", "--mosquitto-options", missing), "cannot be read"),
        (("deploy", "local", tmp_path), "is not an offload network"),
    ):
        done = run(*arguments)
        assert (done.status, is_one_line(done.err)) == (2, True), done.err
        assert word in done.err
    assert not (tmp_path / "n").exists()


class Deployed:
    """``fanwise deploy local`` in a process of its own."""

    def __init__(self, out: Path, state: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fanwise", "deploy", "local", str(out), "--json",
             "--state", str(state)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.ready = self.line()
        self.pids = {one["node"]: one["pid"] for one in self.ready.get("brokers", ())}

    def line(self) -> dict:
        line = self.process.stdout.readline()
        return json.loads(line) if line else {}

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        self.process.communicate(timeout=60)
        return self.process.returncode


@pytest.fixture
def deploy(tmp_path):
    find_program("mosquitto")
    started = []

    def start(out: Path) -> Deployed:
        started.append(Deployed(out, tmp_path / "state"))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.end(signal.SIGTERM)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()


def test_brokers_run_change_and_stop(run, plan, deploy, tmp_path):
    out = tmp_path / "n"
    options = options_file(tmp_path / "options.toml", [*INTERESTS, "e"])
    text = options.read_text()
    options.write_text("\n".join(line for line in text.splitlines() if not line.startswith("e ")))
    assert run(*spell(plan, out, "--mosquitto-options", options)).status == 0
    running = deploy(out)
    assert running.ready["bridges"] == 2
    nodes = read_network(out).network.nodes
    listener, sender = Client(nodes["a"], ("#",)), Client(nodes["c"])
    sender.publish("x", "1")
    wait_until(lambda: bool(listener.got))
    changed = save(plan_for(INTERESTS | {"e": {"z"}}), tmp_path / "second")
    options.write_text(text)
    done = run(*spell(changed, out, "--mosquitto-options", options, "--overwrite", "--json")).json[
        "mosquitto"
    ]
    told = running.line()
    assert (told["started"], told["stopped"], told["restarted"]) == (["e"], [], [])
    assert told["generation"] == done["generation"]
    os.kill(running.pids["d"], signal.SIGKILL)
    told = running.line()
    assert (told["event"], told["node"]) == ("ended", "d")
    assert running.end(signal.SIGINT) == 130
    assert not [pid for pid in running.pids.values() if is_alive(pid)]
    for client in (listener, sender):
        client.close()


def test_brokers_end_even_if_the_process_is_killed(run, plan, deploy, tmp_path):
    out = tmp_path / "n"
    options = options_file(tmp_path / "options.toml", INTERESTS)
    assert run(*spell(plan, out, "--mosquitto-options", options)).status == 0
    running = deploy(out)
    assert running.end(signal.SIGKILL) == -signal.SIGKILL
    end = time.monotonic() + 60
    while [pid for pid in running.pids.values() if is_alive(pid)]:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_taken_port_is_exit_status_2(run, plan, deploy, tmp_path):
    out = tmp_path / "n"
    options = options_file(tmp_path / "options.toml", INTERESTS)
    assert run(*spell(plan, out, "--mosquitto-options", options)).status == 0
    running = deploy(out)
    second = run("deploy", "local", out, "--state", tmp_path / "other")
    assert second.status == 2
    assert is_one_line(second.err)
    assert any(f"process {pid} (mosquitto)" in second.err for pid in running.pids.values())
    assert running.end(signal.SIGTERM) == 143
