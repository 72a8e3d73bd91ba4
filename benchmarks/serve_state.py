"""The decision service's state over a week of one-hour windows, and its start after a kill.

Time alone is simulated: the service runs in a process whose clock is put on by an hour at a time,
up to now. Segments are put into the spool as the receiver would (no broker listens), Spark counts
them, windows close, are decided and put in force, and what retention lets go is removed. Then the
process is killed in the middle of an hour, and ``fanwise serve`` is started on what it left.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from benchmarks.measuring import row

HOURS = int(os.environ.get("FANWISE_BENCH_HOURS", "168"))
KEEP_HOURS = 48
"""What the configuration keeps: after so many hours nothing may grow any more."""
TOPICS, SUBSCRIBERS, PAIRS = 50_000, 500_000, 1_200_000
SEGMENTS = 60
"""Of an hour: a receiver brings to disk what came in a tenth of a second."""
GROWTH, START_SECONDS = 1.1, 30.0
PATIENCE = 300.0
MICROSECONDS = 10**6
CONFIGURATION = """
state = "{home}/state"
[server]
port = 0
anonymous_read = true
[store]
keep = "{keep}h"
keep_plans = {keep}
keep_workloads = 24
[source]
kind = "mqtt"
port = {port}
time_field = "at"
broker_log = false
[monitor]
snapshot = "{home}/pairs.csv"
spool_keep = "1h"
trigger = "0.2s"
[windows]
length = "1h"
lateness = "1m"
idle = "10d"
[decide]
tau = 3
capacity = "30%"
max_changes = 500
time_limit = "0.5s"
forecast = {{ kind = "same-hour", days = 1 }}
[execute]
mode = "auto"
[[execute.file]]
path = "{home}/served.json"
"""

Sizes = dict[str, int]


def run() -> list[dict]:
    with tempfile.TemporaryDirectory(prefix="fanwise-bench-") as name:
        home = Path(name)
        _configure(home)
        history = _run_week(home)
        seconds, missing = _start_again(home)
    steady, end = history[min(KEEP_HOURS + 24, len(history) - 1)], history[-1]
    rows = []
    for part in end:
        # A thousand kilobytes more or less is the granularity of files, not growth.
        met = end[part] <= GROWTH * steady[part] + 10**6
        rows.append(
            row(
                f"{part}, {HOURS} windows of {TOPICS:,} topics, {KEEP_HOURS} h kept",
                f"{end[part] / 1e6:.1f} MB at the end, {steady[part] / 1e6:.1f} MB after "
                f"{KEEP_HOURS + 24} h, at most {max(each[part] for each in history) / 1e6:.1f} MB",
                f"{GROWTH} times that after {KEEP_HOURS + 24} h",
                met=met,
                megabytes=[round(each[part] / 1e6, 2) for each in history],
            )
        )
    rows.append(
        row(
            "ready after SIGKILL",
            f"{seconds:.1f} s",
            f"{START_SECONDS:.0f} s",
            met=seconds <= START_SECONDS,
        )
    )
    rows.append(row("windows without a decision, or with two", f"{missing}", "0", met=missing == 0))
    return rows


def _configure(home: Path) -> None:
    rng = np.random.default_rng(3)
    share = 1 / np.arange(1, TOPICS + 1) ** 0.8
    topics = rng.choice(TOPICS, PAIRS, p=share / share.sum())
    subscribers = rng.integers(0, SUBSCRIBERS, PAIRS)
    pairs = {f"u{one},t/{other}" for one, other in zip(subscribers, topics, strict=True)}
    (home / "pairs.csv").write_text("subscriber,topic\n" + "\n".join(sorted(pairs)) + "\n")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    text = CONFIGURATION.format(home=home, keep=KEEP_HOURS, port=port)
    (home / "fanwise.toml").write_text(text)


def _run_week(home: Path) -> list[Sizes]:
    """Run the hours in a process of their own and kill it; return the sizes after each hour."""
    context = multiprocessing.get_context("spawn")
    heard, told = context.Pipe(duplex=False)
    process = context.Process(target=live, args=(str(home), told))
    process.start()
    told.close()
    history: list[Sizes] = []
    try:
        while True:
            found = heard.recv()
            if found is None:
                break
            history.append(found)
            if len(history) % 24 == 0:
                print(f"  {len(history)} h: {sum(found.values()) / 1e6:,.0f} MB", file=sys.stderr)
    finally:
        process.kill()
        process.join()
    return history


def live(home: str, told: Connection) -> None:
    """Run the service through the hours; say how large everything is after each of them."""
    from fanwise.service import supervisor as supervisors
    from fanwise.service.configuration.reading import read_configuration
    from fanwise.service.monitor.spool import Spool

    clock = Clock()
    time.time, time.time_ns = clock.seconds, clock.nanoseconds  # type: ignore[assignment]
    supervisors.TIDY_SECONDS = 0.0
    clock.go_back(HOURS + 1)
    service = supervisors.Supervisor(read_configuration(Path(home) / "fanwise.toml"))
    service.start()
    spool = Spool(service.folder.spool, limit=10**10)
    rng = np.random.default_rng(5)
    first = int(clock.seconds()) // 3600
    for hour in range(HOURS):
        _write_hour(spool, first + hour, rng, clock)
        clock.go_on()
        _wait(lambda hour=hour: service.ledger.totals()["events"] >= (hour + 1) * TOPICS)
        service.step()
        told.send(_measure(service.folder.path))
    _write_hour(spool, first + HOURS, rng, clock)
    time.sleep(1.0)  # Spark is counting
    told.send(None)
    time.sleep(PATIENCE)


class Clock:
    """The time of the process, which is put on by hours."""

    def __init__(self) -> None:
        self._real, self._behind = time.time_ns, 0

    def go_back(self, hours: int) -> None:
        self._behind = hours * 3600 * 10**9

    def go_on(self) -> None:
        self._behind -= 3600 * 10**9

    def nanoseconds(self) -> int:
        return self._real() - self._behind

    def seconds(self) -> float:
        return self.nanoseconds() / 1e9


def _write_hour(spool: object, hour: int, rng: np.random.Generator, clock: Clock) -> None:
    """Write an event of each topic at times of the hour, in order."""
    topics = rng.permutation(TOPICS)
    for part, some in enumerate(np.array_split(topics, SEGMENTS)):
        instant = hour * 3600 + 3600 * (part + 0.5) / SEGMENTS
        path = spool.write(  # type: ignore[attr-defined]
            {"kind": "event", "topic": f"t/{topic}", "timestamp": f"{instant:.3f}", "bytes": "120"}
            for topic in some.tolist()
        )
        os.utime(path, (clock.seconds(), clock.seconds()))


def _measure(state: Path) -> Sizes:
    """Return the bytes of each part of the state folder."""
    found: Sizes = {}
    for entry in sorted(state.iterdir()):
        name = entry.name.removesuffix("-wal").removesuffix("-shm")
        paths = [entry] if entry.is_file() else list(entry.rglob("*"))
        total = 0
        for path in paths:
            try:
                total += path.stat().st_size if path.is_file() else 0
            except FileNotFoundError:
                continue
        if name != "lock":
            found[name] = found.get(name, 0) + total
    return found


def _start_again(home: Path) -> tuple[float, int]:
    """Start the service on what is left; return how long that took, and what is amiss."""
    started = time.monotonic()
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "fanwise", "serve", "--config", str(home / "fanwise.toml"),
             "--json"],
            stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError((home / "log").read_text()[-2000:])
        seconds = time.monotonic() - started
        url = json.loads(line)["url"]
        # The first event of the last hour closes the window before it.
        _wait(lambda: _events(url) >= (HOURS + 1) * TOPICS)
        _wait(lambda: _newest_window(url) >= HOURS)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)
    return seconds, _amiss(home)


def _ask(url: str, path: str) -> dict:
    try:
        with urllib.request.urlopen(f"{url}{path}", timeout=60) as answer:
            found: dict = json.load(answer)
            return found
    except urllib.error.HTTPError as error:
        raise RuntimeError(error.read().decode()) from None


def _events(url: str) -> int:
    return int(_ask(url, "/api/v1/status")["input"]["events"])


def _newest_window(url: str) -> int:
    found = _ask(url, "/api/v1/decisions?limit=1")["decisions"]
    return found[0]["number"] if found else 0


def _amiss(home: Path) -> int:
    """Return how many of the windows that are still kept have no decision or more than one."""
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(home / "state" / "store.sqlite")) as database:
        rows = database.execute(
            "SELECT window_start, count(*) FROM decisions GROUP BY window_start ORDER BY 1"
        ).fetchall()
    starts = [start for start, _ in rows]
    length = 3600 * MICROSECONDS
    missing = sum((later - sooner) // length - 1 for sooner, later in itertools.pairwise(starts))
    return missing + sum(count - 1 for _, count in rows)


def _wait(is_done: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_done():
        if time.monotonic() > end:
            raise RuntimeError("the service does not get on")
        time.sleep(0.1)
