"""Traces in every format, compared with the plain-Python builder."""

import random
from datetime import UTC, datetime

import pytest
from tests.oracles import ingest_oracle
from tests.pipeline import traces

from fanwise.errors import InputError, ParameterError
from fanwise.pipeline import ingest
from fanwise.pipeline.shared.readers import Trace

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

ODD_NAMES = [
    "plain",
    "Zebra",
    "zebra",
    "007",
    "7",
    "10",
    "9",
    " leading and trailing ",
    'say "hi"',
    "comma, semicolon; tab\there",
    "back\\slash",
    "#hash",
    "null",
    "ünï",
    "e\u0301",
    "\uff5e",  # the last code points before the surrogates' place in UTF-16 order …
    "\U0001d11e clef",  # … and one beyond: UTF-16 and code-point order differ
    "\U0001f600",
]


def odd_trace(seed=1):
    draw = random.Random(seed)
    instants = [
        "2024-03-31T00:30:00Z",
        "2024-03-31T02:30:00+02:00",
        "2024-03-30T20:00:00-04:30",
        "2024-03-31 00:45:00",
        "2024-03-31T00:59:59.999999Z",
        "20240331T004500Z",
        "1711845000",
        "1711845000.25",
        "2024-03-31",
    ]
    publications = [
        {
            "topic": draw.choice(ODD_NAMES[:-2]),
            "timestamp": draw.choice(instants),
            "bytes": draw.choice(["", "10", "0", "12.5", "1e3"]),
        }
        for _ in range(120)
    ]
    subscriptions = [
        {"subscriber": draw.choice(ODD_NAMES), "topic": draw.choice(ODD_NAMES[3:])}
        for _ in range(150)
    ]
    return publications, subscriptions


def test_csv_with_odd_names_and_zones(tmp_path):
    publications, subscriptions = odd_trace()
    report = ingest(
        traces.write_csv(tmp_path / "plays.csv", publications),
        traces.write_csv(tmp_path / "follows.csv", subscriptions),
        tmp_path / "out",
    )
    expected = ingest_oracle.build(publications, subscriptions)
    assert expected["subscriptions"]["duplicates"] > 0
    assert expected["topics"]["without_events"] > 0
    traces.check(tmp_path / "out", report, expected)
    assert traces.remains(tmp_path) == ["follows.csv", "out", "plays.csv"]
    assert traces.remains(tmp_path / "out") == [
        "interests.parquet", "subscribers.parquet", "topics.parquet", "workload.json"
    ]  # fmt: skip
    assert not [path for path in (tmp_path / "out").rglob("*") if path.name[0] in "._"]


def test_folder_of_gzipped_json_lines_with_whole_number_names(tmp_path):
    publications, subscriptions = odd_trace(2)
    publications += [
        {"topic": 10000000, "timestamp": 1711845000, "bytes": 7},
        {"topic": 123456789012345678901234567890, "timestamp": 1711845000.5},
        {"topic": "back", "timestamp": "1711845000", "extra": {"nested": [1]}, "bytes": None},
    ]
    subscriptions += [
        {"subscriber": 10000000, "topic": 123456789012345678901234567890},
        {"subscriber": "10000000", "topic": 10000000},
        {"subscriber": 10000000, "topic": "10000000"},
    ]
    traces.write_json(tmp_path / "plays" / "one.json.gz", publications[:50])
    traces.write_json(tmp_path / "plays" / "two.json.gz", publications[50:])
    traces.write_text(tmp_path / "plays" / "_notes.txt", "not a part of the trace")
    report = ingest(
        tmp_path / "plays",
        traces.write_json(tmp_path / "follows.ndjson", subscriptions),
        tmp_path / "out",
    )
    traces.check(tmp_path / "out", report, ingest_oracle.build(publications, subscriptions))


def test_parquet_with_types_of_its_own(tmp_path):
    import pyarrow as pa

    moments = [datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2, 2, 5)]
    topics = [10000000, 9, 9, 123456789012]
    traces.write_parquet(
        tmp_path / "plays.parquet",
        topic=pa.array(topics, pa.int64()),
        timestamp=pa.array(moments, pa.timestamp("us", "Europe/Rome")),
        bytes=pa.array([1.5, None, 3.0, None], pa.float32()),
    )
    traces.write_parquet(
        tmp_path / "follows.parquet",
        subscriber=pa.array([1, 20, 3, 3], pa.int32()),
        topic=pa.array(["9", "9", "10000000", "8"]).dictionary_encode(),
    )
    report = ingest(tmp_path / "plays.parquet", tmp_path / "follows.parquet", tmp_path / "out")
    expected = ingest_oracle.build(
        [
            {"topic": topic, "timestamp": moment, "bytes": size}
            for topic, moment, size in zip(topics, moments, [1.5, None, 3.0, None], strict=True)
        ],
        [
            {"subscriber": who, "topic": topic}
            for who, topic in ((1, "9"), (20, "9"), (3, "10000000"), (3, "8"))
        ],
    )
    traces.check(tmp_path / "out", report, expected)
    assert expected["workload"]["subscribers"] == ["1", "20", "3"]


def test_headerless_files_with_other_delimiters_and_renamed_columns(tmp_path):
    publications = [
        {"topic": name, "timestamp": str(1711845000 + index), "bytes": index}
        for index, name in enumerate(["a;b", "c|d", 'e"f', "a;b"])
    ]
    subscriptions = [
        {"user": who, "ignored": "x", "artist": topic}
        for who, topic in (("u1", "a;b"), ("u2", 'e"f'), ("u2", "c|d"))
    ]
    traces.write_csv(tmp_path / "plays [1].csv", publications, delimiter="|", header=False)
    traces.write_csv(tmp_path / "follows.tsv.gz", subscriptions, delimiter="\t")
    report = ingest(
        Trace(
            str(tmp_path / "plays [1].csv"),
            columns=("topic", "timestamp", "bytes"),
            delimiter="|",
        ),
        Trace(str(tmp_path / "follows.tsv.gz"), rename={"user": "subscriber", "artist": "topic"}),
        tmp_path / "out",
    )
    expected = ingest_oracle.build(
        publications,
        [{"subscriber": row["user"], "topic": row["artist"]} for row in subscriptions],
    )
    traces.check(tmp_path / "out", report, expected)


@pytest.mark.parametrize("mutual", [False, True])
def test_edge_lists(tmp_path, mutual):
    edges = [("1", "2"), ("2", "1"), ("3", "2"), ("3", "2"), ("10", "9"), ("9", "9")]
    separators = [" ", "\t", ",", " , ", "   ", "\t\t"]
    lines = ["# a graph", "", "  # indented"] + [
        f"{a}{separator}{b}{end}"
        for (a, b), separator, end in zip(
            edges, separators, ["", " ", "\t", "", "", ""], strict=True
        )
    ]
    traces.write_text(tmp_path / "graph.txt", "\r\n".join(lines) + "\r\n")
    counts = [
        {"topic": topic, "events": events} for topic, events in (("2", 5), ("1", 2), ("9", 1))
    ]
    report = ingest(
        traces.write_csv(tmp_path / "counts.csv", counts),
        Trace(str(tmp_path / "graph.txt"), format="edges"),
        tmp_path / "out",
        period="10d",
        mutual=mutual,
    )
    expected = ingest_oracle.build(
        counts,
        [{"subscriber": a, "topic": b} for a, b in edges],
        period=864000,
        mutual=mutual,
    )
    traces.check(tmp_path / "out", report, expected)


def test_ready_counts_add_up_and_weigh_sizes(tmp_path):
    counts = [
        {"topic": "a", "events": "3", "bytes": "10"},
        {"topic": "a", "events": "1", "bytes": "50"},
        {"topic": "a", "events": "6", "bytes": ""},
        {"topic": "b", "events": "0", "bytes": "9"},
        {"topic": "c", "events": "2.0", "bytes": ""},
    ]
    follows = [{"subscriber": "u", "topic": name} for name in "abc"]
    follows += [{"subscriber": "lonely", "topic": "b"}]
    plays = traces.write_csv(tmp_path / "counts.csv", counts)
    pairs = traces.write_csv(tmp_path / "follows.csv", follows)
    span = {"start": "2024-01-01", "end": "2024-01-02T12:00:00+02:00"}
    report = ingest(plays, pairs, tmp_path / "out", message_bytes=64, keep_empty=True, **span)
    expected = ingest_oracle.build(counts, follows, message_bytes=64, keep_empty=True, **span)
    assert expected["workload"]["topics"] == [("a", 10.0, 20.0), ("c", 2.0, 64)]
    assert expected["workload"]["subscribers"] == ["lonely", "u"]
    traces.check(tmp_path / "out", report, expected)
    assert ingest(plays, pairs, tmp_path / "a-day").period_seconds == 86400
    with pytest.raises(InputError, match=r"no column 'timestamp'.*leave out --window"):
        ingest(plays, pairs, tmp_path / "other", window="1h")
    with pytest.raises(ParameterError, match="whole number of seconds"):
        ingest(plays, pairs, tmp_path / "other", window="0.5s")
    assert not (tmp_path / "other").exists()
