"""select on Spark: close to local greedy, certified, and free of how subscribers are spread."""

from __future__ import annotations

import json
import os
import signal

import numpy as np
import pytest

import fanwise as fw
from fanwise.distributed import blocks, select_bounds
from fanwise.distributed.select import solve_on_spark
from fanwise.distributed.select_search import SparkSearch
from fanwise.workload.generators.spotify import spotify as spotify_like

TAU, CAPACITY = 276.0, "10%"


@pytest.fixture(scope="module")
def spotify(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark-select") / "spotify"
    fw.write_workload(spotify_like(scale=0.002, seed=3), folder)
    return folder


@pytest.fixture(scope="module")
def columns(tmp_path_factory):
    """Rates that are not whole, own thresholds, weights and costs, rows in no order."""
    random = np.random.default_rng(2)
    num_topics, num_subscribers = 40, 120
    follows = random.random((num_subscribers, num_topics)) < 0.1
    follows[7] = False  # wants nothing
    subscriber, topic = np.nonzero(follows)
    shuffled = random.permutation(len(topic))
    workload = fw.TopicWorkload.from_arrays(
        random.lognormal(1, 1, num_topics),
        subscriber[shuffled].astype(np.int32),
        topic[shuffled].astype(np.int32),
        num_subscribers=num_subscribers,
        tau=np.where(random.random(num_subscribers) < 0.1, 0.0, random.lognormal(2, 1, 120)),
        weight=random.integers(1, 4, num_subscribers) / 3,
        cost=random.random(num_topics),
    )
    folder = tmp_path_factory.mktemp("spark-select") / "columns"
    fw.write_workload(workload, folder)
    return folder


@pytest.mark.spark
@pytest.mark.parametrize("metric", ["binary", "fractional"])
def test_it_comes_within_a_percent_of_greedy(spark, spotify, metric):
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    before = scheduler.numTotalJobs()
    plan = solve_on_spark(
        spotify, tau=TAU, capacity=CAPACITY, metric=metric, num_partitions=2, gap=0.004
    )
    assert scheduler.numTotalJobs() - before <= plan.metrics["rounds"] + 21
    workload = fw.read_workload(spotify)
    problem = fw.Selection(workload, tau=TAU, capacity=CAPACITY, metric=metric)
    greedy = problem.solve("greedy")
    best = problem.solve("best", time_limit=1)
    plan.verify(workload)
    assert plan.workload == workload.hash
    assert plan.objective >= 0.99 * greedy.objective
    assert plan.bound >= best.objective
    assert plan.gap <= 0.004
    assert plan.metrics["paper_bound"] == greedy.metrics["paper_bound"]
    shared = set(greedy.metrics)
    assert shared <= set(plan.metrics)
    assert plan.parameters["engine"] == "spark"
    assert plan.parameters["capacity"] == greedy.parameters["capacity"]


@pytest.mark.spark
@pytest.mark.parametrize("metric", ["binary", pytest.param("fractional", marks=pytest.mark.soak)])
def test_columns_count_and_partitions_do_not(spark, columns, monkeypatch, metric):
    question = {"tau": "column", "capacity": "20%", "metric": metric}
    monkeypatch.setattr(select_bounds, "FITS", 1)
    monkeypatch.setattr(select_bounds, "ITERATIONS", 1)
    plans = [solve_on_spark(columns, **question, num_partitions=n, gap=0.0) for n in (1, 5)]
    monkeypatch.setattr(blocks, "DIRECT", 0)  # sums by Spark, as with many topics
    plans += [solve_on_spark(columns, **question, num_partitions=3, gap=0.0)]
    problem = fw.Selection(fw.read_workload(columns), **question)
    exact, greedy = problem.solve("exact"), problem.solve("greedy")
    for plan in plans:
        plan.verify(problem.workload)
        assert plan.bound >= exact.objective * (1 - 1e-9)
        assert plan.objective >= 0.99 * greedy.objective
        assert plan.metrics["paper_bound"] is None
        assert (plan.id, plan.objective, plan.bound) == (
            plans[0].id,
            plans[0].objective,
            plans[0].bound,
        )
        assert plan.metrics == plans[0].metrics


@pytest.mark.spark
def test_the_time_limit_ends_rounds_with_a_full_plan(spark, spotify):
    plan = solve_on_spark(spotify, tau=TAU, capacity=CAPACITY, num_partitions=2, time_limit=0.0)
    workload = fw.read_workload(spotify)
    plan.verify(workload)
    assert plan.metrics["rounds"] == 2  # nothing, and everything that fits
    assert plan.metrics["used"] >= 0.99 * plan.parameters["capacity"]
    greedy = fw.Selection(workload, tau=TAU, capacity=CAPACITY).solve("greedy")
    assert plan.objective >= 0.9 * greedy.objective
    assert greedy.objective <= plan.bound <= plan.metrics["paper_bound"]
    assert plan.parameters["time_limit"] == 0.0
    assert not plan.is_interrupted


def select(folder, out, *options):
    """Run the command; return its exit status."""
    from fanwise.cli.main import main

    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as done:
            main(["select", str(folder), "--out", str(out), "--engine", "spark", *options])
    finally:
        signal.signal(signal.SIGTERM, before)
    return done.value.code


def interrupt_after(monkeypatch, what, count):
    """Press Ctrl-C when the search hears something for the so-manieth time."""
    original, heard = getattr(SparkSearch, what), []

    def listen(self, *arguments):
        answer = original(self, *arguments)
        heard.append(None)
        if len(heard) == count:
            os.kill(os.getpid(), signal.SIGINT)
        return answer

    monkeypatch.setattr(SparkSearch, what, listen)


@pytest.mark.spark
@pytest.mark.parametrize(("what", "count"), [("consider", 4), ("prove_by", 5)])
def test_ctrl_c_keeps_the_best_plan_so_far(
    spark, spotify, tmp_path, monkeypatch, capsys, what, count
):
    interrupt_after(monkeypatch, what, count)
    options = ["--tau", "2763", "--capacity", CAPACITY, "--gap", "0", "--json"]
    assert select(spotify, tmp_path / "plan", *options) == 130
    assert [path.name for path in tmp_path.iterdir()] == ["plan"]
    said = json.loads(capsys.readouterr().out)
    workload = fw.read_workload(spotify)
    plan = fw.read_plan(tmp_path / "plan", workload)
    plan.verify()
    assert plan.id == said["id"]
    assert 0 < plan.objective <= plan.bound
    if what == "consider":
        assert 4 <= plan.metrics["rounds"] < 15  # a few may pass before Spark has cancelled one
    assert spark.range(5).count() == 5  # the session lives on


@pytest.mark.spark
def test_ctrl_c_before_there_is_a_plan_leaves_nothing(spark, spotify, tmp_path, monkeypatch):
    from fanwise.distributed import select as module

    def interrupt(*arguments, **options):
        os.kill(os.getpid(), signal.SIGINT)
        return spark.range(10**12).selectExpr("sum(id * id % 7)").collect()

    monkeypatch.setattr(module, "paper_bound", interrupt)
    assert select(spotify, tmp_path / "plan", "--tau", "27", "--capacity", "10%") == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spark
def test_the_command_takes_an_engine_and_says_what_it_runs(spark, columns, tmp_path, capsys):
    options = ["--capacity", "10%", "--gap", "0.1"]
    assert select(columns, tmp_path / "plan", *options, "--json") == 0
    heard = capsys.readouterr()
    said = json.loads(heard.out)
    assert (said["algorithm"], said["parameters"]["engine"]) == ("greedy", "spark")
    assert said["parameters"]["tau"] == "column"
    assert heard.err == (
        "fanwise: made by greedy: best needs the interests on one machine (--engine local).\n"
    )
    workload = fw.read_workload(columns)
    plan = fw.read_plan(tmp_path / "plan", workload)
    plan.verify()
    assert plan.objective == said["objective"] > 0
    assert select(columns, tmp_path / "other", *options, "--algorithm", "greedy") == 0
    heard = capsys.readouterr()
    assert "select by greedy" in heard.out
    assert heard.err == ""


@pytest.mark.spark
def test_nothing_to_do_is_done(spark, columns):
    nothing = solve_on_spark(columns, tau=0.0, capacity="30%", num_partitions=2)
    nothing.verify(fw.read_workload(columns))
    assert (nothing.objective, nothing.bound, nothing.gap) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--engine", "flink"], "local, spark"),
        (["--master", "local[2]"], "--engine spark"),
        (["--engine", "spark", "--algorithm", "exact"], "greedy with --engine spark"),
        (["--engine", "spark", "--pin", "names.txt"], "left out with --engine spark"),
        (["--engine", "spark", "--exclude", "names.txt"], "left out with --engine spark"),
        (["--engine", "spark", "--previous", "plan"], "left out with --engine spark"),
    ],
)
def test_engines_and_their_options_are_checked_first(options, told, tmp_path, capsys):
    from fanwise.cli.main import main

    with pytest.raises(SystemExit) as done:
        main(["select", "nowhere", "--capacity", "1", "--out", str(tmp_path / "p"), *options])
    assert done.value.code == 2
    assert told in " ".join(capsys.readouterr().err.split())


def test_help_says_that_spark_means_greedy(capsys):
    from fanwise.cli.main import main

    with pytest.raises(SystemExit):
        main(["select", "--help"])
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "best is greedy there" in said
