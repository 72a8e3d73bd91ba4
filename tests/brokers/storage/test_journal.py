"""The log: what was appended is there again, whatever a kill or a full disk left."""

from __future__ import annotations

import errno
import os
import shutil

import pytest

from fanwise.brokers.storage import journal as module
from fanwise.brokers.storage.folder import DataFolder, FolderError
from fanwise.brokers.storage.journal import DiskFullError, Journal, JournalError
from fanwise.brokers.storage.records import pack

ENTRIES = [
    ("publication", "p", 1, (0.5, -1.0), b"\x00payload"),
    ("client", "c", {"a": (1, 2), "b": None}, True),
    ("number", 2**63 - 1, -1, 1e300),
]


@pytest.fixture(autouse=True)
def no_waiting_for_disks(monkeypatch):
    """Nothing here loses power: a file system without a disk behind it does."""
    monkeypatch.setattr(module.os, "fsync", lambda descriptor: None)
    monkeypatch.setattr(module.os, "fdatasync", lambda descriptor: None)


def opened(path, **more) -> Journal:
    return Journal(DataFolder(path), "broker east", reserve=4096, least_free=0, **more)


def written(path, entries=ENTRIES) -> None:
    journal = opened(path)
    journal.append([pack(one) for one in entries])
    journal.close()


def read(path) -> list[tuple]:
    journal = opened(path)
    try:
        return journal.take_entries()
    finally:
        journal.close()


def test_what_was_appended_is_there_again(tmp_path):
    written(tmp_path / "d")
    written(tmp_path / "d", [("more",)])
    assert read(tmp_path / "d") == [*ENTRIES, ("more",)]


def test_a_log_torn_at_any_byte_keeps_what_was_whole_and_goes_on(tmp_path):
    written(tmp_path / "d")
    whole = (tmp_path / "d" / "0000000001.log").read_bytes()
    header = pack((module.FORMAT, module.VERSION, "broker east", 1))
    ends = [len(header)]
    for one in ENTRIES:
        ends.append(ends[-1] + len(pack(one)))
    assert ends[-1] == len(whole)
    for size in range(len(whole)):
        for rest in (b"", b"\0" * 64, b"\x07\0\0\0garbage"):
            copy = tmp_path / "torn"
            shutil.rmtree(copy, ignore_errors=True)
            copy.mkdir()
            (copy / "0000000001.log").write_bytes(whole[:size] + rest)
            num_whole = sum(end <= size for end in ends[1:])
            journal = opened(copy)
            assert journal.take_entries() == ENTRIES[:num_whole], size
            journal.append([pack(("after",))])
            journal.close()
            assert read(copy) == [*ENTRIES[:num_whole], ("after",)]


def test_a_snapshot_replaces_what_was_before_it_and_bounds_the_size(tmp_path):
    journal = opened(tmp_path / "d", least_compacted=10_000)
    state, most = {}, 0
    for number in range(3_000):
        entry = ("set", number % 50, number, b"x" * 20)
        state[number % 50] = entry
        journal.append([pack(entry)])
        if journal.is_due:
            journal.write_snapshot(journal.begin_segment(), list(state.values()))
        most = max(most, journal.num_bytes)
    journal.close()
    on_disk = sum(path.stat().st_size for path in (tmp_path / "d").glob("0*"))
    assert on_disk < 15_000
    assert most < 20_000
    found = {}
    for _, key, *rest in read(tmp_path / "d"):
        found[key] = ("set", key, *rest)
    assert found == state


def test_a_snapshot_that_was_not_finished_counts_for_nothing(tmp_path):
    journal = opened(tmp_path / "d")
    journal.append([pack(ENTRIES[0])])
    journal.begin_segment()
    journal.append([pack(ENTRIES[1])])
    journal.close()
    (tmp_path / "d" / "0000000002.half").write_bytes(b"half")
    assert read(tmp_path / "d") == ENTRIES[:2]
    assert not list((tmp_path / "d").glob("*.half"))


def test_a_kill_between_snapshot_and_removal_leaves_no_doubles(tmp_path, monkeypatch):
    journal = opened(tmp_path / "d")
    journal.append([pack(ENTRIES[0])])
    monkeypatch.setattr(journal, "_remove_before", lambda number: None)
    journal.write_snapshot(journal.begin_segment(), [("amounts to", 1)])
    journal.append([pack(ENTRIES[1])])
    journal.close()
    assert (tmp_path / "d" / "0000000001.log").exists()
    assert read(tmp_path / "d") == [("amounts to", 1), ENTRIES[1]]
    assert not (tmp_path / "d" / "0000000001.log").exists()


def test_damage_before_the_end_is_said_and_nothing_is_changed(tmp_path):
    journal = opened(tmp_path / "d")
    journal.append([pack(one) for one in ENTRIES])
    journal.begin_segment()
    journal.append([pack(("newer",))])
    journal.close()
    path = tmp_path / "d" / "0000000001.log"
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    with pytest.raises(JournalError, match="is damaged at byte"):
        opened(tmp_path / "d")
    path.unlink()
    with pytest.raises(JournalError, match=r"0000000001.log: is missing; bring it back"):
        opened(tmp_path / "d")
    newer = (tmp_path / "d" / "0000000002.log").read_bytes()
    path.write_bytes(newer)
    with pytest.raises(JournalError, match="says that it is number 2"):
        opened(tmp_path / "d")
    (tmp_path / "d" / "0000000001.snapshot").write_bytes(pack(("nonsense",)))
    with pytest.raises(JournalError, match="damaged"):
        opened(tmp_path / "d")
    assert (tmp_path / "d" / "0000000002.log").read_bytes() == newer


def test_the_folder_of_another_is_refused(tmp_path):
    written(tmp_path / "d")
    with pytest.raises(JournalError, match="belongs to broker east, not to broker west"):
        Journal(DataFolder(tmp_path / "d"), "broker west")
    header = pack((module.FORMAT, module.VERSION + 1, "broker east", 1))
    (tmp_path / "d" / "0000000001.log").write_bytes(header)
    with pytest.raises(JournalError, match="run the version that wrote it"):
        opened(tmp_path / "d")


def test_a_second_one_is_refused_and_told_who_is_there(tmp_path):
    journal = opened(tmp_path / "d")
    with pytest.raises(FolderError, match=rf"process \({os.getpid()}\) uses this data folder"):
        opened(tmp_path / "d")
    journal.close()
    opened(tmp_path / "d").close()


def test_a_folder_that_cannot_be_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderError, match="cannot be made: Not a directory"):
        opened(tmp_path / "file" / "d")


class Disk:
    """Stands before ``os.pwrite``: takes so many bytes, then says what a disk says."""

    def __init__(self, monkeypatch, room: int, number: int) -> None:
        self.room, self._number = room, number
        self._write = os.pwrite
        monkeypatch.setattr(module.os, "pwrite", self.write)

    def write(self, descriptor, data, offset):
        if self.room <= 0:
            raise OSError(self._number, os.strerror(self._number))
        count = self._write(descriptor, bytes(data)[: self.room], offset)
        self.room -= count
        return count


def test_a_full_disk_uses_the_reserve_then_says_so_and_nothing_is_half_there(tmp_path, monkeypatch):
    journal = opened(tmp_path / "d")
    disk = Disk(monkeypatch, 10, errno.ENOSPC)
    with pytest.raises(DiskFullError):
        journal.append([pack(ENTRIES[0])])
    assert not journal.folder.reserve.exists()
    disk.room = 1_000_000
    journal.append([pack(ENTRIES[1])])
    assert journal.has_room()
    assert journal.folder.reserve.exists()
    journal.close()
    assert read(tmp_path / "d") == [ENTRIES[1]]


def test_the_reserve_lets_what_must_be_written_through(tmp_path, monkeypatch):
    journal = opened(tmp_path / "d")
    disk = Disk(monkeypatch, 0, errno.ENOSPC)
    unlink = type(journal.folder.reserve).unlink

    def free(path, *, missing_ok=False):
        disk.room += 4096
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(type(journal.folder.reserve), "unlink", free)
    journal.append([pack(ENTRIES[0])])
    journal.close()
    monkeypatch.undo()
    assert read(tmp_path / "d") == [ENTRIES[0]]


def test_a_file_that_may_not_grow_is_followed_by_another(tmp_path, monkeypatch):
    journal = opened(tmp_path / "d")
    journal.append([pack(ENTRIES[0])])
    size = journal.num_bytes
    real = os.pwrite

    def write(descriptor, data, offset):
        if offset + len(data) > size:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        return real(descriptor, data, offset)

    monkeypatch.setattr(module.os, "pwrite", write)
    journal.append([pack(("next",))])
    journal.close()
    assert read(tmp_path / "d") == [ENTRIES[0], ("next",)]
    assert (tmp_path / "d" / "0000000002.log").exists()


def test_a_broken_disk_is_another_error_than_a_full_one(tmp_path, monkeypatch):
    journal = opened(tmp_path / "d")
    Disk(monkeypatch, 0, errno.EIO)
    with pytest.raises(JournalError, match="cannot be written: Input/output error"):
        journal.append([pack(ENTRIES[0])])
    journal.close()


def test_a_limit_is_a_full_disk(tmp_path):
    journal = opened(tmp_path / "d", limit=1_000)
    assert journal.has_room()
    journal.append([pack(("large", b"x" * 1_000))])
    assert not journal.has_room()
    journal.close()
