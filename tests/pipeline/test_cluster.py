"""A real cluster: everything that runs on Spark, submitted to two workers, one of which is killed.

One run for all of it, as processes are what it costs.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest
from tests.distributed.nearby import search_nearby
from tests.oracles import content_ingest_oracle, ingest_oracle
from tests.pipeline import cluster_run, content_traces, traces
from tests.pipeline.cluster import Cluster, kill

import fanwise as fw
from fanwise.workload.topic.sampling import Request, sample_workload

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]

QUESTION = {
    "sample": {"nodes": 20, "seed": 3},
    "provision": {"tau": 6.0, "instance": "c3.large"},
    "select": {"tau": 10.0, "capacity": "15%", "gap": 0.0},
}


def follow_traces():
    """Events and subscriptions of users who follow each other."""
    draw = random.Random(4)
    users = [f"u{number}" for number in range(40)]
    events = [
        {"topic": draw.choice(users), "timestamp": str(1_700_000_000 + second), "bytes": "80"}
        for second in range(400)
    ]
    follows = [
        {"subscriber": user, "topic": other}
        for user in users
        for other in draw.sample(users, draw.randrange(1, 9))
    ]
    return events, follows


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The folder in which everything ran on a cluster, a worker of which was killed meanwhile."""
    folder = tmp_path_factory.mktemp("cluster")
    place = folder / "run"
    tables = dict(
        zip(
            ("events", "follows", "moves", "boxes", "places", "brokers"),
            (*follow_traces(), *content_traces.random_traces(3), content_traces.BROKERS),
            strict=True,
        )
    )
    for name, rows in tables.items():
        traces.write_csv(place / f"{name}.csv", rows, list(rows[0]))
    (place / "question.json").write_text(json.dumps(QUESTION))
    cluster = Cluster(folder)
    log = folder / "driver.log"
    try:
        driver = cluster.submit(Path(cluster_run.__file__), str(place), log=log)
        try:
            wait_until(lambda: (place / "ready").exists() or driver.poll() is not None)
            cluster.kill_worker()
            (place / "go").touch()
            status = driver.wait(900)
        finally:
            kill(driver)
    finally:
        cluster.stop()
    assert status == 0, log.read_text()[-3000:]
    return place, tables


def wait_until(is_so):
    deadline = time.monotonic() + 900
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_both_ingests_on_a_cluster(ran):
    place, tables = ran
    answer = json.loads((place / "answer.json").read_text())
    assert answer["master"].startswith("spark://127.0.0.1:")
    expected = ingest_oracle.build(tables["events"], tables["follows"], period=3600)
    traces.check_folder(place / "out" / "topic", expected["workload"])
    assert {name: answer["topic"][name] for name in traces.REPORTED} == {
        name: expected[name] for name in traces.REPORTED
    }
    content = [tables[name] for name in ("moves", "boxes", "places")]
    expected = content_ingest_oracle.build(*content, ("price", "size"))
    workload = fw.read_workload(place / "out" / "content")
    content_traces.check_users(workload, expected)
    content_traces.check_brokers(workload)
    top = [hi for _, hi in content_traces.extent(expected["events"])]
    content_traces.check_traffic(workload, expected["events"], top)


def test_a_sample_on_a_cluster(ran):
    place, _ = ran
    whole = fw.read_workload(place / "out" / "topic")
    expected = sample_workload(whole, Request(**QUESTION["sample"]))
    assert fw.read_workload(place / "out" / "sample").hash == expected.hash


def test_provision_on_a_cluster(ran):
    place, _ = ran
    workload = fw.read_workload(place / "out" / "topic")
    plan = fw.read_plan(place / "out" / "machines", workload)
    plan.verify()
    local = fw.Provisioning(workload, **QUESTION["provision"]).solve("gsp+cbp")
    assert plan.id == local.id


def test_select_on_a_cluster_that_loses_a_worker(ran):
    place, _ = ran
    workload = fw.read_workload(place / "out" / "topic")
    plan = fw.read_plan(place / "out" / "served", workload)
    assert plan.verify().is_bound_checked
    question = QUESTION["select"]
    problem = fw.Selection(workload, tau=question["tau"], capacity=question["capacity"])
    near = search_nearby(problem, gap=0.0)
    assert plan.objective == near.value > 0
    assert plan.bound == pytest.approx(near.close().value)
    assert plan.bound <= near.bounds["alone"]
