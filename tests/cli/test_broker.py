"""``fanwise broker``: every mistake is one line, and what runs says so."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys

import pytest
import trustme
from benchmarks.brokers_network import Network

from fanwise.brokers.library import AsyncClient, NotConnectedError
from fanwise.cli.main import main

DIRECTORY = ("--directory", "127.0.0.1:7400")
SECRET = "a-token-that-lets-clients-in"
PEERS = "a-token-that-lets-brokers-in"


def fanwise(capsys, *words) -> tuple[int, str]:
    with pytest.raises(SystemExit) as done:
        main(["broker", *map(str, words)])
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1, told.err
    return done.value.code, told.err


@pytest.fixture
def tokens(tmp_path):
    files = []
    for name, text in (("clients", SECRET), ("peers", PEERS)):
        path = tmp_path / name
        path.write_text(text + "\n")
        path.chmod(0o600)
        files.append(path)
    return files


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--listen", "nonsense"), "--listen: 'nonsense' is no address"),
        (("--listen", "127.0.0.1:70000"), "--listen: '127.0.0.1:70000' is no address"),
        (("--directory", "host"), "--directory: 'host' is no address"),
        (("--metrics", "9400"), "--metrics: '9400' is no address"),
        (("--capacity", "0"), "--capacity: "),
        (("--name", ""), "--name: "),
        (("--position", "here"), "--position: 'here' is no position"),
        (("--redirect", "soon"), "redirect"),
        (("--heartbeat", "0"), "heartbeat"),
        (("--tls-certificate", "c.pem"), "--tls-certificate needs --tls-key"),
        (("--tls-ca", "nowhere.pem"), "--tls-ca: nowhere.pem cannot be read"),
        (("--client-tokens", "nowhere"), "--client-tokens needs --peer-tokens"),
        (("--peer-tokens", "nowhere"), "--peer-tokens: nowhere cannot be read"),
        (("--listen", "0.0.0.0:0"), "others reach 0.0.0.0"),
        (("--data", "/dev/null/east"), "/dev/null/east: cannot be made"),
        (("--workload", "nowhere"), "nowhere"),
    ],
)
def test_mistakes_are_one_line(words, said, capsys, tmp_path):
    usual = ("--name", "east", "--data", tmp_path / "east", *DIRECTORY)
    status, told = fanwise(capsys, "run", *usual, *words)
    assert status == 2
    assert said in told


def test_what_is_missing_is_said_with_how_to_get_it(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "msgpack", None)
    for words in (
        ("run", "--name", "east", "--data", "d", *DIRECTORY),
        ("directory", "--data", "d"),
        ("list", *DIRECTORY),
        ("forget", "east", *DIRECTORY),
    ):
        status, told = fanwise(capsys, *words)
        assert status == 2
        assert "pip install 'fanwise[brokers]'" in told


def test_nobody_answers(capsys):
    status, told = fanwise(capsys, "list", "--directory", "127.0.0.1:1")
    assert (status, "refused" in told) == (2, True)


def run(*words) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fanwise", "broker", *map(str, words)],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_brokers_come_and_go(tmp_path):
    with Network(tmp_path) as network:
        network.start("east", "west")
        network.wait_ready()
        told = network.brokers["east"].told
        assert (told["name"], told["kind"]) == ("east", "broker")
        second = run(
            "run", "--name", "east", "--data", tmp_path / "east", "--directory", network.address
        )
        assert second.returncode == 2
        assert f"process ({network.brokers['east'].popen.pid})" in second.stderr
        assert second.stderr.count("\n") == 1
        listed = json.loads(run("list", "--directory", network.address, "--json").stdout)
        assert [(one["name"], one["alive"]) for one in listed["brokers"]] == [
            ("east", True), ("west", True),
        ]  # fmt: skip
        lives = run("forget", "west", "--directory", network.address)
        assert (lives.returncode, "lives" in lives.stderr) == (2, True)
        unknown = run("forget", "north", "--directory", network.address)
        assert (unknown.returncode, "no broker 'north'" in unknown.stderr) == (2, True)
        assert network.stop("west") == 128 + signal.SIGTERM

        def is_dead() -> bool:
            rows = json.loads(run("list", "--directory", network.address, "--json").stdout)
            return not rows["brokers"][1]["alive"]

        network.wait_for(is_dead)
        forgotten = run("forget", "west", "--directory", network.address, "--json")
        assert forgotten.returncode == 0, forgotten.stderr
        assert [one["name"] for one in json.loads(forgotten.stdout)["brokers"]] == ["east"]
        assert "Traceback" not in network.said("east") + network.said("west")


def test_tls_and_tokens_all_the_way(tmp_path, tokens):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    issued = authority.issue_cert("127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    issued.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    guarded = [
        "--tls-certificate", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem"),
        "--client-tokens", str(tokens[0]), "--peer-tokens", str(tokens[1]),
    ]  # fmt: skip
    trusting = ["--tls-ca", str(tmp_path / "ca.pem")]

    async def work(address: str) -> None:
        more = {"tls_ca": tmp_path / "ca.pem"}
        async with AsyncClient("ann", address, token=SECRET, **more) as ann:
            await ann.subscribe("all", (0, 0), (1, 1), settle="everywhere", timeout=60)
            await ann.publish((0.5, 0.5), b"guarded", timeout=60)
            assert (await ann.get(60)).payload == b"guarded"
        for wrong in ({"token": PEERS, **more}, {"token": "", **more}, {"token": SECRET}):
            with pytest.raises(NotConnectedError) as error:
                await AsyncClient("eve", address, patience=1.0, **wrong).start(1.0)
            assert SECRET not in str(error.value)
            assert PEERS not in str(error.value)

    with Network(tmp_path / "n", trusting, shared=guarded) as network:
        network.start("east", "west")
        network.wait_ready()
        asyncio.run(work(network.address))
        where = ("--directory", network.address, *trusting)
        assert run("list", *where, "--peer-tokens", tokens[1], "--json").returncode == 0
        refused = run("list", *where)
        assert (refused.returncode, "give --peer-tokens" in refused.stderr) == (2, True)
        said = "".join(path.read_text() for path in (tmp_path / "n").glob("*.log"))
        assert SECRET not in said
        assert PEERS not in said
        kept = b"".join(path.read_bytes() for path in (tmp_path / "n").rglob("0*"))
        assert SECRET.encode() not in kept
        assert PEERS.encode() not in kept


def test_the_example_of_clients_runs(tmp_path):
    with Network(tmp_path) as network:
        network.start("east", "west")
        network.wait_ready()
        done = subprocess.run(
            [sys.executable, "examples/broker_clients.py", network.address],
            capture_output=True, text=True, check=True, timeout=120,
        )  # fmt: skip
        assert "of 200 readings are hot and wet" in done.stdout
