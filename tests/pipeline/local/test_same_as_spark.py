"""The path without Spark gives what Spark gives: the same workload, the same report."""

import gzip
import json
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from pyarrow import orc
from tests.pipeline import traces

import fanwise as fw
from fanwise.errors import InputError
from fanwise.pipeline import ingest
from fanwise.pipeline.shared.trace import Trace

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

NOON = 1_704_110_400  # 2024-01-01T12:00:00Z


def ingest_both(publications, subscriptions, folder, **options):
    """Ingest with both engines, compare everything, return the report."""
    reports = {}
    for engine in ("local", "spark"):
        report = ingest(publications, subscriptions, folder / engine, engine=engine, **options)
        reports[engine] = report.as_dict_with_windows()
    assert reports["local"] == reports["spark"]
    for header in sorted((folder / "spark").rglob("workload.json")):
        other = folder / "local" / header.relative_to(folder / "spark")
        assert json.loads(other.read_text()) == json.loads(header.read_text())
        a, b = fw.read_workload(other.parent), fw.read_workload(header.parent)
        assert a.topic_names.equals(b.topic_names)
        assert a.subscriber_names.equals(b.subscriber_names)
        for one, other in (
            (a.rates, b.rates),
            (a.message_bytes, b.message_bytes),
            (a.interests.indptr, b.interests.indptr),
            (a.interests.indices, b.interests.indices),
        ):
            assert np.array_equal(one, other)
    kept = [quarantined(folder / engine) for engine in ("local", "spark")]
    assert kept[0] == kept[1]
    return reports["spark"]


def quarantined(folder):
    parts = sorted((folder / "quarantine").glob("part-*.json"))
    rows = [json.loads(line) for part in parts for line in part.read_text().splitlines()]
    return sorted(
        # What is wrong with a file is said in each engine's own words.
        (row["trace"], row["file"].rsplit("/", 1)[-1], row["reason"],
        # So are cells that have types of their own.
         row["row"] if row["file"].endswith((".csv", ".gz", ".json")) and
         row["reason"] != "unreadable file" else "")
        for row in rows
    )  # fmt: skip


def test_growing_headers_latin_1_milliseconds_doubles_outliers_a_broken_file_and_a_log(tmp_path):
    days = tmp_path / "days"
    days.mkdir()
    latin = [("Björk", minute, f"e{minute % 150}") for minute in range(200)]
    lines = [f"{name};{(NOON + minute * 60) * 1000};{eid}" for name, minute, eid in latin]
    (days / "1.csv").write_bytes("\n".join(["topic;at;id", *lines]).encode("latin-1"))
    more = [f"{index};a;{(NOON + index) * 1000};f{index}" for index in range(50)]
    more += ['7;"quoted ""a""";1704110400000;g1', "-1;a;1704110400000;g2", ";b;0;g3", "x", ";c;;"]
    (days / "2.csv").write_bytes("\r\n".join(["bytes;topic;at;id", *more, ""]).encode())
    whole = gzip.compress(b"topic;at;id\n" + b"a;1704110400000;z\n" * 9000, 0)
    (days / "3.csv.gz").write_bytes(whole[:-9000])
    changes = [
        {"who": {"name": who}, "what": topic, "did": did, "when": (NOON + at) * 1000}
        for who, topic, did, at in (
            ("u", "Björk", "on", -9), ("u", "Björk", "on", -8), ("v", "Björk", "off", 1),
            ("v", "a", "on", -9), ("v", "a", "off", -8), ("w", 'quoted "a"', "on", 5),
            ("w", 'quoted "a"', "off", 7), ("w", "a", "on", 9), ("w", "a", "why", 9),
        )
    ]  # fmt: skip
    log = tmp_path / "log.json"
    log.write_bytes(json.dumps(changes, indent=1, ensure_ascii=False).encode("latin-1"))
    report = ingest_both(
        Trace(str(days), rename={"at": "timestamp"}, delimiter=";", encoding="latin-1"),
        Trace(
            str(log),
            rename={
                "who.name": "subscriber",
                "what": "topic",
                "did": "action",
                "when": "timestamp",
            },
            encoding="latin-1",
        ),
        tmp_path,
        event_id="id",
        subscription_log=True,
        actions={"on": "subscribe", "off": "unsubscribe"},
        max_bad_rows=5,
    )
    assert report["publications"]["bad"] == {
        "malformed row": 1, "no timestamp": 1, "bytes not a number >= 0": 1, "unreadable file": 1,
    }  # fmt: skip
    assert report["publications"]["duplicates"] == 50
    assert report["time_units"] == ["ms"]
    assert report["time_outliers"]["events"] == 1
    assert report["subscription_log"]["without_effect"] == 2
    assert report["pairs"]["kept"] == 3


def test_nanoseconds_structs_and_orc_in_windows(tmp_path):
    moments = [(NOON + second) * 10**9 + 1999 for second in (0, 100, 4000, 9000)]
    event = pa.array([{"name": name} for name in ("a", "b", "a", None)])
    table = pa.table({"event": event, "timestamp": pa.array(moments, pa.timestamp("ns"))})
    pq.write_table(table, tmp_path / "p.parquet")
    at = [datetime.fromtimestamp(NOON + second, UTC) for second in (-5, 200, 3700)]
    follows = {
        "subscriber": pa.array([1, 20, 3]), "topic": ["a", "b", "a"], "since": at,
        "until": [None, at[2], None],
    }  # fmt: skip
    orc.write_table(pa.table(follows), tmp_path / "f.orc")
    publications = Trace(str(tmp_path / "p.parquet"), rename={"event.name": "topic"})
    report = ingest_both(
        publications, tmp_path / "f.orc", tmp_path, window="1h", max_bad_rows=1, keep_empty=True
    )
    assert report["time_units"] == ["timestamp"]
    assert [window["pairs"] for window in report["windows"]] == [2, 2]
    assert report["from"] == "2024-01-01T12:00:00.000001Z"


def test_what_spark_alone_says_of_avro_and_of_lakes(tmp_path):
    follows = traces.write_csv(tmp_path / "f.csv", [{"subscriber": "u", "topic": "a"}])
    (tmp_path / "p.avro").write_bytes(b"Obj\x01")
    with pytest.raises(InputError, match=r"no reader for Avro; pass --conf spark\.jars"):
        ingest(tmp_path / "p.avro", follows, tmp_path / "out")
    lake = tmp_path / "lake"
    traces.write_text(lake / "_delta_log" / "0.json", "{}")
    traces.write_parquet(lake / "a.parquet", topic=["a"], timestamp=[NOON])
    for path in (lake, lake / "a.parquet"):
        with pytest.raises(InputError, match="Delta table, whose files also hold"):
            ingest(path, follows, tmp_path / "out")


CELLS = st.one_of(
    st.sampled_from(
        ["a", "b", "B", "é", "\U0001f600", " a", '"', '"a"', 'x"y', "a\\", "\ufffd", ""]
    ),
    st.text(st.sampled_from('ab" ,;\t\\'), max_size=5),
)
TIMES = st.one_of(
    st.integers(NOON, NOON + 5000).map(str),
    st.integers(NOON, NOON + 5000).map(lambda second: f"{second * 1000}"),
    st.sampled_from(
        ["2024-01-01T12:30:00Z", "2024-01-01 12:30:00.5", "2024-1-1 12:3", "20240101T130000Z",
         "2024-01-01T14:00:00 Europe/Rome", "2024-01-01T12:00:00+1:30", "1704110400123456789",
         "1704110400.25", "1.7041104e9", "2024-13-01", "2024-02-30", " 1704110400 ", "", "noon",
         "9223372036854775807", "1e30"]
    ),
)  # fmt: skip
SIZES = st.sampled_from(["", "0", "3", "2.5", "1e2", "-1", "x", " 4", "1e400", "+7", "08"])
LINES = st.one_of(
    st.tuples(CELLS, TIMES, SIZES).map(",".join),
    st.text(st.sampled_from('ab",1 '), max_size=8),
)


@settings(
    max_examples=4,
    phases=[Phase.explicit, Phase.generate],  # shrinking would run hundreds of Spark jobs
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@example([], [], {"window": None, "mutual": False})
@given(
    st.lists(LINES, min_size=20, max_size=60),
    st.lists(st.tuples(CELLS, CELLS, TIMES).map(",".join), min_size=20, max_size=60),
    st.fixed_dictionaries({"window": st.sampled_from([None, "30m"]), "mutual": st.booleans()}),
)
def test_any_lines_give_the_same(tmp_path_factory, lines, follows, options):
    folder = tmp_path_factory.mktemp("lines")
    (folder / "p.csv").write_text(
        "\n".join(["topic,timestamp,bytes", f"a,{NOON},1", *lines]), newline=""
    )
    (folder / "f.csv").write_text(
        "\n".join(["subscriber,topic,until", "u,a,", *follows]), newline=""
    )
    ingest_both(
        folder / "p.csv",
        folder / "f.csv",
        folder,
        max_bad_rows="100%",
        allow_empty=True,
        **options,
    )
