"""The driver: nobody is told of what is not on disk, and a disk without room is survived."""

from __future__ import annotations

import asyncio
import errno
import threading

import pytest
from tests.brokers.network.fakes import Counter

from fanwise.brokers.messages import Publish
from fanwise.brokers.network import driver as module
from fanwise.brokers.network.driver import Driver
from fanwise.brokers.protocol.effects import Arrived, Disk, Noted, Send, Tick
from fanwise.brokers.storage import journal as journal_module
from fanwise.brokers.storage.folder import DataFolder
from fanwise.brokers.storage.journal import DiskFullError, Journal, JournalError


class Disks:
    """Stands before a journal's disk: writes when told to."""

    def __init__(self, journal: Journal) -> None:
        self.journal, self.gate = journal, threading.Event()
        self.gate.set()
        self.batches: list[int] = []
        self.error: BaseException | None = None
        self._append = journal.append
        journal.append = self.append  # type: ignore[method-assign]

    def append(self, records) -> None:
        self.gate.wait()
        if self.error is not None:
            raise self.error
        self.batches.append(len(records))
        self._append(records)


class Run:
    def __init__(self, path, machine=None, **more) -> None:
        self.journal = Journal(DataFolder(path), "broker a", least_free=0, reserve=0, **more)
        self.disks = Disks(self.journal)
        self.machine = machine or Counter(self.journal.take_entries())
        self.said: list[object] = []
        self.held: list[bool] = []
        self.failed: list[BaseException] = []
        self.driver = Driver(
            self.machine, {Send: self.said.append, Noted: self.said.append}, self.journal,
            hold=self.held.append, fail=self.failed.append,
        )  # fmt: skip

    def publish(self, *sequences) -> None:
        for one in sequences:
            self.driver.handle(Arrived(1, Publish(one, (), b"")))

    def published(self) -> list[int]:
        return [one.message.sequence for one in self.said if type(one) is Send]

    async def until(self, condition) -> None:
        async with asyncio.timeout(20):
            while not condition():
                await asyncio.sleep(0.002)

    async def stop(self) -> None:
        self.disks.gate.set()
        await self.driver.stop()
        self.journal.close()


@pytest.fixture
def run(tmp_path):
    """Runs a coroutine function with a fresh run."""

    def go(work, **more):
        async def main():
            one = Run(tmp_path / "d", **more)
            try:
                return await work(one)
            finally:
                await one.stop()

        return asyncio.run(main())

    return go


def test_nothing_is_said_before_it_is_on_disk_and_what_gathers_is_written_at_once(run, tmp_path):
    async def work(one):
        one.disks.gate.clear()
        one.publish(1)
        await one.until(lambda: one.said)
        assert [type(said) for said in one.said] == [Noted]  # before the record: at once
        one.publish(*range(2, 50))
        await asyncio.sleep(0.05)
        assert one.published() == []
        one.disks.gate.set()
        await one.until(lambda: len(one.published()) == 49)
        assert one.published() == list(range(1, 50))
        assert one.disks.batches == [1, 48]

    run(work)
    journal = Journal(DataFolder(tmp_path / "d"), "broker a", reserve=0)
    assert journal.take_entries() == [("kept", number) for number in range(1, 50)]
    journal.close()


def test_records_that_need_not_be_waited_for_are_written_soon_and_in_order(run, tmp_path):
    async def work(one):
        one.machine.must_wait = False
        one.disks.gate.clear()
        one.publish(1, 2)
        await one.until(lambda: one.published() == [1, 2])
        assert one.disks.batches == []
        one.disks.gate.set()
        await one.until(lambda: one.disks.batches == [2])
        one.disks.gate.clear()
        one.publish(3)
        one.machine.must_wait = True
        one.publish(4)
        await one.until(lambda: one.published() == [1, 2, 3])
        one.disks.gate.set()
        await one.until(lambda: one.published() == [1, 2, 3, 4])
        one.machine.must_wait = False
        one.publish(5)

    run(work)
    journal = Journal(DataFolder(tmp_path / "d"), "broker a", reserve=0)
    assert journal.take_entries() == [("kept", number) for number in range(1, 6)]
    journal.close()


def test_a_full_disk_is_said_holds_back_and_goes_on_by_itself(run, monkeypatch, caplog):
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    monkeypatch.setattr(module, "LOOK", 0.01)

    async def work(one):
        one.driver.start()
        one.disks.error = DiskFullError("no space left on device")
        one.publish(1)
        await one.until(lambda: one.machine.is_full)
        one.publish(2)
        await asyncio.sleep(0.05)
        assert one.driver.is_full
        assert one.published() == []
        one.disks.error = None
        await one.until(lambda: not one.machine.is_full)
        await one.until(lambda: one.published() == [1, 2])
        assert not one.driver.is_full
        assert [event.is_full for event in one.machine.of(Disk)] == [True, False]
        assert not one.failed

    run(work)
    assert "the disk is full" in caplog.text
    assert "there is room again" in caplog.text


def test_the_log_stays_short_while_messages_go_on(run, tmp_path):
    async def work(one):
        one.machine.snapshot = lambda: [("kept", one.machine.kept[-1])]
        for number in range(0, 3_000, 10):
            one.publish(*range(number, number + 10))
            await one.until(lambda: len(one.published()) == number + 10)  # noqa: B023
        return one.journal.num_bytes

    assert run(work, least_compacted=5_000) < 15_000
    journal = Journal(DataFolder(tmp_path / "d"), "broker a", reserve=0)
    entries = journal.take_entries()
    assert entries[-1] == ("kept", 2_999)
    assert [number for _, number in entries] == list(range(entries[0][1], 3_000))
    journal.close()


def test_readers_are_held_while_the_disk_lags(run, monkeypatch):
    monkeypatch.setattr(module, "MOST_HELD", 100)

    async def work(one):
        one.disks.gate.clear()
        one.publish(1)
        await one.until(lambda: one.said)
        one.publish(*range(2, 200))
        await one.until(lambda: one.held == [True])
        one.disks.gate.set()
        await one.until(lambda: one.held == [True, False])
        assert one.driver.num_held == 0

    run(work)


@pytest.mark.parametrize("cause", ["machine", "disk"])
def test_what_cannot_be_gone_on_from_ends_it(run, cause):
    async def work(one):
        if cause == "machine":
            one.machine.mistake = RuntimeError("half-way")
        else:
            one.disks.error = JournalError("cannot be written: Input/output error")
        one.publish(1, 2)
        await one.until(lambda: one.failed)
        one.publish(3)
        await asyncio.sleep(0.02)
        assert len(one.failed) == 1
        assert one.published() == []

    run(work)


def test_deadlines_are_kept(run):
    async def work(one):
        one.machine.deadline = one.driver.now() + 0.03
        one.publish(1)
        await one.until(lambda: one.machine.of(Tick))
        one.machine.deadline = None

    run(work)


def test_a_write_without_room_is_tried_again_as_it_was(run, monkeypatch, tmp_path):
    """From the system's call upwards: half a batch is written, then nothing, then all of it."""
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    real, room = journal_module.os.pwrite, [12]

    def pwrite(descriptor, data, offset):
        if room[0] <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        count = real(descriptor, bytes(data)[: room[0]], offset)
        room[0] -= count
        return count

    async def work(one):
        monkeypatch.setattr(journal_module.os, "pwrite", pwrite)
        one.publish(1, 2, 3)
        await one.until(lambda: one.driver.is_full)
        room[0] = 10**6
        await one.until(lambda: one.published() == [1, 2, 3])

    run(work)
    journal = Journal(DataFolder(tmp_path / "d"), "broker a", reserve=0)
    assert journal.take_entries() == [("kept", number) for number in (1, 2, 3)]
    journal.close()


def test_what_nobody_needs_any_more_makes_room_again(run, monkeypatch):
    monkeypatch.setattr(module, "LOOK", 0.01)
    monkeypatch.setattr(module, "SHRINK", 0.02)

    async def work(one):
        one.driver.start()
        one.machine.snapshot = lambda: [("kept", one.machine.kept[-1])]
        one.publish(*range(100))
        await one.until(lambda: one.machine.is_full)
        await one.until(lambda: not one.machine.is_full)
        assert one.journal.num_bytes < 1_000

    run(work, limit=1_000)
