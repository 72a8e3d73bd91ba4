"""The whole service with the broker's own log: killed, the broker restarted, the disk full."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import threading
import time

import pytest
from tests.service.monitor.test_receiver import LOGGED, client_of, publish, wait_until
from tests.service.servers import Mosquitto, new_folder
from tests.service.test_kill import (
    PATIENCE,
    RULE,
    Publishing,
    Traffic,
    batches,
    check,
    configure,
    decisions,
    start,  # noqa: F401
)

from fanwise.service.monitor.ledger import Ledger
from fanwise.service.state import StateFolder

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(3600)]

KILLS, RESTARTS = 12, 5


@pytest.fixture
def broker():
    folder = new_folder()
    server = Mosquitto(folder, f"{LOGGED}max_queued_messages 0")
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


class Crowd(threading.Thread):
    """Clients that come, subscribe and go all the time, and the plain model of it."""

    def __init__(self, broker, seed):
        super().__init__()
        self._broker, self._rng = broker, random.Random(seed)
        self._is_over, self.may_act = threading.Event(), threading.Event()
        self.may_act.set()
        self.is_idle = threading.Event()
        self._connected, self._names = {}, [f"c {n}" if n % 4 == 0 else f"c{n}" for n in range(12)]
        self.wanted = set()
        self.done = 0

    def run(self):
        while not self._is_over.wait(self._rng.uniform(0, 0.15)):
            if self.may_act.is_set():
                self.is_idle.clear()
                self._act(self._rng.choice(self._names))
                self.done += 1
            else:
                self.is_idle.set()
        for name in list(self._connected):
            if self._rng.random() < 0.5:
                self._leave(name)

    def _act(self, name):
        rng = self._rng
        if name not in self._connected:
            self._come(name, is_clean=rng.random() < 0.6)
            return
        what = rng.random()
        client = self._connected[name][0]
        topic = f"t/{rng.randrange(12)}" + (" 1 x" if rng.random() < 0.1 else "")
        if what < 0.25:
            self._leave(name)
        elif what < 0.7:
            answer(client, client.subscribe(topic, 1))
            self.wanted.add((name, topic))
        else:
            answer(client, client.unsubscribe(topic))
            self.wanted.discard((name, topic))

    def _come(self, name, is_clean):
        context = client_of(self._broker, name, clean=is_clean)
        client = context.__enter__()
        client.answered = {}
        client.on_subscribe = client.on_unsubscribe = lambda c, d, number, *_: (
            c.answered.__setitem__(number, True)
        )
        self._connected[name] = client, context, is_clean
        if is_clean:
            self._forget(name)

    def _leave(self, name):
        _, context, is_clean = self._connected.pop(name)
        context.__exit__(None, None, None)
        if is_clean:
            self._forget(name)

    def _forget(self, name):
        self.wanted = {pair for pair in self.wanted if pair[0] != name}

    def rest(self):
        """Do nothing until told; return when nothing is being done."""
        self.may_act.clear()
        assert self.is_idle.wait(PATIENCE)

    def lose_broker(self):
        """Know that the broker was started anew: nobody comes back by itself."""
        for name in list(self._connected):
            client, _, is_clean = self._connected.pop(name)
            client.loop_stop()
            if is_clean:
                self._forget(name)

    def stop(self):
        self._is_over.set()
        self.join(PATIENCE)
        assert not self.is_alive()

    def close(self):
        for _, context, _ in self._connected.values():
            context.__exit__(None, None, None)


def answer(client, sent):
    """Return when the broker has answered."""
    wait_until(lambda: client.answered.pop(sent[1], False))


def wanted_by(home):
    """Return who of the crowd wants what, as a running service has it on disk."""
    path = StateFolder(home / "state").ledger
    with contextlib.closing(sqlite3.connect(path, timeout=60)) as database:
        rows = database.execute(
            "SELECT subscriber, topic FROM subscriptions WHERE until = ? AND subscriber LIKE 'c%'",
            (2**63 - 1,),
        )
        return set(rows)


def totals_of(home):
    ledger = Ledger(StateFolder(home / "state").ledger, RULE)
    try:
        return ledger.totals(), ledger.reasons()
    finally:
        ledger.close()


def configuration_of(home, broker):
    source = f'kind = "mqtt"\nport = {broker.port}\nid_field = "id"\ntime_field = "at"'
    return configure(home, f"{source}\nbroker_log = true")


def finish(home, broker, service, traffic):
    publish(broker, traffic.last())
    wait_until(lambda: decisions(home) == len(traffic.expected) - 1, service.log.read_text)


def difference(crowd, home):
    found = wanted_by(home)
    return f"missing {crowd.wanted - found}, too many {found - crowd.wanted}, {totals_of(home)}"


def test_killed_many_times_subscriptions_are_those_of_the_broker(
    tmp_path,
    broker,
    start,  # noqa: F811
    keep_counts,
):
    rng, traffic = random.Random(1), Traffic(1)
    configuration = configuration_of(tmp_path, broker)
    service = start(configuration)
    service.wait()
    publishing, crowd = Publishing(broker, traffic), Crowd(broker, 2)
    publishing.start()
    crowd.start()
    try:
        for _ in range(KILLS):
            enough = batches(tmp_path) + rng.randrange(1, 4)
            wait_until(lambda: batches(tmp_path) >= enough, service.log.read_text)  # noqa: B023
            time.sleep(rng.uniform(0, 0.5))
            assert service.end(signal.SIGKILL) == -signal.SIGKILL
            service = start(configuration)
            service.wait()
    finally:
        publishing.stop()
        crowd.stop()
    wait_until(lambda: wanted_by(tmp_path) == crowd.wanted, lambda: difference(crowd, tmp_path))
    finish(tmp_path, broker, service, traffic)
    assert service.end(signal.SIGTERM) == 128 + signal.SIGTERM
    windows = check(tmp_path, traffic)
    totals, reasons = totals_of(tmp_path)
    assert (totals["gaps"], totals["lost_sessions"], reasons) == (0, 0, {})
    crowd.close()
    keep_counts(
        kills=KILLS, events=traffic.sent, changes=crowd.done, decisions=windows,
        subscriptions=len(crowd.wanted),
    )  # fmt: skip


def test_a_broker_that_is_restarted_under_load(
    tmp_path,
    broker,
    start,  # noqa: F811
    keep_counts,
):
    rng, traffic = random.Random(5), Traffic(5)
    configuration = configuration_of(tmp_path, broker)
    service = start(configuration)
    service.wait()
    crowd = Crowd(broker, 6)
    crowd.start()
    try:
        for _ in range(RESTARTS):
            publishing = Publishing(broker, traffic)
            publishing.start()
            time.sleep(rng.uniform(3, 6))
            publishing.stop()
            crowd.rest()
            before = crowd.wanted
            wait_until(
                lambda: wanted_by(tmp_path) == before,  # noqa: B023
                lambda: difference(crowd, tmp_path),
            )
            broker.stop()
            crowd.lose_broker()
            broker.start()
            # Nobody of the clean sessions has come back: they are gone all the same.
            wait_until(
                lambda: wanted_by(tmp_path) == crowd.wanted, lambda: difference(crowd, tmp_path)
            )
            crowd.may_act.set()
    finally:
        crowd.may_act.set()
        crowd.stop()
    finish(tmp_path, broker, service, traffic)
    wait_until(lambda: wanted_by(tmp_path) == crowd.wanted, lambda: difference(crowd, tmp_path))
    assert service.end(signal.SIGTERM) == 128 + signal.SIGTERM
    windows = check(tmp_path, traffic)
    totals, reasons = totals_of(tmp_path)
    assert (totals["gaps"], totals["lost_sessions"], reasons) == (0, 0, {})
    crowd.close()
    keep_counts(
        restarts=RESTARTS, events=traffic.sent, changes=crowd.done, decisions=windows,
        subscriptions=len(crowd.wanted),
    )  # fmt: skip


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 160 MB of its own."""
    if os.getuid() != 0:
        pytest.skip("only root may mount a disk")
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=160m", "tmpfs", str(folder)],
        capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def free(folder):
    return shutil.disk_usage(folder).free


def test_a_disk_that_is_full_for_a_while(
    small_disk,
    broker,
    start,  # noqa: F811
    keep_counts,
):
    traffic = Traffic(8)
    configuration = configuration_of(small_disk, broker)
    service = start(configuration)
    service.wait()
    publishing = Publishing(broker, traffic)
    publishing.start()
    try:
        for left in (40 * 10**6, 0):  # no room for input, and no room for anything
            before = batches(small_disk)
            wait_until(lambda: batches(small_disk) > before + 2, service.log.read_text)  # noqa: B023
            with open(small_disk / "ballast", "wb") as ballast, contextlib.suppress(OSError):
                while free(small_disk) > left:
                    ballast.write(b"x" * min(10**6, max(4096, free(small_disk) - left)))
                    ballast.flush()
            time.sleep(8)
            assert service.process.poll() is None, service.log.read_text()
            (small_disk / "ballast").unlink()
    finally:
        publishing.stop()
    finish(small_disk, broker, service, traffic)
    assert service.log.read_text().count("input waits") >= 2
    assert service.end(signal.SIGTERM) == 128 + signal.SIGTERM
    windows = check(small_disk, traffic)
    keep_counts(times_full=2, events=traffic.sent, decisions=windows)
