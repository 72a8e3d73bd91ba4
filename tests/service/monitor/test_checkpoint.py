"""Checkpoints that are begun anew under input: every event counts once, whatever is killed when."""

from __future__ import annotations

import shutil
from collections import Counter

import pytest
from tests.service.monitor.test_stream import Running, counts, wait_until

from fanwise.service.configuration.model import MqttSource
from fanwise.service.monitor import checkpoint as checkpoints
from fanwise.service.monitor import stream as streams
from fanwise.service.monitor.checkpoint import Checkpoint
from fanwise.service.monitor.ledger import Batch, Ledger
from fanwise.service.monitor.spool import Spool, bytes_waiting, segments
from fanwise.service.monitor.windows import WindowRule
from fanwise.service.records import Window

HOUR = WindowRule.from_seconds(3600, None, 60)


class Killed(BaseException):
    pass


def die(*_, **__):
    raise Killed


class Input:
    """Segments of a spool, and the plain count of what is in them."""

    def __init__(self, folder):
        self._spool = Spool(folder / "spool", limit=10**9)
        self.sent, self.expected = 0, Counter()

    def write(self, segments=2, rows=5):
        for _ in range(segments):
            topics = [f"t{(self.sent + row) % 7}" for row in range(rows)]
            self.sent += rows
            self.expected.update(topics)
            self._spool.write(
                {"kind": "event", "topic": topic, "timestamp": "100.0"} for topic in topics
            )


@pytest.fixture
def begin(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "LARGEST_LOG", 1)
    monkeypatch.setattr(streams, "RENEW_SECONDS", 0.0)
    started = []

    def begin():
        spool = tmp_path / "spool"
        started.append(Running(spark, MqttSource(), tmp_path, spool=spool))
        return started[-1]

    yield begin
    for each in started:
        each.stream.stop()


def check(running, input_):
    """Let the window close and compare."""
    running.wait_for(events=input_.sent)
    assert running.ledger.totals()["events"] == input_.sent
    running.ledger.commit(Batch(10**9, last=9000 * 10**6))
    assert counts(running.ledger, Window(0, 3600 * 10**6)) == input_.expected


@pytest.mark.spark
def test_begun_anew_several_times_under_input(begin, tmp_path):
    input_, running = Input(tmp_path), begin()
    firsts = []
    for _ in range(4):
        input_.write()
        running.wait_for(events=input_.sent - 7)  # some of it is still to be counted
        input_.write()
        running.stream.renew_if_large()
        firsts.append(running.ledger.first_batch())
        running.wait_for(events=input_.sent)
    running.stream.renew_if_large()
    firsts.append(running.ledger.first_batch())
    assert firsts == sorted(firsts)
    assert len(set(firsts)) > 2, "often enough it was possible"
    left = [path.name for path in (tmp_path / "checkpoint").iterdir()]
    assert [name for name in left if not name.startswith(".")] == [f"from-{firsts[-1]}"]
    check(running, input_)


STEPS = {
    "before anything is moved": ("_put_away", die),
    "halfway through moving": ("rename", None),
    "when all is moved": ("set_first_batch", die),
    "after the change": ("_remove_others", die),
    "halfway through removing": ("rmtree", None),
}


@pytest.mark.spark
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("is_told", [True, False])
def test_killed_at_any_step(begin, tmp_path, monkeypatch, step, is_told):
    """``is_told``: whether Spark could write down that the last batch was taken."""
    input_, running = Input(tmp_path), begin()
    for _ in range(3):
        input_.write()
        running.wait_for(events=input_.sent)
    running.stream.stop()
    checkpoint = running.stream._checkpoint
    if not is_told:
        last = max((tmp_path / "checkpoint" / "commits").iterdir(), key=number)
        last.unlink()
        last.with_name(f".{last.name}.crc").unlink(missing_ok=True)
    with monkeypatch.context() as patch:
        kill_at(patch, step)
        with pytest.raises(Killed):
            checkpoint.renew()
    running.ledger.close()
    input_.write()
    again = begin()
    input_.write()
    again.wait_for(events=input_.sent)
    again.stream.renew_if_large()
    input_.write()
    check(again, input_)


def number(path):
    return int(path.name) if path.name.isdecimal() else -1


def kill_at(patch, step):
    name, act = STEPS[step]
    if name == "rename":
        rename, calls = checkpoints.Path.rename, []

        def act(path, target):
            calls.append(path)
            if len(calls) == 2:
                raise Killed
            return rename(path, target)

        patch.setattr(checkpoints.Path, name, act)
    elif name == "rmtree":
        rmtree = shutil.rmtree

        def act(path, **more):
            rmtree(path, **more)
            raise Killed

        patch.setattr(checkpoints.shutil, name, act)
    elif name == "set_first_batch":
        patch.setattr(Ledger, name, act)
    else:
        patch.setattr(Checkpoint, name, act)


def test_a_batch_that_was_not_counted_runs_first(tmp_path):
    ledger = Ledger(tmp_path / "s", HOUR)
    offsets = tmp_path / "checkpoint" / "offsets"
    offsets.mkdir(parents=True)
    checkpoint = Checkpoint(tmp_path / "checkpoint", ledger, tmp_path / "spool")
    assert not checkpoint.renew(), "there is no batch"
    ledger.commit(Batch(0))
    for batch in ("0", "1"):
        (offsets / batch).write_text('v1\n{}\n{"logOffset":0}')
    assert not checkpoint.renew()
    assert ledger.first_batch() == 0
    assert segments(tmp_path / "spool") == []
    other = Checkpoint(tmp_path / "other", ledger, None)
    assert not other.is_large()
    assert not other.renew()


def test_segments_that_were_counted_and_are_not_yet_moved_wait_for_nothing(begin, tmp_path):
    sent, running = Input(tmp_path), begin()
    for _ in range(3):
        sent.write()
        running.wait_for(events=sent.sent)
        # Spark moves them with the next batch, which may not come for long.
        wait_until(lambda: running.stream.backlog() == 0)
    assert bytes_waiting(tmp_path / "spool") > 0
    running.stream.stop()
    sent.write(1)
    written = max(segments(tmp_path / "spool"), key=lambda path: path.name)
    assert running.stream.backlog() == written.stat().st_size
