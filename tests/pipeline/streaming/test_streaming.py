"""Counts by window and subscription state on streams, against plain Python."""

from __future__ import annotations

import os
import random
from collections import defaultdict

import pytest
from tests.pipeline import traces

from fanwise.pipeline import build_workload, streaming

pytestmark = pytest.mark.spark

MINUTE = 60 * 10**6


def stream_of(spark, folder, columns):
    """Read files one after the other, in the order of their names: the oldest comes first."""
    for number, file in enumerate(sorted(folder.iterdir())):
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))
    schema = ", ".join(f"{name} string" for name in columns)
    options = {"header": True, "maxFilesPerTrigger": 1}
    return spark.readStream.schema(schema).options(**options).csv(str(folder))


def run(frame, each_batch, mode):
    writer = frame.writeStream.outputMode(mode).foreachBatch(each_batch)
    query = writer.trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(300)
    finally:
        query.stop()


def test_windows_of_a_stream(spark, tmp_path):
    """Four files of two minutes each; stragglers within the delay count, later ones do not."""
    draw = random.Random(3)
    columns = ("topic", "timestamp", "bytes")
    expected = defaultdict(lambda: [0, 0])
    for part in range(4):
        rows = [
            {"topic": draw.choice("abc"), "timestamp": str(120 * part + draw.randrange(120)),
             "bytes": str(draw.randrange(9))}
            for _ in range(40)
        ]  # fmt: skip
        if part == 1:  # of the first minute, half a minute late, with one that cannot be read
            rows += [
                {"topic": "a", "timestamp": "100", "bytes": "7"},
                {"topic": "a", "timestamp": "noon", "bytes": "7"},
            ]
        for row in rows:
            if row["timestamp"] != "noon":
                entry = expected[int(row["timestamp"]) // 60 * MINUTE, row["topic"]]
                entry[0] += 1
                entry[1] += int(row["bytes"])
        if part == 3:  # long over: its window is written already
            rows.append({"topic": "a", "timestamp": "1", "bytes": "1"})
        traces.write_csv(tmp_path / f"{part}.csv", rows, columns)
    traces.write_csv(tmp_path / "9.csv", [{"topic": "z", "timestamp": "9000"}], columns)
    stream = stream_of(spark, tmp_path, columns)
    found = []
    run(
        streaming.windowed_rates(stream, window="1m", late="90s"),
        lambda frame, number: found.extend(frame.collect()),
        "append",
    )
    counted = {(row["window"], row["name"]): (row["rate"], row["bytes"]) for row in found}
    assert len(counted) == len(found)
    assert counted == {
        key: (float(events), pytest.approx(size / events))
        for key, (events, size) in expected.items()
    }


def replay(rows):
    """Who is subscribed after all changes, in the order of time."""
    held = {}
    for row in sorted(rows, key=lambda row: (int(row["timestamp"]), row["action"])):
        held[row["subscriber"], row["topic"]] = row["action"] == "subscribe"
    return {pair for pair, is_open in held.items() if is_open}


def test_subscriptions_of_a_stream(spark, tmp_path):
    draw = random.Random(5)
    columns = ("subscriber", "topic", "action", "timestamp")
    rows = [
        {
            "subscriber": draw.choice("uvw"),
            "topic": draw.choice("abcd"),
            "action": draw.choice(("subscribe", "unsubscribe")),
            "timestamp": str(draw.randrange(30)),
        }
        for _ in range(60)
    ]
    bad = [
        {"subscriber": "u", "topic": "a", "action": "perhaps", "timestamp": "99"},
        {"subscriber": "", "topic": "a", "action": "subscribe", "timestamp": "99"},
        {"subscriber": "u", "topic": "a", "action": "unsubscribe", "timestamp": "soon"},
    ]
    for part in range(3):  # in no order, and each file again at the end: nothing counts twice
        traces.write_csv(tmp_path / f"{part}.csv", rows[part::3] + bad[part:], columns)
    traces.write_csv(tmp_path / "again.csv", rows[:20], columns)
    events = spark.createDataFrame([(topic, 5) for topic in "abcd"], "topic string, events int")
    states, built = [], []

    def take(frame, number):
        pairs = streaming.open_pairs(frame)
        states.append({tuple(row) for row in pairs.collect()})
        if number == 3:
            frames = build_workload(events, pairs)
            built.append(frames.report.pairs)
            frames.release()

    latest = streaming.latest_changes(streaming.check_changes(stream_of(spark, tmp_path, columns)))
    run(latest, take, "complete")
    assert len(states) == 4
    assert states[-1] == replay(rows)
    assert built == [len(states[-1])] != [0]
    assert any(state != states[-1] for state in states[:-1])
