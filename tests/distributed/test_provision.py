"""provision on Spark: the plan that memory makes, free of how subscribers are spread."""

from __future__ import annotations

import numpy as np
import pytest

import fanwise as fw
from fanwise.distributed.provision import solve_on_spark
from fanwise.errors import InfeasibleError, ParameterError
from fanwise.provision.catalogue import Instance

SMALL = Instance("small", 0.15, 1.2e-5)
LARGE = Instance("large", 0.35, 3e-5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Follows in no order, sizes of their own, thresholds of their own, some of 0."""
    random = np.random.default_rng(4)
    num_topics, num_subscribers = 60, 900
    follows = random.random((num_subscribers, num_topics)) < random.random(num_topics) ** 3
    follows[7] = False
    follows[-1] = False
    subscriber, topic = np.nonzero(follows)
    shuffled = random.permutation(len(topic))
    workload = fw.TopicWorkload.from_arrays(
        np.ceil(random.lognormal(3, 1.5, num_topics)),
        subscriber[shuffled].astype(np.int32),
        topic[shuffled].astype(np.int32),
        num_subscribers=num_subscribers,
        message_bytes=random.integers(50, 400, num_topics),
        tau=np.where(random.random(num_subscribers) < 0.1, 0.0, random.lognormal(5, 1, 900)),
    )
    folder = tmp_path_factory.mktemp("spark-provision") / "workload"
    fw.write_workload(workload, folder)
    return folder


QUESTIONS = {
    "a number": {"tau": 100.0, "instance": "small", "catalogue": [SMALL]},
    "column and mix": {"tau": "column", "instance": "auto", "catalogue": [SMALL, LARGE]},
    "prices apart": {
        "tau": 300.0,
        "instance": "large",
        "catalogue": [SMALL, LARGE],
        "price_gb_in": 3.0,
        "price_gb_out": 0.0,
        "reserve": "10%",
    },
    "nothing": {"tau": 0.0, "instance": "small", "catalogue": [SMALL]},
}


@pytest.mark.spark
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(("pack", "num_partitions"), [("cbp", 3), ("group", 1)])
def test_the_same_plan_as_in_memory(spark, folder, tmp_path, question, pack, num_partitions):
    asked = QUESTIONS[question]
    workload = fw.read_workload(folder)
    local = fw.Provisioning(workload, **asked).solve(f"gsp+{pack}", seed=2)
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    before = scheduler.numTotalJobs()
    plan = solve_on_spark(
        folder, algorithm=f"gsp+{pack}", seed=2, num_partitions=num_partitions,
        scratch=tmp_path, **asked,
    )  # fmt: skip
    assert scheduler.numTotalJobs() - before <= 20
    if question != "nothing":
        assert local.metrics["split_topics"] > 0
    assert (plan.id, plan.workload) == (local.id, local.workload)
    assert plan.tables["allocation"].equals(local.tables["allocation"])
    assert plan.objective == pytest.approx(local.objective, rel=1e-9)
    assert local.bound * 0.97 <= plan.bound <= local.bound * (1 + 1e-9)
    for name, value in local.metrics.items():
        if name != "cost_above_bound":
            known = value if value is None else pytest.approx(value, rel=1e-9)
            assert plan.metrics[name] == known, name
    plan.save(tmp_path / "plan")
    assert fw.read_plan(tmp_path / "plan", workload).verify().is_bound_checked
    assert [entry.name for entry in tmp_path.iterdir()] == ["plan"]
    assert {file.suffix for file in (tmp_path / "plan" / "allocation.parquet").iterdir()} == {
        ".parquet"
    }


@pytest.mark.spark
def test_topics_that_fit_no_machine_are_named(spark, folder, tmp_path):
    tiny = [Instance("tiny", 0.15, 1e-6)]
    with pytest.raises(InfeasibleError, match="subscribers cannot reach the threshold") as refused:
        solve_on_spark(
            folder, tau=300.0, instance="tiny", catalogue=tiny, num_partitions=2, scratch=tmp_path
        )
    local = fw.Provisioning(fw.read_workload(folder), tau=300.0, instance="tiny", catalogue=tiny)
    with pytest.raises(InfeasibleError) as there:
        local.solve("gsp+cbp")
    assert str(refused.value).split(";")[0] == str(there.value).split(";")[0]
    assert not list(tmp_path.iterdir())


def test_what_looks_at_pairs_is_refused(folder):
    with pytest.raises(ParameterError, match="gsp"):
        solve_on_spark(folder, tau=300.0, algorithm="gsp+ffbp")
