"""The log: what is on disk counts, whatever a crash leaves behind it."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.forwarder_log import messages_left

from fanwise.service.forwarding import log as log_module
from fanwise.service.forwarding.log import Log, LogError, LogFullError
from fanwise.service.forwarding.places import Places
from fanwise.service.forwarding.records import Record, decode, encode, scan

NOW = time.time_ns() // 1000
RECORDS = st.builds(
    Record,
    sequence=st.integers(1, 2**63),
    at=st.integers(0, 2**60),
    side=st.sampled_from([0, 1]),
    nodes=st.lists(st.from_regex(r"[a-z0-9]{1,5}", fullmatch=True), max_size=3).map(tuple),
    topic=st.text(st.characters(codec="utf-8"), min_size=1, max_size=20),
    payload=st.binary(max_size=50),
    properties=st.binary(max_size=20),
    publisher=st.text(st.characters(codec="utf-8"), max_size=10),
    number=st.integers(0, 2**60),
    packet=st.integers(0, 65_535),
    fingerprint=st.integers(0, 2**32 - 1),
)


def make(sequence, payload=b"x", *, publisher="", number=0, topic="t"):
    return Record(sequence, NOW + sequence, 0, (), topic, payload, b"", publisher, number)


@given(st.lists(RECORDS, max_size=4))
def test_records_are_read_as_they_were_written(records):
    data = b"".join(map(encode, records))
    assert [decode(body) for _, body in scan(data)] == records


@given(RECORDS, st.data())
def test_no_byte_of_a_record_can_change_unseen(record, data):
    written = bytearray(encode(record))
    place = data.draw(st.integers(0, len(written) - 1))
    written[place] ^= data.draw(st.integers(1, 255))
    assert all(decode(body) != record for _, body in scan(bytes(written)))


def test_zeros_that_a_disk_leaves_are_no_records():
    assert list(scan(bytes(1000))) == []


@settings(max_examples=25)
@given(st.lists(st.lists(st.binary(max_size=30), min_size=1, max_size=3), max_size=6), st.data())
def test_a_crash_at_any_byte_leaves_all_messages_before_it(batches, data):
    folder = Path(tempfile.mkdtemp())
    try:
        log = Log(folder / "log", segment_bytes=300)
        files = [(log.num_bytes, [])]
        number = 0
        for batch in batches:
            records = []
            for payload in batch:
                number += 1
                records.append(make(number, payload, publisher="p", number=number))
            before = len(list(log.folder.glob("*.log")))
            log.append(records)
            paths = sorted(log.folder.glob("*.log"))
            if len(paths) > before:
                sizes = sum(len(encode(record)) for record in records)
                files.append((paths[-1].stat().st_size - sizes, []))
            files[-1][1].extend((record.sequence, len(encode(record))) for record in records)
        name = log.name
        log.close()
        newest = sorted(log.folder.glob("*.log"))[-1]
        whole = newest.read_bytes()
        kept = data.draw(st.integers(0, len(whole)), label="kept")
        newest.write_bytes(whole[:kept] + data.draw(st.sampled_from([b"", bytes(50), b"\xff" * 9])))
        left = messages_left(files, kept)
        again = Log(folder / "log", segment_bytes=300)
        assert [record.sequence for record in again.read(1)] == left
        assert again.position == (left[-1] if left else 0)
        assert again.numbers.get("p", (0, 0))[0] == again.position
        assert left == [] or again.name == name
        again.append([make(again.position + 1, b"next")])
        again.close()
        last = Log(folder / "log", segment_bytes=300)
        assert [record.payload for record in last.read(last.position)] == [b"next"]
        last.close()
    finally:
        shutil.rmtree(folder)


def test_every_byte_of_a_tail_may_be_the_last(tmp_path):
    log = Log(tmp_path / "log")
    for sequence in (1, 2, 3):
        log.append([make(sequence, b"%d" % sequence * 9)])
    log.close()
    (path,) = (tmp_path / "log").glob("*.log")
    whole = path.read_bytes()
    size = len(encode(make(3, b"3" * 9)))
    for kept in range(len(whole) - 2 * size, len(whole) + 1):
        path.write_bytes(whole[:kept])
        again = Log(tmp_path / "log")
        assert again.position == 1 + (kept - (len(whole) - 2 * size)) // size
        again.close()


def test_old_segments_go_when_all_have_them_and_their_time_is_over(tmp_path):
    log = Log(tmp_path / "log", segment_bytes=200)
    for sequence in range(1, 31):
        log.append([make(sequence, b"x" * 50)])
    firsts = [int(path.stem) for path in sorted(log.folder.glob("*.log"))]
    assert len(firsts) > 4
    assert log.remove_old(30, 3600) == 0, "they are not old"
    later = os.stat(log.folder).st_mtime + 7200
    assert log.remove_old(firsts[2] - 2, 3600, later) == 1, "a side does not have the second"
    assert log.first == firsts[1]
    assert log.get(1) is None
    assert log.get(firsts[1]).sequence == firsts[1]
    log.remove_old(30, 3600, later)
    assert log.position == 30
    log.append([make(31)])
    log.close()
    again = Log(tmp_path / "log", segment_bytes=200)
    assert (again.position, again.get(31).payload) == (31, b"x")
    again.close()


def test_numbers_of_publishers_outlast_segments(tmp_path):
    log = Log(tmp_path / "log", segment_bytes=200)
    log.append([make(1, publisher="early", number=7)])
    for sequence in range(2, 12):
        log.append([make(sequence, b"x" * 80)])
    log.remove_old(11, 0, 2**40)
    log.close()
    again = Log(tmp_path / "log", segment_bytes=200)
    assert again.first > 1
    assert again.numbers["early"][0] == 7
    again.close()


def test_a_log_without_room_takes_nothing_and_recovers(tmp_path, monkeypatch):
    log = Log(tmp_path / "log", segment_bytes=1000, limit=2000)
    while log.num_bytes < 1800:
        log.append([make(log.position + 1, b"x" * 100)])
    count = log.position + 1
    with pytest.raises(LogFullError, match="limit is 2,000"):
        log.append([make(count, b"x" * 200)])
    assert log.position == count - 1
    log.remove_old(log.position, 0, 2**40)
    log.append([make(count)])

    real = os.pwrite

    def fail(descriptor, data, offset):
        real(descriptor, data[: len(data) // 2], offset)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(log_module.os, "pwrite", fail)
    with pytest.raises(LogFullError, match="No space left"):
        log.append([make(count + 1)])
    monkeypatch.setattr(log_module.os, "pwrite", real)
    log.append([make(count + 1, b"again")])
    log.close()
    again = Log(tmp_path / "log")
    assert again.get(count + 1).payload == b"again"
    again.close()


def test_a_log_has_one_writer(tmp_path):
    log = Log(tmp_path / "log")
    program = (
        "import sys, pathlib; from fanwise.service.forwarding.log import Log, LogError\n"
        "try: Log(pathlib.Path(sys.argv[1]))\n"
        "except LogError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "log")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "another forwarder uses this log" in done.stdout
    log.close()


def test_what_is_no_segment_is_refused(tmp_path):
    Log(tmp_path / "log").close()
    (path,) = (tmp_path / "log").glob("*.log")
    path.write_bytes(path.read_bytes() + b"")
    second = path.with_name("000000000009.log")
    shutil.copy(path, second)
    path.write_bytes(b"damaged")
    with pytest.raises(LogError, match="is damaged"):
        Log(tmp_path / "log")


def test_places_outlast_a_half_written_one(tmp_path):
    places = Places(tmp_path, "abcd")
    for at in (1, 2, 3):
        places.write({"back-end": at}, to_disk=at == 2)
    assert Places(tmp_path, "abcd").places == {"back-end": 3}
    newest = tmp_path / "places-1"
    newest.write_bytes(newest.read_bytes()[:-4])
    assert Places(tmp_path, "abcd").places == {"back-end": 2}
    assert Places(tmp_path, "other log").places == {}
