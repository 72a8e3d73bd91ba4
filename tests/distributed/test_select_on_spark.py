"""select on Spark: close to local greedy, certified, and free of how subscribers are spread."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import select_oracle
from tests.strategies import instances

import fanwise as fw
from fanwise.distributed import blocks
from fanwise.distributed.blocks import Block
from fanwise.distributed.select import (
    State,
    affordable,
    choose_batch,
    drop_weakest,
    knapsack_shares,
    solve_on_spark,
)
from fanwise.distributed.select_passes import Look, Price
from fanwise.errors import WorkloadError
from fanwise.select.relaxation import fractional_knapsack
from fanwise.workload.generators.spotify import spotify as spotify_like

TAU, CAPACITY = 276.0, "10%"


class Everywhere:
    """A broadcast variable without Spark."""

    def __init__(self, value):
        self.value = value


def block_of(problem):
    needs = problem.demand > 0
    indptr, indices = problem.workload.interests
    lengths = np.diff(indptr)
    return Block(
        np.concatenate([[0], np.cumsum(lengths[needs])]).astype(np.int64),
        indices[np.repeat(needs, lengths)],
        problem.demand[needs],
        problem.weight[needs],
    )


def look(problem, served, scale):
    work = Look(
        Everywhere(problem.workload.rates), Everywhere(served), scale, problem.metric == "binary"
    )
    amounts = np.zeros(problem.workload.num_topics, dtype=np.int64)
    value, satisfied = work(block_of(problem), amounts)
    return amounts / scale, value / scale, satisfied


def pose(instance, metric):
    tau = "column" if isinstance(instance.tau, list) else instance.tau
    return fw.Selection(instance.workload(), tau=tau, capacity="45%", metric=metric)


@given(
    instance=instances(with_cost=True, with_weight=True),
    data=st.data(),
    metric=st.sampled_from(["binary", "fractional"]),
)
def test_a_pass_finds_what_topics_bring_and_hold(instance, data, metric):
    problem = pose(instance, metric)
    num_topics = problem.workload.num_topics
    flags = data.draw(st.lists(st.booleans(), min_size=num_topics, max_size=num_topics))
    served = np.array(flags, dtype=bool)
    amounts, value, satisfied = look(problem, served, 2.0**36)
    assert value == pytest.approx(problem.value(served), rel=1e-8, abs=1e-8)
    assert satisfied == problem._num_satisfied(served)
    for topic in range(num_topics):
        if metric == "binary" and not served[topic]:
            expected = promised(problem, served, topic)
        else:
            other = served.copy()
            other[topic] = not served[topic]
            expected = abs(problem.value(other) - problem.value(served))
        assert amounts[topic] == pytest.approx(expected, rel=1e-6, abs=1e-6)


def promised(problem, served, topic):
    """Alg. 1 by its definition."""
    workload, total = problem.workload, 0.0
    indptr, indices = workload.interests
    for subscriber in range(workload.num_subscribers):
        mine = indices[indptr[subscriber] : indptr[subscriber + 1]]
        need = problem.demand[subscriber]
        missing = need - sum(workload.rates[other] for other in mine if served[other])
        if topic in mine and missing > 1e-9 * need:
            total += problem.weight[subscriber] * min(1.0, workload.rates[topic] / missing)
    return total


@given(
    instance=instances(with_cost=True, with_weight=True),
    data=st.data(),
    metric=st.sampled_from(["binary", "fractional"]),
    steepness=st.sampled_from([0.5, 1.0, 3.0]),
)
def test_any_shares_and_selection_price_a_valid_bound(instance, data, metric, steepness):
    problem = pose(instance, metric)
    num_topics, scale = problem.workload.num_topics, 2.0**36
    flags = data.draw(st.lists(st.booleans(), min_size=num_topics, max_size=num_topics))
    shares = data.draw(st.lists(st.floats(0, 1), min_size=num_topics, max_size=num_topics))
    everywhere = Everywhere((np.array(flags, dtype=bool), np.array(shares, dtype=np.float64)))
    work = Price(
        Everywhere(problem.workload.rates), everywhere, scale, steepness, metric == "fractional"
    )
    amounts = np.zeros(num_topics, dtype=np.int64)
    paid, total = work(block_of(problem), amounts)
    bound = (total - paid) / scale + fractional_knapsack(
        amounts / scale, problem.cost, problem.limit * (1 + 1e-9)
    )
    optimum = select_oracle.optimum(
        instance.rates,
        instance.interests,
        instance.tau,
        problem.limit * (1 + 1e-12),
        cost=instance.cost,
        weight=instance.weight,
        metric=metric,
    )
    assert bound * (1 + 1e-9) + 1e-9 >= optimum


def test_a_batch_takes_the_best_per_cost_within_its_part():
    amounts = np.array([10, 40, 30, 0, 90, 5])
    cost = np.array([1.0, 10.0, 10.0, 1.0, 1000.0, 0.0])
    state = State(np.array([False] * 6), amounts, 0, 0)
    assert choose_batch(state, cost, 60.0, 0.0).tolist() == [5, 0, 1]  # 2 would pass 18 of 60
    assert choose_batch(state, cost, 20.0, 0.0).tolist() == [5, 0]
    assert choose_batch(state, cost, 10.0, 0.0).tolist() == [5, 0]
    assert choose_batch(state, cost, 30.0, 30.0).tolist() == [5, 0, 1, 2]  # not limited any more
    full = State(np.array([True] * 6), amounts, 0, 0)
    assert choose_batch(full, cost, 100.0, 0.0).tolist() == []
    kept = drop_weakest(full, cost, 11.5)
    assert np.flatnonzero(~kept).tolist() == [3]  # holds nothing; the next, topic 4, is too large


def test_shares_of_a_knapsack_reach_its_value():
    random = np.random.default_rng(5)
    profit, cost = random.random(30), random.random(30)
    cost[3] = 0.0
    for limit in (0.0, 0.4, 3.0, 100.0):
        shares = knapsack_shares(profit, cost, limit)
        assert cost @ shares <= limit * (1 + 1e-12)
        assert profit @ shares == pytest.approx(fractional_knapsack(profit, cost, limit))


def test_affordable_counts_the_cheapest():
    prices, counts = np.array([3.0, 1.0, 2.0]), np.array([5, 2, 4])
    assert [affordable(prices, counts, left) for left in (0.5, 2.0, 5.9, 10.0, 16.0, 99.0)] == [
        0, 2, 3, 6, 8, 11,
    ]  # fmt: skip


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
    plan = solve_on_spark(
        spotify, tau=TAU, capacity=CAPACITY, metric=metric, num_partitions=2, gap=0.006
    )
    workload = fw.read_workload(spotify)
    problem = fw.Selection(workload, tau=TAU, capacity=CAPACITY, metric=metric)
    greedy = problem.solve("greedy")
    best = problem.solve("best", time_limit=1)
    plan.verify(workload)
    assert plan.objective >= 0.99 * greedy.objective
    assert plan.bound >= best.objective
    assert plan.gap <= 0.01
    assert plan.metrics["paper_bound"] == greedy.metrics["paper_bound"]
    shared = set(greedy.metrics)
    assert shared <= set(plan.metrics)
    assert plan.parameters["engine"] == "spark"
    assert plan.parameters["capacity"] == greedy.parameters["capacity"]


@pytest.mark.spark
def test_columns_count_and_partitions_do_not(spark, columns, monkeypatch):
    question = {"tau": "column", "capacity": "20%", "metric": "fractional"}
    one = solve_on_spark(columns, **question, num_partitions=1, gap=0.04)
    monkeypatch.setattr(blocks, "DIRECT", 0)  # sums by Spark, as with many topics
    three = solve_on_spark(columns, **question, num_partitions=3, gap=0.04)
    problem = fw.Selection(fw.read_workload(columns), **question)
    exact = problem.solve("exact")
    for plan in (one, three):
        plan.verify(problem.workload)
        assert plan.bound >= exact.objective * (1 - 1e-9)
        assert plan.objective >= 0.95 * exact.objective
        assert plan.metrics["paper_bound"] is None
    assert (one.id, one.objective, one.bound) == (three.id, three.objective, three.bound)
    assert one.metrics == three.metrics


@pytest.mark.spark
def test_the_command_takes_an_engine(spark, columns, tmp_path, capsys):
    from fanwise.cli.main import main

    options = ["--capacity", "10%", "--out", str(tmp_path / "plan"), "--engine", "spark"]
    with pytest.raises(SystemExit) as done:
        main(["select", str(columns), *options, "--gap", "0.1", "--json"])
    assert done.value.code == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["algorithm"], said["parameters"]["engine"]) == ("greedy", "spark")
    assert said["parameters"]["tau"] == "column"
    workload = fw.read_workload(columns)
    plan = fw.read_plan(tmp_path / "plan", workload)
    plan.verify()
    assert plan.objective == said["objective"] > 0


@pytest.mark.spark
def test_nothing_to_do_is_done(spark, columns):
    nothing = solve_on_spark(columns, tau=0.0, capacity="30%", num_partitions=2)
    nothing.verify()
    assert (nothing.objective, nothing.bound, nothing.gap) == (0.0, 0.0, 0.0)


@pytest.mark.spark
def test_broken_interests_are_refused(spark, columns, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    workload = fw.read_workload(columns)
    for name, topic, told in (("unknown", 40, "topic 40 is not in"), ("twice", None, "more than")):
        folder = tmp_path / name
        fw.write_workload(workload, folder)
        pairs = pq.read_table(folder / "interests.parquet").to_pydict()
        pairs["topic"][0] = pairs["topic"][1] if topic is None else topic
        pairs["subscriber"][0] = pairs["subscriber"][1]
        pq.write_table(
            pa.table(pairs, schema=pa.schema({"subscriber": pa.int32(), "topic": pa.int32()})),
            folder / "interests.parquet",
        )
        with pytest.raises(WorkloadError, match=told):
            solve_on_spark(folder, tau=5.0, capacity="30%", num_partitions=2)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--engine", "flink"], "local, spark"),
        (["--master", "local[2]"], "--engine spark"),
        (["--engine", "spark", "--algorithm", "exact"], "greedy with --engine spark"),
    ],
)
def test_engines_and_their_options_are_checked_first(options, told, tmp_path, capsys):
    from fanwise.cli.main import main

    with pytest.raises(SystemExit) as done:
        main(["select", "nowhere", "--capacity", "1", "--out", str(tmp_path / "p"), *options])
    assert done.value.code == 2
    assert told in " ".join(capsys.readouterr().err.split())
