"""Workloads of tables in memory: the same as the plain builder makes of the same rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import ingest_oracle

import fanwise as fw
from fanwise.errors import InputError, ParameterError

NAMES = ["", "a", "b", "B", "10", "9", "é", "\uffee", "\U0001f600"]
INSTANTS = st.one_of(
    st.integers(-4000, 12000).map(str),
    st.integers(-40000, 120000).map(lambda tenths: str(tenths / 10)),
    st.sampled_from(
        ["", "x", "1970-01-01T01:00:00Z", "1970-01-01T02:00:00+01:00", "99999999999999", "1e9"]
    ),
)


def rows(**columns):
    return st.lists(st.fixed_dictionaries(columns), min_size=1, max_size=25)


TIMED = rows(
    topic=st.sampled_from(NAMES),
    timestamp=INSTANTS,
    bytes=st.sampled_from(["", "0", "3", "2.5", "-1", "x"]),
)
COUNTED = rows(
    topic=st.sampled_from(NAMES),
    events=st.sampled_from(["0", "1", "7", "2.5", "-1", "", "1e3", "1e17"]),
    bytes=st.sampled_from(["", "10", "x"]),
)
SUBSCRIPTIONS = rows(
    subscriber=st.sampled_from(NAMES), topic=st.sampled_from(NAMES), since=INSTANTS, until=INSTANTS
)
OPTIONS = st.fixed_dictionaries(
    {
        "start": st.sampled_from([None, 0, 900]),
        "end": st.sampled_from([None, 1800, 5000]),
        "keep_empty": st.booleans(),
        "mutual": st.booleans(),
    }
)


class Stream:
    """A table that shows nothing but Arrow's C stream, as Polars and DuckDB tables do."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class Exchanged:
    """A table that shows nothing but the data frame protocol."""

    def __init__(self, table):
        self.table = table

    def __dataframe__(self, **options):
        return self.table.__dataframe__(**options)


def as_columns(rows):
    return {name: [row[name] for row in rows] for name in rows[0]}


def views(table):
    """Text as Polars hands it over."""
    return pa.table({name: table[name].cast(pa.string_view()) for name in table.column_names})


FORMS = {
    "pandas": pd.DataFrame,
    "categories": lambda columns: pd.DataFrame(columns).astype("category"),
    "columns": lambda columns: columns,
    "arrow": pa.table,
    "stream": lambda columns: Stream(views(pa.table(columns))),
    "protocol": lambda columns: Exchanged(pa.table(columns)),
}


def check(workload, expected):
    """Compare with what the plain builder made: topics, subscribers, pairs, period and counts."""
    found, whole = workload.origin["ingest"], expected["workload"]
    names, people = workload.topic_names.to_pylist(), workload.subscriber_names.to_pylist()
    assert names == [name for name, _, _ in whole["topics"]]
    assert workload.rates.tolist() == [rate for _, rate, _ in whole["topics"]]
    assert workload.message_bytes.tolist() == pytest.approx([size for _, _, size in
                                                             whole["topics"]])  # fmt: skip
    assert people == whole["subscribers"]
    indptr, indices = workload.interests
    pairs = {
        (people[who], names[topic])
        for who in range(len(people))
        for topic in indices[indptr[who] : indptr[who + 1]]
    }
    assert pairs == whole["pairs"]
    assert len(indices) == len(pairs)
    assert workload.period_seconds == pytest.approx(expected["period_seconds"])
    for part in ("publications", "subscriptions", "topics", "subscribers", "pairs"):
        assert found[part] == expected[part], part


@given(TIMED, SUBSCRIPTIONS, OPTIONS, st.sampled_from(list(FORMS)))
def test_any_events_give_what_the_plain_builder_gives(events, follows, options, form):
    events = [{"topic": "a", "timestamp": "1000", "bytes": ""}, *events]  # so there is a period
    expected = ingest_oracle.build(events, follows, **options)
    make = FORMS[form]
    workload = fw.TopicWorkload.from_frames(
        make(as_columns(events)), make(as_columns(follows)), max_bad_rows="100%", **options
    )
    check(workload, expected)


@given(COUNTED, SUBSCRIPTIONS, st.booleans(), st.sampled_from(list(FORMS)))
def test_any_counts_give_what_the_plain_builder_gives(events, follows, keep_empty, form):
    expected = ingest_oracle.build(
        events, follows, start=0, end=7200, keep_empty=keep_empty, message_bytes=55.0
    )
    make = FORMS[form]
    workload = fw.TopicWorkload.from_frames(
        make(as_columns(events)),
        make(as_columns(follows)),
        max_bad_rows="100%",
        start=0,
        end=7200,
        keep_empty=keep_empty,
        message_bytes=55.0,
    )
    check(workload, expected)


MOMENTS = [datetime(2026, 3, 1, tzinfo=UTC) + timedelta(minutes=7 * i) for i in range(6)]


@pytest.mark.parametrize(
    "times",
    [
        pd.Series(MOMENTS),
        pd.Series(MOMENTS).dt.tz_localize(None),
        pd.Series(MOMENTS).dt.tz_convert("Asia/Tokyo"),
        pd.Series(MOMENTS, dtype="datetime64[s, UTC]"),
        pd.Series([str(one) for one in MOMENTS]),
        pd.Series([one.timestamp() for one in MOMENTS]),
        pd.Series([int(one.timestamp()) for one in MOMENTS], dtype="Int64"),
        pd.Series([Decimal(int(one.timestamp())) for one in MOMENTS]),
        pd.Series([MOMENTS[0].isoformat(), *MOMENTS[1:]], dtype=object),
    ],
    ids=["ns", "naive", "zone", "s", "text", "float", "Int64", "decimal", "mixed"],
)
def test_a_time_of_any_type_is_the_same_time(times):
    events = pd.DataFrame({"topic": list("aabbcc"), "timestamp": times})
    follows = {"subscriber": [1, 2, 3], "topic": ["a", "b", "c"]}
    workload = fw.TopicWorkload.from_pandas(events, follows, end=MOMENTS[5])
    assert workload.rates.tolist() == [2, 2, 1]
    assert workload.period_seconds == 35 * 60
    assert workload.origin["ingest"]["from"] == "2026-03-01T00:00:00Z"


@pytest.mark.parametrize(
    "names",
    [
        [7, 7, 10],
        np.array([7, 7, 10], dtype=np.uint8),
        pd.Series([7, 7, 10], dtype="category"),
        pd.Series([7.0, 7.0, 10.0]),
        pd.Series(["7", 7, 10], dtype=object),
        pa.array([b"7", b"7", b"10"]),
        pa.array(["7", "7", "10"]).dictionary_encode(),
        pa.chunked_array([["7"], ["7", "10"]]),
    ],
)
def test_an_identifier_of_any_type_is_the_same_name(names):
    workload = fw.TopicWorkload.from_frames(
        {"topic": names, "events": [1, 2, 3]}, {"subscriber": [3, 2, 1], "topic": ["7", "10", "7"]}
    )
    assert workload.topic_names.to_pylist() == ["10", "7"]  # in code-point order
    assert workload.rates.tolist() == [3, 3]
    assert workload.subscriber_names.to_pylist() == ["1", "2", "3"]


def test_columns_of_other_names_and_in_the_index_are_found():
    plays = pd.DataFrame({"song": ["a", "b", "a"]}).groupby("song").size().to_frame("n")
    workload = fw.TopicWorkload.from_pandas(
        plays,
        pd.DataFrame({"user": [1], "song": ["a"], "country": ["no"]}),
        rename={"song": "topic", "n": "events", "user": "subscriber"},
    )
    assert workload.rates.tolist() == [2]
    assert workload.period_seconds == 86_400


GOOD = {"subscriber": ["s"], "topic": ["a"]}


@pytest.mark.parametrize(
    ("events", "follows", "message"),
    [
        ({"topic": ["a", None], "events": [1, 1]}, GOOD, r"events: row 1, column 'topic': no to"),
        ({"topic": ["a"] * 3, "events": [1, 2, 2.5]}, GOOD, r"row 2, column 'events': events not"),
        ({"topic": ["a"], "timestamp": ["soon"]}, GOOD, r"row 0, column 'timestamp': timestamp"),
        ({"topic": ["a"], "events": [1], "bytes": [-2]}, GOOD, "row 0, column 'bytes': bytes not"),
        ({"topic": ["a"]}, GOOD, r"neither 'timestamp'.*'events'.*columns 'topic'\. .*rename="),
        ({"song": ["a"]}, GOOD, r"events: no column 'topic'; it has 'song'\. .*rename="),
        ({"topic": [1.5], "events": [1]}, GOOD, r"column 'topic' has 1\.5 in row 0; .*astype\(str"),
        ({"topic": [["a"]], "events": [1]}, GOOD, r"column 'topic' has type list"),
        ({"topic": ["a", {1}], "events": [1, 1]}, GOOD, r"column 'topic' has \{1\} in row 1"),
        ({"topic": ["a"], "events": [True]}, GOOD, r"column 'events' has type bool"),
        ({"topic": ["a"], "events": [1, 2]}, GOOD, r"events: columns of different lengths"),
        ([("a", 1)], GOOD, r"events: list is no table; give a pandas"),
        (
            {"topic": ["a"], "events": [1]},
            pd.DataFrame({"subscriber": [1, np.nan], "topic": ["a", "a"]}),
            r"subscriptions: row 1, column 'subscriber': no subscriber",
        ),
        (
            {"topic": ["a"], "events": [1]},
            pd.DataFrame([[1, 2, 3]], columns=["topic", "subscriber", "topic"]),
            r"subscriptions: column 'topic' is there more than once",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_the_place(events, follows, message):
    with pytest.raises(InputError, match=message):
        fw.TopicWorkload.from_frames(events, follows)


def test_bad_rows_are_let_pass_up_to_the_limit_over_both_tables():
    events = {"topic": ["a", None], "events": [1, 1]}
    follows = {"subscriber": ["s", ""], "topic": ["a", "a"]}
    for limit in (1, "49%"):
        with pytest.raises(InputError, match="2 in all, and max_bad_rows is"):
            fw.TopicWorkload.from_frames(events, follows, max_bad_rows=limit)
    for limit in (2, "50%"):
        found = fw.TopicWorkload.from_frames(events, follows, max_bad_rows=limit)
        assert (found.num_topics, found.num_pairs) == (1, 1)
    for limit in (-1, "many", True, "101%"):
        with pytest.raises(ParameterError, match="max_bad_rows"):
            fw.TopicWorkload.from_frames(events, follows, max_bad_rows=limit)


def test_nothing_at_all_is_an_empty_workload():
    empty = pd.DataFrame({"topic": [], "events": []})
    follows = pd.DataFrame({"subscriber": [], "topic": []})
    found = fw.TopicWorkload.from_pandas(empty, follows)
    assert (found.num_topics, found.num_subscribers, found.num_pairs) == (0, 0, 0)


def test_a_workload_shows_its_names_and_escapes_them():
    workload = fw.TopicWorkload.from_frames(
        {"topic": ["<b>"], "events": [3]}, {"subscriber": ["s"], "topic": ["<b>"]}
    )
    shown = workload._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>3" not in shown
    assert "Most followed topics" in shown
