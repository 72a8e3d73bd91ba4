"""The spool: segments that are whole, in order, within their limits."""

from __future__ import annotations

import errno
import json
import os
import shutil
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.service.monitor import spool as spools
from fanwise.service.monitor.spool import (
    Spool,
    SpoolFullError,
    archive_of,
    bytes_waiting,
    prune,
    segments,
)

EVENT = {"kind": "event", "topic": "a", "timestamp": "1.0"}


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@given(
    st.lists(
        st.lists(st.dictionaries(st.text(), st.one_of(st.none(), st.integers(), st.text()))),
        max_size=5,
    )
)
def test_every_record_is_in_one_segment_in_order(tmp_path_factory, bundles):
    folder = tmp_path_factory.mktemp("spool")
    spool = Spool(folder, limit=10**9)
    for bundle in bundles:
        assert (spool.write(bundle) is None) == (not bundle)
    assert [read(path) for path in segments(folder)] == [bundle for bundle in bundles if bundle]
    assert bytes_waiting(folder) == sum(path.stat().st_size for path in segments(folder))
    assert not list(folder.glob(".*"))


def test_names_sort_by_writing_where_the_clock_goes_back(tmp_path, monkeypatch):
    written = []
    for hour in (5, 4, 4, 3):
        monkeypatch.setattr(spools.time, "time_ns", lambda hour=hour: hour * 3600 * 10**9)
        # A new writer every time, which knows the others by their segments alone.
        written.append(Spool(tmp_path / "spool", limit=10**6).write([EVENT]))
    assert segments(tmp_path / "spool") == written
    archive_of(tmp_path / "spool").mkdir()
    written[-1].rename(archive_of(tmp_path / "spool") / written[-1].name)
    last = Spool(tmp_path / "spool", limit=10**6).write([EVENT])
    assert last.name > written[-1].name


def test_above_the_limit_nothing_is_written_until_there_is_room(tmp_path):
    spool = Spool(tmp_path / "spool", limit=100)
    first = spool.write([EVENT])
    with pytest.raises(SpoolFullError, match="100 bytes are waiting, the most allowed"):
        spool.write([EVENT] * 2)
    assert segments(spool.folder) == [first]
    first.unlink()
    assert spool.write([EVENT]) is not None


def test_some_of_the_disk_stays_free_for_the_rest(tmp_path):
    free = shutil.disk_usage(tmp_path).free
    spool = Spool(tmp_path / "spool", limit=10**9, least_free=2 * free)
    with pytest.raises(SpoolFullError, match="the disk is full"):
        spool.write([EVENT])


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_leaves_nothing_half(tmp_path, monkeypatch, code):
    spool = Spool(tmp_path / "spool", limit=10**6)

    def fail(descriptor):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(spools.os, "fsync", fail)
        with pytest.raises(SpoolFullError, match="spool: "):
            spool.write([EVENT])
    assert list(spool.folder.iterdir()) == []
    assert read(spool.write([EVENT])) == [EVENT]


def test_another_failure_of_the_disk_is_told_as_it_is(tmp_path, monkeypatch):
    spool = Spool(tmp_path / "spool", limit=10**6)

    def fail(descriptor):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(spools.os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output"):
        spool.write([EVENT])
    assert list(spool.folder.iterdir()) == []


def test_what_a_killed_writer_left_is_removed(tmp_path):
    (tmp_path / ".000-1.jsonl").write_text('{"kind": ')
    kept = tmp_path / "001-1.jsonl"
    kept.write_text("{}\n")
    Spool(tmp_path, limit=100)
    assert list(tmp_path.iterdir()) == [kept]


def test_segments_that_were_counted_are_deleted_when_they_are_old(tmp_path):
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    now = time.time()
    for age in (10, 100, 1000):
        (below / f"{age}.jsonl").write_text("{}\n")
        os.utime(below / f"{age}.jsonl", (now - age, now - age))
    (below / "other.txt").write_text("")
    assert prune(tmp_path, 50, now) == 2
    assert sorted(path.name for path in below.iterdir()) == ["10.jsonl", "other.txt"]
