"""The split with everything killed again and again: forwarder, service and a broker."""

from __future__ import annotations

import json
import random
import signal
import time

import pytest
from tests.client.test_client import TOPICS, Load
from tests.service.forwarding.forwarders import Setting, wait_until
from tests.service.splits import write_configuration, write_pairs
from tests.service.test_kill import decisions, read_all, start  # noqa: F401

from fanwise.service.state import StateFolder
from fanwise.service.store.store import Store

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(3600)]

KILLS = 30
RATE = 250
PAIRS = [(f"u{number}", topic) for number in range(12)
         for topic in [*TOPICS][number % 4 : number % 4 + 2]]  # fmt: skip


@pytest.fixture
def setting():
    with Setting() as setting:
        setting.configure(dict.fromkeys(TOPICS, ("n0",)))
        setting.start()
        yield setting


def obeyed(setting):
    """Return the epoch and hash that the forwarder has on its disk."""
    path = setting.home / "state" / "decision.json"
    found = json.loads(path.read_text()) if path.exists() else {"epoch": 0, "hash": None}
    return found["epoch"], found["hash"]


def test_forwarder_service_and_a_broker_killed_thirty_times(
    tmp_path,
    setting,
    start,  # noqa: F811
    keep_counts,
):
    rng, topics = random.Random(15), [*TOPICS, *TOPICS]
    write_pairs(tmp_path, PAIRS)
    configuration = write_configuration(
        tmp_path,
        setting.ingress.port,
        "",
        windows="length = '3s'\nlateness = '1s'\nidle = '5s'",
        decide="tau = 100\ncapacity = '40%'",
        mode="auto",
    )
    service = start(configuration)
    service.wait()
    slowest = {"back_to_normal": 0.0, "service_ready": 0.0, "next_decision": 0.0}
    epochs = [obeyed(setting)]

    def note(what, since):
        slowest[what] = max(slowest[what], time.monotonic() - since)

    with Load(setting, RATE, topics) as load:
        wait_until(lambda: decisions(tmp_path) > 0, "no decision comes")
        for _ in range(KILLS):
            topics[:] = rng.choices(list(TOPICS), k=len(topics))
            time.sleep(rng.uniform(0.2, 3.0))
            epochs.append(obeyed(setting))
            broker = rng.choice(list(setting.brokers.values()))
            for kill in rng.sample(
                [setting.kill, broker.kill, lambda service=service: service.end(signal.SIGKILL)], 3
            ):
                kill()
                time.sleep(rng.uniform(0.0, 0.3))
            made = decisions(tmp_path)
            broker.start()
            setting.start(is_awaited=False)
            service = start(configuration)
            killed, before = time.monotonic(), load.sent_by_now()
            wait_until(
                lambda since=killed, before=before: load.is_normal(since, before),
                "it does not come back",
            )
            note("back_to_normal", killed)
            service.wait()
            note("service_ready", killed)
            wait_until(lambda made=made: decisions(tmp_path) > made, "no decision comes")
            note("next_decision", killed)
            epochs.append(obeyed(setting))
        lost, doubled = load.finish()
        repaired = sum(client.counts.repaired for client in load.clients)
        assert (lost, doubled) == (0, 0)
    assert service.end(signal.SIGTERM) == 128 + signal.SIGTERM
    store = Store(StateFolder(tmp_path / "state").store)
    try:
        rows = read_all(store.decisions)
        current = store.current()
    finally:
        store.close()
    # What is in force is what the forwarder obeys, and nothing went back to an older epoch.
    assert obeyed(setting)[1] == current.hash
    assert epochs == sorted(epochs, key=lambda one: one[0])
    assert len(set(epochs)) > KILLS // 3, "decisions did not switch"
    windows = [one.window.start for one in rows]
    assert len(set(windows)) == len(windows), "a window was decided twice"
    keep_counts(
        kills=3 * KILLS, messages=load.sent.total(), clients=len(load.clients), lost=lost,
        doubled=doubled, repaired=repaired, decisions=len(rows), epochs=epochs[-1][0],
        **{f"slowest_{what}_ms": int(1000 * seconds) for what, seconds in slowest.items()},
    )  # fmt: skip
