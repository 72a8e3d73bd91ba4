"""The pipeline on DataFrames of one's own session, and its transforms one by one."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.oracles import ingest_oracle
from tests.pipeline import traces

from fanwise.errors import InputError, OutputExistsError
from fanwise.pipeline import build_workload, write_frames
from fanwise.pipeline.shared.period import Scope
from fanwise.pipeline.shared.times import SECOND

pytestmark = pytest.mark.spark

NAMES = ["", "a", "b", "B", "10", "9", "é", "\uffee", "\U0001f600"]
INSTANTS = st.one_of(
    st.integers(-4000, 12000).map(str),
    st.integers(-4000, 12000).map(lambda tenths: str(tenths / 10)),
    st.sampled_from(["", "x", "1970-01-01T01:00:00Z", "1970-01-01T02:00:00+01:00"]),
)


def rows(**columns):
    return st.lists(st.fixed_dictionaries(columns), min_size=1, max_size=25)


PUBLICATIONS = rows(
    topic=st.sampled_from(NAMES),
    timestamp=INSTANTS,
    bytes=st.sampled_from(["", "0", "3", "2.5", "-1", "x"]),
)
SUBSCRIPTIONS = rows(
    subscriber=st.sampled_from(NAMES), topic=st.sampled_from(NAMES), since=INSTANTS, until=INSTANTS
)
OPTIONS = st.fixed_dictionaries(
    {
        "start": st.sampled_from([None, 0, 900]),
        "end": st.sampled_from([None, 1800, 5000]),
        "window": st.sampled_from([None, 3600, 700]),
        "keep_empty": st.booleans(),
        "mutual": st.booleans(),
    }
)


def as_frame(spark, rows):
    columns = list(rows[0])
    return spark.createDataFrame(
        [[row[name] for name in columns] for row in rows],
        ", ".join(f"{name} string" for name in columns),
    )


@settings(
    max_examples=5,
    phases=[Phase.explicit, Phase.generate],  # shrinking would run hundreds of Spark jobs
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(PUBLICATIONS, SUBSCRIPTIONS, OPTIONS)
def test_any_trace_gives_what_the_plain_builder_gives(
    spark, tmp_path_factory, publications, subscriptions, options
):
    anchor = {"topic": "a", "timestamp": "1000", "bytes": ""}  # so that there is a period
    publications = [anchor, *publications]
    micros = {
        name: None if options[name] is None else options[name] * SECOND
        for name in ("start", "end", "window")
    }
    frames = build_workload(
        as_frame(spark, publications),
        as_frame(spark, subscriptions),
        scope=Scope(**micros),
        keep_empty=options["keep_empty"],
        mutual=options["mutual"],
        max_bad_rows="100%",
    )
    out = tmp_path_factory.mktemp("random") / "out"
    write_frames(frames, out)
    expected = ingest_oracle.build(publications, subscriptions, **options)
    traces.check(out, frames.report, expected)
    frames.release()


@pytest.fixture(scope="module")
def frames(spark):
    publications = spark.createDataFrame(
        [(10, "2024-01-01T00:00:00Z"), (9, "2024-01-01T01:00:00Z"), (9, None)],
        "topic int, timestamp string",
    )
    subscriptions = spark.createDataFrame([("u", 9), ("v", 10)], "subscriber string, topic long")
    frames = build_workload(publications, subscriptions, max_bad_rows=1)
    yield frames
    frames.release()


def test_frames_have_the_contracts_columns(frames):
    assert frames.topics.dtypes == [
        ("topic", "int"), ("name", "string"), ("rate", "double"), ("bytes", "double")
    ]  # fmt: skip
    assert frames.subscribers.dtypes == [("subscriber", "int"), ("name", "string")]
    assert frames.interests.dtypes == [("subscriber", "int"), ("topic", "int")]
    assert sorted(map(tuple, frames.topics.collect())) == [
        (0, "10", 1.0, 200.0),
        (1, "9", 1.0, 200.0),
    ]
    assert sorted(map(tuple, frames.interests.collect())) == [(0, 1), (1, 0)]
    (bad,) = frames.bad.collect()
    assert (bad["trace"], bad["reason"], bad["row"]) == (
        "publications",
        "no timestamp",
        '{"topic":9}',
    )


def test_missing_columns_are_named_with_the_present_ones(spark):
    wrong = spark.createDataFrame([("a", 1)], "Topic string, stamp int")
    right = spark.createDataFrame([("a", 1)], "topic string, timestamp int")
    with pytest.raises(InputError, match=r"publications: neither 'timestamp'.*'Topic', 'stamp'"):
        build_workload(wrong, right)
    with pytest.raises(
        InputError, match=r"subscriptions: no column 'subscriber'; it has 'topic', 'ti"
    ):
        build_workload(right, right)


def test_nothing_stays_in_storage_after_release_or_failure(spark):
    stored = spark.sparkContext._jsc.getPersistentRDDs
    before = len(stored())
    right = spark.createDataFrame([("a", 1)], "topic string, timestamp int")
    follows = spark.createDataFrame([("u", "a"), (None, "a")], "subscriber string, topic string")
    with pytest.raises(InputError, match="1 bad row, more than"):
        build_workload(right, follows)
    assert len(stored()) == before
    frames = build_workload(right, follows, max_bad_rows=1)
    assert len(stored()) > before
    frames.release()
    assert len(stored()) == before


def test_session_of_ones_own_keeps_its_settings(spark, frames, tmp_path):
    from fanwise.pipeline import ingest

    traces.write_csv(
        tmp_path / "plays.csv", [{"topic": "a", "timestamp": "2024-01-01 00:00:00"}] * 2
    )
    traces.write_csv(tmp_path / "follows.csv", [{"subscriber": "u", "topic": "a"}])
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        report = ingest(tmp_path / "plays.csv", tmp_path / "follows.csv", tmp_path / "out")
        assert spark.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert report.as_dict()["from"] == "2024-01-01T00:00:00Z"  # no zone means UTC, not Tokyo
    assert report.period_seconds == 1  # two events at once


def test_elsewhere_the_json_comes_last_and_failures_leave_nothing(frames, tmp_path, monkeypatch):
    from fanwise.pipeline.shared import writing
    from fanwise.pipeline.shared.store import Store, local_uri

    spark = frames.topics.sparkSession
    out = tmp_path / "bucket" / "out"
    store = Store(spark, local_uri(out))
    writing.write_remote(store, frames, overwrite=False)
    assert traces.tables(out)["pairs"] == {("u", "9"), ("v", "10")}
    assert (out / "quarantine").is_dir()
    with pytest.raises(OutputExistsError, match="exists already"):
        writing.write_remote(store, frames, overwrite=False)
    with pytest.raises(OutputExistsError, match="exists already"):
        write_frames(frames, out)
    written = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    assert written["workload.json"] == max(written.values())
    (out / "notes").write_text("not from us")
    with pytest.raises(OutputExistsError, match="has notes in it"):
        writing.write_remote(store, frames, overwrite=True)
    (out / "notes").unlink()
    (out / "topics.parquet" / "part-stale.parquet").write_text("from an older run")
    writing.write_remote(store, frames, overwrite=True)
    assert "part-stale.parquet" not in traces.remains(out / "topics.parquet")
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}

    def fail(frames, window=None):
        raise OSError("disk full")

    monkeypatch.setattr(type(frames), "workload_json", fail)
    with pytest.raises(OSError, match="disk full"):
        writing.write_remote(store, frames, overwrite=True)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    with pytest.raises(OSError, match="disk full"):
        writing.write_remote(Store(spark, local_uri(out.parent / "new")), frames, overwrite=False)
    assert traces.remains(out.parent) == ["out"]
    with pytest.raises(InputError, match="cannot be written: disk full"):
        write_frames(frames, tmp_path / "local")
    assert traces.remains(tmp_path) == ["bucket"]
