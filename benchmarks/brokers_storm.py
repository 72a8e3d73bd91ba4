"""A storm of moves: 20 brokers, 1,000 clients, 10,000 moves while 500 messages/s are published.

Brokers are processes as ``fanwise broker run`` makes them, with their logs on disk; clients are in
two processes. Each client has one rectangle, fixed and settled before the first publication, so
that who must get what is known exactly. A client's pause is the time from leaving one broker until
the next one serves it.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.brokers_network import Network
from benchmarks.brokers_storm_clients import rectangles
from benchmarks.measuring import row

MOST_PAUSE = 0.2
"""Seconds, median."""
PATIENCE = 300.0
AROUND = 0.1
"""Seconds before a move from which on publications count as made during it."""


@dataclass(frozen=True)
class Sizes:
    """How large a storm is.

    Attributes
    ----------
    rate
        Publications a second, of all clients.
    move_rate
        Moves that are asked for a second, of all brokers.
    fan_out
        Clients that want a publication, on average.
    """

    brokers: int = 20
    clients: int = 1_000
    moves: int = 10_000
    rate: float = 500.0
    move_rate: float = 50.0
    fan_out: float = 3.0
    processes: int = 2
    payload: int = 100
    seed: int = 1


@dataclass(frozen=True)
class Result:
    """What came of a storm.

    Attributes
    ----------
    expected, lost, doubled, unwanted
        Deliveries: due for acknowledged publications; missing; repeated; to whom it was not due.
    pauses
        Seconds from leaving one broker until the next one serves, of each move.
    during
        Seconds from publication to delivery, the most of each move, for publications made while it
        went on.
    latencies
        Seconds from publication to delivery, of all.
    """

    published: int
    rejected: int
    expected: int
    lost: int
    doubled: int
    unwanted: int
    outcomes: dict[str, int]
    pauses: np.ndarray
    during: np.ndarray
    latencies: np.ndarray
    seconds: float
    broker_seconds: float
    client_seconds: float

    @property
    def moved(self) -> int:
        return self.outcomes.get("moved", 0)


class Clients:
    """A process of clients."""

    def __init__(self, network: Network, sizes: Sizes, first: int) -> None:
        self.out = network.home / f"clients-{first}.npz"
        arguments = {
            "directory": network.address, "out": self.out, "clients": sizes.clients,
            "first": first, "step": sizes.processes, "seed": sizes.seed,
            "payload": sizes.payload, "rate": sizes.rate / sizes.processes,
            "fan-out": sizes.fan_out,
        }  # fmt: skip
        words = [word for name, value in arguments.items() for word in (f"--{name}", str(value))]
        self._errors = (network.home / f"clients-{first}.log").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.brokers_storm_clients", *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
        )  # fmt: skip

    def say(self, word: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(Path(self._errors.name).read_text()[-3000:])
        return dict(json.loads(line))

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        self._errors.close()


def storm(sizes: Sizes, home: Path) -> Result:
    """Let a storm rage; return what came of it."""
    go = home / "go"
    share = 2 * -(-sizes.moves // sizes.brokers)  # until all have moved enough together
    options = [
        "--moves", str(share), "--move-rate", str(sizes.move_rate / sizes.brokers),
        "--go", str(go), "--capacity", str(2.0 * sizes.clients / sizes.brokers),
    ]  # fmt: skip
    names = [f"b{number:02d}" for number in range(sizes.brokers)]
    places = np.random.default_rng(sizes.seed).random((sizes.brokers, 2))
    with ExitStack() as stack:
        network = stack.enter_context(
            Network(home, options, program=("-m", "benchmarks.brokers_storm_broker"))
        )
        positions = {
            name: ["--position", f"{x},{y}"] for name, (x, y) in zip(names, places, strict=True)
        }
        network.start(*names, options=positions)
        network.wait_ready()
        crowds = [Clients(network, sizes, first) for first in range(sizes.processes)]
        for crowd in crowds:
            stack.callback(crowd.end)
        for crowd in crowds:
            crowd.hear()
        started = time.monotonic()
        for crowd in crowds:
            crowd.say("go")
        time.sleep(1.0)
        go.touch()
        _wait_for_moves(network, names, sizes)
        go.unlink()
        time.sleep(1.0)
        for crowd in crowds:
            crowd.say("stop")
        told = [crowd.hear() for crowd in crowds]
        seconds = time.monotonic() - started
        _wait_for_quiet(crowds)
        for crowd in crowds:
            crowd.say("end")
        client_seconds = sum(crowd.hear()["seconds"] for crowd in crowds)
        for crowd in crowds:
            crowd.process.wait(60)
        outcomes = _outcomes(network, names)
        found = [np.load(crowd.out) for crowd in crowds]
        for name in names:
            network.stop(name)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return _judge(
        sizes, found, sum(one["rejected"] for one in told), outcomes, seconds,
        used.ru_utime + used.ru_stime - client_seconds, client_seconds,
    )  # fmt: skip


def _outcomes(network: Network, names: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in names:
        for metric, value in network.metrics(name).items():
            if metric.startswith("moves_total["):
                outcome = metric[len("moves_total[") : -1]
                found[outcome] = found.get(outcome, 0) + int(value)
    return found


def _wait_for_moves(network: Network, names: list[str], sizes: Sizes) -> None:
    """Return when enough have moved, or no more do."""
    last, since = -1, time.monotonic()
    while True:
        for name in names:
            if not network.brokers[name].is_running:
                raise RuntimeError(f"{name} ended: {network.said(name)[-1000:]}")
        outcomes = _outcomes(network, names)
        moved = outcomes.get("moved", 0)
        if moved >= sizes.moves:
            return
        if moved != last:
            last, since = moved, time.monotonic()
        if time.monotonic() - since > PATIENCE / 5:
            return
        time.sleep(1.0)


def _wait_for_quiet(crowds: list[Clients]) -> None:
    """Return when nothing has come for a while."""
    last, since, end = -1, time.monotonic(), time.monotonic() + PATIENCE
    while time.monotonic() - since < 5.0 and time.monotonic() < end:
        for crowd in crowds:
            crowd.say("count")
        came = sum(crowd.hear()["came"] for crowd in crowds)
        if came != last:
            last, since = came, time.monotonic()
        time.sleep(0.5)


def _judge(
    sizes: Sizes,
    found: list[Any],
    rejected: int,
    outcomes: dict[str, int],
    seconds: float,
    broker_seconds: float,
    client_seconds: float,
) -> Result:
    """Compare what came with what was due."""
    published = np.concatenate([one["published"] for one in found])
    came = np.concatenate([one["came"] for one in found])
    pauses = np.concatenate([one["pauses"] for one in found])
    lo, hi = rectangles(sizes.clients, sizes.seed, sizes.fan_out)
    due: set[tuple[int, int, int]] = set()
    for publisher, sequence, x, y in published:
        wanted = (lo[:, 0] <= x) & (x <= hi[:, 0]) & (lo[:, 1] <= y) & (y <= hi[:, 1])
        due.update((int(one), int(publisher), int(sequence)) for one in np.flatnonzero(wanted))
    got = list(map(tuple, came[:, :3].astype(int).tolist()))
    different = set(got)
    acknowledged = set(map(tuple, published[:, :2].astype(int).tolist()))
    unwanted = sum(one not in due and one[1:] in acknowledged for one in different)
    moves = pauses[pauses[:, 3] > 1]
    return Result(
        len(published), rejected, len(due), len(due - different), len(got) - len(different),
        unwanted, outcomes, moves[:, 2] - moves[:, 1], _during(came, moves),
        came[:, 4] - came[:, 3], seconds, broker_seconds, client_seconds,
    )  # fmt: skip


def _during(came: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Return the longest way of a publication made during each move; moves without one left out."""
    by_client: dict[int, np.ndarray] = {
        int(one): came[came[:, 0] == one] for one in np.unique(moves[:, 0])
    }
    longest = []
    for client, left, served, _ in moves:
        mine = by_client[int(client)]
        mine = mine[(mine[:, 3] >= left - AROUND) & (mine[:, 3] <= served)]
        if len(mine):
            longest.append(float((mine[:, 4] - mine[:, 3]).max()))
    return np.array(longest)


def spread(seconds: np.ndarray) -> str:
    if not len(seconds):
        return "none"
    median, most = np.median(seconds), np.quantile(seconds, 0.99)
    return f"{median * 1e3:.0f} ms median, {most * 1e3:.0f} ms of 99 in 100"


def run() -> list[dict]:
    factor = float(os.environ.get("FANWISE_BENCH_STORM", "1"))
    sizes = Sizes(moves=round(10_000 * factor))
    with tempfile.TemporaryDirectory(prefix="fanwise-bench-") as home:
        result = storm(sizes, Path(home))
    return rows(sizes, result)


def rows(sizes: Sizes, result: Result) -> list[dict]:
    rate = result.published / result.seconds
    pause = float(np.median(result.pauses)) if len(result.pauses) else float("inf")
    load = os.getloadavg()[1]
    return [
        row(
            f"{sizes.brokers} brokers, {sizes.clients:,} clients, {result.moved:,} moves under "
            f"{rate:.0f} messages/s for {result.seconds:.0f} s",
            f"{result.lost} lost, {result.doubled} doubled of {result.expected:,} deliveries of "
            f"{result.published:,} publications; {result.rejected} rejected",
            "0 lost, 0 doubled",
            met=not (result.lost or result.doubled or result.unwanted)
            and result.moved >= sizes.moves and rate >= 0.98 * sizes.rate,
            outcomes=result.outcomes, unwanted=result.unwanted, load_average=load,
        ),
        row(
            "pause of a client that moves, from one broker to the next",
            spread(result.pauses), f"{MOST_PAUSE * 1e3:.0f} ms median", met=pause <= MOST_PAUSE,
        ),
        row(
            "longest way of a publication made while its subscriber moves",
            f"{spread(result.during)}; of all publications {spread(result.latencies)}",
        ),
        row(
            "processor time",
            f"brokers and directory {result.broker_seconds:.0f} s, clients "
            f"{result.client_seconds:.0f} s; load of the machine {load:.1f} on "
            f"{len(os.sched_getaffinity(0))} cores",
        ),
    ]  # fmt: skip
