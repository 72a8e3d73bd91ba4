"""Every kind of bad row, by a file that has it; and how many are let pass."""

import json

import pytest
from tests.oracles import ingest_oracle
from tests.pipeline import traces

from fanwise.errors import InputError, ParameterError
from fanwise.pipeline import ingest
from fanwise.pipeline.shared.options import Limit
from fanwise.pipeline.shared.readers import Trace
from fanwise.pipeline.shared.schema import REASONS

NOON = "2024-01-01T12:00:00Z"
LATER = "2024-01-01T13:00:00Z"
BAD_TIME = "timestamp not ISO 8601 or epoch seconds"


def event(topic="a", timestamp=NOON, size="1", reason=None):
    return {"topic": topic, "timestamp": timestamp, "bytes": size}, reason


def follow(who="u", topic="a", since="", until="", reason=None):
    return {"subscriber": who, "topic": topic, "since": since, "until": until}, reason


def malformed(text):
    return {"_malformed": text}, "malformed row"


EVENTS = [
    event(),
    event(timestamp=LATER),
    event(size=""),
    event(topic="", reason="no topic"),
    event(timestamp="", reason="no timestamp"),
    *(
        event(timestamp=text, reason=BAD_TIME)
        for text in (
            "yesterday", "12:00", "2024-13-01", "2024-01-01T25:00:00Z", "2024-01-01T00:00:00+99:00",
            "01/02/2024", "nan", "inf", "-99999999999999999999", "1e400", "0x10",
            "2024-W01-1x", "1711845000 s",
        )
    ),
    *(
        event(size=text, reason="bytes not a number >= 0")
        for text in ("-1", "nan", "NaN", "inf", "-Infinity", "many", "1e30", "5d", "0x5", "1_000")
    ),
    malformed("a," + NOON),
    malformed("a," + NOON + ",1,2"),
    malformed("a"),
]  # fmt: skip

FOLLOWS = [
    follow(),
    follow("v", since=NOON),
    follow("w", until=LATER),
    follow("", reason="no subscriber"),
    follow(topic="", reason="no topic"),
    follow(since="soon", reason="since not ISO 8601 or epoch seconds"),
    follow(until="late", reason="until not ISO 8601 or epoch seconds"),
    follow(since=LATER, until=NOON, reason="until not after since"),
    follow(since=NOON, until=NOON, reason="until not after since"),
    malformed("u,a"),
]

COUNTS = [
    ({"topic": "a", "events": "5"}, None),
    ({"topic": "", "events": "5"}, "no topic"),
    *(
        ({"topic": "a", "events": text}, "events not a whole number >= 0")
        for text in ("", "-1", "2.5", "nan", "inf", "lots", "1e30")
    ),
]

spark_test = pytest.mark.spark


def rows(cases):
    return [row for row, _ in cases]


def reasons(cases):
    return sorted(reason for _, reason in cases if reason)


def quarantined(folder):
    return [
        json.loads(line)
        for part in sorted((folder / "quarantine").iterdir())
        for line in part.read_text().splitlines()
    ]


def test_the_cases_name_every_reason():
    assert {*reasons(EVENTS), *reasons(FOLLOWS), *reasons(COUNTS)} == set(REASONS)


@spark_test
def test_bad_rows_of_csv_are_counted_and_kept_aside(spark, tmp_path):
    plays = traces.write_csv(tmp_path / "plays 1.csv", rows(EVENTS), list(EVENTS[0][0]))
    follows = traces.write_csv(tmp_path / "follows.csv", rows(FOLLOWS), list(FOLLOWS[0][0]))
    bad = reasons(EVENTS) + reasons(FOLLOWS)
    report = ingest(plays, follows, tmp_path / "out", max_bad_rows=len(bad))
    for trace, cases in (("publications", EVENTS), ("subscriptions", FOLLOWS)):
        found = report.as_dict()[trace]["bad"]
        assert sorted(r for r, count in found.items() for _ in range(count)) == reasons(cases)
    traces.check(tmp_path / "out", report, ingest_oracle.build(rows(EVENTS), rows(FOLLOWS)))
    assert traces.tables(tmp_path / "out") == {
        "topics": [("a", 3.0, 1.0)],
        "subscribers": ["u", "v", "w"],
        "pairs": {("u", "a"), ("v", "a"), ("w", "a")},
    }
    kept = quarantined(tmp_path / "out")
    assert sorted(row["reason"] for row in kept) == sorted(bad)
    for trace, file, cases in (
        ("publications", "plays%201.csv", EVENTS),
        ("subscriptions", "follows.csv", FOLLOWS),
    ):
        shown = [row for row in kept if row["trace"] == trace]
        assert {row["file"].rsplit("/", 1)[-1] for row in shown} == {file}
        raw = {row["row"] for row in shown if row["reason"] == "malformed row"}
        assert raw == {row["_malformed"] for row, _ in cases if "_malformed" in row}
        values = [json.loads(row["row"]) for row in shown if row["reason"] != "malformed row"]
        original = [
            {name: value for name, value in row.items() if value != ""}
            for row, reason in cases
            if reason and "_malformed" not in row
        ]
        assert sorted(map(str, values)) == sorted(map(str, original))


@spark_test
def test_one_bad_row_too_many_and_nothing_is_written(spark, tmp_path):
    plays = traces.write_csv(tmp_path / "plays.csv", rows(EVENTS), list(EVENTS[0][0]))
    follows = traces.write_csv(tmp_path / "follows.csv", rows(FOLLOWS), list(FOLLOWS[0][0]))
    good = traces.write_csv(tmp_path / "good.csv", rows(EVENTS[:3]))
    before = traces.remains(tmp_path)
    with pytest.raises(InputError) as raised:
        ingest(plays, follows, tmp_path / "out")
    assert f"plays.csv: {len(reasons(EVENTS))} bad rows, more than --max-bad-rows 0" in str(
        raised.value
    )
    assert f"most often {BAD_TIME!r} (13), as in " in str(raised.value)
    assert '"timestamp":"' in str(raised.value)
    with pytest.raises(InputError, match=r"follows\.csv: 7 bad rows, more than --max-bad-rows 6"):
        ingest(good, follows, tmp_path / "out", max_bad_rows=6)
    with pytest.raises(InputError, match=r"follows\.csv: 7 bad rows, .* 53%; most often"):
        ingest(good, follows, tmp_path / "out", max_bad_rows="53%")
    assert traces.remains(tmp_path) == before
    ingest(good, follows, tmp_path / "out", max_bad_rows="54%")  # 7 of 13
    assert len(quarantined(tmp_path / "out")) == 7


@spark_test
def test_bad_counts(spark, tmp_path):
    plays = traces.write_csv(tmp_path / "counts.csv", rows(COUNTS))
    follows = traces.write_csv(tmp_path / "follows.csv", rows(FOLLOWS[:1]))
    report = ingest(plays, follows, tmp_path / "out", period="1d", max_bad_rows="100%")
    found = report.publications.bad
    assert sorted(r for r, count in found.items() for _ in range(count)) == reasons(COUNTS)
    assert traces.tables(tmp_path / "out")["topics"] == [("a", 5.0, 200.0)]


@spark_test
def test_bad_json_and_bad_edges(spark, tmp_path):
    good = [{"topic": "a", "timestamp": NOON}, {"topic": 5, "timestamp": LATER}]
    broken = ['{"topic": "a", "timest', "[1, 2", "nothing", '{"topic": "b"} trailing"']
    plays = traces.write_json(
        tmp_path / "plays.json", [*good, *({"_malformed": text} for text in broken)]
    )
    lines = ["u a", "v 5", "w", "x a 3", "y,,a", ",a", "z,"]
    edges = traces.write_text(tmp_path / "graph.edges", "\n".join(lines) + "\n")
    report = ingest(plays, edges, tmp_path / "out", max_bad_rows=9)
    # Spark takes the object at the beginning of the last line, which has no timestamp.
    assert sum(report.publications.bad.values()) == len(broken)
    assert report.subscriptions.bad == {"malformed row": 5}
    assert traces.tables(tmp_path / "out")["pairs"] == {("u", "a"), ("v", "5")}
    kept = {row["row"] for row in quarantined(tmp_path / "out") if row["trace"] == "subscriptions"}
    assert kept == set(lines[2:])


@spark_test
def test_files_that_cannot_be_read_at_all(spark, tmp_path):
    plays = traces.write_csv(tmp_path / "plays.csv", rows(EVENTS[:3]))
    follows = traces.write_csv(tmp_path / "follows.csv", rows(FOLLOWS[:3]))

    def refused(match, publications=plays, subscriptions=follows, **options):
        with pytest.raises(InputError, match=match) as raised:
            ingest(publications, subscriptions, tmp_path / "out", **options)
        assert "\n" not in str(raised.value)
        assert not (tmp_path / "out").exists()

    refused(r"nowhere\.csv: no such file", tmp_path / "nowhere.csv")
    refused(
        r"traces\.log: its name does not end in", traces.write_text(tmp_path / "traces.log", "x")
    )
    refused(
        r"empty\.csv: is empty; it needs a header", traces.write_text(tmp_path / "empty.csv", "")
    )
    refused(
        r"follows\.csv: neither 'timestamp' .* nor 'events' .*'subscriber', 'topic', 'since'",
        follows,
    )
    refused(
        r"plays\.csv: no column 'subscriber'; it has 'topic', 'timestamp', 'bytes'", plays, plays
    )

    (tmp_path / "mixed").mkdir()
    traces.write_csv(tmp_path / "mixed" / "a.csv", rows(EVENTS[:3]))
    traces.write_json(tmp_path / "mixed" / "b.json", rows(EVENTS[:3]))
    refused(r"mixed: holds files of several formats \(csv, json\)", tmp_path / "mixed")

    (tmp_path / "headers").mkdir()
    traces.write_csv(tmp_path / "headers" / "a.csv", rows(EVENTS[:3]))
    traces.write_csv(tmp_path / "headers" / "b.csv", rows(EVENTS[:3]), header=False)
    refused(r"b\.csv: its header has no column 'topic'", tmp_path / "headers")

    truncated = tmp_path / "plays.parquet"
    truncated.write_bytes(b"PAR1 and then nothing")
    refused(r"plays\.parquet", truncated)

    cut = traces.write_text(tmp_path / "cut.csv.gz", "topic,timestamp\n" + f"a,{NOON}\n" * 5000)
    cut.write_bytes(cut.read_bytes()[:-20])
    refused(r"cut\.csv\.gz", cut)

    floats = traces.write_parquet(tmp_path / "floats.parquet", topic=[1.5], timestamp=[NOON])
    refused(r"floats\.parquet: column 'topic' has type double; identifiers must be", floats)
    listed = traces.write_parquet(tmp_path / "lists.parquet", topic=["a"], timestamp=[[1]])
    refused(r"lists\.parquet: column 'timestamp' has type array<bigint>", listed)
    with pytest.raises(ParameterError, match="only CSV files lack names"):
        ingest(Trace(str(floats), columns=("a", "b")), follows, tmp_path / "out")


@pytest.mark.parametrize(
    ("text", "limit"),
    [("0", Limit(0)), (7, Limit(7)), ("1%", Limit(share=0.01)), ("0%", Limit(share=0.0))],
)
def test_limits(text, limit):
    assert Limit.parse(text) == limit


@pytest.mark.parametrize("text", ["-1", "1.5", "x", "", "101%", "-1%", "nan%", "%"])
def test_limits_refused(text):
    with pytest.raises(ParameterError, match="max-bad-rows"):
        Limit.parse(text)
