"""The outbox: waits that grow, dead letters, kills at every point, a store that goes away."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.service.executor.receivers import Recorder, drain, submit

from fanwise.service.executor.applying import Executor
from fanwise.service.executor.errors import OutputError
from fanwise.service.executor.settings import Execute, FileOutput, Retries, WebhookOutput
from fanwise.service.store.store import Store

ROOT = Path(__file__).parents[3]
FAST = Retries(first_wait=0.01, longest_wait=0.05, attempts=1000, give_up_after=60)


def make(store, clock, output, **retries):
    settings = Execute(mode="approve", retries=Retries(**{"jitter": 0} | retries))
    executor = Executor(store, settings, outputs=[output], now=clock.now, monotonic=clock.monotonic)
    executor.prepare()
    return executor


def wait_until(holds, seconds=20.0):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


def test_waits_double_up_to_a_limit(sqlite, clock):
    output = Recorder()
    output.failure = OutputError("down")
    executor = make(sqlite, clock, output, first_wait=1, longest_wait=10)
    executor.approve(submit(executor, 1, "a").hash, "ann")
    waits = []
    for _ in range(6):
        waits.append(executor.outbox.attempt_due("recorder"))
        assert executor.outbox.attempt_due("recorder") == waits[-1], "no attempt before its time"
        assert sqlite.waiting("recorder").next_attempt == clock.now() + waits[-1] * 1e6
        clock.seconds += waits[-1]
    assert waits == [1, 2, 4, 8, 10, 10]
    output.failure = None
    drain(executor, ["recorder"])
    assert sqlite.current() is not None
    assert sqlite.deliveries(1)[0].attempts == 7


def test_a_receiver_may_ask_to_wait_longer_and_chance_shortens(sqlite, clock):
    output = Recorder()
    output.failure = OutputError("busy", wait=6)
    executor = make(sqlite, clock, output, first_wait=1, longest_wait=10, jitter=0.5)
    executor.approve(submit(executor, 1, "a").hash, "ann")
    assert 3 <= executor.outbox.attempt_due("recorder") <= 6
    output.failure = OutputError("busy", wait=1e9)
    clock.seconds += 6
    assert 5 <= executor.outbox.attempt_due("recorder") <= 10


def test_dead_letters_after_so_many_attempts(sqlite, clock):
    output = Recorder()
    output.failure = OutputError("down")
    executor = make(sqlite, clock, output, attempts=4, first_wait=1, longest_wait=1)
    executor.approve(submit(executor, 1, "a").hash, "ann")
    for _ in range(4):
        assert sqlite.dead_letters().rows == ()
        executor.outbox.attempt_due("recorder")
        clock.seconds += 1
    (letter,) = sqlite.dead_letters().rows
    assert (letter.attempts, letter.error, letter.state) == (4, "down", "dead")


def test_dead_letters_after_so_long_whatever_the_clock_on_the_wall_says(sqlite, clock):
    output = Recorder()
    output.failure = OutputError("down")
    executor = make(sqlite, clock, output, give_up_after=100, first_wait=10, longest_wait=10)
    executor.approve(submit(executor, 1, "a").hash, "ann")
    jumps = [0, 10**15, -(10**15)]
    executor.outbox._now = lambda: clock.now() + jumps[int(clock.seconds / 10) % 3]
    for _ in range(10):
        assert sqlite.dead_letters().rows == ()
        executor.outbox.attempt_due("recorder")
        clock.seconds += 10
    executor.outbox.attempt_due("recorder")
    assert len(sqlite.dead_letters().rows) == 1


def test_an_output_with_a_bug_is_an_output_that_failed(sqlite, clock):
    output = Recorder()
    output.deliver = lambda announcement: {}["secret"]
    executor = make(sqlite, clock, output)
    executor.approve(submit(executor, 1, "a").hash, "ann")
    executor.outbox.attempt_due("recorder")
    assert sqlite.waiting("recorder").error == "it failed unexpectedly (KeyError)"


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_webhook_that_fails_for_a_minute(store, receiver):
    """With the waits of the configuration's defaults; it is told once, as soon as it answers."""
    receiver.answers += [500] * 1000
    settings = Execute(mode="auto", webhook=[WebhookOutput(url=receiver.url)])
    executor = Executor(store, settings)
    executor.start()
    try:
        decision = submit(executor, 1, "a")
        time.sleep(60)
        assert "answered 500" in executor.status().waiting[0].error
        assert store.current() is None, "nothing is in force that nobody was told"
        receiver.answers.clear()
        assert executor.wait(1, 60).state == "done"
        assert store.current().number == decision.number
        posts = len(receiver.keys)
        assert 5 <= posts <= 12, "waits double"
    finally:
        executor.stop()
    assert set(receiver.keys) == {f"{decision.hash}-1-webhook"}


def test_a_webhook_that_fails_for_a_while(store, receiver):
    receiver.answers += [500, 503, 0, 404, 500]
    settings = Execute(mode="auto", retries=FAST, webhook=[WebhookOutput(url=receiver.url)])
    attempts, closed = [], []
    executor = Executor(
        store,
        settings,
        on_attempt=lambda name, error: attempts.append((name, error is None)),
        on_closed=closed.append,
    )
    executor.start()
    try:
        decision = submit(executor, 1, "a")
        assert executor.wait(1, 20).state == "done"
        assert store.current().number == decision.number
        wait_until(lambda: closed)
    finally:
        executor.stop()
    assert receiver.keys == [f"{decision.hash}-1-webhook"] * 6
    assert len({body for _, body in receiver.posts}) == 1
    assert attempts == [("webhook", False)] * 5 + [("webhook", True)]
    assert [one.state for one in closed] == ["done"]


def test_a_folder_that_cannot_be_written_fails_and_says_so(store, receiver, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    settings = Execute(
        mode="approve",
        retries=Retries(first_wait=0.01, longest_wait=0.02, attempts=4),
        resend=3600,
        file=[FileOutput(path=folder / "now.json")],
        webhook=[WebhookOutput(url=receiver.url)],
    )
    executor = Executor(store, settings)
    executor.start()
    try:
        first = submit(executor, 1, "a")
        executor.approve(first.hash, "ann")
        assert executor.wait(1, 20).state == "done"
        old = (folder / "now.json").read_bytes()
        # Root may write anywhere, but nobody can write below a file.
        folder.rename(tmp_path / "moved")
        folder.write_text("no folder")
        second = submit(executor, 2, "b")
        executor.approve(second.hash, "ann")
        application = executor.wait(2, 20)
        assert application.state == "failed"
        assert "Output file failed after 4 attempts" in application.why
        assert "cannot be written: Not a directory" in application.why
        assert f"{first.hash} stays in force" in store.decision(second.number).why
        wait_until(lambda: receiver.bodies[-1]["hash"] == first.hash)
        assert (tmp_path / "moved" / "now.json").read_bytes() == old
        assert store.current().number == first.number
        folder.unlink()
        (tmp_path / "moved").rename(folder)
    finally:
        executor.stop()


def test_outputs_do_not_wait_for_each_other(sqlite):
    slow, quick = Recorder("slow"), Recorder("quick")
    release = threading.Event()
    deliver = slow.deliver

    def wait_first(announcement):
        release.wait(20)
        deliver(announcement)

    slow.deliver = wait_first
    executor = Executor(sqlite, Execute(mode="approve", retries=FAST), outputs=[slow, quick])
    executor.start()
    try:
        executor.approve(submit(executor, 1, "a").hash, "ann")
        wait_until(lambda: quick.told)
        assert executor.wait(1, 0.01).state == "open"
        release.set()
        assert executor.wait(1, 20).state == "done"
    finally:
        release.set()
        executor.stop()


KILLED = """
import os, signal, sys
from fanwise.service.executor import outbox, to_webhook
from fanwise.service.executor.applying import Executor
from fanwise.service.executor.settings import Execute, WebhookOutput
from fanwise.service.store.store import Store
from tests.service.executor.receivers import submit

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

url, store_url, point = sys.argv[1:]
executor = Executor(Store(store_url), Execute(mode="approve", webhook=[WebhookOutput(url=url)]))
executor.prepare()
decision = submit(executor, 1, "a")
if point == "before-delivery":
    to_webhook.ToWebhook.deliver = die
if point == "before-confirmation":
    Store.confirm = die
executor.approve(decision.hash, "ann")
if point == "after-approval":
    die()
executor.outbox.attempt_due("webhook")
"""


@pytest.mark.parametrize(
    ("point", "posts"),
    [("after-approval", 1), ("before-delivery", 1), ("before-confirmation", 2)],
)
def test_what_was_approved_before_a_kill_is_delivered_after_it(store_url, receiver, point, posts):
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, receiver.url, store_url, point],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert killed.returncode == -9, killed.stderr.decode()
    with Store(store_url) as store:
        assert store.current() is None
        settings = Execute(mode="approve", webhook=[WebhookOutput(url=receiver.url)])
        executor = Executor(store, settings)
        executor.start()
        try:
            assert executor.wait(1, 20).state == "done"
        finally:
            executor.stop()
        hash = store.current().hash
        assert store.audit().rows[-1].who == "ann"
    assert receiver.keys == [f"{hash}-1-webhook"] * posts
    assert len({body for _, body in receiver.posts}) == 1


def test_postgresql_away_while_delivering(postgres, receiver):
    with Store(postgres.new_database()) as store:
        settings = Execute(mode="approve", retries=FAST, webhook=[WebhookOutput(url=receiver.url)])
        executor = Executor(store, settings)
        confirm = store.confirm
        is_first = threading.Event()

        def lose_store(id, at):
            if not is_first.is_set():
                is_first.set()
                postgres.stop()
            return confirm(id, at)

        store.confirm = lose_store
        executor.start()
        try:
            decision = submit(executor, 1, "a")
            executor.approve(decision.hash, "ann")
            assert is_first.wait(20)
            time.sleep(0.3)
            postgres.start()
            wait_until(lambda: store.current() is not None)
        finally:
            executor.stop()
            postgres.stop()
            postgres.start()
        assert receiver.keys == [f"{decision.hash}-1-webhook"], "it is not delivered again"
