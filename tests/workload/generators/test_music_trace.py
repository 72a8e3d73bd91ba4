from __future__ import annotations

import csv
import json
from collections import Counter
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fanwise.errors import OutputExistsError, ParameterError
from fanwise.workload.generators import music_names
from fanwise.workload.generators import music_trace as module
from fanwise.workload.generators.music_rhythm import KINDS, hour_weights, week_profile
from fanwise.workload.generators.music_trace import music_trace

SIZES = {"topics": 300, "subscribers": 1_200, "pairs": 4_000, "events": 30_000}


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("music") / "trace"
    summary = music_trace(folder, **SIZES, days=14, seed=1)
    return folder, summary


def test_publications_are_ordered_and_in_the_span(trace):
    folder, summary = trace
    rows = rows_of(folder / "publications.csv")
    assert list(rows[0]) == ["topic", "timestamp", "bytes"]
    assert len(rows) == summary.events == summary.publication_rows == 30_000
    times = [row["timestamp"] for row in rows]
    assert times == sorted(times)
    assert summary.start == "2026-03-02T00:00:00Z" <= times[0]
    assert times[-1] < summary.end == "2026-03-16T00:00:00Z"
    assert datetime.strptime(times[0], "%Y-%m-%dT%H:%M:%SZ").year == 2026
    assert all(int(row["bytes"]) > 0 for row in rows)
    assert len({row["topic"] for row in rows}) == summary.active_topics


def test_subscriptions_cover_everybody(trace):
    folder, summary = trace
    rows = rows_of(folder / "subscriptions.csv")
    assert list(rows[0]) == ["subscriber", "topic", "since", "until"]
    assert len(rows) == summary.subscription_rows
    assert len({row["subscriber"] for row in rows}) == 1_200
    assert len({row["topic"] for row in rows}) == 300
    assert len({(row["subscriber"], row["topic"]) for row in rows}) == summary.pairs == 4_000
    assert {row["topic"] for row in rows_of(folder / "publications.csv")} <= {
        row["topic"] for row in rows
    }


def test_churn_lies_inside_the_span(trace):
    folder, summary = trace
    by_pair = {}
    for row in rows_of(folder / "subscriptions.csv"):
        by_pair.setdefault((row["subscriber"], row["topic"]), []).append(row)
    passing = [rows for rows in by_pair.values() if any(r["since"] or r["until"] for r in rows)]
    assert len(passing) == summary.passing
    assert len(passing) / len(by_pair) == pytest.approx(0.1, abs=0.02)
    times = [t for rows in passing for r in rows for t in (r["since"], r["until"]) if t]
    assert summary.start < min(times)
    assert max(times) < summary.end
    assert all(r["since"] < r["until"] for rows in passing for r in rows if r["until"])
    returned = [sorted(rows, key=lambda r: r["since"]) for rows in passing if len(rows) > 1]
    assert returned
    for first, second in returned:
        assert first["until"] < second["since"]
        assert not second["until"]


def test_kinds_of_topics(trace):
    folder, _ = trace
    followers = Counter(row["topic"] for row in rows_of(folder / "subscriptions.csv"))
    kinds = Counter(topic.split(":")[0] for topic in followers)
    assert kinds == {"artist": 30, "playlist": 60, "friend": 210}
    mean = {
        kind: np.mean([n for topic, n in followers.items() if topic.startswith(kind)])
        for kind in kinds
    }
    assert mean["artist"] > mean["playlist"] > mean["friend"]


def test_rhythm_of_days_and_weeks(trace):
    folder, _ = trace
    moments = [
        datetime.strptime(row["timestamp"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        for row in rows_of(folder / "publications.csv")
    ]
    hours = Counter(moment.hour for moment in moments)
    assert max(hours.values()) >= 4 * min(hours.values())
    assert 16 <= max(hours, key=hours.get) <= 20
    days = Counter(moment.weekday() for moment in moments)
    quiet = max(days[day] for day in range(4))
    assert all(days[day] > quiet for day in (4, 5, 6))


def test_events_are_heavy_tailed(trace):
    folder, _ = trace
    events = Counter(row["topic"] for row in rows_of(folder / "publications.csv"))
    largest = [count for _, count in events.most_common(30)]
    assert sum(largest) > 0.4 * 30_000


def test_summary_stands_in_trace_json(trace):
    folder, summary = trace
    written = json.loads((folder / "trace.json").read_text())
    assert written["generator"] == "music-trace"
    assert written["active_topics"] == summary.active_topics
    assert written["seed"] == 1
    assert sorted(path.name for path in folder.iterdir()) == [
        "publications.csv",
        "subscriptions.csv",
        "trace.json",
    ]


def test_parquet_has_the_same_rows(trace, tmp_path):
    folder, _ = trace
    music_trace(tmp_path / "p", **SIZES, days=14, seed=1, file_format="parquet")
    for name, times in (("publications", ["timestamp"]), ("subscriptions", ["since", "until"])):
        table = pq.read_table(tmp_path / "p" / f"{name}.parquet")
        for column in times:
            assert pa.types.is_timestamp(table.schema.field(column).type)
            assert table.schema.field(column).type.tz == "UTC"
        found = table.to_pylist()
        for row in found:
            for column in times:
                time = row[column]
                row[column] = "" if time is None else time.strftime("%Y-%m-%dT%H:%M:%SZ")
        texts = [{key: str(value) for key, value in row.items()} for row in found]
        assert texts == rows_of(folder / f"{name}.csv")


def test_same_seed_same_bytes_in_pieces_of_any_size(tmp_path, monkeypatch):
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        music_trace(tmp_path / name, **SIZES, days=2, seed=seed, bad_rows=9)
    files = ("publications.csv", "subscriptions.csv", "trace.json")
    for file in files:
        first = (tmp_path / "a" / file).read_bytes()
        assert first == (tmp_path / "b" / file).read_bytes()
        assert first != (tmp_path / "c" / file).read_bytes()

    monkeypatch.setattr(module, "_CHUNK_ROWS", 1_000)
    music_trace(tmp_path / "d", **SIZES, days=2, seed=5, bad_rows=9)
    times = [row["timestamp"] for row in rows_of(tmp_path / "d" / "publications.csv")]
    assert len(times) == 30_000 + 5
    good = [time for time in times if time.startswith("2026")]
    assert good == sorted(good)
    assert (tmp_path / "d" / files[1]).read_bytes() == (tmp_path / "a" / files[1]).read_bytes()


def spoilt(row):
    """The reasons why a row of either file cannot be used, judged by hand."""
    if "timestamp" in row:
        return [
            reason
            for reason, holds in (
                ("no topic", not row["topic"]),
                ("no timestamp", not row["timestamp"]),
                ("timestamp not ISO 8601 or epoch seconds", row["timestamp"] == "yesterday"),
                ("bytes not a number >= 0", int(row["bytes"]) < 0),
            )
            if holds
        ]
    return [
        reason
        for reason, holds in (
            ("no subscriber", not row["subscriber"]),
            ("no topic", not row["topic"]),
            ("since not ISO 8601 or epoch seconds", row["since"] == "yesterday"),
            ("until not after since", "" < row["until"] <= row["since"] != "yesterday"),
        )
        if holds
    ]


@pytest.mark.parametrize("count", [0, 1, 50])
def test_bad_rows_are_added_and_counted(tmp_path, count):
    summary = music_trace(tmp_path / "t", **SIZES, bad_rows=count, seed=2)
    total = 0
    for name in ("publications", "subscriptions"):
        rows = rows_of(tmp_path / "t" / f"{name}.csv")
        reasons = [spoilt(row) for row in rows]
        assert all(len(found) <= 1 for found in reasons)
        assert Counter(reason for found in reasons for reason in found) == summary.bad_rows[name]
        total += sum(summary.bad_rows[name].values())
    assert total == count
    assert summary.publication_rows == 30_000 + sum(summary.bad_rows["publications"].values())
    if count == 50:
        assert all(len(reasons) == 4 for reasons in summary.bad_rows.values())


def test_bad_rows_in_parquet(tmp_path):
    summary = music_trace(tmp_path / "t", **SIZES, bad_rows=30, file_format="parquet", seed=2)
    table = pq.read_table(tmp_path / "t" / "publications.parquet")
    assert summary.bad_rows["publications"] == {
        "no topic": table.column("topic").null_count,
        "no timestamp": table.column("timestamp").null_count,
        "bytes not a number >= 0": sum(size < 0 for size in table.column("bytes").to_pylist()),
    }
    table = pq.read_table(tmp_path / "t" / "subscriptions.parquet")
    assert summary.bad_rows["subscriptions"]["no subscriber"] == 5
    assert table.column("subscriber").null_count == table.column("topic").null_count == 5
    assert table.column("since").null_count > 3_000


def test_the_reasons_are_worded_as_ingest_words_them():
    schema = pytest.importorskip("fanwise.pipeline.shared.schema")
    reasons = {*module._PUBLICATION_FAULTS.values(), *module._SUBSCRIPTION_FAULTS.values()}
    assert reasons <= set(schema.REASONS)


def test_start_may_be_an_instant_in_any_zone(tmp_path):
    summary = music_trace(
        tmp_path / "t", **SIZES, days=1, start="2026-07-01T02:30:00+02:00", seed=1
    )
    assert (summary.start, summary.end) == ("2026-07-01T00:30:00Z", "2026-07-02T00:30:00Z")
    times = [row["timestamp"] for row in rows_of(tmp_path / "t" / "publications.csv")]
    assert summary.start <= times[0] <= times[-1] < summary.end


def test_smallest_trace(tmp_path):
    summary = music_trace(tmp_path / "t", topics=2, subscribers=2, pairs=2, events=1, days=1)
    assert (summary.events, summary.pairs, summary.active_topics) == (1, 2, 1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"events": 0}, "'events' parameter must be a whole number >= 1"),
        ({"days": 0}, "'days' parameter must be a whole number >= 1"),
        ({"days": 4_000_000}, "'days' parameter must be so few that the span ends by 9999"),
        ({"start": "soon"}, "'start' parameter must be a date or an instant in ISO 8601"),
        ({"churn": 2.0}, "'churn' parameter must be a share from 0 to 1"),
        ({"bad_rows": -1}, "'bad_rows' parameter must be a whole number >= 0"),
        ({"file_format": "xml"}, "'format' parameter must be csv or parquet"),
        ({"pairs": 10}, "'pairs' parameter must be from 1200 to 180000"),
    ],
)
def test_parameters_out_of_range(tmp_path, parameters, message):
    with pytest.raises(ParameterError, match=message):
        music_trace(tmp_path / "t", **{**SIZES, **parameters})
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_of_a_failed_run(tmp_path, monkeypatch):
    def fail(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_draw_events", fail)
    with pytest.raises(KeyboardInterrupt):
        music_trace(tmp_path / "t", **SIZES)
    assert list(tmp_path.iterdir()) == []


def test_existing_output_is_refused(tmp_path):
    music_trace(tmp_path / "t", **SIZES, seed=1)
    with pytest.raises(OutputExistsError, match="--overwrite"):
        music_trace(tmp_path / "t", **SIZES)
    music_trace(tmp_path / "t", **SIZES, seed=2, overwrite=True)
    assert json.loads((tmp_path / "t" / "trace.json").read_text())["seed"] == 2


def test_names_are_unique_however_many():
    rng = np.random.default_rng(0)
    for make in (music_names.artist_names, music_names.playlist_names, music_names.user_names):
        names = make(12_345, rng).to_pylist()
        assert len(set(names)) == 12_345
        assert not any(char in name for name in names for char in ',"\n ')


def test_week_profile():
    for kind in KINDS.values():
        profile = week_profile(kind)
        assert len(profile) == 168
        assert profile.mean() == pytest.approx(1)
        assert profile[:24].argmax() == kind.peak
    weights = hour_weights(5 * 24, 48, np.array([1.0, 2.0, 3.0]))
    assert weights.shape == (48, 3)
    assert weights.sum() == pytest.approx(1)
