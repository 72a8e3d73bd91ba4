"""Logs as people have them, read without Spark; Spark gives the same, see test_same_as_spark."""

import gzip
import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from tests.pipeline import traces

from fanwise.errors import InputError, ParameterError
from fanwise.pipeline import ingest
from fanwise.pipeline.shared.trace import Trace

NOON = 1_704_110_400  # 2024-01-01T12:00:00Z
FOLLOWS = [{"subscriber": who, "topic": topic} for who, topic in ("ua", "va", "vb")]
EVENTS = [("a", 0), ("a", 60), ("b", 3600)]


@pytest.fixture
def follows(tmp_path):
    return traces.write_csv(tmp_path / "follows.csv", FOLLOWS)


def read(publications, subscriptions, out, **options):
    return ingest(publications, subscriptions, out, engine="local", **options)


def plays(times):
    return [{"topic": topic, "timestamp": at} for (topic, _), at in zip(EVENTS, times, strict=True)]


def check_three_events(folder, report):
    assert traces.tables(folder) == {
        "topics": [("a", 2.0, 200.0), ("b", 1.0, 200.0)],
        "subscribers": ["u", "v"],
        "pairs": {("u", "a"), ("v", "a"), ("v", "b")},
    }
    assert (report.start, report.period_seconds) == (NOON * 10**6, 3600)


@pytest.mark.parametrize(
    ("unit", "factor", "more"),
    [("s", 1, 0), ("ms", 10**3, 0), ("us", 10**6, 0), ("ns", 10**9, 999)],
)
def test_epoch_times_in_any_unit_are_told_apart_and_stated(tmp_path, follows, unit, factor, more):
    rows = plays([(NOON + second) * factor + more for _, second in EVENTS])
    for name, write in (("p.csv", traces.write_csv), ("p.json", traces.write_json)):
        report = read(write(tmp_path / name, rows), follows, tmp_path / f"out-{name}")
        check_three_events(tmp_path / f"out-{name}", report)
        assert report.as_dict()["time_units"] == [unit]
    header = json.loads((tmp_path / "out-p.csv" / "workload.json").read_text())
    assert header["ingest"]["time_units"] == [unit]


def test_a_unit_that_is_said_is_what_holds(tmp_path, follows):
    early = traces.write_csv(tmp_path / "early.csv", plays([1000, 61_000, 3_601_000]))
    report = read(early, follows, tmp_path / "out", time_unit="ms")
    assert (report.start, report.period_seconds) == (10**6, 3600)
    assert report.time_units == ("ms",)
    with pytest.raises(InputError, match="3 bad rows"):
        read(
            traces.write_csv(tmp_path / "late.csv", plays([NOON * 1000] * 3)),
            follows, tmp_path / "other", time_unit="s",
        )  # fmt: skip
    with pytest.raises(ParameterError, match="time-unit"):
        read(early, follows, tmp_path / "other", time_unit="fortnight")


def test_options_of_time_take_any_unit_too(tmp_path, follows):
    rows = plays([NOON + second for _, second in EVENTS])
    report = read(
        traces.write_csv(tmp_path / "p.csv", rows), follows, tmp_path / "out",
        start=NOON * 1000, end="1704114000000",
    )  # fmt: skip
    assert (report.publications.outside, report.period_seconds) == (1, 3600)


def test_nested_json_by_dotted_names(tmp_path, follows):
    rows = [
        {"event": {"topic": topic, "at": {"ms": (NOON + second) * 1000}}, "v": 1}
        for topic, second in EVENTS
    ]
    rename = {"event.topic": "topic", "event.at.ms": "timestamp"}
    path = traces.write_json(tmp_path / "p.json", rows)
    report = read(Trace(str(path), rename=rename), follows, tmp_path / "out")
    check_three_events(tmp_path / "out", report)
    columns = Trace(
        str(path), columns=("event.topic", "event.at.ms"), rename={"event.at.ms": "timestamp"}
    )
    check_three_events(tmp_path / "out2", read(columns, follows, tmp_path / "out2"))
    nested = pa.array([row["event"] for row in rows])
    pq.write_table(pa.table({"event": nested}), tmp_path / "p.parquet")
    parquet = Trace(str(tmp_path / "p.parquet"), rename=rename)
    check_three_events(tmp_path / "out3", read(parquet, follows, tmp_path / "out3"))


def test_a_name_with_a_dot_in_it_is_meant_first(tmp_path, follows):
    rows = [
        {"event.topic": topic, "event": {"topic": "no"}, "timestamp": NOON + second}
        for topic, second in EVENTS
    ]
    path = traces.write_json(tmp_path / "p.json", rows)
    report = read(Trace(str(path), rename={"event.topic": "topic"}), follows, tmp_path / "out")
    check_three_events(tmp_path / "out", report)


def test_a_json_array_over_many_lines(tmp_path, follows):
    rows = plays([NOON + second for _, second in EVENTS])
    path = traces.write_text(tmp_path / "p.json", json.dumps(rows, indent=2))
    check_three_events(tmp_path / "out", read(path, follows, tmp_path / "out"))
    one_line = traces.write_text(tmp_path / "q.json", json.dumps(rows) + "\n")
    check_three_events(tmp_path / "out2", read(one_line, follows, tmp_path / "out2"))


def test_parquet_as_pandas_writes_it(tmp_path, follows):
    import pandas as pd

    at = pd.to_datetime([(NOON + second) * 10**9 + 999 for _, second in EVENTS])
    frame = pd.DataFrame({"topic": [topic for topic, _ in EVENTS], "timestamp": at})
    frame.to_parquet(tmp_path / "p.parquet")
    assert pq.read_schema(tmp_path / "p.parquet").field("timestamp").type.unit == "ns"
    report = read(tmp_path / "p.parquet", follows, tmp_path / "out")
    check_three_events(tmp_path / "out", report)
    assert report.time_units == ("timestamp",)


def test_orc_is_read_and_avro_is_one_line(tmp_path, follows):
    moments = [datetime.fromtimestamp(NOON + second, UTC) for _, second in EVENTS]
    table = {"topic": [topic for topic, _ in EVENTS], "timestamp": moments}
    orc.write_table(pa.table(table), tmp_path / "p.orc")
    check_three_events(tmp_path / "out", read(tmp_path / "p.orc", follows, tmp_path / "out"))
    (tmp_path / "p.avro").write_bytes(b"Obj\x01")
    with pytest.raises(InputError, match=r"p\.avro: avro is read by Spark alone") as raised:
        read(tmp_path / "p.avro", follows, tmp_path / "other")
    assert "\n" not in str(raised.value)


def test_daily_files_whose_header_grew_and_changed_its_order(tmp_path, follows):
    folder = tmp_path / "days"
    rows = plays([NOON + second for _, second in EVENTS])
    traces.write_csv(folder / "1.csv", rows[:1])
    traces.write_csv(folder / "2.csv", [{**rows[1], "bytes": 10}])
    traces.write_csv(folder / "3.csv", [{"bytes": 30, **rows[2]}])
    report = read(folder, follows, tmp_path / "out")
    assert traces.tables(tmp_path / "out")["topics"] == [("a", 2.0, 10.0), ("b", 1.0, 30.0)]
    assert report.publications.rows == 3


def test_a_file_without_its_header_is_refused_with_a_hint(tmp_path, follows):
    folder = tmp_path / "days"
    rows = plays([NOON + second for _, second in EVENTS])
    traces.write_csv(folder / "1.csv", rows[:2])
    traces.write_csv(folder / "2.csv", rows[2:], header=False)
    with pytest.raises(InputError, match=r"2\.csv: its header has no column 'topic'.*missing\?"):
        read(folder, follows, tmp_path / "out")


def log_rows(*rows):
    return [
        {"subscriber": who, "topic": topic, "action": action, "timestamp": NOON + second}
        for who, topic, action, second in rows
    ]


def test_a_log_of_subscriptions_becomes_spans(tmp_path):
    publications = traces.write_csv(
        tmp_path / "p.csv", plays([NOON + second for _, second in EVENTS])
    )
    log = traces.write_csv(
        tmp_path / "log.csv",
        log_rows(
            ("u", "a", "subscribe", -900),
            ("u", "a", "Subscribe", -800),  # holds already
            ("v", "a", "subscribe", -900),
            ("v", "a", "unsubscribe", -10),  # gone before the first event
            ("w", "a", "unsubscribe", 5),  # never began
            ("x", "b", "unsubscribe", 20),
            ("x", "b", "subscribe", 20),  # left and joined at once
            ("y", "b", "follow", 30),
            ("y", "b", "unfollow", 40),
            ("y", "b", "follow", 50),
            ("z", "b", "subscribe", 4000),  # after the last event
        )[::-1],
    )
    report = read(publications, log, tmp_path / "out", subscription_log=True)
    assert traces.tables(tmp_path / "out")["pairs"] == {("u", "a"), ("x", "b"), ("y", "b")}
    assert report.as_dict()["subscription_log"] == {
        "rows": 11, "subscribed": 6, "unsubscribed": 2, "without_effect": 3,
    }  # fmt: skip
    assert report.as_dict()["subscriptions"] == {
        "rows": 6, "bad": {}, "outside": 2, "duplicates": 1, "pairs": 3,
    }  # fmt: skip
    with pytest.raises(InputError, match="--subscription-log in place of --subscriptions"):
        read(publications, log, tmp_path / "other")


def test_words_and_names_of_a_log_are_mapped(tmp_path):
    publications = traces.write_csv(
        tmp_path / "p.csv", plays([NOON + second for _, second in EVENTS])
    )
    rows = [
        {"who": "u", "topic": "a", "op": "ON", "at": NOON - 5},
        {"who": "v", "topic": "a", "op": "ON", "at": NOON - 5},
        {"who": "v", "topic": "a", "op": " off ", "at": NOON - 4},
        {"who": "v", "topic": "a", "op": "maybe", "at": NOON - 4},
    ]
    log = Trace(
        str(traces.write_csv(tmp_path / "log.csv", rows)),
        rename={"who": "subscriber", "op": "action", "at": "timestamp"},
    )
    words = {"on": "subscribe", "off": "unsubscribe"}
    report = read(
        publications, log, tmp_path / "out", subscription_log=True, actions=words, max_bad_rows=1
    )
    assert traces.tables(tmp_path / "out")["pairs"] == {("u", "a")}
    assert report.subscriptions.bad == {"action neither subscribe nor unsubscribe": 1}
    with pytest.raises(ParameterError, match="WORD=subscribe"):
        read(publications, log, tmp_path / "o", subscription_log=True, actions={"on": "start"})


def test_events_delivered_twice_count_once(tmp_path, follows):
    rows = [
        {"id": name, "topic": topic, "timestamp": NOON + second, "bytes": size}
        for name, topic, second, size in (
            ("1", "a", 0, 5), ("1", "a", 0, 5), ("2", "a", 60, 1), ("2", "b", 50, 9),
            ("3", "b", 90, 2),
        )
    ]  # fmt: skip
    path = traces.write_csv(tmp_path / "p.csv", rows)
    report = read(path, follows, tmp_path / "out", event_id="id")
    # Of an id whose events differ the earliest stands.
    assert traces.tables(tmp_path / "out")["topics"] == [("a", 1.0, 5.0), ("b", 2.0, 5.5)]
    assert report.as_dict()["publications"] == {
        "rows": 5, "bad": {}, "outside": 0, "events": 3, "duplicates": 2,
    }  # fmt: skip
    assert read(path, follows, tmp_path / "all").events == 5
    with pytest.raises(InputError, match="no column 'uuid'"):
        read(path, follows, tmp_path / "other", event_id="uuid")
    rows[0]["id"] = ""
    with pytest.raises(InputError, match="'no event id'"):
        read(traces.write_csv(path, rows), follows, tmp_path / "other", event_id="id")


@pytest.mark.parametrize(
    ("mark", "kind"),
    [
        ("_delta_log/00.json", "a Delta table"),
        ("metadata/v1.metadata.json", "an Iceberg table"),
        (".hoodie/hoodie.properties", "a Hudi table"),
    ],
)
def test_tables_of_lakes_are_never_read_as_bare_files(tmp_path, follows, mark, kind):
    table = tmp_path / "table"
    for file in ("data/part-0.parquet", "part-1.parquet"):
        (table / file).parent.mkdir(parents=True, exist_ok=True)
        traces.write_parquet(table / file, topic=["a"], timestamp=[NOON])
    traces.write_text(table / mark, "{}")
    for path in (
        table,
        table / "part-1.parquet",
        f"{table}/data/*.parquet",
        tmp_path / "table/data",
    ):
        with pytest.raises(InputError, match=rf"{kind}, whose files also hold rows .* deleted"):
            read(str(path), follows, tmp_path / "out")


def test_one_event_of_1970_does_not_make_the_period_56_years(tmp_path, follows):
    times = [(topic, NOON + minute * 60) for minute in range(1000) for topic in "a"]
    times += [("b", 0), ("b", NOON + 30), ("b", 4_102_444_800)]
    rows = [{"topic": topic, "timestamp": at} for topic, at in times]
    path = traces.write_csv(tmp_path / "p.csv", rows)
    report = read(path, follows, tmp_path / "out")
    assert report.period_seconds == 999 * 60
    assert report.as_dict()["time_outliers"] == {
        "events": 2, "first": "1970-01-01T00:00:00Z", "last": "2100-01-01T00:00:00Z",
    }  # fmt: skip
    assert report.publications.outside == 2
    assert traces.tables(tmp_path / "out")["topics"][1][:2] == ("b", 1.0)
    asked = read(path, follows, tmp_path / "asked", start=0, end=4_102_444_801)
    assert (asked.outliers, asked.events) == (None, 1003)


def test_many_far_events_are_refused_with_a_way_out(tmp_path, follows):
    rows = [{"topic": "a", "timestamp": NOON + second} for second in range(50)]
    rows += [{"topic": "a", "timestamp": second} for second in range(2)]
    path = traces.write_csv(tmp_path / "p.csv", rows)
    with pytest.raises(InputError, match=r"2 of 52 events are far in time.*--from and --to"):
        read(path, follows, tmp_path / "out")
    report = read(path, follows, tmp_path / "out", start="2024-01-01", end="2024-01-02")
    assert (report.events, report.period_seconds) == (50, 86400)


def test_text_in_another_encoding(tmp_path):
    topics = ["Björk", "a"]
    publications = tmp_path / "p.csv"
    publications.write_bytes(
        "".join(["topic,timestamp\n", *(f"{name},{NOON}\n" for name in topics)]).encode("latin-1")
    )
    follows = tmp_path / "f.json"
    follows.write_bytes(
        "".join(f'{{"subscriber": "u", "topic": "{name}"}}\n' for name in topics).encode("latin-1")
    )
    with pytest.raises(InputError, match=r"not UTF-8.*name it with --encoding"):
        read(publications, follows, tmp_path / "out")
    named = [Trace(str(path), encoding="latin-1") for path in (publications, follows)]
    read(*named, tmp_path / "out")
    assert traces.tables(tmp_path / "out")["pairs"] == {("u", "Björk"), ("u", "a")}
    # Some may be let pass, and where UTF-8 is asked for nothing is doubted.
    report = read(publications, named[1], tmp_path / "some", max_bad_rows=1)
    assert report.publications.bad == {"not UTF-8, see --encoding": 1}
    taken = read(Trace(str(publications), encoding="utf-8"), named[1], tmp_path / "as-is")
    assert taken.publications.bad == {}
    with pytest.raises(ParameterError, match="encoding"):
        Trace("p.csv", encoding="klingon")
    publications.write_bytes("topic,timestamp\na,1\n".encode("utf-16"))
    with pytest.raises(InputError, match="is UTF-16; write it as UTF-8 first"):
        read(publications, named[1], tmp_path / "other")


def test_a_file_that_breaks_off_is_set_aside_where_bad_rows_may_be(tmp_path, follows):
    folder = tmp_path / "days"
    text = "topic,timestamp\n" + f"a,{NOON}\n" * 3000
    traces.write_text(folder / "1.csv.gz", text)
    cut = traces.write_text(folder / "2.csv.gz", text)
    cut.write_bytes(gzip.compress(text.encode(), 0)[:-9000])
    with pytest.raises(InputError, match=r"2\.csv\.gz: cannot be read"):
        read(folder, follows, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    report = read(folder, follows, tmp_path / "out", max_bad_rows=1)
    assert (report.events, report.publications.bad) == (3000, {"unreadable file": 1})
    kept = (tmp_path / "out" / "quarantine" / "part-00000.json").read_text()
    assert "2.csv.gz" in kept
    assert "unreadable file" in kept


def test_results_with_nothing_in_them_are_errors_unless_asked_for(tmp_path, follows):
    rows = plays([NOON + second for _, second in EVENTS])
    full = traces.write_csv(tmp_path / "p.csv", rows)
    only_header = traces.write_text(tmp_path / "h.csv", "topic,timestamp\n")
    strangers = traces.write_csv(tmp_path / "s.csv", [{"subscriber": "u", "topic": "other"}])
    nobody = traces.write_text(tmp_path / "n.csv", "subscriber,topic\n")
    span = {"start": "2020-01-01", "end": "2020-01-02"}
    cases = [
        ((only_header, follows), {}, r"h\.csv: has no rows, a header at most"),
        ((full, nobody), {}, r"n\.csv: has no rows"),
        ((full, follows), span, r"none of 3 rows counts: 3 are outside --from and --to"),
        ((full, strangers), {}, "no pairs are left: none of the 1 topics followed"),
    ]
    for number, (inputs, options, says) in enumerate(cases):
        with pytest.raises(InputError, match=says) as raised:
            read(*inputs, tmp_path / "out", **options)
        assert "--allow-empty" in str(raised.value)
        assert not (tmp_path / "out").exists()
        report = read(*inputs, tmp_path / f"empty{number}", allow_empty=True, **options)
        assert report.pairs == 0


def test_renames_that_match_nothing(tmp_path, follows):
    full = str(traces.write_csv(tmp_path / "p.csv", plays([NOON] * 3)))
    json_file = str(traces.write_json(tmp_path / "p.json", plays([NOON] * 3)))
    for path in (full, json_file):
        with pytest.raises(InputError, match="--rename of 'song' matches no column"):
            read(Trace(path, rename={"song": "topic"}), follows, tmp_path / "out")
        shared = {"song": "topic"}
        with pytest.raises(InputError, match=r"follows\.csv: --rename of 'song' matches no"):
            read(
                Trace(path, shared_rename=shared),
                Trace(str(follows), shared_rename=shared),
                tmp_path / "out",
            )
    read(Trace(full, rename={"song": "topic"}), follows, tmp_path / "out", allow_empty=True)


def test_without_spark_whatever_can_be_said_is_said_before_it_starts(tmp_path, follows):
    """With Spark asked for; nothing here may need it, as a session would take seconds."""
    full = traces.write_csv(tmp_path / "p.csv", plays([NOON] * 3))
    (tmp_path / "file").write_text("")
    lake = tmp_path / "lake"
    traces.write_text(lake / "_delta_log" / "0.json", "{}")
    traces.write_parquet(lake / "a.parquet", topic=["a"], timestamp=[NOON])
    cases = [
        ((tmp_path / "no.csv", follows), "out", r"no\.csv: no such file"),
        ((full, follows), "file/out", "file"),
        ((follows, follows), "out", "neither 'timestamp'"),
        ((full, full), "out", "no column 'subscriber'"),
        ((Trace(str(full), rename={"x": "topic"}), follows), "out", "'x' matches no column"),
        ((lake, follows), "out", "Delta"),
    ]
    for inputs, out, says in cases:
        with pytest.raises(Exception, match=says):
            ingest(*inputs, tmp_path / out, engine="spark", master="nonsense")


def test_the_engine_is_chosen_by_what_is_asked_and_by_size(tmp_path, follows, monkeypatch):
    from fanwise.pipeline import engine

    monkeypatch.setattr(engine, "spark_runs", lambda: False)
    inputs = [Trace(str(follows))]
    out = tmp_path / "out"
    assert engine.choose_engine("auto", inputs, out, None, None) == "local"
    assert engine.choose_engine("spark", inputs, out, None, None) == "spark"
    assert engine.choose_engine("auto", inputs, out, "local[2]", None) == "spark"
    assert engine.choose_engine("auto", inputs, out, None, {"a": "b"}) == "spark"
    assert engine.choose_engine("auto", inputs, "s3a://bucket/out", None, None) == "spark"
    assert engine.choose_engine("auto", [Trace("hdfs://host/in")], out, None, None) == "spark"
    monkeypatch.setattr(engine, "MOST_ROWS", -1)
    assert engine.choose_engine("auto", inputs, out, None, None) == "spark"
    assert engine.choose_engine("local", inputs, out, None, None) == "local"
    with pytest.raises(ParameterError, match="left out with --engine local"):
        engine.choose_engine("local", inputs, out, "yarn", None)
    with pytest.raises(ParameterError, match="one of auto, local, spark"):
        engine.choose_engine("flink", inputs, out, None, None)
