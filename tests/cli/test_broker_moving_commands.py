"""``fanwise broker demo``, ``collect`` and ``apply`` with real processes."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from contextlib import AsyncExitStack

import pytest

from fanwise.brokers.demo.crowd import Crowd
from fanwise.brokers.demo.processes import Processes
from fanwise.brokers.library.asynchronous import AsyncClient
from fanwise.brokers.moving.central import read_targets
from fanwise.wire.problem import Wiring
from fanwise.workload.content.files import write_content_workload

PATIENCE = 120.0


def test_the_demo_tells_what_came_of_it(run, tmp_path):
    done = run(
        *("broker", "demo", "--brokers", 2, "--clients", 12, "--seconds", 6, "--rate", 20),
        *("--drift", 10, "--turn", 1, "--json", "--out", tmp_path / "cost.png"),
    )
    assert done.status == 0, done.err
    told = done.json
    assert list(told) == [
        *("brokers", "clients", "published", "delivered", "lost", "doubled", "moves"),
        *("cost_first", "cost_last", "cost_central"),
    ]
    assert (told["brokers"], told["clients"]) == (2, 12)
    assert (told["lost"], told["doubled"]) == (0, 0)
    assert told["published"] > 50
    assert told["delivered"] > told["published"] / 2
    assert 0 < told["cost_central"] <= told["cost_last"]
    assert (tmp_path / "cost.png").exists()


def test_the_demo_refuses_what_makes_no_sense(run, tmp_path):
    for options, said in (
        (("--clients", 3, "--brokers", 2), "--clients 3"),
        (("--out", tmp_path / "a.txt"), ".svg"),
    ):
        done = run("broker", "demo", *options)
        assert done.status == 2
        assert said in done.err


async def command(*words, stop=None):
    """Run ``fanwise`` in a process; return its status and what it printed.

    Where there is an event to wait for, it gets SIGINT then.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "fanwise", *map(str, words),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    if stop is not None:
        await stop.wait()
        process.send_signal(signal.SIGINT)
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def start(processes, crowd, home):
    """Start brokers that ask nobody to move by themselves."""
    workload = crowd.workload
    write_content_workload(workload, home / "sites")
    address = await processes.start("directory", "directory", "--listen", "127.0.0.1:0")
    for broker, name in enumerate(workload.broker_names.to_pylist()):
        position = ",".join(map(repr, workload.broker_positions[broker].tolist()))
        options = {
            "name": name, "directory": address, "workload": home / "sites", "position": position,
            "capacity": 1.2 * float(workload.capacity[broker]), "moves-per-minute": 0,
            "summary-every": "1s", "turn-every": "1s", "redirect": "0s",
        }  # fmt: skip
        words = [str(word) for key, value in options.items() for word in (f"--{key}", value)]
        await processes.start(name, "run", *words)
    return address


async def go_all_the_way(home):
    crowd = Crowd(3, 18, 20.0, 3)
    clients = []
    async with Processes(home) as processes:
        address = await start(processes, crowd, home)
        names = crowd.workload.subscriber_names.to_pylist()
        for row, name in enumerate(names):
            client = AsyncClient(
                name, address, position=crowd.workload.positions[row].tolist(),
                demand=float(crowd.demands[row]), on_message=lambda message: None,
            )  # fmt: skip
            await client.start(PATIENCE)
            clients.append(client)
            await client.subscribe("all", *crowd.rectangle(row), timeout=PATIENCE)
        for _ in range(100):
            drawn = crowd.draw_publication()
            await clients[drawn.client].publish(drawn.point, b"", timeout=PATIENCE)
        there = ("--directory", address)
        asked = ("broker", "collect", *there, "--workload", home / "sites", "--json")
        before = await command(*asked, "--out", home / "now")
        planned = await command("wire", home / "now", "--out", home / "plan", "--time-limit", 5)
        applying = ("broker", "apply", home / "plan", "--workload", home / "now", *there, "--json")
        applied = await command(*applying)
        again = await command(*applying)
        after = await command(*asked, "--out", home / "then")
        refused = await command(*asked, "--out", home / "then")
        other = await command(*applying[:4], home / "sites", *applying[5:])
        homes = {client.name: client.home for client in clients}
        await asyncio.gather(*(client.stop() for client in clients))
    return before, planned, applied, again, after, refused, other, homes


def test_from_summaries_to_a_plan_and_the_plan_carried_out(tmp_path):
    before, planned, applied, again, after, refused, other, homes = asyncio.run(
        go_all_the_way(tmp_path)
    )
    assert before[0] == planned[0] == 0, (before, planned)
    assert applied[0] == 0, applied
    assert json.loads(before[1])["clients"] == 18
    told = json.loads(applied[1])
    assert told["in_place"] == 18
    assert told["moved"] > 0
    assert json.loads(again[1])["moved"] == 0
    # The histories have aged a little since; what is left of them costs less at the new homes.
    assert json.loads(after[1])["cost"] < json.loads(before[1])["cost"]
    assert refused[0] == 2
    assert "then" in refused[2]
    assert other[0] == 2
    assert "another workload" in other[2]
    assert homes == read_targets(tmp_path / "now", tmp_path / "plan")


async def apply_twice(home):
    """Carry a plan out by which everybody moves; the first time somebody presses Ctrl-C."""
    crowd = Crowd(2, 8, 1.0, 1)
    write_content_workload(crowd.workload, home / "sites")
    Wiring(crowd.workload).solve("packing").save(home / "plan")
    targets = read_targets(home / "sites", home / "plan")
    brokers = crowd.workload.broker_names.to_pylist()

    def hesitate(now, request):
        time.sleep(0.2)
        return ""

    async with Processes(home) as processes, AsyncExitStack() as stack:
        directory = await processes.start("directory", "directory", "--listen", "127.0.0.1:0")
        at = {}
        for name in brokers:
            words = ("run", "--name", name, "--directory", directory, "--redirect", "0s")
            at[name] = await processes.start(name, *words)
        clients = []
        for name, target in targets.items():
            first = brokers[1 - brokers.index(target)]
            client = AsyncClient(
                name, brokers=[(first, at[first])], policy=hesitate, patience=PATIENCE
            )
            clients.append(await stack.enter_async_context(client))
        words = (
            *(home / "plan", "--workload", home / "sites", "--directory", directory),
            *("--at-once", 1, "--json"),
        )
        applying = asyncio.create_task(
            command("broker", "apply", *words, stop=(moved := asyncio.Event()))
        )
        async with asyncio.timeout(PATIENCE):
            while all(client.home != targets[client.name] for client in clients):
                await asyncio.sleep(0.02)
        moved.set()
        stopped = await applying
        there = sum(client.home == targets[client.name] for client in clients)
        again = await command("broker", "apply", *words)
        assert {client.name: client.home for client in clients} == targets
    return stopped, there, again


def test_ctrl_c_lets_moves_come_to_their_end_and_begun_again_it_goes_on(tmp_path):
    stopped, there, again = asyncio.run(apply_twice(tmp_path))
    assert stopped[0] == 130, stopped
    told = json.loads(stopped[1])
    assert told["stopped"]
    assert not told["kept_back"]
    assert told["moved"] == told["in_place"] == there
    assert 1 <= there < 8
    assert again[0] == 0, again
    assert json.loads(again[1])["moved"] == 8 - there


@pytest.mark.parametrize("words", [("collect", "--out", "o"), ("apply", "plan")])
def test_nobody_there_is_one_line(run, tmp_path, words):
    crowd = Crowd(2, 4, 1.0, 1)
    write_content_workload(crowd.workload, tmp_path / "sites")
    Wiring(crowd.workload).solve("packing").save(tmp_path / "plan")
    placed = [tmp_path / word if word in ("o", "plan") else word for word in words]
    done = run("broker", *placed, "--workload", tmp_path / "sites", "--directory", "127.0.0.1:9")
    assert done.status == 2
    assert len(done.err.strip().splitlines()) == 1
    assert "127.0.0.1:9" in done.err
