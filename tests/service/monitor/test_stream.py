"""The stream on real Spark: what is in files is counted once, also when it is stopped halfway."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fanwise.errors import InputError
from fanwise.service.configuration.model import FolderSource, MqttSource, SparkSource
from fanwise.service.monitor.ledger import Ledger
from fanwise.service.monitor.sources import open_source
from fanwise.service.monitor.spool import Spool
from fanwise.service.monitor.stream import UNKNOWN_ACTION, Stream
from fanwise.service.monitor.windows import WindowRule
from fanwise.service.records import Window

pytestmark = pytest.mark.spark

HOUR = WindowRule.from_seconds(3600, None, 60)
WAIT = 120.0


def wait_until(condition, what="waited too long"):
    end = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < end, what() if callable(what) else what
        time.sleep(0.05)


def write_lines(path, rows):
    hidden = path.with_name(f".{path.name}")
    text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    hidden.write_text(text, encoding="utf-8")
    hidden.rename(path)


class Running:
    """A stream on a source, with its ledger."""

    def __init__(self, spark, source, folder, rule=HOUR, **more):
        self.closed = []
        self.ledger = Ledger(folder / "stream.sqlite", rule)
        self.stream = Stream(
            open_source(spark, source, folder / "spool"),
            self.ledger,
            rule,
            folder / "checkpoint",
            trigger=0.1,
            idle=more.pop("idle", 3600.0),
            when_closed=self.closed.extend,
            **more,
        )
        self.stream.start()

    def wait_for(self, **totals):
        wait_until(
            lambda: all(self.ledger.totals()[key] >= totals[key] for key in totals),
            lambda: f"{self.ledger.totals()} {self.ledger.reasons()} {self.stream.status.trouble}",
        )

    def stop(self):
        self.stream.stop()
        self.ledger.close()


def counts(ledger, window):
    closed = ledger.closed_window(window)
    return dict(zip(closed.topics.to_pylist(), closed.events.tolist(), strict=True))


def test_folders_of_events_and_changes(spark, tmp_path):
    publications, subscriptions = tmp_path / "p", tmp_path / "s"
    publications.mkdir()
    subscriptions.mkdir()
    source = FolderSource(publications=str(publications), subscriptions=str(subscriptions))
    write_lines(
        subscriptions / "a.jsonl",
        [
            {"subscriber": "u", "topic": "b", "timestamp": 5, "action": "unsubscribe"},
            {"subscriber": "u", "topic": "b", "timestamp": 1, "action": "subscribe"},
            {"subscriber": "v", "topic": "a", "timestamp": 2, "action": "Subscribe"},
            {"subscriber": "v", "topic": "a", "timestamp": 2, "action": "follow"},
            {"subscriber": "", "topic": "a", "timestamp": 2, "action": "subscribe"},
        ],
    )
    rows = [
        {"topic": "a", "timestamp": "1970-01-01T00:10:00Z", "bytes": 10},
        {"topic": "a", "timestamp": 700.5, "bytes": "30"},
        {"topic": "b", "timestamp": 3599},
        {"topic": "", "timestamp": 3},
        {"topic": "b", "timestamp": "noon"},
        {"topic": "b", "timestamp": 9 * 10**10},
        "{not json",
        {"topic": "b", "timestamp": 3700},
    ]
    write_lines(publications / "1.jsonl", rows)
    running = Running(spark, source, tmp_path, aside=tmp_path / "bad.jsonl")
    running.wait_for(events=4)
    write_lines(publications / "2.jsonl", [{"topic": "a", "timestamp": 1}] * 2)
    running.wait_for(events=6)
    first = Window(0, 3600 * 10**6)
    assert running.closed == [first]
    assert counts(running.ledger, first) == {"a": 2, "b": 1}
    closed = running.ledger.closed_window(first)
    assert closed.size[0] == 20.0
    assert sorted(closed.pairs.to_pylist(), key=str) == [
        {"subscriber": "u", "topic": "b"},
        {"subscriber": "v", "topic": "a"},
    ]
    totals = running.ledger.totals()
    assert totals["late"] == 2
    assert totals["bad"] == 6
    assert running.stream.status.reasons == {
        "no topic": 1,
        "timestamp not ISO 8601 or epoch seconds": 1,
        "timestamp in the future": 1,
        "malformed row": 1,
        "no subscriber": 1,
        UNKNOWN_ACTION: 1,
    }
    aside = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
    assert sorted(row["reason"] for row in aside) == sorted(running.stream.status.reasons)
    assert {row.get("raw") for row in aside if row["reason"] == "malformed row"} == {"{not json"}
    assert {row["timestamp"] for row in aside if "ISO" in row["reason"]} == {"noon"}
    running.stop()


def test_stopped_and_started_again_every_event_counts_once(spark, tmp_path):
    publications = tmp_path / "p"
    publications.mkdir()
    source = FolderSource(publications=str(publications))
    expected: Counter[str] = Counter()

    def write(number):
        rows = [{"topic": f"t{(number * 7 + i) % 5}", "timestamp": 100 + number} for i in range(40)]
        expected.update(row["topic"] for row in rows)
        write_lines(publications / f"{number:03d}.jsonl", rows)

    total = 0
    for round_ in range(3):
        running = Running(spark, source, tmp_path)
        for number in range(round_ * 3, round_ * 3 + 3):
            write(number)
        total += 120
        if round_ == 1:  # stopped in the middle of things, whatever is going on
            running.wait_for(events=121)
        else:
            running.wait_for(events=total)
        running.stop()
    write_lines(publications / "last.jsonl", [{"topic": "z", "timestamp": 9000}])
    running = Running(spark, source, tmp_path)
    running.wait_for(events=total + 1)
    assert counts(running.ledger, Window(0, 3600 * 10**6)) == expected
    running.stop()


def test_a_batch_that_fails_is_taken_again(spark, tmp_path, monkeypatch):
    publications = tmp_path / "p"
    publications.mkdir()
    write_lines(publications / "1.jsonl", [{"topic": "a", "timestamp": 1}] * 3)
    source = FolderSource(publications=str(publications))
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "commit", lambda *_: 1 / 0)
        running = Running(spark, source, tmp_path)
        wait_until(lambda: not running.stream.is_alive())
        assert running.stream.status.trouble.startswith("the stream ended")
        running.stop()
    running = Running(spark, source, tmp_path)
    running.wait_for(events=3)
    assert running.ledger.totals()["events"] == 3
    running.stop()


def test_segments_of_the_spool_are_counted_and_put_away(spark, tmp_path):
    spool = Spool(tmp_path / "spool", limit=10**6)
    event = {"kind": "event", "topic": "a", "timestamp": "10.0", "bytes": 5}
    spool.write([event, event, {"kind": "bad", "topic": "a", "reason": "not JSON"}])
    spool.write(
        [{"kind": "subscribe", "subscriber": "u", "topic": "a", "timestamp": "1.0", "came": 1}]
    )
    running = Running(spark, MqttSource(), tmp_path, idle=0.2)
    running.wait_for(events=2, subscriptions=1)
    spool.write([event])
    running.wait_for(events=3)
    wait_until(lambda: any((tmp_path / "spool-counted").rglob("*.jsonl")))
    time.sleep(0.3)
    running.stream.close_if_silent()
    assert running.closed == [Window(0, 3600 * 10**6)]
    assert running.ledger.closed_window(running.closed[0]).closed_by == "idle"
    running.stop()


def test_files_that_were_written_long_ago_are_taken_too(spark, tmp_path):
    folder = tmp_path / "p"
    folder.mkdir()
    running = Running(spark, FolderSource(publications=str(folder)), tmp_path)
    write_lines(folder / "new.jsonl", [{"topic": "a", "timestamp": 5}])
    running.wait_for(events=1)
    old = tmp_path / "old.jsonl"
    write_lines(old, [{"topic": "a", "timestamp": 6}])
    os.utime(old, (10**9, 10**9))
    old.rename(folder / old.name)
    running.wait_for(events=2)
    running.stop()


def put(folder, name, data):
    """Let a file appear whole."""
    (folder / f".{name}").write_bytes(data.encode() if isinstance(data, str) else data)
    (folder / f".{name}").rename(folder / name)


def parquet(**columns):
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


def test_a_folder_of_csv_that_is_empty_at_first_and_columns_by_their_names(spark, tmp_path):
    folder = tmp_path / "c s v"
    folder.mkdir()
    running = Running(spark, FolderSource(publications=str(folder), format="csv"), tmp_path)
    put(folder, "a.csv", 'bytes,timestamp,topic\n5,10,a\n7,20,"x,y"\n,30,"two\nlines"\n')
    running.wait_for(events=3)
    put(folder, "b.csv", "Topic,other,timestamp\na,9,50\nb,9\nb,9,60\n,1,1\n")
    put(folder, "empty.csv", "")
    put(folder, "header.csv", "topic,timestamp\n")
    put(folder, "c.csv", "timestamp,topic\n4000,a\n")
    running.wait_for(events=6, bad=2)
    window = Window(0, 3600 * 10**6)
    assert counts(running.ledger, window) == {"a": 2, "b": 1, "x,y": 1, "two\nlines": 1}
    sizes = running.ledger.closed_window(window)
    assert dict(zip(sizes.topics.to_pylist(), sizes.size.tolist(), strict=True))["a"] == 5.0
    assert running.ledger.reasons() == {"malformed row": 1, "no topic": 1}
    running.stop()


def test_a_folder_of_parquet_where_a_broken_file_is_one_bad_row(spark, tmp_path):
    publications, subscriptions = tmp_path / "p", tmp_path / "s"
    publications.mkdir()
    subscriptions.mkdir()
    source = FolderSource(
        publications=str(publications), subscriptions=str(subscriptions), format="parquet"
    )
    running = Running(spark, source, tmp_path)
    good = parquet(topic=["a", "b"], timestamp=[1700000000.5, 1700000001.25], bytes=[1, 3])
    put(publications, "a.parquet", good)
    put(publications, "broken.parquet", good[: len(good) // 2])
    put(publications, "nonsense.parquet", b"nonsense")
    put(publications, "nothing.parquet", b"")  # has no rows
    moment = datetime(2023, 11, 14, 22, 13, 22, tzinfo=UTC)
    put(publications, "b.parquet", parquet(timestamp=[moment], topic=["a"]))
    put(
        subscriptions,
        "s.parquet",
        parquet(action=["subscribe"], subscriber=["u"], topic=["a"], timestamp=[1700000000]),
    )
    running.wait_for(events=3, bad=2, subscriptions=1)
    put(publications, "c.parquet", parquet(topic=["a"], timestamp=["2023-11-15T12:00:00Z"]))
    running.wait_for(events=4)
    start = 1700000000 // 3600 * 3600 * 10**6
    assert counts(running.ledger, Window(start, start + 3600 * 10**6)) == {"a": 2, "b": 1}
    assert running.ledger.reasons() == {"malformed row": 2}
    assert running.stream.is_alive()
    running.stop()
    again = Running(spark, source, tmp_path)
    assert again.stream.status.reasons == {"malformed row": 2}, "they survive"
    again.stop()


def test_a_source_that_spark_does_not_have_is_one_line(spark, tmp_path):
    with pytest.raises(InputError, match=r"Spark cannot read 'kafka'.*spark\.jars\.packages"):
        open_source(spark, SparkSource(format="kafka"), tmp_path)


def test_any_source_of_spark_by_its_name(spark, tmp_path):
    folder = tmp_path / "text"
    folder.mkdir()
    lines = [
        {"topic": "a", "timestamp": 5},
        {"topic": "a", "timestamp": 6, "subscriber": "u", "action": "subscribe"},
        {"topic": "a", "timestamp": 7, "subscriber": "u", "action": "follow"},
        {"topic": "a", "timestamp": 8, "action": "Event"},
        "nonsense",
    ]
    write_lines(folder / "x.txt", lines)
    source = SparkSource(format="text", options={"path": str(folder)})
    running = Running(spark, source, tmp_path)
    running.wait_for(events=2, subscriptions=1, bad=2)
    assert running.ledger.totals()["events"] == 2
    assert running.ledger.reasons() == {UNKNOWN_ACTION: 1, "malformed row": 1}
    running.stop()


NOW = 1_700_000_000 * 10**6
MINUTE = WindowRule.from_seconds(60, None, 5)


def test_an_event_from_far_ahead_makes_no_others_late(spark, tmp_path):
    folder = tmp_path / "p"
    folder.mkdir()
    source = FolderSource(publications=str(folder))
    running = Running(spark, source, tmp_path, rule=MINUTE, now=lambda: NOW)
    now = NOW // 10**6
    write_lines(folder / "1.jsonl", [{"topic": "a", "timestamp": now + 59 * 60}])
    running.wait_for(bad=1)
    write_lines(folder / "2.jsonl", [{"topic": "a", "timestamp": now + at} for at in (0, 30, 64)])
    running.wait_for(events=3)
    assert running.ledger.totals()["late"] == 0
    assert running.ledger.reasons() == {"timestamp in the future": 1}
    running.stop()


def test_a_silent_source_closes_windows_once_they_are_over_and_it_is_there(spark, tmp_path):
    folder = tmp_path / "p"
    folder.mkdir()
    source = FolderSource(publications=str(folder))
    now = [NOW]
    running = Running(spark, source, tmp_path, rule=MINUTE, idle=0.2, now=lambda: now[0])
    write_lines(folder / "1.jsonl", [{"topic": "a", "timestamp": NOW // 10**6}])
    running.wait_for(events=1)
    stream = running.stream
    time.sleep(0.3)
    stream.close_if_silent()
    assert running.closed == [], "more may come: its end is in the future"
    now[0] += 65 * 10**6
    stream.note_away()
    stream.close_if_silent()
    assert running.closed == [], "nobody can know that it is silent"
    time.sleep(0.3)
    stream.close_if_silent()
    assert [window.end for window in running.closed] == [
        NOW // 60_000_000 * 60_000_000 + 60 * 10**6
    ]
    running.stop()
