"""--from, --to, --window, since and until, compared with the plain-Python builder."""

import json
from itertools import pairwise

import pytest
from tests.oracles import ingest_oracle
from tests.pipeline import traces

from fanwise.errors import InputError
from fanwise.pipeline import ingest

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

HOUR = 3600
START = 1_704_067_200  # 2024-01-01T00:00:00Z

# Events on both sides of every border, and none in the third hour.
PUBLICATIONS = [
    {"topic": topic, "timestamp": str(START + offset), "bytes": size}
    for topic, offset, size in (
        ("a", -1, 5),
        ("a", 0, 7),
        ("b", 10, 9),
        ("a", HOUR - 0.000001, ""),
        ("b", HOUR, 11),
        ("c", HOUR + 5, 13),
        ("a", 3 * HOUR, 1),
        ("d", 3 * HOUR + 1, 1),
        ("b", 4 * HOUR - 1, 2),
    )
]


def subscription(who, topic, since=None, until=None):
    instant = lambda offset: "" if offset is None else str(START + offset)  # noqa: E731
    return {
        "subscriber": who, "topic": topic, "since": instant(since), "until": instant(until)
    }  # fmt: skip


SUBSCRIPTIONS = [
    subscription("always", "a"),
    subscription("always", "a"),
    subscription("early", "a", until=HOUR),
    subscription("early", "b", until=HOUR + 0.000001),
    subscription("late", "b", since=HOUR),
    subscription("late", "a", since=4 * HOUR),
    subscription("twice", "a", 10, 20),
    subscription("twice", "a", 30, HOUR + 30),
    subscription("twice", "a", 3 * HOUR, 3 * HOUR + 1),
    subscription("between", "b", 2 * HOUR, 3 * HOUR),
    subscription("between", "d", 2 * HOUR, 3 * HOUR),
    subscription("gone", "c", until=-HOUR),
    subscription("nothing", "zzz"),
    subscription("coming", "c", since=10 * HOUR),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traces")
    return (
        traces.write_csv(folder / "plays.csv", PUBLICATIONS),
        traces.write_csv(folder / "follows.csv", SUBSCRIPTIONS),
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"start": START, "end": START + HOUR},
        {"start": START, "keep_empty": True},
        {"end": "2024-01-01T01:00:00Z", "period": 7200},
    ],
)
def test_one_period(files, tmp_path, options):
    report = ingest(*files, tmp_path / "out", **options)
    expected = ingest_oracle.build(PUBLICATIONS, SUBSCRIPTIONS, **options)
    traces.check(tmp_path / "out", report, expected)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"start": START + 5, "end": START + 3 * HOUR + HOUR // 2},
        {"start": START + HOUR, "keep_empty": True},
    ],
)
def test_windows(files, tmp_path, options):
    report = ingest(*files, tmp_path / "out", window="1h", **options)
    expected = ingest_oracle.build(PUBLICATIONS, SUBSCRIPTIONS, window=HOUR, **options)
    empty = [name for name, one in expected["windows"].items() if not one["topics"]]
    assert "20240101T020000Z" in empty
    traces.check(tmp_path / "out", report, expected)
    listed = json.loads((tmp_path / "out" / "windows.json").read_text())
    assert traces.remains(tmp_path / "out") == sorted(
        ["windows.json", *(window["folder"] for window in listed)]
    )
    assert all(this["end"] == after["start"] for this, after in pairwise(listed))


def test_windows_before_1970_and_without_churn(tmp_path):
    publications = [
        {"topic": "a", "timestamp": "1969-12-31T23:59:59Z"},
        {"topic": "b", "timestamp": "1969-12-31T22:00:00Z"},
        {"topic": "a", "timestamp": "0"},
    ]
    subscriptions = [{"subscriber": who, "topic": topic} for who, topic in ("ua", "va", "vb")]
    report = ingest(
        traces.write_json(tmp_path / "plays.jsonl", publications),
        traces.write_csv(tmp_path / "follows.csv", subscriptions),
        tmp_path / "out",
        window=HOUR,
    )
    expected = ingest_oracle.build(publications, subscriptions, window=HOUR)
    assert list(expected["windows"]) == [
        "19691231T220000Z", "19691231T230000Z", "19700101T000000Z"
    ]  # fmt: skip
    traces.check(tmp_path / "out", report, expected)


def test_no_events_in_the_period(files, tmp_path):
    span = {"start": "2030-01-01", "end": "2030-01-02"}
    with pytest.raises(InputError, match="9 are outside --from and --to"):
        ingest(*files, tmp_path / "out", **span)
    report = ingest(*files, tmp_path / "out", **span, allow_empty=True)
    assert (report.topics, report.pairs, report.period_seconds) == (0, 0, 86400)
    assert report.publications.outside == len(PUBLICATIONS)
    assert traces.tables(tmp_path / "out") == {"topics": [], "subscribers": [], "pairs": set()}
    report = ingest(*files, tmp_path / "none", start="2030-01-01", allow_empty=True)
    assert (report.pairs, report.period_seconds) == (0, 86400)


def test_too_many_windows(files, tmp_path):
    with pytest.raises(InputError, match=r"14401 windows of 1 s .*longer --window"):
        ingest(*files, tmp_path / "out", window="1s")
    assert traces.remains(tmp_path) == []
