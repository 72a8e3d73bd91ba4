import json

import numpy as np
import pytest
from hypothesis import given, settings
from tests.oracles import select_oracle
from tests.strategies import Instance, instances, odd_rates

import fanwise as fw
from fanwise.errors import ParameterError
from fanwise.select.bounds import knapsack_bound
from fanwise.select.problem import parse_capacity

pytestmark = pytest.mark.kernels


def tau_of(instance):
    return "column" if isinstance(instance.tau, list) else instance.tau


@settings(max_examples=75)
@given(instances(with_cost=True, with_weight=True))
def test_greedy_is_the_papers(instance):
    problem = fw.Selection(instance.workload(), tau=tau_of(instance), capacity="40%")
    plan = problem.solve("greedy")
    plan.verify()
    expected = select_oracle.greedy(
        instance.rates,
        instance.interests,
        instance.tau,
        problem.limit * (1 + 1e-9),
        cost=instance.cost,
        weight=instance.weight,
    )
    served = np.flatnonzero(plan.tables["topics"].column("served").to_numpy(zero_copy_only=False))
    assert served.tolist() == sorted(expected)
    value = select_oracle.value(
        instance.rates, instance.interests, instance.tau, set(expected), weight=instance.weight
    )
    assert plan.objective == pytest.approx(float(value), abs=1e-12)


@settings(max_examples=50)
@given(instances(max_topics=6, with_cost=True, with_weight=True))
@pytest.mark.parametrize("metric", ["binary", "fractional"])
def test_bounds_hold(metric, instance):
    problem = fw.Selection(instance.workload(), tau=tau_of(instance), capacity="35%", metric=metric)
    best = float(
        select_oracle.optimum(
            instance.rates,
            instance.interests,
            instance.tau,
            problem.limit * (1 + 1e-12),
            metric,
            cost=instance.cost,
            weight=instance.weight,
        )
    )
    assert problem.bound() >= best - 1e-9
    assert knapsack_bound(problem) >= best - 1e-9
    paper = problem.paper_bound
    if instance.cost is not None or instance.weight is not None:
        assert paper is None
    else:
        assert paper == select_oracle.paper_bound(
            instance.rates, instance.interests, instance.tau, problem.limit * (1 + 1e-9), metric
        )
        assert paper >= best - 1e-9


@settings(max_examples=30)
@given(instances(rates=odd_rates, with_weight=True))
@pytest.mark.parametrize("metric", ["binary", "fractional"])
def test_the_value_is_the_definition(metric, instance):
    problem = fw.Selection(instance.workload(), tau=tau_of(instance), capacity=0, metric=metric)
    served = np.arange(len(instance.rates)) % 2 == 0
    expected = select_oracle.value(
        [float(rate) for rate in instance.rates],
        instance.interests,
        instance.tau,
        set(np.flatnonzero(served).tolist()),
        metric,
        instance.weight,
    )
    assert problem.value(served) == pytest.approx(float(expected), rel=1e-9, abs=1e-9)


def test_everybody_is_satisfied_with_capacity_for_everything():
    instance = Instance([2**0.5, np.pi, 1 / 3], [[0, 1, 2], [2, 0], [1], []], tau=1e6)
    plan = fw.Selection(instance.workload(), tau=1e6, capacity="100%").solve("greedy")
    plan.verify()
    assert plan.objective == 3  # irrational rates, added in any order, still reach tau_v
    assert plan.gap == 0
    assert fw.Selection(instance.workload(), tau=1e6, capacity=1e12).solve().objective == 3


def test_nothing_fits_capacity_zero():
    instance = Instance([2.0, 3.0], [[0], [1]], tau=1)
    plan = fw.Selection(instance.workload(), tau=1, capacity=0).solve("greedy")
    plan.verify()
    assert (plan.objective, plan.bound, plan.metrics["used"]) == (0, 0, 0)


def test_free_topics_come_first():
    instance = Instance([2.0, 3.0], [[0], [1]], tau=1, cost=[0.0, 5.0])
    plan = fw.Selection(instance.workload(), tau=1, capacity=0).solve("greedy")
    assert plan.objective == 1
    assert plan.metrics["paper_bound"] is None


def test_a_rejected_topic_is_not_examined_again():
    # Topic 0 has the best ratio and does not fit; the paper's text would loop on it for ever.
    instance = Instance([10.0, 3.0], [[0], [0], [0], [1]], tau=10, cost=[8.0, 6.0])
    plan = fw.Selection(instance.workload(), tau=10, capacity=7).solve("greedy")
    assert plan.tables["topics"].column("served").to_pylist() == [False, True]


@pytest.mark.parametrize("capacity", ["x", "-1", -1, "nan%", float("nan"), "1e999", None])
def test_bad_capacities_are_refused(capacity):
    with pytest.raises(ParameterError, match="capacity"):
        parse_capacity(capacity, 100.0)


def test_capacity_in_percent():
    assert parse_capacity("10%", 200.0) == (20.0, 10.0)
    assert parse_capacity(" 150 % ", 200.0) == (300.0, 150.0)
    assert parse_capacity("7.5", 200.0) == (7.5, None)
    assert parse_capacity(7, 200.0) == (7.0, None)


def test_unknown_words_are_refused():
    workload = Instance([1.0], [[0]], tau=1).workload()
    with pytest.raises(ParameterError, match="metric"):
        fw.Selection(workload, tau=1, capacity=1, metric="some")
    with pytest.raises(ParameterError, match="tau"):
        fw.Selection(workload, tau="column", capacity=1)
    with pytest.raises(ParameterError, match="algorithm"):
        fw.Selection(workload, tau=1, capacity=1).solve("simulated-annealing")
    with pytest.raises(ParameterError, match="knob"):
        fw.Selection(workload, tau=1, capacity=1).solve("greedy", warmth=3)
    with pytest.raises(ParameterError, match="seed"):
        fw.Selection(workload, tau=1, capacity=1).solve("greedy", seed=-1)
    with pytest.raises(ParameterError, match="time_limit"):
        fw.Selection(workload, tau=1, capacity=1).solve("greedy", time_limit=-1)


def test_random_keeps_the_capacity_and_uses_the_seed():
    rng = np.random.default_rng(0)
    interests = [sorted(set(rng.integers(0, 40, 5).tolist())) for _ in range(100)]
    instance = Instance(rng.integers(1, 50, 40).astype(float).tolist(), interests, tau=20)
    problem = fw.Selection(instance.workload(), tau=20, capacity="30%")
    plans = [problem.solve("random", seed=seed) for seed in range(5)]
    for plan in plans:
        plan.verify()
    assert len({plan.metrics["used"] for plan in plans}) > 1
    assert problem.solve("greedy").objective > max(plan.objective for plan in plans)


@pytest.mark.data
def test_vectors(shared_data):
    vectors = json.loads((shared_data / "acceptance" / "select.json").read_text())
    assert len(vectors) > 10
    for vector in vectors:
        instance = Instance(vector["rates"], vector["interests"], vector["tau"])
        problem = fw.Selection(instance.workload(), tau=vector["tau"], capacity=vector["capacity"])
        plan = problem.solve("greedy")
        plan.verify()
        assert plan.objective == vector["binary"]["greedy"]
        assert plan.metrics["paper_bound"] == vector["binary"]["paper_bound"]
        assert plan.bound >= vector["binary"]["optimum"]
        assert problem.cost.sum() == vector["cost_of_everything"]


def test_a_sum_a_hair_below_tau_satisfies():
    assert 0.7 + 0.1 + 0.1 < 0.9  # though it should be equal
    instance = Instance([0.7, 0.1, 0.1, 5.0], [[0, 1, 2, 3]], tau=0.9, cost=[1.0, 1.0, 1.0, 9.0])
    problem = fw.Selection(instance.workload(), tau=0.9, capacity="100%")
    assert problem.value(np.array([True, True, True, False])) == 1
    plan = problem.solve("greedy")
    plan.verify()
    assert plan.objective == 1
    # Nobody misses anything once the three small ones are served: the fourth helps no one.
    assert plan.tables["topics"].column("served").to_pylist() == [True, True, True, False]
