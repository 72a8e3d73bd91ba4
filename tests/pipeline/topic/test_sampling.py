"""``fanwise sample``: breadth-first samples on Spark, against the plain one and in memory."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from tests.cli.conftest import run  # noqa: F401
from tests.pipeline import traces
from tests.workload.topic.test_sampling import PAIRS, REQUESTS, check, named_pairs, workload_of

import fanwise as fw
from fanwise.errors import InputError, WorkloadError
from fanwise.pipeline import ingest
from fanwise.pipeline.shared.readers import Trace
from fanwise.pipeline.topic import sampling
from fanwise.workload.generators.follow import follow
from fanwise.workload.topic.edges import workload_of_edges
from fanwise.workload.topic.sampling import Request, sample_workload

pytestmark = pytest.mark.spark


@settings(
    max_examples=3,
    phases=[Phase.explicit, Phase.generate],  # shrinking would run hundreds of Spark jobs
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(PAIRS, REQUESTS)
def test_any_graph_gives_what_the_plain_sample_gives(spark, tmp_path_factory, pairs, request):
    folder = tmp_path_factory.mktemp("random") / "graph"
    fw.write_workload(workload_of(pairs), folder)
    check(sampling.sample(folder, request), pairs, request)


def test_same_sample_as_in_memory_with_all_columns(spark, tmp_path, monkeypatch):
    whole = follow(400, mean_followings=3, reciprocity=0.1, net_dims=2, seed=5)
    fw.write_workload(whole, tmp_path / "graph")
    request = Request(150, seed=3, num_starts=2)
    expected = sample_workload(whole, request)
    monkeypatch.setattr(sampling, "_PAIRS_AT_ONCE", 100)
    monkeypatch.setattr(sampling, "_MOST_BROADCAST", 50)
    stored = spark.sparkContext._jsc.getPersistentRDDs
    before = len(stored())
    found = sampling.sample(tmp_path / "graph", request)
    assert found.hash == expected.hash
    assert found.origin == expected.origin
    assert found.positions.shape == (found.num_subscribers, 2)
    assert len(stored()) == before


def test_graph_in_pieces_restarts_with_ever_more_users(spark, tmp_path):
    pairs = {(f"a{i}", f"b{i}") for i in range(30)}
    fw.write_workload(workload_of(pairs), tmp_path / "graph")
    request = Request(25, num_starts=3)
    found = sampling.sample(tmp_path / "graph", request)
    check(found, pairs, request)
    assert found.origin["sample"]["starts"] > 3 + 3
    request = Request(2, starts=("a7", "b9", "a8"))
    check(sampling.sample(tmp_path / "graph", request), pairs, request)


def test_tables_that_do_not_fit_are_refused(spark, tmp_path):
    def broken(name, **tables):
        fw.write_workload(workload_of({("a", "b"), ("b", "a")}), tmp_path / name)
        for table, columns in tables.items():
            pq.write_table(pa.table(columns), tmp_path / name / f"{table}.parquet")
        return tmp_path / name

    unknown = broken("unknown", interests={"subscriber": [0, 1], "topic": [0, 5]})
    with pytest.raises(WorkloadError, match=r"interests.parquet: 1 pairs name a subscriber or"):
        sampling.sample(unknown, Request(1))
    damaged = broken("damaged")
    (damaged / "topics.parquet").write_text("no Parquet")
    with pytest.raises(WorkloadError, match=r"topics.parquet: not readable as Parquet"):
        sampling.sample(damaged, Request(1))
    cut = broken("cut", interests={"subscriber": [0], "topic": [0]})
    with pytest.raises(WorkloadError, match=r"pairs = 2, but interests.parquet has 1 rows"):
        sampling.sample(cut, Request(1))
    nameless = broken("nameless", subscribers={"subscriber": [0, 1]})
    with pytest.raises(WorkloadError, match=r"subscribers.parquet: no column 'name'; it has 'sub"):
        sampling.sample(nameless, Request(1))
    strangers = broken("strangers", subscribers={"subscriber": [0, 1], "name": ["x", "y"]})
    with pytest.raises(InputError, match="strangers: no name is both a topic's and a subscriber's"):
        sampling.sample(strangers, Request(1))


def test_graph_without_pairs_has_an_empty_sample(spark, tmp_path):
    names = {"topic_names": ["a", "b"], "subscriber_names": ["b", "c"]}
    fw.write_workload(fw.TopicWorkload.from_arrays([1.0, 1.0], [], [], **names), tmp_path / "w")
    found = sampling.sample(tmp_path / "w", Request(5))
    assert (found.num_topics, found.num_subscribers, found.num_pairs) == (0, 0, 0)
    assert (found.origin["sample"]["users"], found.origin["sample"]["start"]) == (0, None)


def test_command(spark, run, tmp_path):  # noqa: F811
    whole = workload_of({("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "a")})
    fw.write_workload(whole, tmp_path / "graph")
    sizes = (tmp_path / "graph", "--nodes", 3)
    done = run("sample", *sizes, "--start", "b", "--out", tmp_path / "one", "--json")
    assert (done.status, done.err) == (0, "")
    printed = done.json
    assert printed.pop("seconds") > 0
    assert printed == {
        "out": str(tmp_path / "one"), "users": 3, "start": "b", "starts": 1, "along": "both",
        "seed": 0, "topics": 3, "subscribers": 3, "pairs": 3,
        "of": {"topics": 5, "subscribers": 5, "pairs": 5},
    }  # fmt: skip
    found = fw.read_workload(tmp_path / "one")
    assert named_pairs(found) == {("a", "b"), ("b", "c"), ("c", "a")}
    assert json.loads((tmp_path / "one" / "workload.json").read_text())["sample"]["users"] == 3
    done = run(
        "sample", *sizes, "--along", "followers", "--keep-empty", "--starts", 2, "--seed", 8,
        "--conf", "spark.sql.shuffle.partitions=2", "--out", tmp_path / "two",
    )  # fmt: skip
    assert (done.status, done.err) == (0, "")
    assert "users visited" in done.out
    assert "3 of 5" in done.out
    done = run("sample", *sizes, "--start", "nobody", "--out", tmp_path / "three")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert "--start nobody: no such user" in done.err
    assert traces.remains(tmp_path) == ["graph", "one", "two"]


def test_usage_errors_need_no_spark(run, tmp_path):  # noqa: F811
    fw.write_workload(workload_of({("a", "b")}), tmp_path / "graph")

    def refused(*arguments, says):
        done = run("sample", *arguments)
        assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
        assert says in done.err

    new = ("--out", tmp_path / "new")
    refused(tmp_path / "graph", "--nodes", 1, "--out", tmp_path / "graph", says="exists already")
    refused(tmp_path / "none", "--nodes", 1, *new, says="no such folder")
    refused(tmp_path / "graph", "--nodes", 0, *new, says="--nodes")
    refused(tmp_path / "graph", *new, says="--nodes")
    refused(tmp_path / "graph", "--nodes", 1, "--along", "up", *new, says="--along")
    refused(tmp_path / "graph", "--nodes", 1, "--conf", "x", *new, says="KEY=VALUE")
    (tmp_path / "graph" / "topics.parquet").unlink()
    refused(tmp_path / "graph", "--nodes", 1, *new, says="topics.parquet: not there")
    assert traces.remains(tmp_path) == ["graph"]


def edges_of(file, first, second):
    table = pq.read_table(file)
    ends = (map(str, table.column(name).to_pylist()) for name in (first, second))
    return set(zip(*ends, strict=True))


@pytest.mark.data
def test_facebook_from_an_edge_list_to_a_sample(spark, shared_data, tmp_path):
    friends = edges_of(shared_data / "data" / "facebook" / "ego_facebook.parquet", "u", "v")
    edges = traces.write_text(tmp_path / "graph.txt", "# friends\n" + lines(friends))
    users = {name for pair in friends for name in pair}
    counts = traces.write_csv(tmp_path / "ones.csv", [{"topic": u, "events": 1} for u in users])
    report = ingest(counts, Trace(str(edges), "edges"), tmp_path / "fb", mutual=True)
    assert (report.topics, report.subscribers, report.pairs) == (4039, 4039, 2 * 88_234)
    by_hand = workload_of_edges(*zip(*friends, strict=True), mutual=True)
    assert by_hand.hash == fw.read_workload(tmp_path / "fb").hash
    request = Request(1000, seed=1)
    found = sampling.sample(tmp_path / "fb", request)
    assert found.num_topics == found.num_subscribers == 1000
    check(found, friends | {pair[::-1] for pair in friends}, request)


def lines(pairs):
    return "".join(f"{a} {b}\n" for a, b in sorted(pairs))


@pytest.mark.data
def test_sample_of_tweeters(spark, shared_data, tmp_path):
    file = shared_data / "data" / "higgs_twitter" / "follows.parquet"
    pairs = edges_of(file, "follower", "followee")
    fw.write_workload(workload_of(pairs), tmp_path / "tw")
    request = Request(1000, seed=1)
    found = sampling.sample(tmp_path / "tw", request)
    check(found, pairs, request)
    assert found.hash == sample_workload(workload_of(pairs), request).hash
