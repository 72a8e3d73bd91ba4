"""What goes wrong around the service: it says so, goes on, and nothing is decided twice."""

from __future__ import annotations

import threading
import time

import pytest
from tests.service.monitor.test_receiver import wait_until
from tests.service.servers import postgres  # noqa: F401
from tests.service.services import HOUR, close_hour, supervise

from fanwise.service import supervisor as supervisors
from fanwise.service.configuration.model import MqttSource
from fanwise.service.monitor import jumps
from fanwise.service.monitor import spool as spools
from fanwise.service.monitor.ledger import Batch, TopicCount
from fanwise.service.monitor.receiver import Receiver, ReceiverStatus
from fanwise.service.monitor.spool import Spool, bytes_waiting, segments
from fanwise.service.status import StreamStatus
from fanwise.service.store.errors import StoreUnavailable


def commit_hours(service, hours):
    """Let hours pass without deciding them."""
    for hour in hours:
        number = service.ledger.totals()["batch"] + 1
        counts = [TopicCount(hour * HOUR, "news", hour + 1, 0.0, 0)]
        service.ledger.commit(Batch(number, counts, (hour + 1) * HOUR + 120 * 10**6))


def test_windows_that_close_while_postgresql_is_away_are_decided_once_it_is_back(
    tmp_path,
    postgres,  # noqa: F811
):
    service = supervise(tmp_path, store={"url": postgres.new_database()})
    try:
        close_hour(service, 0)
        assert service.store.newest().number == 1
        postgres.stop()
        try:
            commit_hours(service, [1, 2, 3])
            for _ in range(3):
                service.step()
                assert "store" in service.health.troubles
            with pytest.raises(StoreUnavailable):
                service.store.newest()
            assert service.ledger.totals()["events"] == 18 + 2 + 3 + 4, "counting goes on"
        finally:
            postgres.start()
        service.step()
        service.step()
        rows = service.store.decisions(10).rows
        assert [(one.number, one.window.start // HOUR) for one in rows] == [
            (4, 3), (3, 2), (2, 1), (1, 0),
        ]  # fmt: skip
        assert [one.state for one in rows] == ["pending", *["superseded"] * 3]
        assert service.health.troubles == {}
    finally:
        service.stop()


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_postgresql_is_away_for_a_minute(tmp_path, postgres):  # noqa: F811
    """In the loop as it runs: windows close all the time, and none is lost or decided twice."""
    service = supervise(tmp_path, store={"url": postgres.new_database()}, execute={"mode": "auto"})
    thread = threading.Thread(target=service.run)
    thread.start()
    hours = 0

    def publish(seconds):
        nonlocal hours
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            commit_hours(service, [hours])
            hours += 1
            time.sleep(1.0)

    try:
        publish(3)
        postgres.stop()
        try:
            publish(30)
            assert "store" in service.health.troubles
            publish(30)
        finally:
            postgres.start()
        publish(3)
        wait_until(lambda: service.health.troubles == {}, lambda: str(service.health.troubles))
        wait_until(lambda: len(service.store.decisions(1000).rows) == hours)
        rows = service.store.decisions(1000).rows
        assert [one.window.start // HOUR for one in rows] == list(reversed(range(hours)))
        assert hours >= 40
    finally:
        service.stopping.set()
        thread.join(120)
        service.stop()


def test_a_service_waits_for_a_store_that_is_away_when_it_starts(tmp_path, postgres):  # noqa: F811
    url = postgres.new_database()
    supervise(tmp_path, store={"url": url}).stop()
    postgres.stop()
    begun = []
    thread = threading.Thread(
        target=lambda: begun.append(supervise(tmp_path, store={"url": url})), daemon=True
    )
    try:
        thread.start()
        thread.join(1.0)
        assert thread.is_alive()
    finally:
        postgres.start()
    thread.join(60)
    assert begun[0].health.store == ""
    close_hour(begun[0], 0)
    assert begun[0].store.newest().number == 1
    begun[0].stop()


def test_a_clock_that_goes_back_changes_no_order(tmp_path, monkeypatch):
    service = supervise(tmp_path)
    close_hour(service, 0)
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now - 3600 * 10**9)
    close_hour(service, 1, {"cats": 3, "dogs": 4})
    service.stop()
    service = supervise(tmp_path)
    close_hour(service, 2, {"cats": 4, "dogs": 3})
    rows = service.store.decisions(10).rows
    assert [(one.number, one.window.start // HOUR) for one in rows] == [(3, 2), (2, 1), (1, 0)]
    assert [one.state for one in rows] == ["pending", "superseded", "superseded"]
    assert service.store.newest() == rows[0]
    totals = {one.window.start // HOUR: one.events for one in service.store.windows(10).rows}
    assert totals == {0: 18, 1: 7, 2: 7}
    assert service.store.windows(10).rows[0].late == 0
    service.stop()


class FakeMessage:
    topic, payload, qos, dup = "a", b"", 1, False

    def __init__(self, number):
        self.mid = number


def test_messages_that_get_their_time_on_arrival_stay_in_order_where_the_clock_goes_back(
    tmp_path, monkeypatch
):
    receiver = Receiver(MqttSource(), Spool(tmp_path / "spool", limit=10**6), largest=100)
    monkeypatch.setattr(receiver._client, "ack", lambda *_: None)
    receiver._on_message(None, None, FakeMessage(1))
    assert receiver._flush()
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now - 3600 * 10**9)
    receiver._on_message(None, None, FakeMessage(2))
    assert receiver._flush()
    texts = [path.read_text() for path in segments(tmp_path / "spool")]
    stamps = [float(text.split('"timestamp": "')[1].split('"')[0]) for text in texts]
    assert stamps == sorted(stamps)


def test_a_full_disk_is_said_and_passes(tmp_path, monkeypatch):
    """What is free on the disk is a number of ours; everything else is real."""
    free = [0]
    monkeypatch.setattr(
        spools.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": free[0]})
    )
    receiver = Receiver(MqttSource(), Spool(tmp_path / "spool", limit=10**6), largest=100)
    acknowledged = []
    monkeypatch.setattr(receiver._client, "ack", lambda *which: acknowledged.append(which))
    for number in (1, 2):
        receiver._on_message(None, None, FakeMessage(number))
    assert not receiver._flush()
    assert receiver.status.trouble == f"input waits: {tmp_path}/spool: the disk is full"
    assert (acknowledged, receiver.status.waiting) == ([], 2)
    free[0] = 10**12
    receiver._on_message(None, None, FakeMessage(3))
    assert receiver._flush()
    assert acknowledged == [(1, 1), (2, 1), (3, 1)]
    assert (receiver.status.trouble, receiver.status.waiting) == ("", 0)


def test_what_is_visible_and_may_not_be_on_disk_is_not_written_again(tmp_path, monkeypatch):
    receiver = Receiver(MqttSource(), Spool(tmp_path / "spool", limit=10**6), largest=100)
    acknowledged = []
    monkeypatch.setattr(receiver._client, "ack", lambda *which: acknowledged.append(which))
    for number in (1, 2):
        receiver._on_message(None, None, FakeMessage(number))
    with monkeypatch.context() as patch:

        def fail(folder):
            raise OSError(5, "Input/output error")

        patch.setattr(spools, "sync_folder", fail)
        for _ in range(3):
            assert not receiver._flush()
            receiver._on_message(None, None, FakeMessage(3))
        assert "Input/output error" in receiver.status.trouble
        assert (acknowledged, receiver.status.written) == ([], 2)
    assert receiver._flush()
    assert acknowledged == [(1, 1), (2, 1)], "the others come next"
    assert receiver._flush()
    assert len(acknowledged) == 5
    assert sum(len(path.read_text().splitlines()) for path in segments(tmp_path / "spool")) == 5
    assert receiver.status.trouble == ""


def test_a_spool_at_its_limit_goes_on_when_segments_are_counted(tmp_path, monkeypatch):
    receiver = Receiver(MqttSource(), Spool(tmp_path / "spool", limit=150), largest=100)
    monkeypatch.setattr(receiver._client, "ack", lambda *_: None)
    receiver._on_message(None, None, FakeMessage(1))
    assert receiver._flush()
    for number in (2, 3):
        receiver._on_message(None, None, FakeMessage(number))
    assert not receiver._flush()
    assert "150 bytes are waiting, the most allowed" in receiver.status.trouble
    for path in segments(tmp_path / "spool"):
        path.unlink()
    assert not receiver._flush(), "there is room for one of them"
    assert (receiver.status.written, receiver.status.waiting) == (2, 1)
    assert 0 < bytes_waiting(tmp_path / "spool") <= 150
    for path in segments(tmp_path / "spool"):
        path.unlink()
    assert receiver._flush()
    assert (receiver.status.trouble, receiver.status.waiting) == ("", 0)


class EndedStream:
    """A stream that ended, as Spark's do when a file cannot be read."""

    def __init__(self):
        self.status = StreamStatus(trouble="the stream ended: no such file")
        self.is_up = False
        self.doubt, self.ahead = "", 3600.0

    def now(self):
        return time.time_ns() // 1000

    def is_alive(self):
        return self.is_up

    def close_if_silent(self):
        pass

    def renew_if_large(self):
        pass

    def note_away(self):
        pass

    def stop(self):
        pass


def test_a_stream_that_ended_is_said_until_it_runs_again(tmp_path, monkeypatch):
    monkeypatch.setattr(supervisors, "TICK_SECONDS", 0.0)
    service = supervise(tmp_path)
    stream = service.stream = EndedStream()
    starts = []
    service._start_stream = lambda: starts.append(1)
    for _ in range(3):
        service.step()
        assert service.health.troubles == {"stream": "the stream ended: no such file"}
    assert len(starts) == 1, "it is tried again after a while"
    stream.is_up = True
    service.step()
    assert service.health.troubles == {}
    service.stop()


def test_trouble_of_the_receiver_is_trouble_of_the_service(tmp_path, monkeypatch):
    monkeypatch.setattr(supervisors, "TICK_SECONDS", 0.0)

    class Waiting:
        last_status = ReceiverStatus(trouble="input waits: the disk is full", doubles=3, again=4)

        def status(self):
            return self.last_status

        def stop(self):
            pass

    service = supervise(tmp_path)
    service.receiver = Waiting()
    service.step()
    assert service.health.troubles == {"receiver": "input waits: the disk is full"}
    assert (service.input().duplicates, service.input().redelivered) == (3, 4)
    Waiting.last_status = ReceiverStatus(trouble="")
    service.step()
    assert service.health.troubles == {}
    service.stop()


def test_windows_are_decided_in_the_loop_until_it_is_stopped(tmp_path):
    service = supervise(tmp_path)
    thread = threading.Thread(target=service.run)
    thread.start()
    commit_hours(service, [0, 1])
    wait_until(lambda: sum(service.store.count_decisions().values()) == 2)
    service.stopping.set()
    thread.join(60)
    assert not thread.is_alive()
    service.stop()


class SilentStream(EndedStream):
    """A stream that runs and hears nothing."""

    def __init__(self):
        super().__init__()
        self.is_up, self.away = True, 0

    def note_away(self):
        self.away += 1


def test_a_source_that_is_away_is_not_silent(tmp_path, monkeypatch):
    monkeypatch.setattr(supervisors, "TICK_SECONDS", 0.0)
    service = supervise(tmp_path)
    stream = service.stream = SilentStream()
    service.step()
    assert stream.away == 0
    (tmp_path / "publications").rename(tmp_path / "away")
    service.step()
    assert stream.away == 1, "the folder is not there"

    class Told:
        last_status = ReceiverStatus(is_connected=False)

        def status(self):
            return self.last_status

        def stop(self):
            pass

    service.receiver = Told()
    service.step()
    assert stream.away == 2
    Told.last_status = ReceiverStatus(is_connected=True, trouble="input waits: the disk is full")
    service.step()
    assert stream.away == 3
    Told.last_status = ReceiverStatus(is_connected=True, trouble="")
    service.step()
    assert stream.away == 3
    service.stop()


class Clock:
    """The machine's clock, which can be set, and one that cannot."""

    def __init__(self, patch, wall):
        self.wall, self.passed = wall, 10.0
        patch.setattr(time, "time_ns", lambda: int(self.wall * 1e9))
        patch.setattr(time, "time", lambda: self.wall)
        patch.setattr(jumps.time, "monotonic", lambda: self.passed)

    def run(self, seconds):
        self.wall += seconds
        self.passed += seconds


def decided_hours(service):
    return [one.window.start // HOUR for one in reversed(service.store.decisions(100).rows)]


def test_a_clock_that_was_days_ahead_and_was_set_right_holds_up_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(supervisors, "TICK_SECONDS", 0.0)
    service = supervise(tmp_path)
    clock = Clock(monkeypatch, 100 * 3600.0)
    service.stream = SilentStream()
    for hour in (97, 98, 99):
        close_hour(service, hour)
    # Somebody sets the clock five days ahead, and events get their time on arrival.
    close_hour(service, 220, {"news": 5})
    assert decided_hours(service) == [97, 98, 99, 220]
    # It is set right: what comes is late, until the new time has stood for a while.
    clock.run(300)
    commit_hours(service, [100])
    service.step()
    assert service.ledger.totals()["late"] == 101
    clock.run(700)
    service.step()
    clock.run(3600)
    close_hour(service, 101)
    close_hour(service, 102)
    assert decided_hours(service) == [97, 98, 99, 220, 101, 102]
    assert service.ledger.totals()["closed_through"] == 103 * HOUR
    # When the time comes that was counted once already, nothing is decided twice.
    close_hour(service, 219)
    close_hour(service, 220)
    close_hour(service, 221)
    assert decided_hours(service) == [97, 98, 99, 220, 101, 102, 219, 221]
    service.stop()
    assert supervisors.Supervisor(service.configuration).stop() is None


@pytest.mark.parametrize("wall", [50.5, 90.5])
def test_a_clock_that_is_wrongly_behind_opens_nothing(tmp_path, monkeypatch, wall):
    """Before all that was decided, or in the midst of it."""
    monkeypatch.setattr(supervisors, "TICK_SECONDS", 0.0)
    service = supervise(tmp_path)
    clock = Clock(monkeypatch, 100 * 3600.0)
    service.stream = SilentStream()
    for hour in range(80, 100):
        close_hour(service, hour)
    before = service.ledger.totals()
    clock.wall = wall * 3600
    for _ in range(30):
        clock.run(100)
        service.step()
    assert service.ledger.totals() == before
    assert service.store.newest_standing().window.start == 99 * HOUR
    service.stop()
